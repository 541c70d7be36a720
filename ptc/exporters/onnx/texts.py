"""Strings that data chooses, in ONNX: fixed ones, put one behind the other, and compared.

Takes names of `TextItem` operations with operands, writes to a builder.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from ptc.exporters.onnx.builder import Builder
from ptc.exporters.onnx.values import OnnxText, OnnxValue, text_constant
from ptc.graph.control import Formatted, Text, TextVar
from ptc.loops.nodes import DType
from ptc.ops.onnx_protocol import OnnxTensor
from ptc.support.diagnostics import CompileError

_STRING = ir.TensorType(ir.DataType.STRING)


def apply(builder: Builder, op: str, args: Sequence[OnnxValue | None], text: Text) -> OnnxValue:
    """The result of an operation, or of putting together `text` (`make`). Raises CompileError
    PTC-E025 for one that ONNX has no form of."""
    strings = [arg for arg in args if isinstance(arg, OnnxText)]
    if op == "make" and all(_is_plain(part) for part in text):
        rest = iter(strings)
        parts = [
            text_constant(builder, part) if isinstance(part, str) else next(rest) for part in text
        ]
        return _joined(builder, parts)
    if op == "concat" and len(strings) == 2:
        return _joined(builder, strings)
    if op in ("eq", "ne") and len(strings) == 2:
        return _equal(builder, strings, op)
    what = "a string made of numbers" if op == "make" else f"the operation `{op}` of strings"
    raise CompileError(
        "PTC-E025",
        f"ONNX has no form of {what}",
        hint="leave the string out of the result, or export with `--format ptir`",
    )


def _is_plain(part: str | Formatted) -> bool:
    """Whether it is a string, as it is."""
    if isinstance(part, str):
        return True
    return isinstance(part.value, TextVar) and part.conversion != "repr" and not part.spec


def _joined(builder: Builder, parts: Sequence[OnnxText]) -> OnnxText:
    found = parts[0] if parts else text_constant(builder, "")
    for part in parts[1:]:
        made = builder.new_value("text", _STRING)
        builder.emit("StringConcat", [builder.values[t.name] for t in (found, part)], [made])
        assert made.name is not None
        found = OnnxText(made.name)
    return found


def _equal(builder: Builder, pair: Sequence[OnnxText], op: str) -> OnnxTensor:
    made = builder.new_value("same", ir.TensorType(ir.DataType.BOOL))
    builder.emit("Equal", [builder.values[t.name] for t in pair], [made])
    assert made.name is not None
    same = OnnxTensor(made.name, DType.BOOL)
    return same if op == "eq" else builder.op("Not", same)
