"""Tensor calls whose result has as many elements as data decides: `nonzero`, masks as keys,
`unique` and their like. The count becomes a new size; what else the call does is done by calls of
known shape.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.control.arithmetic import operand
from ptc.capture.control.tensors import version
from ptc.capture.errors import GraphBreak
from ptc.capture.polyfills import torch_functions
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import DataSized, Operand

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_MASKS = (torch.bool, torch.uint8)
Arguments = dict[str, Value]
Handler = Callable[["ControlMachine", Arguments], Value | None]


def sized_call(
    vm: ControlMachine, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """The result of a call whose size data decides; None for all other calls."""
    if target in (operator.getitem, operator.setitem) and isinstance(args[0], TensorValue):
        return _masked_key(vm, target, args)
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    entry = _HANDLERS.get(name)
    if entry is None or not args or not isinstance(args[0], TensorValue):
        return None
    names, handler = entry
    if len(args) > len(names):
        return None
    return handler(vm, {**dict(zip(names, args, strict=False)), **kwargs})


def of_data(
    vm: ControlMachine,
    op: str,
    args: tuple[TensorValue | Operand | None, ...],
    shapes: Callable[[torch.SymInt], list[tuple[list[Any], torch.dtype]]],
    *,
    own: bool = True,
) -> list[TensorValue]:
    """The results of an operator of the runtime; `shapes` gives shape and dtype of each, from the
    number of elements. `own`: the program gets them, and new ones each time."""
    key = (op, tuple(_identity(vm, arg) for arg in args))
    known = vm.sized.get(key)
    if known is not None and all(one.first_version == version(one) for one in known):
        return [vm.call_method(one, "clone", []) for one in known] if own else known  # type: ignore[misc]
    device = next(arg.fake.device for arg in args if isinstance(arg, TensorValue))
    results = [vm.new_tensor(shape, dtype, device) for shape, dtype in shapes(vm.new_size())]
    given = tuple(
        vm.tensor_variable(arg, dense=True) if isinstance(arg, TensorValue) else arg for arg in args
    )
    targets = tuple(vm.variable(result) for result in results)
    vm.writer.add(DataSized(targets, op, given))
    bound: set[str] = set()
    for target in targets:
        for bind in vm.bindings(target):
            if bind.symbol not in bound:
                bound.add(bind.symbol)
                vm.writer.compute(bind)
    vm.journal.put(vm.sized, key, results)
    return results


def _identity(vm: ControlMachine, arg: TensorValue | Operand | None) -> Any:
    return (arg, vm.version(arg)) if isinstance(arg, TensorValue) else arg


# -- operators ------------------------------------------------------------------------------------


def _is(value: Value | None, wanted: Any, default: Any) -> bool:
    return (default if value is None else value.constant()) == wanted


def positions(vm: ControlMachine, x: TensorValue, *, own: bool = True) -> TensorValue:
    """`x.nonzero()`: (count, rank) int64."""
    rank = x.fake.dim()
    return of_data(vm, "nonzero", (x,), lambda n: [([n, rank], torch.int64)], own=own)[0]


def _nonzero(vm: ControlMachine, given: Arguments) -> Value | None:
    x: Any = given["input"]
    found = positions(vm, x)
    if _is(given.get("as_tuple"), True, False):
        return TupleValue(_columns(vm, found, max(x.fake.dim(), 1)))
    return found


def _columns(vm: ControlMachine, found: TensorValue, rank: int) -> list[Value]:
    return [
        vm.torch_call("call_method", "select", [found, ConstantValue(1), ConstantValue(k)], {})
        for k in range(rank)
    ]


def _where(vm: ControlMachine, given: Arguments) -> Value | None:
    if "input" in given or "other" in given:
        return None
    return _nonzero(vm, {"input": given["condition"], "as_tuple": ConstantValue(True)})


def _argwhere(vm: ControlMachine, given: Arguments) -> Value | None:
    return positions(vm, given["input"])  # type: ignore[arg-type]


def _masked_select(vm: ControlMachine, given: Arguments) -> Value | None:
    both: Any = vm.torch_call(
        "call_function", torch.broadcast_tensors, [given["input"], given["mask"]], {}
    )
    x, mask = both.items
    return of_data(vm, "masked_select", (x, mask), lambda n: [([n], x.fake.dtype)])[0]


def _unique(vm: ControlMachine, given: Arguments) -> Value | None:
    x: Any = given["input"]
    if not _is(given.get("dim"), None, None):
        raise GraphBreak(
            "PTC-B007", "unique along a dimension has a size that data decides",
            "use unique of all elements, or a mask",
        )  # fmt: skip
    shape = list(x.fake.shape)
    values, inverse, counts = of_data(
        vm, "unique", (x,),
        lambda n: [([n], x.fake.dtype), (shape, torch.int64), ([n], torch.int64)],
    )  # fmt: skip
    results: list[Value] = [values]
    results += [inverse] if _is(given.get("return_inverse"), True, False) else []
    results += [counts] if _is(given.get("return_counts"), True, False) else []
    return values if len(results) == 1 else TupleValue(results)


def _unique_consecutive(vm: ControlMachine, given: Arguments) -> Value | None:
    if not _is(given.get("dim"), None, None):
        raise GraphBreak(
            "PTC-B007", "unique_consecutive along a dimension has a size that data decides",
            "use unique_consecutive of all elements, or a mask",
        )  # fmt: skip
    wanted = [
        ConstantValue(_is(given.get(name), True, False))
        for name in ("return_inverse", "return_counts")
    ]
    return vm.call(vm.wrap_fixed(torch_functions.unique_consecutive), [given["input"], *wanted])


def _repeat_interleave(vm: ControlMachine, given: Arguments) -> Value | None:
    x, repeats = given["input"], given.get("repeats")
    if repeats is None:
        return _repeated(vm, x)
    if not isinstance(repeats, TensorValue) or repeats.fake.dim() == 0:
        return None
    dim = given.get("dim")
    if dim is None or _is(dim, None, None):
        x = vm.call_method(x, "flatten", [])
        dim = ConstantValue(0)
    return vm.torch_call("call_method", "index_select", [x, dim, _repeated(vm, repeats)], {})


def _repeated(vm: ControlMachine, repeats: Value) -> Value:
    whole: Any = vm.torch_call("call_method", "to", [repeats, ConstantValue(torch.int64)], {})
    return of_data(vm, "repeat_interleave", (whole,), lambda n: [([n], torch.int64)])[0]


def _bincount(vm: ControlMachine, given: Arguments) -> Value | None:
    x: Any = given["input"]
    minlength = _least_length(vm, given.get("minlength"))
    counts = of_data(vm, "bincount", (x, minlength), lambda n: [([n], torch.int64)])[0]
    weights = given.get("weights")
    if weights is None or _is(weights, None, None):
        return counts
    if isinstance(weights, TensorValue) and weights.fake.dtype is not torch.float32:
        weights = vm.torch_call("call_method", "to", [weights, ConstantValue(torch.float64)], {})
    zeros = vm.torch_call(
        "call_function", torch.zeros_like, [counts],
        {"dtype": ConstantValue(weights.fake.dtype)},  # type: ignore[attr-defined]
    )  # fmt: skip
    return vm.torch_call("call_method", "index_add", [zeros, ConstantValue(0), x, weights], {})


def _least_length(vm: ControlMachine, least: Value | None) -> Operand:
    if not isinstance(least, (DataNumber, SymbolicNumber)):
        return 0 if least is None else least.constant()
    if vm.truth(vm.compare("<", least, ConstantValue(0))):
        raise vm.exception(RuntimeError, "minlength should be >= 0")
    return operand(vm, least)


def _one_hot(vm: ControlMachine, given: Arguments) -> Value | None:
    classes = given.get("num_classes", ConstantValue(-1))
    if not isinstance(classes, (DataNumber, SymbolicNumber)) and not _is(classes, -1, -1):
        return None
    return vm.call(vm.wrap_fixed(torch_functions.one_hot), [given["input"], classes])


_HANDLERS: dict[str, tuple[tuple[str, ...], Handler]] = {
    "nonzero": (("input", "as_tuple"), _nonzero),
    "argwhere": (("input",), _argwhere),
    "where": (("condition", "input", "other"), _where),
    "masked_select": (("input", "mask"), _masked_select),
    "unique": (("input", "sorted", "return_inverse", "return_counts", "dim"), _unique),
    "unique_consecutive": (
        ("input", "return_inverse", "return_counts", "dim"),
        _unique_consecutive,
    ),
    "repeat_interleave": (("input", "repeats", "dim"), _repeat_interleave),
    "one_hot": (("input", "num_classes"), _one_hot),
    "bincount": (("input", "weights", "minlength"), _bincount),
}


# -- masks as keys --------------------------------------------------------------------------------


def _masked_key(vm: ControlMachine, target: Any, args: list[Value]) -> Value | None:
    """`x[mask]`, `x[:, mask]`, `x[mask] = values`: the mask as the positions where it is true."""
    key = args[1]
    parts = list(key.items) if isinstance(key, TupleValue) else [key]
    if not any(_is_mask(part) for part in parts):
        return None
    if target is operator.setitem and _is_one_number(args[2]):
        return None  # no count is needed: each element is written or not
    found: list[Value] = []
    for part in parts:
        if _is_mask(part):
            mask: Any = part
            rank = mask.fake.dim()
            found += _columns(vm, positions(vm, mask, own=False), rank)
        else:
            found.append(part)
    return vm.torch_call("call_function", target, [args[0], TupleValue(found), *args[2:]], {})


def _is_mask(part: Value) -> bool:
    return isinstance(part, TensorValue) and part.fake.dtype in _MASKS and part.fake.dim() > 0


def _is_one_number(value: Value) -> bool:
    return not isinstance(value, TensorValue) or value.fake.dim() == 0
