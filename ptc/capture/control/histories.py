"""What gradients that the program asks for come of.

A piece of the program is differentiated by itself: what it takes from another piece is a constant
there. So the whole computation between what is differentiated and what by must lie in one piece.
"""

# pyright: reportPrivateUsage=false, reportAssignmentType=false
# The functions of this module are attached as methods.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.fx

from ptc.capture.control.homes import storage
from ptc.capture.control.tensors import keep_apart
from ptc.capture.errors import GraphBreak
from ptc.capture.torch_machine import TorchMachine
from ptc.capture.values.base import Value
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph import transforms

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_CUTS = frozenset({"detach", "detach_", torch.detach})


def has_history(vm: ControlMachine, value: TensorValue) -> bool:
    """What comes of a merge may have one, though its fake tensor has none."""
    return torch.is_grad_enabled() and value.fake.is_floating_point()


def takes_requires_grad(vm: ControlMachine, value: TensorValue) -> bool:
    """Not for a tensor from before a branch: it would hold in one arm only. A library that asks for
    no gradients does without."""
    node = value.known_node()
    if value.source is None and node is not None and node.graph is vm.writer.block.graph:
        return True
    what = f"requires_grad of {value.describe()} is set, which was made before a branch"
    if vm.records_gradients:
        hint = "set it where the tensor is made: `y = x.detach().requires_grad_()`"
        raise GraphBreak("PTC-B016", what, hint)
    vm.lost_gradient = f"`requires_grad_()` of {value.describe()}, made before a branch"
    return False


