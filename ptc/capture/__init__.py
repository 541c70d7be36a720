"""Capture: CPython bytecode in, a `CapturedProgram` and guards out. The API is in
`ptc.capture.api`.

Knows nothing of compilation. `code/` (the bytecode layer), `interpreter/`, `values/` (but for the
modules named `torch_*`), `builtins_table/` and `polyfills/` do not need torch.
"""
