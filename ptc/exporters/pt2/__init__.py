"""The pt2 exporter: `AtenProgram` -> a file of torch's own, an ExportedProgram.

A plain module is made of the program (`module`), with the user's structures as torch's pytrees
(`trees`) and torch's own operators only (`stock`); `torch.export` traces it (`torch_export`), which
makes its signature and verifies it. `format` writes, loads and runs files.
"""
