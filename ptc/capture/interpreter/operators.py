"""Operators, indexing, iteration, truth and comparison, with Python's dispatch rules."""

from __future__ import annotations

import enum
import math
import operator
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ptc.capture.errors import GraphBreak, NotConstant
from ptc.capture.interpreter.calls import evaluate, find_handler
from ptc.capture.interpreter.lookup import python_special, static_lookup
from ptc.capture.sources import is_guarded
from ptc.capture.values.base import Value
from ptc.capture.values.callables import BuiltinValue, ClassValue
from ptc.capture.values.constants import ConstantValue, SliceValue
from ptc.capture.values.containers import SequenceValue
from ptc.capture.values.iterators import SentinelIterator, SnapshotIterator
from ptc.capture.values.mappings import DictValue, DictViewValue, SetValue
from ptc.capture.values.objects import Instance, OpaqueValue

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine

# operator text -> (special method, host function)
BINARY: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "+": ("add", operator.add), "-": ("sub", operator.sub), "*": ("mul", operator.mul),
    "/": ("truediv", operator.truediv), "//": ("floordiv", operator.floordiv),
    "%": ("mod", operator.mod), "**": ("pow", operator.pow), "@": ("matmul", operator.matmul),
    "&": ("and", operator.and_), "|": ("or", operator.or_), "^": ("xor", operator.xor),
    "<<": ("lshift", operator.lshift), ">>": ("rshift", operator.rshift),
}  # fmt: skip
INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv,
    "//": operator.ifloordiv, "%": operator.imod, "**": operator.ipow, "@": operator.imatmul,
    "&": operator.iand, "|": operator.ior, "^": operator.ixor, "<<": operator.ilshift,
    ">>": operator.irshift,
}  # fmt: skip
UNARY: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "-": ("__neg__", operator.neg),
    "+": ("__pos__", operator.pos),
    "~": ("__invert__", operator.invert),
}
COMPARE: dict[str, tuple[str, str, Callable[[Any, Any], Any]]] = {
    "<": ("__lt__", "__gt__", operator.lt), "<=": ("__le__", "__ge__", operator.le),
    "==": ("__eq__", "__eq__", operator.eq), "!=": ("__ne__", "__ne__", operator.ne),
    ">": ("__gt__", "__lt__", operator.gt), ">=": ("__ge__", "__le__", operator.ge),
}  # fmt: skip


# -- arithmetic ---------------------------------------------------------------------------------


def binary(vm: Machine, op: str, left: Value, right: Value) -> Value:
    """`left op right`"""
    if (
        isinstance(left, ConstantValue)
        and isinstance(right, ConstantValue)
        and not _overrides_arithmetic(left, right)
    ):
        return evaluate(vm, BINARY[op][1], left.value, right.value)
    result = binary_or_none(vm, op, left, right)
    if result is None:
        symbol = "** or pow()" if op == "**" else op
        if _is_supported(op, left.cls, right.cls):
            raise GraphBreak(
                "PTC-B002", f"the value of {left.describe()} {op} {right.describe()} is not known"
            )
        raise vm.type_error(
            f"unsupported operand type(s) for {symbol}: "
            f"'{left.cls.__name__}' and '{right.cls.__name__}'"
        )
    return result


_EXAMPLES: dict[type, Any] = {
    int: 1, bool: True, float: 1.0, complex: 1j, str: "", bytes: b"", tuple: (), list: [],
}  # fmt: skip


def _is_supported(op: str, left: type, right: type) -> bool:
    """Whether Python knows the operation for values of these classes."""
    if left not in _EXAMPLES or right not in _EXAMPLES:
        return False
    try:
        BINARY[op][1](_EXAMPLES[left], _EXAMPLES[right])
    except TypeError:
        return op == "%" and left in (str, bytes)
    return True


def _overrides_arithmetic(left: ConstantValue, right: ConstantValue) -> bool:
    """Enum members may have operators written in Python, which are traced like any other."""
    return isinstance(left.value, enum.Enum) or isinstance(right.value, enum.Enum)


