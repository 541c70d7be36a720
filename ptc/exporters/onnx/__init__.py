"""ONNX: an `AtenProgram` as an ONNX model, by the rules in `ptc.ops.onnx_*`.

`builder` emits operators, `translate` walks the program, `run` executes models with ONNX Runtime,
`format` is the exporter.
"""
