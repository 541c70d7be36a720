"""Opcodes that move and build data: constants, variables, attributes, items, containers,
operators."""

from __future__ import annotations

import sys
from typing import Any

from ptc.capture.code import Instruction
from ptc.capture.code.versions import compare_gives_bool
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.frame import Frame
from ptc.capture.interpreter.machine import Machine
from ptc.capture.interpreter.opcode_table import opcode
from ptc.capture.values.base import NULL, Value
from ptc.capture.values.callables import CellValue, ClassValue, SuperValue
from ptc.capture.values.constants import ConstantValue, SliceValue
from ptc.capture.values.mappings import DictValue, SetValue

_UNBOUND = "cannot access local variable {!r} where it is not associated with a value"
_UNBOUND_FREE = (
    "cannot access free variable {!r} where it is not associated with a value in enclosing scope"
)


@opcode("NOP", "RESUME", "CACHE", "PRECALL", "COPY_FREE_VARS", "SETUP_ANNOTATIONS", "EXTENDED_ARG")
def nop(vm: Machine, frame: Frame, ins: Instruction) -> None:
    """Nothing to do symbolically. A frame's cells are set up when it is made."""


@opcode("POP_TOP")
def pop_top(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.stack.pop()


@opcode("END_FOR")
def end_for(vm: Machine, frame: Frame, ins: Instruction) -> None:
    """Never reached by FOR_ITER, which jumps past it."""
    frame.stack.pop()
    if sys.version_info < (3, 13):
        frame.stack.pop()


@opcode("PUSH_NULL")
def push_null(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.push(NULL)


@opcode("COPY")
def copy(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.push(frame.stack[-ins.arg])  # type: ignore[operator]


@opcode("SWAP")
def swap(vm: Machine, frame: Frame, ins: Instruction) -> None:
    stack, depth = frame.stack, ins.arg or 1
    stack[-1], stack[-depth] = stack[-depth], stack[-1]


# -- constants and variables --------------------------------------------------------------------


@opcode("LOAD_CONST")
def load_const(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.push(constant_value(vm, ins.argval))


def constant_value(vm: Machine, constant: Any) -> Value:
    if type(constant) is tuple:
        return vm.tuple([constant_value(vm, element) for element in constant])
    return ConstantValue(constant)


def read_local(vm: Machine, frame: Frame, name: str) -> Value:
    value = frame.locals.get(name)
    if value is None:
        cell = frame.cells.get(name)
        if cell is not None:
            return cell
        raise vm.exception(UnboundLocalError, _UNBOUND.format(name))
    return value


@opcode("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_CLOSURE")
def load_fast(vm: Machine, frame: Frame, ins: Instruction) -> None:
    """LOAD_CLOSURE (LOAD_FAST on 3.13) pushes the cell itself."""
    name: Any = ins.argval
    value = frame.locals.get(name)
    if value is None or ins.opname == "LOAD_CLOSURE":
        value = frame.cells.get(name) or read_local(vm, frame, name)
    frame.stack.append(value)


@opcode("LOAD_FAST_LOAD_FAST")
def load_fast_load_fast(vm: Machine, frame: Frame, ins: Instruction) -> None:
    names: Any = ins.argval
    for name in names:
        frame.push(read_local(vm, frame, name))


@opcode("LOAD_FAST_AND_CLEAR")
def load_fast_and_clear(vm: Machine, frame: Frame, ins: Instruction) -> None:
    """An inlined comprehension saves a variable (or its cell, or its being unbound)."""
    name: Any = ins.argval
    cell = frame.cells.pop(name, None)
    frame.push(cell if cell is not None else frame.locals.pop(name, NULL))


@opcode("STORE_FAST", "STORE_FAST_MAYBE_NULL")
def store_fast(vm: Machine, frame: Frame, ins: Instruction) -> None:
    store_local(frame, ins.argval, frame.stack.pop())


def store_local(frame: Frame, name: Any, value: Any) -> None:
    if value is NULL:
        frame.locals.pop(name, None)
        frame.cells.pop(name, None)
    elif isinstance(value, CellValue) and name in cell_variables(frame):
        frame.cells[name] = value
    else:
        frame.locals[name] = value


def cell_variables(frame: Frame) -> tuple[str, ...]:
    return frame.code.co_cellvars


@opcode("STORE_FAST_STORE_FAST")
def store_fast_store_fast(vm: Machine, frame: Frame, ins: Instruction) -> None:
    names: Any = ins.argval
    for name in names:
        store_local(frame, name, frame.stack.pop())


@opcode("STORE_FAST_LOAD_FAST")
def store_fast_load_fast(vm: Machine, frame: Frame, ins: Instruction) -> None:
    names: Any = ins.argval
    store_local(frame, names[0], frame.stack.pop())
    frame.push(read_local(vm, frame, names[1]))


@opcode("DELETE_FAST")
def delete_fast(vm: Machine, frame: Frame, ins: Instruction) -> None:
    name: Any = ins.argval
    read_local(vm, frame, name)
    del frame.locals[name]


@opcode("MAKE_CELL")
def make_cell(vm: Machine, frame: Frame, ins: Instruction) -> None:
    name: Any = ins.argval
    frame.cells[name] = CellValue(frame.locals.pop(name, None))


def read_cell(vm: Machine, frame: Frame, name: str) -> Value:
    value = frame.cells[name].get(vm)
    if value is None:
        if name in frame.code.co_freevars:
            raise vm.exception(NameError, _UNBOUND_FREE.format(name))
        raise vm.exception(UnboundLocalError, _UNBOUND.format(name))
    return value


@opcode("LOAD_DEREF", "LOAD_CLASSDEREF")
def load_deref(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.push(read_cell(vm, frame, ins.argval))  # type: ignore[arg-type]


@opcode("STORE_DEREF")
def store_deref(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.cells[ins.argval].set(vm, frame.pop())  # type: ignore[index]


@opcode("DELETE_DEREF")
def delete_deref(vm: Machine, frame: Frame, ins: Instruction) -> None:
    name: Any = ins.argval
    read_cell(vm, frame, name)
    frame.cells[name].set(vm, None)


@opcode("LOAD_GLOBAL")
def load_global(vm: Machine, frame: Frame, ins: Instruction) -> None:
    if (ins.arg or 0) & 1 and sys.version_info < (3, 13):
        frame.push(NULL)
    name: Any = ins.argval
    frame.push(vm.load_global(frame, name))
    if (ins.arg or 0) & 1 and sys.version_info >= (3, 13):
        frame.push(NULL)


@opcode("LOAD_NAME")
def load_name(vm: Machine, frame: Frame, ins: Instruction) -> None:
    name: Any = ins.argval
    frame.push(frame.locals.get(name) or vm.load_global(frame, name))


@opcode("STORE_GLOBAL")
def store_global(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.globals.store(vm, ins.argval, frame.pop())  # type: ignore[arg-type]


@opcode("DELETE_GLOBAL")
def delete_global(vm: Machine, frame: Frame, ins: Instruction) -> None:
    name: Any = ins.argval
    if frame.globals.load(vm, name) is None:
        raise vm.exception(NameError, f"name {name!r} is not defined")
    frame.globals.delete(vm, name)


@opcode("LOAD_ASSERTION_ERROR")
def load_assertion_error(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.push(vm.class_value(AssertionError))


@opcode("LOAD_BUILD_CLASS", "LOAD_LOCALS", "STORE_NAME", "DELETE_NAME")
def build_class(vm: Machine, frame: Frame, ins: Instruction) -> None:
    raise GraphBreak(
        "PTC-B012",
        "a class is created while the program runs",
        "define the class at module level",
    )


# -- attributes and items -----------------------------------------------------------------------


@opcode("LOAD_ATTR", until=(3, 12))
def load_attr(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.stack[-1] = vm.getattr(frame.stack[-1], ins.argval)  # type: ignore[arg-type]


@opcode("LOAD_ATTR", since=(3, 12))
def load_attr_or_method(vm: Machine, frame: Frame, ins: Instruction) -> None:
    if (ins.arg or 0) & 1:
        load_method(vm, frame, ins)
    else:
        frame.stack[-1] = vm.getattr(frame.stack[-1], ins.argval)  # type: ignore[arg-type]


@opcode("LOAD_METHOD", until=(3, 12))
def load_method(vm: Machine, frame: Frame, ins: Instruction) -> None:
    """Always as (NULL, bound method): CPython's other form is an optimisation of the same call."""
    push_callable(frame, vm.getattr(frame.pop(), ins.argval))  # type: ignore[arg-type]


def push_callable(frame: Frame, function: Value) -> None:
    if sys.version_info < (3, 12):
        frame.push(NULL)
        frame.push(function)
    else:
        frame.push(function)
        frame.push(NULL)
    if (3, 12) <= sys.version_info < (3, 13):
        # 3.12 still has NULL below the callable
        frame.stack[-1], frame.stack[-2] = frame.stack[-2], frame.stack[-1]


@opcode("LOAD_SUPER_ATTR")
def load_super_attr(vm: Machine, frame: Frame, ins: Instruction) -> None:
    function, cls, instance = frame.pop_many(3)
    arg = ins.arg or 0
    if function.is_constant() and function.constant() is super and isinstance(cls, ClassValue):
        owner: Value = SuperValue(cls.klass_object, instance)
    else:
        owner = vm.call(function, [cls, instance] if arg & 2 else [])
    value = vm.getattr(owner, ins.argval)  # type: ignore[arg-type]
    if arg & 1:
        push_callable(frame, value)
    else:
        frame.push(value)


@opcode("STORE_ATTR")
def store_attr(vm: Machine, frame: Frame, ins: Instruction) -> None:
    value, owner = frame.pop_many(2)
    vm.setattr(owner, ins.argval, value)  # type: ignore[arg-type]


@opcode("DELETE_ATTR")
def delete_attr(vm: Machine, frame: Frame, ins: Instruction) -> None:
    vm.delattr(frame.pop(), ins.argval)  # type: ignore[arg-type]


@opcode("BINARY_SUBSCR")
def binary_subscr(vm: Machine, frame: Frame, ins: Instruction) -> None:
    owner, key = frame.pop_many(2)
    frame.push(vm.getitem(owner, key))


@opcode("STORE_SUBSCR")
def store_subscr(vm: Machine, frame: Frame, ins: Instruction) -> None:
    value, owner, key = frame.pop_many(3)
    vm.setitem(owner, key, value)


@opcode("DELETE_SUBSCR")
def delete_subscr(vm: Machine, frame: Frame, ins: Instruction) -> None:
    owner, key = frame.pop_many(2)
    vm.delitem(owner, key)


@opcode("BINARY_SLICE")
def binary_slice(vm: Machine, frame: Frame, ins: Instruction) -> None:
    owner, start, stop = frame.pop_many(3)
    frame.push(vm.getitem(owner, SliceValue(start, stop, ConstantValue(None))))


@opcode("STORE_SLICE")
def store_slice(vm: Machine, frame: Frame, ins: Instruction) -> None:
    value, owner, start, stop = frame.pop_many(4)
    vm.setitem(owner, SliceValue(start, stop, ConstantValue(None)), value)


# -- operators ----------------------------------------------------------------------------------


@opcode("BINARY_OP")
def binary_op(vm: Machine, frame: Frame, ins: Instruction) -> None:
    left, right = frame.pop_many(2)
    op: Any = ins.argval
    if op[-1] == "=":
        frame.push(vm.inplace(op[:-1], left, right))
    else:
        frame.push(vm.binary(op, left, right))


@opcode("UNARY_NEGATIVE", "UNARY_INVERT", "UNARY_POSITIVE")
def unary_op(vm: Machine, frame: Frame, ins: Instruction) -> None:
    symbol = {"UNARY_NEGATIVE": "-", "UNARY_INVERT": "~", "UNARY_POSITIVE": "+"}[ins.opname]
    frame.stack[-1] = vm.unary(symbol, frame.stack[-1])  # type: ignore[arg-type]


@opcode("UNARY_NOT")
def unary_not(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.stack[-1] = vm.logical_not(frame.stack[-1])  # type: ignore[arg-type]


@opcode("TO_BOOL")
def to_bool(vm: Machine, frame: Frame, ins: Instruction) -> None:
    """3.13 tests values here; the jump that follows takes nothing but a bool."""
    top = frame.stack[-1]
    assert isinstance(top, Value)
    frame.stack[-1] = ConstantValue(vm.branch(frame, top))


@opcode("COMPARE_OP")
def compare_op(vm: Machine, frame: Frame, ins: Instruction) -> None:
    left, right = frame.pop_many(2)
    result = vm.compare(ins.argval, left, right)  # type: ignore[arg-type]
    if compare_gives_bool(ins.arg or 0):
        result = ConstantValue(vm.branch(frame, result))
    frame.push(result)


@opcode("IS_OP")
def is_op(vm: Machine, frame: Frame, ins: Instruction) -> None:
    left, right = frame.pop_many(2)
    frame.push(ConstantValue(vm.is_same(left, right) != bool(ins.arg)))


@opcode("CONTAINS_OP")
def contains_op(vm: Machine, frame: Frame, ins: Instruction) -> None:
    item, container = frame.pop_many(2)
    found = vm.contains_by_data(container, item)
    if found is None:
        frame.push(ConstantValue(vm.contains(container, item) != bool(ins.arg)))
    else:
        frame.push(vm.logical_not(found) if ins.arg else found)


# -- containers ---------------------------------------------------------------------------------


@opcode("BUILD_TUPLE")
def build_tuple(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.push(vm.tuple(frame.pop_many(ins.arg or 0)))


@opcode("BUILD_LIST")
def build_list(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.push(vm.list(frame.pop_many(ins.arg or 0)))


@opcode("BUILD_SET")
def build_set(vm: Machine, frame: Frame, ins: Instruction) -> None:
    result = SetValue()
    for value in frame.pop_many(ins.arg or 0):
        result.add(vm, value)
    frame.push(result)


@opcode("BUILD_MAP")
def build_map(vm: Machine, frame: Frame, ins: Instruction) -> None:
    values = frame.pop_many(2 * (ins.arg or 0))
    result = DictValue()
    for key, value in zip(values[::2], values[1::2], strict=True):
        result.setitem(vm, key, value)
    frame.push(result)


@opcode("BUILD_CONST_KEY_MAP")
def build_const_key_map(vm: Machine, frame: Frame, ins: Instruction) -> None:
    keys = vm.unpack(frame.pop())
    values = frame.pop_many(ins.arg or 0)
    result = DictValue()
    for key, value in zip(keys, values, strict=True):
        result.setitem(vm, key, value)
    frame.push(result)


@opcode("BUILD_SLICE")
def build_slice(vm: Machine, frame: Frame, ins: Instruction) -> None:
    parts = frame.pop_many(ins.arg or 2)
    step = parts[2] if len(parts) == 3 else ConstantValue(None)
    frame.push(SliceValue(parts[0], parts[1], step))


@opcode("BUILD_STRING")
def build_string(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.push(vm.join_text(frame.pop_many(ins.arg or 0)))


@opcode("LIST_APPEND", "SET_ADD")
def collection_add(vm: Machine, frame: Frame, ins: Instruction) -> None:
    value = frame.pop()
    target: Any = frame.stack[-(ins.arg or 1)]
    if ins.opname == "SET_ADD":
        target.add(vm, value)
    else:
        target.append(vm, value)


@opcode("MAP_ADD")
def map_add(vm: Machine, frame: Frame, ins: Instruction) -> None:
    key, value = frame.pop_many(2)
    target: Any = frame.stack[-(ins.arg or 1)]
    target.setitem(vm, key, value)


@opcode("LIST_EXTEND", "SET_UPDATE")
def collection_extend(vm: Machine, frame: Frame, ins: Instruction) -> None:
    values = frame.pop()
    target: Any = frame.stack[-(ins.arg or 1)]
    if ins.opname == "LIST_EXTEND" and vm.extend_by_data(target, values):
        return
    if ins.opname == "SET_UPDATE" and issubclass(values.cls, (set, frozenset, dict)):
        vm.call_builtin(set.update, [target, values], {})
        return
    try:
        elements = vm.unpack(values)
    except Exception as error:
        raise _not_iterable_after_star(vm, values, error) from None
    for value in elements:
        if ins.opname == "SET_UPDATE":
            target.add(vm, value)
        else:
            target.append(vm, value)


def _not_iterable_after_star(vm: Machine, value: Value, error: Exception) -> Exception:
    """CPython words the TypeError of `[*x]` after what is unpacked."""
    if hasattr(value.cls, "__iter__") or hasattr(value.cls, "__getitem__"):
        return error
    if isinstance(error, GraphBreak):
        return error
    return vm.type_error(f"Value after * must be an iterable, not {value.cls.__name__}")


@opcode("DICT_UPDATE", "DICT_MERGE")
def dict_update(vm: Machine, frame: Frame, ins: Instruction) -> None:
    """`{**x}` and `f(**x)`; the latter refuses duplicates."""
    other = frame.pop()
    target: Any = frame.stack[-(ins.arg or 1)]
    if not isinstance(other, DictValue) and not vm.hasattr(other, "keys"):
        raise vm.type_error(f"'{other.cls.__name__}' object is not a mapping")
    if ins.opname == "DICT_UPDATE" and vm.has_data_length(other):
        vm.call_builtin(dict.update, [target, other], {})
        return
    for key, value in vm.mapping_items(other):
        if ins.opname == "DICT_MERGE" and vm.contains(target, key):
            text = f"got multiple values for keyword argument {key.constant()!r}"
            raise vm.type_error(text)
        target.setitem(vm, key, value)


@opcode("LIST_TO_TUPLE")
def list_to_tuple(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.push(tuple_of_list(vm, frame.pop()))


def tuple_of_list(vm: Machine, values: Value) -> Value:
    """The tuple of a list that a display `(*a, b)` or a call has made."""
    if vm.has_data_length(values):
        return vm.call(vm.wrap_fixed(tuple), [values])
    return vm.tuple(list(vm.unpack(values)))


@opcode("UNPACK_SEQUENCE")
def unpack_sequence(vm: Machine, frame: Frame, ins: Instruction) -> None:
    count = ins.arg or 0
    owner = frame.pop()
    values = vm.unpack_by_data(owner, count, None)
    if values is None:
        values = _unpack(vm, owner)
    if len(values) < count:
        text = f"not enough values to unpack (expected {count}, got {len(values)})"
        raise vm.exception(ValueError, text)
    if len(values) > count:
        raise vm.exception(ValueError, f"too many values to unpack (expected {count})")
    frame.stack.extend(reversed(values))


def _unpack(vm: Machine, value: Value) -> list[Value]:
    if not hasattr(value.cls, "__iter__") and not hasattr(value.cls, "__getitem__"):
        raise vm.type_error(f"cannot unpack non-iterable {value.cls.__name__} object")
    return vm.unpack(value)


@opcode("UNPACK_EX")
def unpack_ex(vm: Machine, frame: Frame, ins: Instruction) -> None:
    before, after = (ins.arg or 0) & 0xFF, (ins.arg or 0) >> 8
    owner = frame.pop()
    parts = vm.unpack_by_data(owner, before, after)
    if parts is not None:
        frame.stack.extend(reversed(parts))
        return
    values = _unpack(vm, owner)
    if len(values) < before + after:
        text = (
            f"not enough values to unpack (expected at least {before + after}, got {len(values)})"
        )
        raise vm.exception(ValueError, text)
    end = len(values) - after
    frame.stack.extend(reversed(values[end:]))
    frame.push(vm.list(values[before:end]))
    frame.stack.extend(reversed(values[:before]))


# -- text ---------------------------------------------------------------------------------------

_CONVERSIONS: dict[int, Any] = {1: str, 2: repr, 3: ascii}


@opcode("FORMAT_VALUE")
def format_value(vm: Machine, frame: Frame, ins: Instruction) -> None:
    arg = ins.arg or 0
    spec = frame.pop() if arg & 4 else ConstantValue("")
    value = frame.pop()
    if arg & 3:
        value = vm.call(vm.wrap_fixed(_CONVERSIONS[arg & 3]), [value])
    frame.push(vm.format(value, spec))


@opcode("CONVERT_VALUE")
def convert_value(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.push(vm.call(vm.wrap_fixed(_CONVERSIONS[ins.arg or 1]), [frame.pop()]))


@opcode("FORMAT_SIMPLE")
def format_simple(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.push(vm.format(frame.pop(), ConstantValue("")))


@opcode("FORMAT_WITH_SPEC")
def format_with_spec(vm: Machine, frame: Frame, ins: Instruction) -> None:
    value, spec = frame.pop_many(2)
    frame.push(vm.format(value, spec))
