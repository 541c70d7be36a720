"""The TorchScript exporter: a program as source text of TorchScript, compiled and saved by torch.

`writer`, `graphs`, `control`, `numbers` and `texts` print statements, `structures` what goes in and
comes out, `library` has the functions that the statements call, `compiled` is the only module that
uses torch's own compiler. The file loads where ptc is not installed.
"""
