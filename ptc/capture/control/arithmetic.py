"""Arithmetic on Python numbers that data decides: `Compute` items, and the branches that Python's
exceptions are (a division by zero, a domain error), taken before the operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import sympy
import torch
from torch.utils._sympy import functions as symbolic

from ptc.capture.control import ranges
from ptc.capture.control.comparisons import computation_key
from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.data_numbers import BINARY_OPS, DataNumber
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.graph.control import Compute, NumberKind, NumberVar, Operand
from ptc.graph.control_operations import FUNCTIONS, KINDS, result_kinds
from ptc.graph.symbols import expression_of

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_INT, _FLOAT, _BOOL = NumberKind.INT, NumberKind.FLOAT, NumberKind.BOOL


def number_kind(value: Value) -> NumberKind:
    return KINDS[value.cls]


def is_number(value: Value) -> bool:
    """Whether a value is a Python int, float or bool."""
    if isinstance(value, (DataNumber, SymbolicNumber)):
        return True
    return isinstance(value, ConstantValue) and type(value.value) in KINDS


def operand(vm: ControlMachine, value: Value) -> Operand:
    """A number as an operand of an item."""
    if isinstance(value, DataNumber):
        return value.var
    if isinstance(value, SymbolicNumber):
        return size_operand(vm, expression_of(value.number))
    number = value.constant()
    if isinstance(number, int) and not -(2**63) <= number < 2**63:
        raise GraphBreak("PTC-B006", f"the int {number} meets data, and has more than 64 bits")
    return number


def arithmetic(vm: ControlMachine, op: str, values: list[Value]) -> Value:
    """`op` on numbers, at least one of which data decides."""
    if op in ("pow", "math.pow"):
        result = _power(vm, op, values)
        if result is not None:
            return result
    _require_valid(vm, op, values)
    kind = _result_kind(op, [number_kind(value) for value in values])
    return computed(vm, op, values, kind)


def operation(
    vm: ControlMachine,
    plain: Callable[[str, Value, Value], Value],
    op: str,
    left: Value,
    right: Value,
) -> Value:
    """`left op right`, where operands may be one of several values."""
    left, right = vm.settle(left), vm.settle(right)
    result = _of_sizes(vm, op, left, right)
    return plain(op, left, right) if result is None else result


def _of_sizes(vm: ControlMachine, op: str, left: Value, right: Value) -> Value | None:
    """An operation on numbers that sizes decide where Python may raise, or torch has none; None for
    all others."""
    values = [left, right]
    if not any(isinstance(value, SymbolicNumber) for value in values):
        return None
    if not all(isinstance(v, (SymbolicNumber, ConstantValue)) and is_number(v) for v in values):
        return None
    if op in ("/", "//", "%"):
        if not vm.truth(right):
            kinds = [number_kind(value) for value in values]
            _raise(vm, BINARY_OPS[op], [_example(kinds[0]), _zero(kinds[1])])
        return None
    counted = right.is_constant() and type(right.constant()) is int and right.constant() >= 0
    if op in ("&", "|", "^") or (op == "**" and not (counted and left.cls is int)):
        return arithmetic(vm, BINARY_OPS[op], values)
    return None


def computed(vm: ControlMachine, op: str, values: list[Value], kind: NumberKind) -> DataNumber:
    operands = tuple(operand(vm, value) for value in values)
    key = computation_key(op, operands)
    known = vm.computed.get(key)
    if known is not None:
        return known
    target = NumberVar(vm.writer.name("n"), kind)
    vm.writer.compute(Compute(target, op, operands))
    result = DataNumber(target)
    vm.journal.put(vm.computed, key, result)
    if kind is not _FLOAT:
        vm.definitions[target.name] = (op, operands)
    if kind is _INT:
        known_range = ranges.of_computation(op, [int_range(vm, value) for value in values])
        if known_range is not None:
            vm.ranges[target.name] = known_range
    return result


def int_range(vm: ControlMachine, value: Value) -> tuple[int, int] | None:
    """The least and the greatest int that a value can be, if that is known."""
    if isinstance(value, DataNumber):
        return (0, 1) if value.var.kind is _BOOL else vm.ranges.get(value.var.name)
    if not isinstance(value, ConstantValue) or type(value.value) not in (int, bool):
        return None
    return int(value.value), int(value.value)


def _result_kind(op: str, kinds: list[NumberKind]) -> NumberKind:
    """The kind of a result, where no operand raises. Of several it is the widest: no exponent of an
    int is negative here."""
    possible = result_kinds(op, kinds)
    if len(possible) == 1:
        return next(iter(possible))
    return _FLOAT if _FLOAT in kinds else _INT


# -- what raises ----------------------------------------------------------------------------------


def _require_valid(vm: ControlMachine, op: str, values: list[Value]) -> None:
    """Ask for the operands that make Python raise; where they do, raise."""
    kinds = [number_kind(value) for value in values]
    if not result_kinds(op, kinds):
        _raise(vm, op, [_example(kind) for kind in kinds])
    if op in ("truediv", "floordiv", "mod"):
        if _holds(vm, "eq", values[1], 0):
            _raise(vm, op, [_example(kinds[0]), _zero(kinds[1])])
    elif op in ("lshift", "rshift"):
        if _holds(vm, "lt", values[1], 0):
            _raise(vm, op, [1, -1])
    elif op in ("math.fmod", "math.remainder"):
        _require_remainder(vm, op, values)
    elif op in ("int", "round", "math.floor", "math.ceil", "math.trunc") and kinds[0] is _FLOAT:
        if _holds(vm, "ne", values[0], values[0]):
            _raise(vm, op, [math.nan])
        if _holds(vm, "math.isinf", values[0]):
            _raise(vm, op, [math.inf])
    elif op in _DOMAINS:
        for test, bound, example in _DOMAINS[op]:
            if _holds(vm, test, values[0], bound):
                _raise(vm, op, [example])
    elif op in _LARGEST:
        size = _computed(vm, "math.fabs", [values[0]]) if op in _SYMMETRIC else values[0]
        over = _both(vm, vm.compare(">", size, ConstantValue(_LARGEST[op])), _finite(vm, size))
        if vm.truth(over):
            _raise(vm, op, [2000.0])


#: Function -> operands that make it raise: comparison, bound, and one such operand.
_DOMAINS: Mapping[str, tuple[tuple[str, float, float], ...]] = {
    "math.sqrt": (("lt", 0, -1.0),),
    "math.isqrt": (("lt", 0, -1),),  # type: ignore[dict-item]
    "math.log": (("le", 0, 0.0),),
    "math.log2": (("le", 0, 0.0),),
    "math.log10": (("le", 0, 0.0),),
    "math.log1p": (("le", -1, -1.0),),
    "math.asin": (("gt", 1, 2.0), ("lt", -1, -2.0)),
    "math.acos": (("gt", 1, 2.0), ("lt", -1, -2.0)),
    "math.acosh": (("lt", 1, 0.0),),
    "math.atanh": (("ge", 1, 1.0), ("le", -1, -1.0)),
    "math.sin": (("eq", math.inf, math.inf), ("eq", -math.inf, math.inf)),
    "math.cos": (("eq", math.inf, math.inf), ("eq", -math.inf, math.inf)),
    "math.tan": (("eq", math.inf, math.inf), ("eq", -math.inf, math.inf)),
}
#: Function -> the largest finite operand whose result is finite.
_LARGEST: Mapping[str, float] = {
    "math.exp": 709.782712893384,
    "math.expm1": 709.782712893384,
    "math.exp2": 1023.9999999999999,
    "math.cosh": 710.4758600739439,
    "math.sinh": 710.4758600739439,
}
_SYMMETRIC = frozenset({"math.cosh", "math.sinh"})


def quotient_and_remainder(vm: ControlMachine, values: list[Value]) -> Value:
    """`divmod`, whose exception has a text of its own."""
    left, right = values
    if _holds(vm, "eq", right, 0):
        _raise(vm, "divmod", [_example(number_kind(left)), _zero(number_kind(right))])
    return vm.tuple([vm.binary("//", left, right), vm.binary("%", left, right)])


def _require_remainder(vm: ControlMachine, op: str, values: list[Value]) -> None:
    """`math.fmod` and its like have no result for an infinite number, or by zero."""
    x, y = values
    endless = _both(vm, _computed(vm, "math.isinf", [x]), vm.compare("==", y, y))
    by_zero = _both(vm, vm.compare("==", y, ConstantValue(0)), vm.compare("==", x, x))
    if vm.truth(vm.binary("|", endless, by_zero)):
        _raise(vm, op, [1.0, 0.0])


def _power(vm: ControlMachine, op: str, values: list[Value]) -> Value | None:
    """`base ** exponent`, or `math.pow` of them; None for an int to the power of an int that is not
    negative."""
    base, exponent = values
    kinds = [number_kind(value) for value in values]
    if op == "pow" and _FLOAT not in kinds and not _holds(vm, "lt", exponent, 0):
        return None
    base, exponent = (_computed(vm, "float", [value]) for value in values)
    result = _computed(vm, "power", [base, exponent])
    if _holds(vm, "math.isfinite", result):
        return result
    if not vm.truth(_both(vm, _finite(vm, base), _finite(vm, exponent))):
        return result
    is_number = vm.compare("==", result, result)
    if op == "math.pow":
        if not vm.truth(_both(vm, is_number, vm.compare("!=", base, ConstantValue(0)))):
            _raise(vm, op, [0.0, -1.0])
        _raise(vm, op, [10.0, 400.0])
    if vm.truth(vm.compare("==", base, ConstantValue(0))):
        _raise(vm, op, [_zero(kinds[0]), _example(kinds[1]) * -1])
    if not vm.truth(is_number):
        vm.not_supported("a negative number to a broken power is a complex number")
    _raise(vm, op, [10.0, 400.0])
    return None


def _computed(vm: ControlMachine, op: str, values: list[Value]) -> Value:
    """A function that never raises."""
    if all(value.is_constant() for value in values):
        return ConstantValue(host_function(op)(*[value.constant() for value in values]))
    return computed(vm, op, values, _result_kind(op, [number_kind(v) for v in values]))


def _finite(vm: ControlMachine, value: Value) -> Value:
    return _computed(vm, "math.isfinite", [value])


def _both(vm: ControlMachine, one: Value, other: Value) -> Value:
    return vm.binary("&", one, other)


def _holds(vm: ControlMachine, op: str, left: Value, right: Value | float | None = None) -> bool:
    values = [left]
    if right is not None:
        values.append(right if isinstance(right, Value) else ConstantValue(right))
    if all(value.is_constant() for value in values):
        return bool(host_function(op)(*[value.constant() for value in values]))
    return vm.truth(computed(vm, op, values, _BOOL))


def host_function(op: str) -> Callable[..., Any]:
    """What Python computes where all operands are known."""
    return divmod if op == "divmod" else FUNCTIONS[op]


def _raise(vm: ControlMachine, op: str, example: list[Any]) -> None:
    """Raise what Python raises for operands of this kind."""
    try:
        host_function(op)(*example)
    except Exception as error:
        raise vm.native_exception(error) from None
    raise AssertionError(f"{op}{tuple(example)} does not raise")


def _example(kind: NumberKind) -> Any:
    return {_INT: 1, _FLOAT: 1.0, _BOOL: True}[kind]


def _zero(kind: NumberKind) -> Any:
    return {_INT: 0, _FLOAT: 0.0, _BOOL: False}[kind]


# -- conditions on sizes as items -----------------------------------------------------------------

_FOLDED: Mapping[type, str] = {
    sympy.Add: "add", sympy.Mul: "mul", symbolic.FloorDiv: "floordiv",
    symbolic.CleanDiv: "floordiv", symbolic.PythonMod: "mod", symbolic.Mod: "mod",
    symbolic.Max: "max", symbolic.Min: "min", symbolic.IntTrueDiv: "truediv",
    symbolic.FloatTrueDiv: "truediv", symbolic.PowByNatural: "pow", sympy.Pow: "pow",
    sympy.Abs: "abs", sympy.Eq: "eq", sympy.Ne: "ne", sympy.Lt: "lt", sympy.Le: "le",
    sympy.Gt: "gt", sympy.Ge: "ge", sympy.And: "and", sympy.Or: "or", sympy.Not: "not",
    symbolic.ToFloat: "float", symbolic.TruncToInt: "int", symbolic.FloorToInt: "math.floor",
    symbolic.CeilToInt: "math.ceil",
}  # fmt: skip


def size_operand(vm: ControlMachine, expression: Any) -> Operand:
    """An expression on sizes, computed by items."""
    if expression.is_Symbol:
        known = vm.symbol_variables.get(expression)
        return known if known is not None else NumberVar(str(expression), _INT)
    if expression in (sympy.true, sympy.false):
        return bool(expression)
    if expression.is_number:
        return int(expression) if expression.is_integer else float(expression)
    op = _FOLDED.get(type(expression))
    if op is None:
        raise GraphBreak("PTC-B006", f"the expression {expression} on sizes cannot be computed")
    operands = [size_operand(vm, arg) for arg in expression.args]
    result = operands[0]
    if len(operands) == 1:
        return _folded(vm, op, (result,))
    for other in operands[1:]:
        result = _folded(vm, op, (result, other))
    return result


def _folded(vm: ControlMachine, op: str, operands: tuple[Operand, ...]) -> NumberVar:
    key = computation_key(op, operands)
    known = vm.computed.get(key)
    if known is not None:
        return known.var
    kinds = [o.kind if isinstance(o, NumberVar) else KINDS[type(o)] for o in operands]
    target = NumberVar(vm.writer.name("n"), _result_kind(op, kinds))
    vm.writer.compute(Compute(target, op, operands))
    vm.journal.put(vm.computed, key, DataNumber(target))
    return target


_BY_VALUE = frozenset(
    name
    for base in (
        "add", "sub", "rsub", "subtract", "mul", "multiply", "div", "divide", "true_divide",
        "floor_divide", "remainder", "fmod", "pow", "eq", "ne", "lt", "le", "gt", "ge", "greater",
        "less", "equal", "not_equal", "where", "clamp", "clip", "clamp_min", "clamp_max",
        "maximum", "minimum", "fill", "full_like", "masked_fill", "bitwise_and", "bitwise_or",
        "bitwise_xor", "lerp", "xor", "and", "or", "lshift", "rshift", "__add__", "floordiv",
        "truediv", "mod", "matmul",
    )
    for name in (base, f"{base}_")
)  # fmt: skip


def taken_by_value(name: str) -> bool:
    """Whether a torch function computes with its int arguments, rather than takes them for sizes,
    positions or dimensions."""
    return name.rpartition(".")[2].strip("_") in _BY_VALUE or name.rpartition(".")[2] in _BY_VALUE


def graph_number(vm: ControlMachine, number: DataNumber, by_value: bool) -> Any:
    """What stands for a number in tensor calls: a SymFloat or SymInt. A bool, or the sign of an int
    that is a size or a position, is asked for."""
    if number.var.kind is _BOOL:
        return vm.truth(number)
    if number.var.kind is _FLOAT or by_value:
        return vm.value_symbol(number.var)
    known = in_symbols(vm, number.var)
    if known is not None:
        vm.decide(known >= 0)
        return known
    if _holds(vm, "lt", number, 0):
        positive = computed(vm, "neg", [number], _INT)
        made = -vm.size_symbol(positive.var, 1)
    else:
        made = vm.size_symbol(number.var, 0)
    vm.journal.put(vm.symbols, (number.var.name, "sign"), made)
    return made


def in_symbols(vm: ControlMachine, var: NumberVar) -> Any:
    """An int in the symbols of sizes that it was computed from: `arange(p, p + 1)` has one
    element. None where there are none."""
    known = vm.symbols.get((var.name, "sign"))
    if known is not None:
        return known
    known = vm.fakes.symbols.get(var.name)
    if known is not None:
        return known
    op, operands = vm.definitions.get(var.name, ("", ()))
    if op not in _LINEAR:
        return None
    parts = [in_symbols(vm, part) if isinstance(part, NumberVar) else part for part in operands]
    if any(part is None for part in parts):
        return None
    return host_function(op)(*parts)


def summands(vm: ControlMachine, var: NumberVar) -> frozenset[str]:
    """The variables that an int is a sum or difference of."""
    op, operands = vm.definitions.get(var.name, ("", ()))
    if op not in _LINEAR:
        return frozenset({var.name})
    parts = [part for part in operands if isinstance(part, NumberVar)]
    return frozenset().union(*(summands(vm, part) for part in parts))


_LINEAR = frozenset({"add", "sub", "neg"})


SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