def binary_or_none(vm: Machine, op: str, left: Value, right: Value) -> Value | None:
    name = BINARY[op][0]
    result = left.binary(vm, op, right, False)
    if result is None:
        result = right.binary(vm, op, left, True)
    if result is not None:
        return result
    forward, backward = f"__{name}__", f"__r{name}__"
    if (
        left.cls is not right.cls
        and issubclass(right.cls, left.cls)
        and static_lookup(right.cls, backward) != static_lookup(left.cls, backward)
    ):
        result = _try_special(vm, right, backward, left)
        if result is not None:
            return result
        return _try_special(vm, left, forward, right)
    result = _try_special(vm, left, forward, right)
    if result is None and left.cls is not right.cls:
        result = _try_special(vm, right, backward, left)
    if result is None and op in "+*":
        result = _sequence_operator(vm, op, left, right)
    return result


def _sequence_operator(vm: Machine, op: str, left: Value, right: Value) -> Value | None:
    """CPython tries the sequence slots (`sq_concat`, `sq_repeat`) after the number slots."""
    if op == "*" and isinstance(right, SequenceValue) and vm.has_index(left):
        return _try_special(vm, right, "__mul__", left)
    return None


def _try_special(vm: Machine, obj: Value, name: str, *args: Value) -> Value | None:
    """Call a special method; None if there is none or it returns NotImplemented."""
    method = vm.python_method(obj, name)
    if method is None:
        found = static_lookup(obj.cls, name)
        if found is None or found[0] is None:
            return None
        if isinstance(found[0], types.FunctionType):
            return None
        if find_handler(found[0]) is None:
            if obj.is_constant() and all(arg.is_constant() for arg in args):
                constants = [arg.constant() for arg in args]
                result = evaluate(vm, found[0], obj.constant(), *constants)
                return None if _is_not_implemented(result) else result
            if isinstance(obj, OpaqueValue):
                raise obj.refusal(f"{name} of")
            return None
        method = BuiltinValue(found[0])
    result = vm.call(method, [obj, *args])
    return None if _is_not_implemented(result) else result


def _is_not_implemented(value: Value) -> bool:
    return isinstance(value, ConstantValue) and value.value is NotImplemented


def inplace(vm: Machine, op: str, left: Value, right: Value) -> Value:
    """`left op= right`: the new value of the target."""
    if isinstance(left, ConstantValue) and isinstance(right, ConstantValue):
        return binary(vm, op, left, right)
    result = left.inplace(vm, op, right)
    if result is None:
        result = _try_special(vm, left, f"__i{BINARY[op][0]}__", right)
    if result is not None:
        return result
    result = binary_or_none(vm, op, left, right)
    if result is None:
        raise vm.type_error(
            f"unsupported operand type(s) for {op}=: "
            f"'{left.cls.__name__}' and '{right.cls.__name__}'"
        )
    return result


def unary(vm: Machine, op: str, value: Value) -> Value:
    name, host = UNARY[op]
    if isinstance(value, ConstantValue):
        return evaluate(vm, host, value.value)
    result = value.unary(vm, op)
    if result is None:
        result = _try_special(vm, value, name)
    if result is None:
        raise vm.type_error(f"bad operand type for unary {op}: '{value.cls.__name__}'")
    return result


# -- comparison ---------------------------------------------------------------------------------


def compare(vm: Machine, op: str, left: Value, right: Value) -> Value:
    """`left op right` for rich comparisons."""
    forward, backward, host = COMPARE[op]
    if isinstance(left, ConstantValue) and isinstance(right, ConstantValue):
        return evaluate(vm, host, left.value, right.value)
    result = left.compare(vm, op, right, False)
    if result is None:
        result = right.compare(vm, op, left, True)
    if result is not None:
        return result
    derived = left.cls is not right.cls and issubclass(right.cls, left.cls)
    if derived:
        result = _try_special(vm, right, backward, left)
    if result is None:
        result = _try_compare(vm, left, forward, right)
    if result is None and not derived:
        result = _try_compare(vm, right, backward, left)
    if result is not None:
        return result
    if op in ("==", "!="):
        return ConstantValue(vm.is_same(left, right) == (op == "=="))
    raise vm.type_error(
        f"'{op}' not supported between instances of "
        f"'{left.cls.__name__}' and '{right.cls.__name__}'"
    )


