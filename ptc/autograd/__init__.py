"""From the captured program to its functional form: core ATen operators, mutation lifted to
outputs.

Takes a `CapturedProgram`, gives an `AtenProgram`. Leans on torch's own functionalisation, fake
tensors and decompositions; private names of torch appear in `torch_internals` only. Knows nothing
of loops, kernels or files.
"""
