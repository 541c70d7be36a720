"""From real objects to symbolic values, with the guards that make what was seen hold later.

Wrappers register for an exact type, or for a base class. An object is wrapped once a capture, so
that identity holds; reaching it by a second path guards that both paths lead to the same object.
"""

from __future__ import annotations

import collections
import functools
import sys
import types
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ptc.capture.errors import NotConstant
from ptc.capture.interpreter.lookup import python_special
from ptc.capture.sources import (
    AttributeSource,
    CallSource,
    FixedSource,
    ItemSource,
    Source,
    fixed,
    is_guarded,
    item,
    per_call,
)
from ptc.capture.values.base import Value
from ptc.capture.values.callables import (
    BoundMethodValue,
    BuiltinValue,
    CellValue,
    ClassValue,
    FunctionValue,
    PartialValue,
)
from ptc.capture.values.constants import ConstantIterator, ConstantValue, SliceValue, is_immutable
from ptc.capture.values.containers import DequeValue, ListValue, SequenceIterator, TupleValue
from ptc.capture.values.exceptions import ExceptionValue
from ptc.capture.values.iterators import EnumerateValue, ZipValue
from ptc.capture.values.mappings import DictValue, SetValue
from ptc.capture.values.namespaces import PythonModuleValue
from ptc.capture.values.objects import ObjectValue, OpaqueValue, WeakReferenceValue, real_dict
from ptc.capture.values.set_history import of_real

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine

Wrapper = Callable[..., Value]
_BY_TYPE: dict[type, Wrapper] = {}
_BY_BASE: list[tuple[type, Wrapper]] = []
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def wraps(*types_: type) -> Callable[[Wrapper], Wrapper]:
    """Register the wrapper of objects of exactly these types."""

    def register(wrapper: Wrapper) -> Wrapper:
        for cls in types_:
            assert cls not in _BY_TYPE, cls
            _BY_TYPE[cls] = wrapper
        return wrapper

    return register


def wraps_subclasses(base: type) -> Callable[[Wrapper], Wrapper]:
    """Register the wrapper of instances of `base` and its subclasses; later ones are tried
    first."""

    def register(wrapper: Wrapper) -> Wrapper:
        _BY_BASE.insert(0, (base, wrapper))
        return wrapper

    return register


# -- entry points -------------------------------------------------------------------------------


def wrap(vm: Machine, obj: Any, source: Source) -> Value:
    """The value of an object that exists outside, found at `source`."""
    if is_immutable(obj):
        number = vm.symbolic_number(obj, source) if type(obj) is int else None
        if number is not None:
            return number
        vm.guard("EQUALS", source, obj)
        return ConstantValue(obj)
    known = vm.wrapped.get(id(obj))
    if known is not None:
        _guard_same(vm, source, known)
        return known
    wrapper = _BY_TYPE.get(type(obj))
    if wrapper is None:
        wrapper = next((w for base, w in _BY_BASE if isinstance(obj, base)), wrap_instance)
    value = wrapper(vm, obj, source)
    vm.journal.put(vm.wrapped, id(obj), value)
    vm.journal.put(vm.kept_alive, id(obj), obj)
    return value


def wrap_fixed(vm: Machine, obj: Any) -> Value:
    """The value of an object that capture takes as it is: a trusted library's, or a class."""
    if is_immutable(obj):
        return ConstantValue(obj)
    hint = getattr(obj, "__name__", None)
    hint = hint if isinstance(hint, str) else type(obj).__name__
    return wrap(vm, obj, fixed(obj, hint, guarded=False))


def wrap_at(vm: Machine, obj: Any, owner: Source, template: str) -> Value:
    return wrap(vm, obj, CallSource(owner, template))


def wrap_new(vm: Machine, obj: Any) -> Value:
    """The value of a fresh object that a library call returned: it belongs to the program."""
    if is_immutable(obj):
        return ConstantValue(obj)
    cls = type(obj)
    if cls is list:
        return ListValue([wrap_new(vm, element) for element in obj])
    if isinstance(obj, tuple):
        return TupleValue([wrap_new(vm, element) for element in obj], cls)
    if cls in (dict, collections.OrderedDict):
        result = DictValue(klass=cls)
        for key, element in obj.items():
            wrapped = wrap_new(vm, key)
            result.entries[vm.hash_key(wrapped)] = (wrapped, wrap_new(vm, element))
        return result
    if cls in (set, frozenset):
        values = [wrap_new(vm, element) for element in obj]
        found = {vm.hash_key(value): value for value in values}
        return SetValue(found, cls, history=of_real(obj))
    if cls is slice:
        start, stop, step = (wrap_new(vm, part) for part in (obj.start, obj.stop, obj.step))
        return SliceValue(start, stop, step)
    return wrap_fixed(vm, obj)