def _try_compare(vm: Machine, obj: Value, name: str, other: Value) -> Value | None:
    if vm.python_method(obj, name) is None:
        native = native_compare(vm, obj, name, other)
        if native is not None:
            return native
        if name == "__ne__":
            # object.__ne__ inverts __eq__
            equal = _try_special(vm, obj, "__eq__", other)
            return None if equal is None else ConstantValue(not vm.truth(equal))
        found = static_lookup(obj.cls, name)
        if found is not None and found[1] is object:
            return None
    return _try_special(vm, obj, name, other)


def native_compare(vm: Machine, obj: Value, name: str, other: Value) -> Value | None:
    """Comparisons that lists, tuples, dicts and sets implement in C."""
    if isinstance(obj, SequenceValue) and isinstance(other, SequenceValue):
        return _compare_sequences(vm, obj, name, other)
    if isinstance(obj, DictValue) and isinstance(other, DictValue):
        if name not in ("__eq__", "__ne__"):
            return None
        return ConstantValue(_equal_dicts(vm, obj, other) == (name == "__eq__"))
    left, right = set_elements(vm, obj), set_elements(vm, other)
    if left is not None and right is not None:
        return ConstantValue(compare_sets(vm, name, left, right))
    return None


def key_of(vm: Machine, elements: dict[Any, Any], value: Value) -> list[Any]:
    """The key, among elements or entries that are all there, of the one equal to `value`: alone in
    a list, which is empty if there is none."""
    hashed = vm.key_in(elements, value)
    return [hashed] if hashed in elements else []


def compare_sets(vm: Machine, name: str, left: dict[Any, Value], right: dict[Any, Value]) -> bool:
    """`name` (`__le__`) of two sets of elements, as `set_elements` gives them."""
    if name in ("__eq__", "__ne__"):
        equal = len(left) == len(right) and all(key_of(vm, right, v) for v in left.values())
        return equal == (name == "__eq__")
    host = getattr(operator, name.strip("_"))
    if not host(len(left), len(right)):
        return False
    few, many = (left, right) if name in ("__le__", "__lt__") else (right, left)
    return all(key_of(vm, many, value) for value in few.values())


def set_elements(vm: Machine, value: Value) -> dict[Any, Value] | None:
    """Elements by hash key, for sets, frozensets and key views; None for anything else."""
    if isinstance(value, SetValue):
        vm.settle_presence(value.elements)
        return value.elements
    if isinstance(value, DictViewValue) and not isinstance(value.mapping, DictValue):
        known = getattr(value.mapping, "known", None)
        if known is None:
            return None  # data decides how many entries there are
        value = DictViewValue(known(vm), value.kind)
    if isinstance(value, DictViewValue) and value.kind == "keys":
        return distinct(vm, value.mapping.keys(vm))
    if isinstance(value, DictViewValue) and value.kind == "items":
        pairs = [vm.tuple([k, v]) for k, v in vm.dict_items(value.mapping)]
        return distinct(vm, pairs)
    if isinstance(value, ConstantValue) and isinstance(value.value, (frozenset, set)):
        return {element: ConstantValue(element) for element in value.value}
    return None


def distinct(vm: Machine, values: Iterable[Value]) -> dict[Any, Value]:
    """The elements of a set of values: of equal ones the first."""
    elements: dict[Any, Value] = {}
    for value in values:
        elements.setdefault(vm.key_in(elements, value), value)
    return elements


_SEQUENCE_KINDS = (list, tuple)


def _compare_sequences(
    vm: Machine, left: SequenceValue, name: str, right: SequenceValue
) -> Value | None:
    if type(left) is not type(right):
        return None
    for mine, theirs in zip(left.items, right.items, strict=False):
        if vm.is_same(mine, theirs):
            continue
        if not vm.truth(compare(vm, "==", mine, theirs)):
            if name in ("__eq__", "__ne__"):
                return ConstantValue(name == "__ne__")
            symbol = next(s for s, row in COMPARE.items() if row[0] == name)
            return compare(vm, symbol, mine, theirs)
    host = getattr(operator, name.strip("_"))
    return ConstantValue(host(len(left.items), len(right.items)))


