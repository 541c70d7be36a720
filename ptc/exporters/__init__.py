"""Exporters: a functional program written in a format that other tools read, and checked.

`api.export` is the entry; each format is a sub-package registered in `formats`. Takes an
`AtenProgram`, gives files and an `ExportReport`. Knows nothing of capture, of kernels, or of who
asked.
"""