def _guard_same(vm: Machine, source: Source, known: Value) -> None:
    if known.source == source or known.source is None:
        return
    vm.found_again(known, source)
    if is_guarded(source):
        vm.guard("SAME", source, known.source)
    elif is_guarded(known.source):
        vm.guard("SAME", known.source, source)


def _guard_type(vm: Machine, obj: Any, source: Source) -> None:
    vm.guard("TYPE", source, fixed(type(obj), type(obj).__name__))


def _guard_identity(vm: Machine, obj: Any, source: Source) -> None:
    hint = getattr(obj, "__name__", None)
    vm.guard("IS", source, fixed(obj, hint if isinstance(hint, str) else type(obj).__name__))


# -- containers ---------------------------------------------------------------------------------


def _guard_length(vm: Machine, obj: Any, source: Source, base: str) -> None:
    if python_special(type(obj), "__len__") is None:
        vm.guard("LENGTH", source, len(obj))
    else:
        vm.guard(
            "EQUALS",
            CallSource(source, base + ".__len__({})"),
            list.__len__(obj) if base == "list" else tuple.__len__(obj),
        )


def _element_source(obj: Any, source: Source, base: str, index: int) -> Source:
    """Element `index` itself, whatever the class's own `__getitem__` gives."""
    if python_special(type(obj), "__getitem__") is None:
        return item(source, index)
    return CallSource(source, f"{base}.__getitem__({{}}, {index})")


@wraps_subclasses(list)
def _list(vm: Machine, obj: Any, source: Source) -> Value:
    _guard_type(vm, obj, source)
    _guard_length(vm, obj, source, "list")
    value = ListValue([], type(obj), source)
    value.obj = obj
    # Known before its elements: lists may hold themselves
    vm.journal.put(vm.wrapped, id(obj), value)
    value.items.extend(
        wrap(vm, element, _element_source(obj, source, "list", i))
        for i, element in enumerate(list.__iter__(obj))
    )
    return value


@wraps_subclasses(tuple)
def _tuple(vm: Machine, obj: Any, source: Source) -> Value:
    _guard_type(vm, obj, source)
    _guard_length(vm, obj, source, "tuple")
    items = [
        wrap(vm, element, _element_source(obj, source, "tuple", i))
        for i, element in enumerate(tuple.__iter__(obj))
    ]
    value = TupleValue(items, type(obj), source)
    value.obj = obj
    return value


@wraps(collections.deque)
def _deque(vm: Machine, obj: Any, source: Source) -> Value:
    _guard_type(vm, obj, source)
    vm.guard("LENGTH", source, len(obj))
    items = [wrap(vm, element, item(source, i)) for i, element in enumerate(obj)]
    value = DequeValue(items, type(obj), source, obj.maxlen)
    value.obj = obj
    vm.guard("EQUALS", AttributeSource(source, "maxlen"), obj.maxlen)
    return value


@wraps_subclasses(dict)
def _dict(vm: Machine, obj: Any, source: Source) -> Value:
    _guard_type(vm, obj, source)
    trusted = not is_guarded(item(source, ""))
    value = DictValue(None, type(obj), source, obj, trusted)
    if isinstance(obj, collections.defaultdict):
        value.factory = wrap(vm, obj.default_factory, AttributeSource(source, "default_factory"))
    return value


@wraps(types.MappingProxyType)
def _mapping_proxy(vm: Machine, obj: Any, source: Source) -> Value:
    """A library's own table reads like a dict; the namespace of a user's class is not modelled."""
    if is_guarded(source):
        return OpaqueValue(type(obj), source, obj)
    return wrap_fixed(vm, dict(obj))


@wraps(set, frozenset)
def _set(vm: Machine, obj: Any, source: Source) -> Value:
    _guard_type(vm, obj, source)
    if all(is_immutable(element) for element in obj):
        vm.guard("ELEMENTS", source, fixed(set(obj), "elements"))
        elements: dict[Any, Value] = {e: ConstantValue(e) for e in obj}
        value = SetValue(elements, type(obj), source, of_real(obj))
    else:
        _guard_identity(vm, obj, source)
        vm.guard("LENGTH", source, len(obj))
        vm.guard("ELEMENTS", source, fixed(set(obj), "elements"))
        wrapped = [wrap_fixed(vm, element) for element in obj]
        value = SetValue({vm.hash_key(v): v for v in wrapped}, type(obj), source, of_real(obj))
    value.obj = obj
    return value


@wraps(slice)
def _slice(vm: Machine, obj: Any, source: Source) -> Value:
    _guard_type(vm, obj, source)
    parts = [
        wrap(vm, getattr(obj, n), AttributeSource(source, n)) for n in ("start", "stop", "step")
    ]
    return SliceValue(*parts, source=source)