def _equal_dicts(vm: Machine, left: DictValue, right: DictValue) -> bool:
    for mapping in (left, right):
        mapping.load_all(vm)
        vm.settle_presence(mapping.entries)
    if len(left.entries) != len(right.entries):
        return False
    for key, value in list(left.entries.values()):
        found = key_of(vm, right.entries, key)
        if not found:
            return False
        other = right.entries[found[0]]
        if not vm.is_same(value, other[1]) and not vm.truth(compare(vm, "==", value, other[1])):
            return False
    return True


def is_same(vm: Machine, left: Value, right: Value) -> bool:
    """`left is right`"""
    if left is right:
        return True
    if isinstance(left, ConstantValue) and isinstance(right, ConstantValue):
        return left.value is right.value or (
            type(left.value) is type(right.value)
            and isinstance(left.value, (int, str, bytes))
            and left.value == right.value
            and _is_interned(left.value)
        )
    if isinstance(left, BuiltinValue) and isinstance(right, BuiltinValue):
        return left.function is right.function
    if isinstance(left, ClassValue) and isinstance(right, ClassValue):
        return left.klass_object is right.klass_object
    same = left.is_object(vm, right)
    if same is not None:
        return same
    _guard_distinct(vm, left, right)
    return False


def _guard_distinct(vm: Machine, left: Value, right: Value) -> None:
    """Two objects of one class that a call brings along may be one object at another call."""
    if left.source is None or right.source is None or left.cls is not right.cls:
        return
    if is_guarded(left.source) and is_guarded(right.source):
        vm.guard("DISTINCT", None, (left.source, right.source))


def _is_interned(value: int | str | bytes) -> bool:
    """CPython keeps one object each for small ints and one-character strings."""
    if isinstance(value, int):
        return -5 <= value <= 256
    return len(value) <= 1


def same_constant(vm: Machine, left: Value, right: Value) -> bool:
    return _same_objects(left.constant(), right.constant())


def _same_objects(mine: Any, theirs: Any) -> bool:
    """Equal, of one type, with zeros of one sign, all the way down in tuples."""
    if type(mine) is not type(theirs) or mine != theirs:
        return False
    if type(mine) is float:
        return math.copysign(1.0, mine) == math.copysign(1.0, theirs)
    if type(mine) is tuple:
        return all(map(_same_objects, mine, theirs))
    return True


# -- truth, length, containment
# ---------------------------------------------------------------------


def truth(vm: Machine, value: Value) -> bool:
    """`bool(value)`, as a host bool: kinds whose truth is not known raise DataDependentBranch."""
    if isinstance(value, ConstantValue):
        return bool(value.value)
    method = vm.python_method(value, "__bool__")
    if method is not None:
        result = vm.call(method, [value])
        if result.cls is not bool:
            kind = result.cls.__name__
            raise vm.type_error(f"__bool__ should return bool, returned {kind}")
        return vm.truth(result)
    if not isinstance(value, ClassValue) and static_lookup(value.cls, "__bool__") is None:
        method = vm.python_method(value, "__len__")
        if method is not None:
            return vm.truth(vm.call(method, [value]))
    return value.truth(vm)


def length(vm: Machine, value: Value) -> Value:
    """`len(value)`"""
    method = vm.python_method(value, "__len__")
    if method is not None:
        return vm.call(method, [value])
    return value.length(vm)


def contains(vm: Machine, container: Value, item: Value) -> bool:
    """`item in container`"""
    method = vm.python_method(container, "__contains__")
    if method is not None:
        return vm.truth(vm.call(method, [container, item]))
    if isinstance(container, ClassValue):
        meta = python_special(type(container.klass_object), "__contains__")
        if meta is not None and item.is_constant():
            return bool(item.constant() in container.klass_object)  # type: ignore[operator]
    if vm.python_method(container, "__iter__") is not None:
        return vm.truth(contains_by_iteration(vm, container, item))
    return vm.truth(container.contains(vm, item))


def contains_by_iteration(vm: Machine, container: Value, item: Value) -> Value:
    iterator = vm.iterate(container)
    while (element := vm.next(iterator)) is not None:
        if vm.is_same(element, item) or vm.truth(compare(vm, "==", element, item)):
            return ConstantValue(True)
    return ConstantValue(False)


# -- indexing -----------------------------------------------------------------------------------


