"""Operands that are one of several values: before an instruction uses one, it is asked which one it
is. Instructions that only move values leave choices as they are.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ptc.capture.builtins_table.core import class_list
from ptc.capture.code import Instruction
from ptc.capture.control import arithmetic, identities
from ptc.capture.control.homes import storage
from ptc.capture.control.questions import Which
from ptc.capture.control.tensors import keep_apart
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.frame import Frame
from ptc.capture.interpreter.lookup import static_lookup
from ptc.capture.values.base import NULL, Value
from ptc.capture.values.callables import (
    BoundMethodValue,
    BuiltinValue,
    ClassValue,
    FunctionValue,
)
from ptc.capture.values.choices import MISSING, ChoiceValue
from ptc.capture.values.constants import ConstantValue, SliceValue
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.torch_module import ModuleValue
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import Assign, Body, NumberKind, NumberVar, Switch

if TYPE_CHECKING:
    from ptc.capture.control.loops import LoopContext
    from ptc.capture.control.machine import ControlMachine

#: How many operands at the top of the stack an instruction looks into.
_LOOKED_INTO: dict[str, int] = {
    "BINARY_OP": 2, "COMPARE_OP": 2, "CONTAINS_OP": 2, "BINARY_SUBSCR": 2, "UNARY_NOT": 1,
    "UNARY_NEGATIVE": 1, "UNARY_INVERT": 1, "UNARY_POSITIVE": 1, "GET_ITER": 1, "FOR_ITER": 1,
    "UNPACK_SEQUENCE": 1, "UNPACK_EX": 1, "LOAD_ATTR": 1, "LOAD_METHOD": 1, "STORE_ATTR": 1,
    "DELETE_ATTR": 1, "STORE_SUBSCR": 2, "DELETE_SUBSCR": 2, "FORMAT_VALUE": 2,
    "FORMAT_SIMPLE": 1, "FORMAT_WITH_SPEC": 2, "CONVERT_VALUE": 1, "GET_LEN": 1,
    "MATCH_SEQUENCE": 1, "MATCH_MAPPING": 1, "MATCH_CLASS": 3, "MATCH_KEYS": 2,
    "LIST_EXTEND": 1, "SET_UPDATE": 1, "DICT_UPDATE": 1, "DICT_MERGE": 1, "BEFORE_WITH": 1,
    "WITH_EXCEPT_START": 1,
    "RAISE_VARARGS": 2, "CHECK_EXC_MATCH": 2, "BINARY_SLICE": 3, "STORE_SLICE": 3,
    "POP_JUMP_IF_TRUE": 1, "POP_JUMP_IF_FALSE": 1, "POP_JUMP_FORWARD_IF_TRUE": 1,
    "POP_JUMP_FORWARD_IF_FALSE": 1, "POP_JUMP_BACKWARD_IF_TRUE": 1,
    "POP_JUMP_BACKWARD_IF_FALSE": 1, "JUMP_IF_TRUE_OR_POP": 1, "JUMP_IF_FALSE_OR_POP": 1,
    "TO_BOOL": 1, "SEND": 2, "MAP_ADD": 2, "SET_ADD": 1, "BUILD_STRING": 0,
}  # fmt: skip
_LOADS = frozenset({"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_LOAD_FAST"})
_CALLS = frozenset({"CALL", "CALL_KW", "PRECALL", "CALL_FUNCTION_EX"})
_NONE_JUMPS = "NONE"


def prepare(vm: ControlMachine, frame: Frame, instruction: Instruction) -> None:
    """Settle the choices that the instruction looks into."""
    name = instruction.opname
    if name in _LOADS:
        names = instruction.argval if isinstance(instruction.argval, tuple) else (
            instruction.argval,
        )  # fmt: skip
        for variable in names:
            _settle_variable(vm, frame, variable)
        return
    if name == "IS_OP":
        _prepare_identity(vm, frame)
    elif name == "COMPARE_OP" and _prepare_comparison(vm, frame, instruction):
        return
    elif name.startswith("POP_JUMP") and _NONE_JUMPS in name:
        _prepare_none_jump(vm, frame)
    elif name in _CALLS:
        _prepare_call(vm, frame, instruction)
    count = min(_LOOKED_INTO.get(name, 0), len(frame.stack))
    for position in range(len(frame.stack) - count, len(frame.stack)):
        item = frame.stack[position]
        if isinstance(item, ChoiceValue):
            frame.stack[position] = vm.settle(item)


def settle(vm: ControlMachine, value: Value) -> Value:
    """The value itself, or the alternative that a choice is in this arm."""
    while isinstance(value, ChoiceValue):
        value = value.alternatives[vm.choose(Which(value))]
    return value


def _settle_variable(vm: ControlMachine, frame: Frame, name: Any) -> None:
    """A variable that may be unbound."""
    value = frame.locals.get(name)
    if isinstance(value, ChoiceValue) and MISSING in value.alternatives:
        settled = vm.settle(value)
        if settled is MISSING:
            del frame.locals[name]
        else:
            frame.locals[name] = settled
    elif value is MISSING:
        del frame.locals[name]
    elif isinstance(value, ChoiceValue):
        frame.locals[name] = _as_number(vm, value)


def _as_number(vm: ControlMachine, choice: ChoiceValue) -> Value:
    """A choice that is known to be one of several numbers of a kind as a number, and one that is
    known to be one of its alternatives as that."""
    possible = vm.possible.get(choice.selector.name)
    if possible is None:
        return choice
    numbers = [choice.alternatives[index] for index in sorted(possible)]
    if len(numbers) == 1:
        return numbers[0]
    if not all(map(arithmetic.is_number, numbers)) or len({one.cls for one in numbers}) != 1:
        return choice
    target = NumberVar(vm.writer.name("n"), arithmetic.number_kind(numbers[0]))
    nothing = ConstantValue(numbers[0].cls())
    arms = tuple(
        Body([Assign(target, arithmetic.operand(vm, one if n in possible else nothing))])
        for n, one in enumerate(choice.alternatives)
    )
    vm.writer.add(Switch(choice.selector, arms, None, "choice"))
    return DataNumber(target)


def _prepare_call(vm: ControlMachine, frame: Frame, instruction: Instruction) -> None:
    """Choices are handed to Python functions as they are, and settled for all others."""
    count = len(frame.stack) if instruction.opname == "CALL_FUNCTION_EX" else (
        (instruction.arg or 0) + 2 + (instruction.opname == "CALL_KW")
    )  # fmt: skip
    first = max(len(frame.stack) - count, 0)
    for position in range(first, min(first + 2, len(frame.stack))):
        item = frame.stack[position]
        if isinstance(item, ChoiceValue):
            frame.stack[position] = vm.settle(item)
    callees = [item for item in frame.stack[first : first + 2] if item is not NULL]
    if any(_takes_choices(vm, callee) for callee in callees[:1]):
        return
    for position in range(first, len(frame.stack)):
        item = frame.stack[position]
        if isinstance(item, ChoiceValue):
            frame.stack[position] = vm.settle(item)


def _takes_choices(vm: ControlMachine, callee: Any) -> bool:
    if isinstance(callee, BoundMethodValue):
        callee = callee.func
    if isinstance(callee, BuiltinValue) and callee.function is isinstance:
        return True
    if isinstance(callee, (FunctionValue, ModuleValue)):
        return not isinstance(callee, FunctionValue) or vm.is_traced(callee)
    return isinstance(callee, ClassValue) and callee.klass_object.__init__ is not object.__init__


def _prepare_identity(vm: ControlMachine, frame: Frame) -> None:
    """`is` between a choice and one value: a number, true for some of the alternatives."""
    left, right = frame.stack[-2:]
    if isinstance(right, ChoiceValue):
        left, right = right, left
    if not isinstance(left, ChoiceValue):
        return
    by_data = isinstance(right, ChoiceValue) or any(
        identities.decided_by_data(vm, one, right)  # type: ignore[arg-type]
        for one in left.alternatives
    )
    if by_data:
        frame.stack[-2:] = [vm.settle(frame.stack[-2]), vm.settle(frame.stack[-1])]  # type: ignore[arg-type]
        return
    true = frozenset(
        i
        for i, a in enumerate(left.alternatives)
        if a is not MISSING and vm.is_same(a, right)  # type: ignore[arg-type]
    )
    holds = member(vm, left, true)
    # The handler compares again: hand it two values that are, or are not, the same
    same = ConstantValue(None)
    other = same if vm.truth(holds) else ConstantValue(Ellipsis)
    frame.stack[-2:] = [same, other]


def _prepare_none_jump(vm: ControlMachine, frame: Frame) -> None:
    value = frame.stack[-1]
    if not isinstance(value, ChoiceValue):
        return
    none = frozenset(
        i for i, a in enumerate(value.alternatives)
        if isinstance(a, ConstantValue) and a.value is None
    )  # fmt: skip
    is_none = vm.truth(member(vm, value, none))
    frame.stack[-1] = ConstantValue(None if is_none else Ellipsis)


def _prepare_comparison(vm: ControlMachine, frame: Frame, instruction: Instruction) -> bool:
    """`==` and its like between a choice of constants and a constant. False: settle instead."""
    return False


def member(vm: ControlMachine, choice: ChoiceValue, indices: frozenset[int]) -> Value:
    """Whether a choice is one of these alternatives."""
    possible = vm.possible.get(choice.selector.name, frozenset(range(len(choice.alternatives))))
    if possible <= indices:
        return ConstantValue(True)
    if possible.isdisjoint(indices):
        return ConstantValue(False)
    selector = DataNumber(choice.selector)
    result: Value | None = None
    for index in sorted(indices):
        test = arithmetic.computed(vm, "eq", [selector, ConstantValue(index)], NumberKind.BOOL)
        result = test if result is None else arithmetic.computed(
            vm, "or", [result, test], NumberKind.BOOL
        )  # fmt: skip
    assert isinstance(result, DataNumber)
    return DataNumber(result.var, (choice.selector.name, indices, possible - indices))


def is_instance(vm: ControlMachine, choice: ChoiceValue, info: Value) -> Value | None:
    """`isinstance` of one of several values: a number, true for some of the alternatives. None
    where a class has a check of its own."""
    classes = class_list(vm, vm.settle(info))
    checks = [static_lookup(type(klass), "__instancecheck__") for klass in classes]
    if any(check is not None and isinstance(check[0], types.FunctionType) for check in checks):
        return None
    if not all(isinstance(klass, type) for klass in classes):
        return None
    true = frozenset(
        number
        for number, one in enumerate(choice.alternatives)
        if one is not MISSING and issubclass(one.cls, tuple(classes))
    )
    return member(vm, choice, true)


def key(vm: ControlMachine, value: Value) -> Value:
    """What a dictionary or set knows a value by its identity by: tensors of arms that meet are kept
    apart, so that it is one of them that is asked for."""
    value = vm.settle(value)
    if isinstance(value, TensorValue) and value in vm.homes.merged:
        keep_apart(vm, [storage(one.fake) for one in identities.may_be(vm, value)], wholly=True)
        raise GraphBreak(
            "PTC-B018",
            f"{value.describe()}, of which data decides which it is, is a key or in a set",
            "use a number or string that says which it is",
        )
    return value


def settled_within(vm: ControlMachine, value: Value) -> Value:
    """A value for a tensor call: no choices in it, nor in lists and tuples of it."""
    value = vm.settle(value)
    if isinstance(value, (ListValue, TupleValue)) and any(
        isinstance(item, (ChoiceValue, ListValue, TupleValue)) for item in value.items
    ):
        items = [settled_within(vm, item) for item in value.items]
        return ListValue(items) if isinstance(value, ListValue) else TupleValue(items, value.klass)
    return value


def with_graph_numbers(vm: ControlMachine, value: Value, by_value: bool) -> Value:
    """Numbers that data decides as symbolic ones that torch takes."""
    if isinstance(value, DataNumber):
        number = arithmetic.graph_number(vm, value, by_value)
        if isinstance(number, arithmetic.SYMBOLIC):
            return SymbolicNumber(number, None)
        return ConstantValue(number)
    if isinstance(value, SliceValue):
        start, stop, step = (with_graph_numbers(vm, part, False) for part in value.parts)
        return SliceValue(start, stop, step)
    if isinstance(value, (ListValue, TupleValue)) and any(
        isinstance(item, (DataNumber, SliceValue, ListValue, TupleValue)) for item in value.items
    ):
        items = [with_graph_numbers(vm, item, by_value) for item in value.items]
        return ListValue(items) if isinstance(value, ListValue) else TupleValue(items, value.klass)
    return value


def construct(frame: Frame) -> str:
    """The Python construct that the frame's instruction is part of."""
    name = frame.instructions[frame.ip].opname
    if name == "FOR_ITER":
        return "for"
    if name.startswith(("POP_JUMP", "JUMP_IF")):
        text = frame_text(frame)
        return next((w for w in ("while", "elif", "assert", "for") if text.startswith(w)), "if")
    if name.startswith("CALL"):
        return "call"
    if name in ("BINARY_SUBSCR", "STORE_SUBSCR"):
        return "index"
    return "if"


def loop_construct(context: LoopContext) -> str:
    name = context.frame.instructions[context.header].opname
    return "for" if name == "FOR_ITER" else "while"


def frame_text(frame: Frame) -> str:
    frame.ip += 1
    text = frame.location().text.strip()
    frame.ip -= 1
    return text
