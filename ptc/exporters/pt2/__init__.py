"""The pt2 exporter: a program -> a file of torch's own, an ExportedProgram.

`straight` and `control` make a function of flat values of a program: the former runs its graph, the
latter its regions (`regions`, with `numbers` and `segments`), where branches are `cond` and loops
`while_loop`. `build` makes a plain module of it (`module`), with the user's structures as torch's
pytrees (`trees`) and torch's own operators only (`stock`); `torch_export` has torch trace and
verify it. `format` writes, loads and runs files.
"""