def require_whole(vm: ControlMachine, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
    """Refuse `torch.autograd.grad(*args)` where its values come from before a branch, loop or read
    on data."""
    outputs = list(_tensors(kwargs.get("outputs", args[0] if args else None)))
    inputs = list(_tensors(kwargs.get("inputs", args[1] if len(args) > 1 else None)))
    graph = vm.writer.block.graph
    own = [value.known_node() for value in outputs]
    ends = [node for node in own if node is not None and node.graph is graph]
    imported = _imported(vm, ends)
    if len(ends) < len(outputs) or any(
        _depends(vm, value, set()) for value in imported if not _given(value, inputs)
    ):
        raise _refusal()
    if any(not _is_leaf(value) and not _is_own(value, graph, imported) for value in inputs):
        raise _refusal()
    taken = {value for value in imported if value in inputs and not _is_leaf(value)}
    if taken and any(_is_leaf(value) for value in inputs):
        # What is taken from before may depend on the leaves
        raise _refusal()


def _refusal() -> GraphBreak:
    return GraphBreak(
        "PTC-B016",
        "gradients are asked for of what was computed before a branch, loop or read on data",
        "compute the loss again, or from what is detached, between the branch and the gradients",
    )


def _tensors(value: Value | None) -> Iterator[TensorValue]:
    if isinstance(value, TensorValue):
        yield value
    elif isinstance(value, (ListValue, TupleValue)):
        for item in value.items:
            yield from _tensors(item)


def _is_leaf(value: TensorValue) -> bool:
    return value.source is not None and value.fake.is_leaf


def _is_own(value: TensorValue, graph: torch.fx.Graph, imported: list[TensorValue]) -> bool:
    """Whether a block can differentiate by a tensor: it made it, or was given the very tensor."""
    node = value.known_node()
    return node is not None and (
        node.graph is graph or (value in imported and value.fake.requires_grad)
    )


def _given(value: TensorValue, inputs: list[TensorValue]) -> bool:
    """What is differentiated by may come from anywhere; what comes of it may not."""
    return _is_leaf(value) or any(value is one for one in inputs)


def _imported(vm: ControlMachine, ends: Iterable[torch.fx.Node]) -> list[TensorValue]:
    """The floating-point tensors that a block takes from before for these nodes of it."""
    return [
        value
        for node in _behind(ends)
        if node.op == "placeholder" and (value := vm.value_of_node.get(node)) is not None
        if value.fake.is_floating_point() or value.fake.is_complex()
    ]


def _behind(ends: Iterable[torch.fx.Node]) -> Iterator[torch.fx.Node]:
    """The nodes that these are made of, themselves included, up to where a tensor is detached."""
    seen: set[torch.fx.Node] = set()
    rest = list(ends)
    while rest:
        node = rest.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        if node.target not in _CUTS:
            rest.extend(node.all_input_nodes)


def _depends(vm: ControlMachine, value: TensorValue, seen: set[Any]) -> bool:
    """Whether a tensor from before may be part of what gradients are recorded of."""
    if value in seen:
        return False
    if _is_leaf(value):
        return value.fake.requires_grad and bool(seen)
    seen.add(value)
    node = value.known_node()
    if value.fake.requires_grad or transforms.is_wrapped(value.fake):
        return True
    if node is None:
        sources = vm.homes.merged.get(value)
        known = value.source is not None or sources is not None
        return not known or any(_depends(vm, source, seen) for source in sources or ())
    return any(_depends(vm, earlier, seen) for earlier in _imported(vm, [node]))


# -- whether gradients are recorded ---------------------------------------------------------------


def note_merged_gradients(
    vm: ControlMachine, result: TensorValue, sources: Sequence[TensorValue]
) -> None:
    """A fake tensor that stands for one of several does not say of which gradients are recorded."""
    unsure = vm.homes.unsure
    recorded = [one for one in sources if one.fake.requires_grad or one in unsure]
    if recorded:
        behind = (unsure.get(one, set[TensorValue]()) for one in recorded)
        unsure.setdefault(result, {result}).update(*behind)


def note_computed_gradients(
    vm: ControlMachine, target: Any, args: Sequence[TensorValue], result: Value
) -> None:
    """What a call makes of such tensors is so as well."""
    unsure = vm.homes.unsure
    if not unsure or not torch.is_grad_enabled() or target in _CUTS or _only_alike(target):
        return
    given = [unsure[one] for one in args if one in unsure]
    behind = set[TensorValue]().union(*given)
    for value in _tensors(result) if given else ():
        if value.fake.is_floating_point() or value.fake.is_complex():
            unsure.setdefault(value, set()).update(behind)


def note_written_gradients(vm: ControlMachine, value: TensorValue) -> None:
    """A write has made gradients be recorded of a tensor: in an arm, of one that others have."""
    if vm.arms:
        for one in (value, vm.homes.base(value)):
            vm.homes.unsure.setdefault(one, set())


def _only_alike(target: Any) -> bool:
    """Whether a call takes a tensor's shape or dtype, and none of what is in it."""
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    return name.endswith("_like") or name.startswith("new_")


def require_known_gradient(vm: ControlMachine, value: TensorValue, name: str) -> None:
    """Before a program reads whether gradients are recorded of a tensor: the arms of which one
    gave it are kept apart, so that each use asks which it is. Refuses where there are no arms."""
    unsure = vm.homes.unsure
    behind = unsure.get(value)
    if behind is None and unsure.get(vm.homes.base(value)) == set():
        behind = set()  # a view of what an arm has written to
    if behind is not None:
        keep_apart(vm, [storage(merge.fake) for merge in behind])
    elif value.fake.requires_grad or name == "grad_fn" or not vm.may_require_grad(value):
        return
    raise GraphBreak(
        "PTC-B016",
        f"{name} of a tensor that data decides is read",
        "read it in each of the branches, or detach the tensors",
    )


class Histories(TorchMachine):
    """What a machine for several pieces asks of gradients."""

    note_merged_gradients = note_merged_gradients
    note_computed_gradients = note_computed_gradients
    note_written_gradients = note_written_gradients
    require_known_gradient = require_known_gradient
    has_history = has_history
    takes_requires_grad = takes_requires_grad
    require_whole_history = require_whole