def getitem(vm: Machine, obj: Value, key: Value) -> Value:
    """`obj[key]`"""
    method = vm.python_method(obj, "__getitem__")
    if method is not None and not getattr(obj, "native_items", False):
        return vm.call(method, [obj, key])
    if isinstance(obj, ClassValue):
        return vm.class_getitem(obj, key)
    return obj.getitem(vm, key)


def setitem(vm: Machine, obj: Value, key: Value, value: Value) -> None:
    method = vm.python_method(obj, "__setitem__")
    if method is not None:
        vm.call(method, [obj, key, value])
    else:
        obj.setitem(vm, key, value)


def delitem(vm: Machine, obj: Value, key: Value) -> None:
    method = vm.python_method(obj, "__delitem__")
    if method is not None:
        vm.call(method, [obj, key])
    else:
        obj.delitem(vm, key)


def has_index(vm: Machine, key: Value) -> bool:
    """Whether `key` may be an index: an int, a bool, a symbolic int, or has `__index__`."""
    return issubclass(key.cls, int) or static_lookup(key.cls, "__index__") is not None


def as_index(vm: Machine, key: Value) -> Any:
    """A host int or slice for indexing; symbolic ints are pinned by a guard."""
    if isinstance(key, SliceValue):
        return slice(*(None if p.cls is type(None) else as_index(vm, p) for p in key.parts))
    try:
        return key.constant()
    except NotConstant:
        pass
    method = vm.python_method(key, "__index__")
    if method is not None:
        return as_index(vm, vm.call(method, [key]))
    pinned = vm.pin(key)
    if pinned is None:
        raise GraphBreak(
            "PTC-B002",
            f"{key.describe()} is used as an index of a Python sequence",
            "make the sequence a tensor (`torch.stack`) and index that",
        )
    return pinned


# -- iteration ----------------------------------------------------------------------------------


def iterate(vm: Machine, obj: Value) -> Value:
    """`iter(obj)`"""
    method = vm.python_method(obj, "__iter__")
    if method is not None and not getattr(obj, "native_items", False):
        iterator = vm.call(method, [obj])
        if not hasattr(iterator.cls, "__next__"):
            kind = iterator.cls.__name__
            raise vm.type_error(f"iter() returned non-iterator of type '{kind}'")
        return iterator
    if isinstance(obj, ClassValue):
        members = getattr(obj.klass_object, "__members__", None)
        if members is not None:
            unique = list(obj.klass_object)  # type: ignore[call-overload]
            return SnapshotIterator(obj, [ConstantValue(member) for member in unique])
    if (
        isinstance(obj, Instance)
        and not hasattr(obj.cls, "__iter__")
        and python_special(obj.cls, "__getitem__") is not None
    ):
        return SentinelIterator(obj, None)
    return obj.iterate(vm)


def next_(vm: Machine, iterator: Value) -> Value | None:
    """`next(iterator)`, None when exhausted."""
    method = vm.python_method(iterator, "__next__")
    if method is not None:
        return vm.call_until_stop(method, [iterator])
    return iterator.next(vm)


def unpack(vm: Machine, obj: Value) -> list[Value]:
    """All elements of an iterable."""
    if isinstance(obj, SequenceValue) and vm.python_method(obj, "__iter__") is None:
        return list(obj.items)
    iterator = vm.iterate(obj)
    values: list[Value] = []
    while (value := vm.next(iterator)) is not None:
        values.append(value)
    return values


def iterate_snapshot(vm: Machine, owner: Value, elements: list[Value]) -> Value:
    return SnapshotIterator(owner, elements)


def logical_not(vm: Machine, value: Value) -> Value:
    """`not value`"""
    result = value.unary(vm, "not")
    return ConstantValue(not vm.truth(value)) if result is None else result


def mapping_items(vm: Machine, mapping: Value) -> list[tuple[Value, Value]]:
    """The pairs of anything with `keys()` and `__getitem__`."""
    if isinstance(mapping, DictValue) and vm.python_method(mapping, "keys") is None:
        return vm.dict_items(mapping)
    keys = vm.unpack(vm.call(vm.getattr(mapping, "keys"), []))
    return [(key, vm.getitem(mapping, key)) for key in keys]
