"""Functions of the standard library written in C, on numbers that data decides: `math`, methods of
int and float, `sum`, `min`, `max`, `round`. Each is computed by items, with Python's result.

Owns which function is which computation. Knows nothing of branches; what raises is asked for by
`arithmetic`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ptc.capture.control import formatting, strings
from ptc.capture.control.arithmetic import (
    arithmetic,
    computed,
    is_number,
    number_kind,
    quotient_and_remainder,
)
from ptc.capture.polyfills import numbers
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import OPERATIONS, NumberKind

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_INT, _FLOAT, _BOOL = NumberKind.INT, NumberKind.FLOAT, NumberKind.BOOL
Handler = Callable[..., Value | None]

#: Functions of `math` that are an operation each, by identity.
_MATH: Mapping[int, str] = {
    id(getattr(math, op.removeprefix("math."))): op for op in OPERATIONS if op.startswith("math.")
}
_MATH_FUNCTIONS = frozenset(
    id(function) for name, function in vars(math).items() if not name.startswith("_")
)
_INTEGER_FUNCTIONS = frozenset({id(math.isqrt), id(math.gcd)})
#: Special methods of int, float and bool that are an operation each.
_METHODS: Mapping[str, str] = {
    "__add__": "add", "__sub__": "sub", "__mul__": "mul", "__truediv__": "truediv",
    "__floordiv__": "floordiv", "__mod__": "mod", "__pow__": "pow", "__and__": "and",
    "__or__": "or", "__xor__": "xor", "__lshift__": "lshift", "__rshift__": "rshift",
    "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt",
    "__ge__": "ge", "__neg__": "neg", "__pos__": "pos", "__abs__": "abs",
    "__invert__": "invert", "__bool__": "bool", "__float__": "float", "__int__": "int",
    "__floor__": "math.floor", "__ceil__": "math.ceil", "__trunc__": "math.trunc",
}  # fmt: skip
_IDENTITIES = frozenset({"conjugate", "__index__"})


def call_on_data(
    vm: ControlMachine, function: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """The call of a C function with numbers that data decides among its arguments; None for calls
    that are not computed here."""
    text = formatting.call(vm, function, args, kwargs)
    if text is not None:
        return text
    text = strings.call(vm, function, args, kwargs)
    if text is not None:
        return text
    handler = _HANDLERS.get(id(function))
    if handler is not None:
        args, kwargs = vm.settle_arguments(args, kwargs)
        return handler(vm, *args, **kwargs)
    if id(function) in _MATH_FUNCTIONS:
        args, kwargs = vm.settle_arguments(args, kwargs)
        return None if kwargs else _math(vm, function, args)
    if getattr(function, "__objclass__", None) in (int, float, bool) and not kwargs:
        args = vm.settle_arguments(args, {})[0]
        if any(isinstance(arg, DataNumber) for arg in args) and all(map(is_number, args)):
            return _method(vm, function.__name__, args)
    return None


def _math(vm: ControlMachine, function: Any, args: list[Value]) -> Value | None:
    read = [_read(vm, function, arg) for arg in args]
    if not _by_data(read):
        if any(one is not other for one, other in zip(read, args, strict=True)):
            return vm.evaluate(function, *[value.constant() for value in read])
        return None
    op = _MATH.get(id(function))
    if op is None:
        return None
    if op == "math.log" and len(read) == 2:
        return vm.binary("/", _math_value(vm, op, read[:1]), _math_value(vm, op, read[1:]))
    if op == "math.gcd":
        result = read[0]
        for other in read[1:] or [ConstantValue(0)]:
            result = _math_value(vm, op, [result, other])
        return result
    if op == "math.hypot" and len(read) != 2:
        return arithmetic(vm, "math.fabs", read) if len(read) == 1 else None
    if len(read) != OPERATIONS[op]:
        raise vm.type_error(f"{op} expected {OPERATIONS[op]} arguments, got {len(read)}")
    return arithmetic(vm, op, read)


def _math_value(vm: ControlMachine, op: str, values: list[Value]) -> Value:
    if _by_data(values):
        return arithmetic(vm, op, values)
    function = getattr(math, op.removeprefix("math."))
    return vm.evaluate(function, *[value.constant() for value in values])


def _read(vm: ControlMachine, function: Any, value: Value) -> Value:
    """A tensor as the number that the function takes it for."""
    if not isinstance(value, TensorValue):
        return value
    if id(function) in _INTEGER_FUNCTIONS:
        return vm.read_item(value)
    read = value.convert(vm, float)
    assert read is not None
    return read


def _by_data(values: list[Value]) -> bool:
    """Whether all are numbers, one of which data decides."""
    return all(map(is_number, values)) and any(
        isinstance(value, (DataNumber, SymbolicNumber)) for value in values
    )


def _method(vm: ControlMachine, name: str, args: list[Value]) -> Value | None:
    if name in _IDENTITIES and len(args) == 1:
        return args[0] if args[0].cls is not bool else arithmetic(vm, "int", args)
    if name == "__round__":
        return _round(vm, *args)
    if name == "is_integer" and args[0].cls is float:
        part = computed(vm, "mod", [args[0], ConstantValue(1.0)], _FLOAT)
        return computed(vm, "eq", [part, ConstantValue(0.0)], _BOOL)
    if name == "bit_length":
        return _bit_length(vm, args[0])
    if name == "bit_count":
        return _bit_count(vm, args[0])
    if name == "__divmod__":
        return quotient_and_remainder(vm, args)
    if name.startswith("__r") and f"__{name[3:]}" in _METHODS:
        name, args = f"__{name[3:]}", args[::-1]
    op = _METHODS.get(name)
    if op is None or OPERATIONS[op] != len(args):
        return None
    if len(args) == 2 and args[0].cls is not float and args[1].cls is float:
        return ConstantValue(NotImplemented)  # int's methods do not take floats
    return arithmetic(vm, op, args)


def _bit_length(vm: ControlMachine, value: Value) -> Value:
    """The position of the highest bit, found by halves."""
    rest: Value = vm.arithmetic("abs", [value])
    total: Value = ConstantValue(0)
    for step in (32, 16, 8, 4, 2, 1):
        large = computed(vm, "ge", [rest, ConstantValue(1 << step)], _BOOL)
        moved = computed(vm, "rshift", [rest, ConstantValue(step)], _INT)
        rest = computed(vm, "select", [large, moved, rest], _INT)
        more = computed(vm, "select", [large, ConstantValue(step), ConstantValue(0)], _INT)
        total = computed(vm, "add", [total, more], _INT)
    return computed(vm, "add", [total, rest], _INT)


def _bit_count(vm: ControlMachine, value: Value) -> Value:
    """The number of bits that are set, by sums of neighbours."""
    rest: Value = vm.arithmetic("abs", [value])
    for step, mask in (
        (1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F),
        (8, 0x00FF00FF00FF00FF), (16, 0x0000FFFF0000FFFF), (32, 0x00000000FFFFFFFF),
    ):  # fmt: skip
        low = computed(vm, "and", [rest, ConstantValue(mask)], _INT)
        moved = computed(vm, "rshift", [rest, ConstantValue(step)], _INT)
        high = computed(vm, "and", [moved, ConstantValue(mask)], _INT)
        rest = computed(vm, "add", [low, high], _INT)
    return rest


# -- functions that take numbers of any kind ------------------------------------------------------


def _round(vm: ControlMachine, number: Value, ndigits: Value | None = None) -> Value | None:
    if not is_number(number):
        return None
    if ndigits is None or ndigits.cls is type(None):
        if isinstance(number, SymbolicNumber) and number.cls is int:
            return number
        return arithmetic(vm, "round", [number]) if _by_data([number]) else None
    if not _by_data([number, ndigits]):
        return None
    if ndigits.cls is float:
        raise vm.type_error("'float' object cannot be interpreted as an integer")
    if number.cls is not float and ndigits.is_constant() and ndigits.constant() >= 0:
        return arithmetic(vm, "int", [number]) if number.cls is bool else number
    return arithmetic(vm, "round_to", [number, ndigits])


def _divmod(vm: ControlMachine, left: Value, right: Value) -> Value | None:
    return quotient_and_remainder(vm, [left, right]) if _by_data([left, right]) else None


def _index(vm: ControlMachine, value: Value) -> Value | None:
    if isinstance(value, TensorValue):
        value = vm.read_item(value)
    if not isinstance(value, (DataNumber, SymbolicNumber)):
        return None
    if value.cls is float:
        raise vm.type_error("'float' object cannot be interpreted as an integer")
    return value if value.cls is int else value.convert(vm, int)


def _truth(vm: ControlMachine, value: Value) -> Value | None:
    return value.convert(vm, bool) if isinstance(value, DataNumber) else None


def _sum(vm: ControlMachine, iterable: Value, start: Value | None = None) -> Value | None:
    """A sum as CPython makes it: from 3.12 on, what rounding takes from a sum of floats is added in
    the end, or before something that is no number."""
    total = start or ConstantValue(0)
    if vm.python_version < (3, 12) or total.cls is str:
        return None
    values = [vm.settle(value) for value in vm.unpack(iterable)]
    if all(value.is_constant() for value in (total, *values)):
        return vm.evaluate(sum, [value.constant() for value in values], total.constant())
    lost: Value | None = None
    plain = False  # once there was something that is no number
    for value in values:
        if not plain and not (is_number(total) and is_number(value)):
            total, lost, plain = _with_lost(vm, total, lost), None, True
        following = vm.binary("+", total, value)
        if not plain and total.cls is float and value.cls is float:
            lost = vm.binary("+", lost or ConstantValue(0.0), _lost(vm, total, value, following))
        total = following
    return _with_lost(vm, total, lost)


def _lost(vm: ControlMachine, total: Value, value: Value, following: Value) -> Value:
    """What rounding took from `total + value`."""
    larger = vm.compare(">=", _magnitude(vm, total), _magnitude(vm, value))
    first = vm.binary("+", vm.binary("-", total, following), value)
    second = vm.binary("+", vm.binary("-", value, following), total)
    return select(vm, larger, first, second)


def _with_lost(vm: ControlMachine, total: Value, lost: Value | None) -> Value:
    if lost is None:
        return total
    finite = _math_value(vm, "math.isfinite", [lost])
    return select(vm, finite, vm.binary("+", total, lost), total)


def _magnitude(vm: ControlMachine, value: Value) -> Value:
    return _math_value(vm, "math.fabs", [value])


def select(vm: ControlMachine, condition: Value, yes: Value, no: Value) -> Value:
    """`yes if condition else no` of two numbers of one kind."""
    if condition.is_constant():
        return yes if condition.constant() else no
    return computed(vm, "select", [condition, yes, no], number_kind(yes))


def extreme(vm: ControlMachine, name: str, values: list[Value]) -> Value | None:
    """`min` or `max` of numbers of one kind, without a branch: of equal ones the first, and NaN
    where Python's comparisons leave it."""
    if not _by_data(values) or len({value.cls for value in values}) != 1:
        return None
    if not any(isinstance(value, DataNumber) for value in values):
        return None
    best = values[0]
    for value in values[1:]:
        best = select(vm, vm.compare("<" if name == "min" else ">", value, best), value, best)
    return best


