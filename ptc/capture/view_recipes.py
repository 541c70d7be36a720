"""Views among a segment's results are made again by the generated code, so that they stay views.

A compiled graph returns dense tensors of its own. Where two results share memory, or one shares it
with an input, a later in-place change of one must be seen in the other: such a result is derived
from its base with the operator that made it. So is a result with gaps or repeated elements (a
column, an expanded row), which has eager's strides then.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.fx

from ptc.capture.errors import GraphBreak
from ptc.capture.fakes import VALUE, expression_of, statically_known_true
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
    storage = storage_of(value.fake)
    if node is None or (storage not in shared and is_dense(value.fake)):
        return None
    text = _call(vm, emit, node, storage) or _strided(vm, emit, node)
    if text is None:
        return None
    base = _base_tensor(node, storage)
    if base is not None and base.requires_grad and not value.fake.requires_grad:
        text += ".detach()"  # made where gradients were not recorded
    return text


def is_dense(fake: torch.Tensor) -> bool:
    """Whether the strides are a permutation of row-major ones, so that a graph can give a tensor
    with them without more memory."""
    if statically_known_true(fake.numel() == 0):
        return True
    expected: Any = 1
    dims = [
        (step, size)
        for step, size in zip(fake.stride(), fake.shape, strict=True)
        if not statically_known_true(size == 1)
    ]
    while dims:
        found = next((dim for dim in dims if statically_known_true(dim[0] == expected)), None)
        if found is None:
            return False
        dims.remove(found)
        expected = expected * found[1]
    return True


def _strided(vm: TorchMachine, emit: Rebuilder, node: torch.fx.Node) -> str | None:
    """The view by sizes and strides, where the operator that made it takes more than its base."""
    fake: torch.Tensor = node.meta["val"]
    found = _base_value(vm, node, storage_of(fake))
    if found is None or found.fake.dtype != fake.dtype:
        return None
    base = emit.value(found)
    sizes = "".join(f"{_number(vm, emit, size)}, " for size in fake.shape)
    strides = "".join(f"{_number(vm, emit, step)}, " for step in fake.stride())
    offset = f"{base}.storage_offset()"
    if fake.storage_offset() is not found.fake.storage_offset():
        distance = fake.storage_offset() - found.fake.storage_offset()
        offset += f" + {_number(vm, emit, distance)}"
    return f"{base}.as_strided(({sizes}), ({strides}), {offset})"


def _base_value(vm: TorchMachine, node: torch.fx.Node, storage: int) -> TensorValue | None:
    """The tensor nearest before `node` that has this memory and no other inputs'."""
    owners = {found: vm.value_of_node.get(found) for found in _bases(node, storage)}
    if not owners:
        return None
    roots = {_root(found, storage) for found in owners}
    if len(roots) != 1:
        raise GraphBreak(
            "PTC-B018", "a view of one of several inputs that share memory is given out"
        )
    # Of several (`torch.broadcast_tensors(x, x[0])`) the one made first holds all the others.
    first = min(owners, key=lambda found: _depth(found, storage))
    return owners[first]


def _bases(node: torch.fx.Node, storage: int) -> list[torch.fx.Node]:
    """Arguments that are tensors of this memory; those of the call for one of several results."""
    bases: list[torch.fx.Node] = []
    for found in node.all_input_nodes:
        value = found.meta.get("val")
        if isinstance(value, torch.Tensor):
            if storage_of(value) == storage:
                bases.append(found)
        elif _has_storage(value, storage):
            bases += _bases(found, storage)
    return bases


def _root(node: torch.fx.Node, storage: int) -> torch.fx.Node:
    bases = _bases(node, storage)
    return _root(bases[0], storage) if bases else node


def _depth(node: torch.fx.Node, storage: int) -> int:
    bases = _bases(node, storage)
    return 1 + _depth(bases[0], storage) if bases else 0


def _number(vm: TorchMachine, emit: Rebuilder, number: Any) -> str:
    """A number on the sizes of the call as Python."""
    if not isinstance(number, torch.SymInt):
        return repr(number)
    expression = expression_of(number)
    texts: dict[str, str] = {}
    for symbol in map(str, expression.free_symbols):
        source, dim = vm.size_sources[vm.fakes.dims[symbol].name]
        texts[symbol] = emit.source(source) + ("" if dim == VALUE else f".shape[{dim}]")
    return f"({vm.fakes.python_text(expression).format(**texts)})"


def _base_tensor(node: torch.fx.Node, storage: int) -> torch.Tensor | None:
    bases = _bases(node, storage)
    return bases[0].meta["val"] if bases else None


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
    arguments = _arguments(vm, emit, node, base, base_text)
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
    vm: TorchMachine, emit: Rebuilder, node: torch.fx.Node, base: torch.fx.Node, base_text: str
) -> list[str] | None:
    """The call's arguments as code; None if it takes more tensors."""
    if not node.args or node.args[0] is not base:
        return None
    rest = (node.args[1:], tuple(node.kwargs.values()))
    if any(_is_tensor(found) for found in _nodes_in(rest)):
        return None
    texts = [base_text]
    for argument in node.args[1:]:
        texts.append(_constant(vm, emit, argument))
    for name, argument in node.kwargs.items():
        texts.append(f"{name}={_constant(vm, emit, argument)}")
    return texts


def _nodes_in(arguments: Any) -> list[torch.fx.Node]:
    found: list[torch.fx.Node] = []
    torch.fx.map_arg(arguments, found.append)
    return found


def _is_tensor(node: torch.fx.Node) -> bool:
    return not isinstance(node.meta.get("val"), (torch.SymInt, int))


def _constant(vm: TorchMachine, emit: Rebuilder, argument: Any) -> str:
    if type(argument) in _LITERALS:
        return repr(argument)
    if isinstance(argument, torch.fx.Node):
        return _number(vm, emit, argument.meta["val"])
    if not _nodes_in(argument):
        return emit.name(argument, "argument")
    if isinstance(argument, slice):
        parts = (argument.start, argument.stop, argument.step)
        return f"slice({', '.join(_constant(vm, emit, part) for part in parts)})"
    elements = "".join(f"{_constant(vm, emit, element)}, " for element in argument)
    return f"[{elements}]" if isinstance(argument, list) else f"({elements})"
