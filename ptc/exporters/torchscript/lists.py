"""Operations on lists as statements of TorchScript.

Takes an item and the texts of its operands. Knows nothing of programs.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptc.exporters.torchscript.writer import Writer, refuse
from ptc.graph.control import ListItem, ListVar, NumberKind

_METHODS = frozenset({"append", "extend", "insert", "clear", "reverse"})


def list_operation(
    writer: Writer, item: ListItem, target: str | None, type_: str, args: Sequence[str]
) -> None:
    """The statements of `item`, which assign `target`, of type `type_`, if it has one."""
    if item.op in _METHODS:
        writer.line(f"{args[0]}.{item.op}({', '.join(args[1:])})")
        return
    if item.op == "set":
        writer.line(f"{args[0]}[{args[1]}] = {args[2]}")
        return
    if item.op == "find":
        _find(writer, item, str(target), args)
        return
    writer.line(f"{target} = {_value(item, type_, args)}")


def _value(item: ListItem, type_: str, args: Sequence[str]) -> str:
    match item.op:
        case "new":
            return f"torch.jit.annotate({type_}, [{', '.join(args)}])"
        case "copy":
            return f"{args[0]}.copy()"
        case "get":
            return f"{args[0]}[{args[1]}]"
        case "pop":
            return f"{args[0]}.pop({args[1]})"
        case "length":
            return f"len({args[0]})"
        case "slice":
            return f"{args[0]}[{args[1]}:{args[2]}]"
        case "concat":
            return f"{args[0]} + {args[1]}"
        case "same":
            return f"{args[0]} is {args[1]}"
        case "lengths":
            return f"[len(inner) for inner in {args[0]}]"
        case "flat":
            return f"[value for inner in {args[0]} for value in inner]"
        case "pick":
            return f"[{args[0]}[place] for place in {args[1]}]"
        case "filled":
            return f"[{args[1]} for _ in {args[0]}]"
        case "stack" | "cat":
            return f"torch.{item.op}({args[0]}, {args[1]})"
        case _:
            refuse(f"`{item.op}` of a set whose elements data decides")


def _find(writer: Writer, item: ListItem, target: str, args: Sequence[str]) -> None:
    """The first row of several lists that has the elements beside them."""
    pairs = list(zip(item.args[0::2], args[0::2], args[1::2], strict=True))
    for owner, _, value in pairs:
        element = owner.element if isinstance(owner, ListVar) else None
        if element is NumberKind.FLOAT:
            with writer.block(f"if math.isnan({value}):"):
                writer.line(f'raise {writer.exception("ValueError")}("a NaN is used as a key")')
        elif isinstance(element, ListVar):
            refuse("a list that is looked for in a list")
    row = writer.fresh("row")
    writer.line(f"{target} = -1")
    with writer.block(f"for {row} in range(len({args[0]})):"):
        same = " and ".join(f"{owner}[{row}] == {value}" for _, owner, value in pairs)
        with writer.block(f"if {target} < 0 and {same}:"):
            writer.line(f"{target} = {row}")