# -- code ---------------------------------------------------------------------------------------


@wraps(types.FunctionType)
def _function(vm: Machine, obj: Any, source: Source) -> Value:
    if per_call(source):
        vm.guard("IS", AttributeSource(source, "__code__"), fixed(obj.__code__, obj.__name__))
    else:
        _guard_identity(vm, obj, source)
    value = FunctionValue(obj.__code__, vm.globals_of(obj.__globals__))
    value.source = source
    value.obj = obj
    value.name, value.qualname = obj.__name__, obj.__qualname__
    value.trusted = value.globals.trusted and not per_call(source)
    value.default_values = None
    value.kwdefault_values = None
    value.closure = tuple(
        _closure_cell(
            vm, cell, None if value.trusted else CallSource(source, f"{{}}.__closure__[{i}]")
        )
        for i, cell in enumerate(obj.__closure__ or ())
    )
    return value


def _closure_cell(vm: Machine, cell: types.CellType, source: Source | None) -> CellValue:
    known = vm.wrapped.get(id(cell))
    if known is None:
        known = CellValue(source=source or fixed(cell, "cell", guarded=False), cell=cell)
        vm.journal.put(vm.wrapped, id(cell), known)
        vm.journal.put(vm.kept_alive, id(cell), cell)
    assert isinstance(known, CellValue)
    return known


@wraps(types.CellType)
def _cell(vm: Machine, obj: Any, source: Source) -> Value:
    return CellValue(source=source, cell=obj)


@wraps(types.MethodType)
def _method(vm: Machine, obj: Any, source: Source) -> Value:
    _guard_type(vm, obj, source)
    owner = wrap(vm, obj.__self__, AttributeSource(source, "__self__"))
    func = wrap(vm, obj.__func__, AttributeSource(source, "__func__"))
    return BoundMethodValue(func, owner, source)


@wraps(
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
    type(functools.lru_cache(lambda: None)),
)
def _builtin(vm: Machine, obj: Any, source: Source) -> Value:
    owner = getattr(obj, "__self__", None)
    # Functions of pybind11 are bound to a record of themselves, no object of the program's.
    is_plain = owner is None or not hasattr(type(owner), getattr(obj, "__name__", ""))
    if is_plain or isinstance(owner, types.ModuleType):
        _guard_identity(vm, obj, source)
        return BuiltinValue(obj, source)
    if isinstance(owner, type):
        _guard_identity_of_builtin_method(vm, obj, source)
        return BuiltinValue(obj, source)
    _guard_type(vm, obj, source)
    name = obj.__name__
    vm.guard("EQUALS", AttributeSource(source, "__name__"), name)
    bound = vm.getattr(wrap(vm, owner, AttributeSource(source, "__self__")), name)
    if isinstance(bound, BoundMethodValue):
        return BoundMethodValue(bound.func, bound.owner, source)
    return bound


def _guard_identity_of_builtin_method(vm: Machine, obj: Any, source: Source) -> None:
    """`dict.fromkeys` is a new object at each access: compare what it is bound to."""
    vm.guard("IS", AttributeSource(source, "__self__"), fixed(obj.__self__, "owner"))
    vm.guard("EQUALS", AttributeSource(source, "__name__"), obj.__name__)


@wraps_subclasses(type)
def _class(vm: Machine, obj: Any, source: Source) -> Value:
    _guard_identity(vm, obj, source)
    return ClassValue(obj, fixed(obj, obj.__name__, guarded=False))


@wraps_subclasses(types.ModuleType)
def _module(vm: Machine, obj: Any, source: Source) -> Value:
    _guard_identity(vm, obj, source)
    return PythonModuleValue(obj, fixed(obj, obj.__name__, guarded=False))


@wraps_subclasses(functools.partial)
def _partial(vm: Machine, obj: Any, source: Source) -> Value:
    _guard_type(vm, obj, source)
    func = wrap(vm, obj.func, AttributeSource(source, "func"))
    args_source = AttributeSource(source, "args")
    vm.guard("LENGTH", args_source, len(obj.args))
    args = [wrap(vm, arg, item(args_source, i)) for i, arg in enumerate(obj.args)]
    keywords = AttributeSource(source, "keywords")
    vm.guard_keys(keywords, obj.keywords)
    kwargs = {
        name: wrap(vm, v, ItemSource(keywords, name, "str")) for name, v in obj.keywords.items()
    }
    value = PartialValue(func, args, kwargs, source)
    value.obj = obj
    return value


