"""Views among a segment's results are made again by the generated code, so that they stay views.

A compiled graph returns tensors of its own. Where two results share memory, or one shares it with
an input, a later in-place change of one must be seen in the other: such a result is derived from
its base with the operator that made it.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.fx

from ptc.capture.values.base import Value
from ptc.capture.values.torch_tensor import TensorValue

if TYPE_CHECKING:
    from ptc.capture.rebuild import Rebuilder
    from ptc.capture.torch_machine import TorchMachine

_LITERALS = (int, float, bool, str, type(None))


def storage_of(fake: torch.Tensor) -> int:
    """Identifies the memory of a fake tensor."""
    return fake.untyped_storage()._cdata


def shared_storages(vm: TorchMachine, outputs: list[Value]) -> frozenset[int]:
    """Memory of the inputs, and memory that several outputs have in common."""
    shared = {
        storage_of(value.fake)
        for value in vm.wrapped.values()
        if isinstance(value, TensorValue) and value.source is not None
    }
    seen: set[int] = set()
    for value in outputs:
        if isinstance(value, TensorValue):
            storage = storage_of(value.fake)
            if storage in seen:
                shared.add(storage)
            seen.add(storage)
    return frozenset(shared)


def derive(
    vm: TorchMachine, emit: Rebuilder, value: TensorValue, shared: frozenset[int]
) -> str | None:
    """Code that makes the view again; None if the value is no view, or of memory of its own."""
    node = value.known_node()
    if node is None or storage_of(value.fake) not in shared:
        return None
    text = _call(vm, emit, node, storage_of(value.fake))
    if text is None:
        return None
    base = _base_tensor(node, storage_of(value.fake))
    if base is not None and base.requires_grad and not value.fake.requires_grad:
        text += ".detach()"  # made where gradients were not recorded
    return text


def _base_tensor(node: torch.fx.Node, storage: int) -> torch.Tensor | None:
    base = _base(node, storage)
    while base is not None and not isinstance(base.meta["val"], torch.Tensor):
        base = _base(base, storage)
    return None if base is None else base.meta["val"]


def _call(vm: TorchMachine, emit: Rebuilder, node: torch.fx.Node, storage: int) -> str | None:
    base = _base(node, storage)
    if base is None or node.op not in ("call_function", "call_method"):
        return None
    if isinstance(base.meta["val"], torch.Tensor):
        base_value = vm.value_of_node.get(base)
        if base_value is None:
            return None
        base_text = emit.value(base_value)
    else:
        inner = _call(vm, emit, base, storage)  # one of several results: the call that made them
        if inner is None:
            return None
        base_text = inner
    arguments = _arguments(emit, node, base, base_text)
    if arguments is None:
        return None
    if node.op == "call_method":
        return f"({base_text}).{node.target}({', '.join(arguments[1:])})"
    target: Any = node.target
    name = emit.name(target, getattr(target, "__name__", "view"))
    return f"{name}({', '.join(arguments)})"


def _base(node: torch.fx.Node, storage: int) -> torch.fx.Node | None:
    """The only argument that has this memory."""
    bases = [n for n in node.all_input_nodes if _has_storage(n.meta.get("val"), storage)]
    return bases[0] if len(bases) == 1 else None


def _has_storage(value: Any, storage: int) -> bool:
    if isinstance(value, torch.Tensor):
        return storage_of(value) == storage
    return isinstance(value, (tuple, list)) and any(_has_storage(v, storage) for v in value)


def _arguments(
    emit: Rebuilder, node: torch.fx.Node, base: torch.fx.Node, base_text: str
) -> list[str] | None:
    """The call's arguments as code; None if one of them is computed in the graph."""
    if node.all_input_nodes != [base] or not node.args or node.args[0] is not base:
        return None
    texts = [base_text]
    for argument in node.args[1:]:
        texts.append(_constant(emit, argument))
    for name, argument in node.kwargs.items():
        texts.append(f"{name}={_constant(emit, argument)}")
    return texts


def _constant(emit: Rebuilder, argument: Any) -> str:
    return repr(argument) if type(argument) in _LITERALS else emit.name(argument, "argument")