def _isclose(
    vm: ControlMachine,
    a: Value,
    b: Value,
    *,
    rel_tol: Value | None = None,
    abs_tol: Value | None = None,
) -> Value | None:
    a, b = _read(vm, math.isclose, a), _read(vm, math.isclose, b)
    relative, absolute = rel_tol or ConstantValue(1e-09), abs_tol or ConstantValue(0.0)
    if not _by_data([a, b]) or not (relative.is_constant() and absolute.is_constant()):
        return None
    if relative.constant() < 0 or absolute.constant() < 0:
        raise vm.exception(ValueError, "tolerances must be non-negative")
    apart = _magnitude(vm, vm.binary("-", b, a))
    close: Value = vm.compare("<=", apart, absolute)
    for one in (a, b):
        allowed = _magnitude(vm, vm.binary("*", relative, one))
        close = vm.binary("|", close, vm.compare("<=", apart, allowed))
    # An infinity is close to itself only
    for one in (a, b):
        close = vm.binary("&", close, _math_value(vm, "math.isfinite", [one]))
    return vm.binary("|", close, vm.compare("==", a, b))


def _product(vm: ControlMachine, iterable: Value, *, start: Value | None = None) -> Value | None:
    total = start or ConstantValue(1)
    for value in vm.unpack(iterable):
        total = vm.binary("*", total, value)
    return total


def _traced(function: Callable[..., Any]) -> Handler:
    """A function of numbers that is written in Python."""

    def handler(vm: ControlMachine, *args: Value) -> Value | None:
        if all(arg.is_constant() for arg in args):
            return None
        return vm.call(vm.wrap_fixed(function), list(args))

    return handler


def _rounding(special: str) -> Handler:
    """`math.floor` and its like of a tensor go through float."""

    def handler(vm: ControlMachine, value: Value) -> Value | None:
        if isinstance(value, TensorValue):
            value = value.convert(vm, float) or value
        return value.unary(vm, special) if isinstance(value, DataNumber) else None

    return handler


_HANDLERS: Mapping[int, Handler] = {
    id(round): _round,
    id(divmod): _divmod,
    id(operator.index): _index,
    id(operator.truth): _truth,
    id(sum): _sum,
    id(math.isclose): _isclose,
    id(math.prod): _product,
    **{
        id(getattr(math, name)): _traced(getattr(numbers, name))
        for name in ("factorial", "comb", "perm", "lcm", "modf", "dist")
    },
    id(math.floor): _rounding("__floor__"),
    id(math.ceil): _rounding("__ceil__"),
    id(math.trunc): _rounding("__trunc__"),
}