@wraps_subclasses(BaseException)
def _exception(vm: Machine, obj: Any, source: Source) -> Value:
    _guard_type(vm, obj, source)
    args_source = AttributeSource(source, "args")
    vm.guard("LENGTH", args_source, len(obj.args))
    args = [wrap(vm, arg, item(args_source, i)) for i, arg in enumerate(obj.args)]
    value = ExceptionValue(type(obj), args, source, native=obj)
    value.obj = obj
    return value


@wraps(weakref.ref)
def _weakref(vm: Machine, obj: Any, source: Source) -> Value:
    _guard_type(vm, obj, source)
    return WeakReferenceValue(type(obj), source, obj)


# -- iterators (the locals and stack items of a resume function)
# -------------------------------------


@wraps(type(iter([])), type(iter(())))
def _sequence_iterator(vm: Machine, obj: Any, source: Source) -> Value:
    _guard_type(vm, obj, source)
    state = obj.__reduce__()
    if len(state) == 2:  # exhausted
        vm.guard("LENGTH", CallSource(source, "{}.__reduce__()"), 2)
        return SequenceIterator(ListValue([]), -1, source)
    reduced = CallSource(source, "{}.__reduce__()")
    vm.guard("EQUALS", item(reduced, 2), state[2])
    sequence = wrap(vm, state[1][0], item(item(reduced, 1), 0))
    return SequenceIterator(sequence, state[2], source)  # type: ignore[arg-type]


@wraps(type(iter(range(0))), type(iter("")), type(iter(b"")))
def _constant_iterator(vm: Machine, obj: Any, source: Source) -> Value:
    _guard_type(vm, obj, source)
    state = obj.__reduce__()
    reduced = CallSource(source, "{}.__reduce__()")
    vm.guard("EQUALS", item(item(reduced, 1), 0), state[1][0])
    position = state[2] if len(state) > 2 else 0
    vm.guard("LENGTH", reduced, len(state))
    if len(state) > 2:
        vm.guard("EQUALS", item(reduced, 2), state[2])
    return ConstantIterator(state[1][0], position or 0, source)


@wraps(enumerate)
def _enumerate(vm: Machine, obj: Any, source: Source) -> Value:
    _guard_type(vm, obj, source)
    arguments = item(CallSource(source, "{}.__reduce__()"), 1)
    inner, number = obj.__reduce__()[1]
    return EnumerateValue(
        wrap(vm, inner, item(arguments, 0)), wrap(vm, number, item(arguments, 1)), source
    )


@wraps(zip)
def _zip(vm: Machine, obj: Any, source: Source) -> Value:
    _guard_type(vm, obj, source)
    reduced = CallSource(source, "{}.__reduce__()")
    state = obj.__reduce__()
    vm.guard("LENGTH", reduced, len(state))
    vm.guard("LENGTH", item(reduced, 1), len(state[1]))
    inner = [wrap(vm, it, item(item(reduced, 1), i)) for i, it in enumerate(state[1])]
    return ZipValue(inner, len(state) > 2 and bool(state[2]), source)


# -- everything else ----------------------------------------------------------------------------


def wrap_instance(vm: Machine, obj: Any, source: Source) -> Value:
    """An instance of a class: attributes in Python, or state in C that capture cannot follow."""
    if is_python_class(type(obj)):
        _guard_type(vm, obj, source)
        return ObjectValue(type(obj), source, obj)
    if per_call(source):
        _guard_type(vm, obj, source)
    else:
        _guard_identity(vm, obj, source)
    return OpaqueValue(type(obj), source, obj)


@functools.cache
def is_python_class(cls: type) -> bool:
    """Whether instances keep all their state in attributes and slots (no C struct of their own)."""
    slots = 0
    for base in cls.__mro__[:-1]:
        if not base.__flags__ & _HEAP_TYPE:
            return False
        names = base.__dict__.get("__slots__", ())
        slots += 1 if isinstance(names, str) else len(tuple(names))
    pointer = tuple.__itemsize__
    return cls.__basicsize__ <= object.__basicsize__ + pointer * (slots + 2)


_TRUSTED_ROOTS = frozenset(sys.stdlib_module_names) - {"__main__"}
_trusted_packages: set[str] = set()


def trust_package(name: str) -> None:
    """Say that a package's own globals, classes and tables do not change while programs run."""
    _trusted_packages.add(name)


def trusted_module(name: Any) -> bool:
    if not isinstance(name, str):
        return False
    root = name.partition(".")[0]
    return root in _TRUSTED_ROOTS or root in _trusted_packages


def trusted_class(cls: type) -> bool:
    return trusted_module(getattr(cls, "__module__", None))


__all__ = ["FixedSource", "NotConstant", "real_dict", "wrap", "wraps", "wraps_subclasses"]
