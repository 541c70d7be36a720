"""The portable IR (`.ptir`): a zip of text IR, weights and a manifest.

`ir` are the nodes, `printer` and `parser` the text, `container` the zip, `extract` and `rebuild`
the ways from and to an `AtenProgram`, `format` the exporter. docs/ptir.md describes the file.
"""
