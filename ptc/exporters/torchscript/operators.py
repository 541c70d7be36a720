"""Calls of operators as TorchScript writes them: aten's under their own names, ptc's and prims as
functions of `library` or of aten.

Takes nodes of functional graphs and the texts of their arguments; knows nothing of programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Node

from ptc.exporters.torchscript.writer import Writer, constant, refuse
from ptc.graph.symbols import SYMBOLIC_TYPES
from ptc.ops import complex_operators, opaque

#: Operators of ours, and of torch's that libtorch lacks, that are another one or one of `library`.
_RENAMED: Mapping[str, str] = {
    "ptc::linear": "torch.ops.aten.linear",
    "ptc::rms_norm": "torch.ops.aten.rms_norm",
    # A layout that torch's fake tensors do not have: a view in the graph may be none here
    "aten::view.default": "torch.ops.aten.reshape",
    "aten::_unsafe_view.default": "torch.ops.aten.reshape",
    "aten::_reshape_alias.default": "torch.ops.aten._reshape_alias",
    **{
        f"{opaque.NAMESPACE}::{name}": f"library.{name}"
        for name in ("sdpa", "lstm", "gru", "rnn", "real", "imag", "fft", "rfft", "irfft", "mirror")
    },
    "prims::convert_element_type": "library.convert_element_type",
    "prims::iota": "library.iota",
}
#: Importing the module declares the operators.
_DECLARED = complex_operators.OPERATORS

#: Operators that give their first argument's memory though their schema does not say so.
_SHARING = frozenset({"aten::_unsafe_view", "aten::reshape", "aten::contiguous", "aten::to"})


def call_text(node: Node, writer: Writer, text_of: Callable[[Node], str]) -> str:
    """The call of an operator."""
    target = node.target
    if not isinstance(target, OpOverload):
        refuse(f"a call of {target}", node.meta.get("location"))
    function, schema = _function_of(target, node), target._schema  # pyright: ignore[reportPrivateUsage]
    types = {argument.name: argument for argument in schema.arguments}
    ordered = list(types.values())
    truth = [False]

    def text(value: Any, argument: Any) -> str:
        kind = str(argument.type)
        if kind in ("number", "Optional[number]") and isinstance(value, bool):
            truth[0] = True
            return constant(int(value))
        return _argument(value, kind, node, writer, text_of)

    args = [text(value, argument) for value, argument in zip(node.args, ordered, strict=False)]
    for name, value in node.kwargs.items():
        args.append(f"{name}={text(value, types[name])}")
    call = f"{function}({', '.join(args)})"
    result = node.meta.get("val")
    if truth[0] and isinstance(result, torch.Tensor):
        # A number that is a bool is an int here, and may make the result one
        return f"torch.ops.aten.to({call}, {result.dtype})"
    return call


def _function_of(target: OpOverload, node: Node) -> str:
    name = target._schema.name  # pyright: ignore[reportPrivateUsage]
    known = _RENAMED.get(name) or _RENAMED.get(f"{name}.{target._overloadname}")  # pyright: ignore[reportPrivateUsage]
    if known is not None:
        return known
    namespace, _, rest = name.partition("::")
    if namespace != "aten":
        refuse(
            f"the operator {name}, which torch alone does not have",
            node.meta.get("location"),
            "compute it outside the exported model",
        )
    return f"torch.ops.aten.{rest}"


def _argument(
    value: Any, kind: str, node: Node, writer: Writer, text_of: Callable[[Node], str]
) -> str:
    if isinstance(value, Node):
        return text_of(value)
    if isinstance(value, SYMBOLIC_TYPES):
        return writer.size(value)
    if isinstance(value, (list, tuple)):
        return _list(value, kind.removeprefix("Optional["), node, writer, text_of)
    if "float" in kind and type(value) is int:
        return constant(float(value))
    return constant(value, node.meta.get("location"))


def _list(
    value: Sequence[Any], kind: str, node: Node, writer: Writer, text_of: Callable[[Node], str]
) -> str:
    inner = kind.removeprefix("List[")
    items = ", ".join(_argument(item, inner, node, writer, text_of) for item in value)
    if inner.startswith("Optional[Tensor]"):
        return f"torch.jit.annotate(List[Optional[Tensor]], [{items}])"
    if value:
        return f"[{items}]"
    element = next((t for t in ("Tensor", "float", "bool") if inner.startswith(t)), "int")
    return f"torch.jit.annotate(List[{element}], [])"


def memory_source(node: Node) -> Node | None:
    """The node whose memory a node may have, None if it has memory of its own."""
    if node.op != "call_function" or not node.args:
        return None
    first = node.args[0]
    if not isinstance(node.target, OpOverload):  # an element of several results
        return memory_source(first) if isinstance(first, Node) else None
    schema = node.target._schema  # pyright: ignore[reportPrivateUsage]
    shares = any(result.alias_info is not None for result in schema.returns)
    shares = shares or schema.name in _SHARING
    return first if shares and isinstance(first, Node) else None


def memory_root(node: Node) -> Node:
    """The node that a node's memory is of."""
    while (source := memory_source(node)) is not None:
        node = source
    return node
