"""Opcodes that decide what runs next: jumps, loops, calls, returns, exceptions, `with`,
generators."""

from __future__ import annotations

import sys
from typing import Any

from ptc.capture.code import Instruction
from ptc.capture.errors import GraphBreak, Raised
from ptc.capture.interpreter.frame import Frame
from ptc.capture.interpreter.machine import RETURNED, Machine
from ptc.capture.interpreter.opcode_table import opcode
from ptc.capture.interpreter.ops_data import constant_value, tuple_of_list
from ptc.capture.values.base import NULL, Value
from ptc.capture.values.callables import CellValue, ClassValue, FunctionValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import TupleValue
from ptc.capture.values.exceptions import ExceptionValue
from ptc.capture.values.iterators import GeneratorValue
from ptc.capture.values.mappings import DictValue

# -- jumps --------------------------------------------------------------------------------------


@opcode("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
def jump(vm: Machine, frame: Frame, ins: Instruction) -> None:
    assert ins.target is not None
    frame.ip = ins.target


@opcode("POP_JUMP_IF_TRUE", "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_TRUE")
def jump_if_true(vm: Machine, frame: Frame, ins: Instruction) -> None:
    if vm.branch(frame, frame.pop()):
        frame.ip = ins.target  # type: ignore[assignment]


@opcode("POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_FALSE")
def jump_if_false(vm: Machine, frame: Frame, ins: Instruction) -> None:
    if not vm.branch(frame, frame.pop()):
        frame.ip = ins.target  # type: ignore[assignment]


@opcode("POP_JUMP_IF_NONE", "POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NONE")
def jump_if_none(vm: Machine, frame: Frame, ins: Instruction) -> None:
    if frame.pop().cls is type(None):
        frame.ip = ins.target  # type: ignore[assignment]


@opcode("POP_JUMP_IF_NOT_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE")
def jump_if_not_none(vm: Machine, frame: Frame, ins: Instruction) -> None:
    if frame.pop().cls is not type(None):
        frame.ip = ins.target  # type: ignore[assignment]


@opcode("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP")
def jump_or_pop(vm: Machine, frame: Frame, ins: Instruction) -> None:
    wanted = ins.opname == "JUMP_IF_TRUE_OR_POP"
    if vm.branch(frame, frame.stack[-1]) == wanted:  # type: ignore[arg-type]
        frame.ip = ins.target  # type: ignore[assignment]
    else:
        frame.pop()


# -- loops --------------------------------------------------------------------------------------


@opcode("GET_ITER")
def get_iter(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.stack[-1] = vm.iterate(frame.stack[-1])  # type: ignore[arg-type]


@opcode("FOR_ITER")
def for_iter(vm: Machine, frame: Frame, ins: Instruction) -> None:
    value = vm.next(frame.stack[-1])  # type: ignore[arg-type]
    if value is not None:
        frame.push(value)
        return
    behind_loop(frame, ins)


def behind_loop(frame: Frame, ins: Instruction) -> None:
    """FOR_ITER has nothing more to go through."""
    frame.pop()
    assert ins.target is not None
    # 3.12 jumps past END_FOR, 3.13 past END_FOR and POP_TOP
    skip = 2 if sys.version_info >= (3, 13) else 1 if sys.version_info >= (3, 12) else 0
    frame.ip = ins.target + skip


# -- calls --------------------------------------------------------------------------------------


@opcode("KW_NAMES")
def kw_names(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.kw_names = ins.argval  # type: ignore[assignment]


@opcode("CALL")
def call(vm: Machine, frame: Frame, ins: Instruction) -> None:
    names, frame.kw_names = frame.kw_names, ()
    _call(vm, frame, ins.arg or 0, names)


@opcode("CALL_KW")
def call_kw(vm: Machine, frame: Frame, ins: Instruction) -> None:
    names = frame.pop().constant()
    _call(vm, frame, ins.arg or 0, names)


def _call(vm: Machine, frame: Frame, count: int, names: tuple[str, ...]) -> None:
    values = frame.pop_many(count)
    second, first = frame.stack.pop(), frame.stack.pop()
    if sys.version_info >= (3, 13):
        # callable, self or NULL
        function, owner = first, second
    elif first is NULL:
        function, owner = second, NULL
    else:
        # 3.11, 3.12: method, self
        function, owner = first, second
    args = values if owner is NULL else [owner, *values]
    kwargs: dict[str, Value] = {}
    if names:
        split = len(args) - len(names)
        kwargs = dict(zip(names, args[split:], strict=True))  # type: ignore[arg-type]
        args = args[:split]
    frame.push(vm.call(function, args, kwargs))  # type: ignore[arg-type]


@opcode("CALL_FUNCTION_EX")
def call_function_ex(vm: Machine, frame: Frame, ins: Instruction) -> None:
    mapping = frame.pop() if (ins.arg or 0) & 1 else None
    sequence = frame.pop()
    if sys.version_info >= (3, 13):
        frame.stack.pop()
        function = frame.pop()
    else:
        function = frame.pop()
        frame.stack.pop()
    kwargs: dict[str, Value] = {}
    if mapping is not None:
        for key, value in vm.mapping_items(mapping):
            name = key.constant()
            if not isinstance(name, str):
                raise vm.type_error("keywords must be strings")
            kwargs[name] = value
    if not hasattr(sequence.cls, "__iter__") and not hasattr(sequence.cls, "__getitem__"):
        kind = sequence.cls.__name__
        raise vm.type_error(f"argument after * must be an iterable, not {kind}")
    frame.push(vm.call(function, list(vm.unpack(sequence)), kwargs))


@opcode("MAKE_FUNCTION", until=(3, 13))
def make_function(vm: Machine, frame: Frame, ins: Instruction) -> None:
    function = FunctionValue(frame.pop().constant(), frame.globals)
    flags = ins.arg or 0
    for bit, attribute in ((8, 8), (4, 4), (2, 2), (1, 1)):
        if flags & bit:
            _set_function_part(vm, function, attribute, frame.pop())
    frame.push(function)


@opcode("MAKE_FUNCTION", since=(3, 13))
def make_plain_function(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.push(FunctionValue(frame.pop().constant(), frame.globals))


@opcode("SET_FUNCTION_ATTRIBUTE")
def set_function_attribute(vm: Machine, frame: Frame, ins: Instruction) -> None:
    function, value = frame.pop(), frame.pop()
    assert isinstance(function, FunctionValue)
    _set_function_part(vm, function, ins.arg or 0, value)
    frame.push(function)


def _set_function_part(vm: Machine, function: FunctionValue, flag: int, value: Value) -> None:
    """The function was made by this instruction, so nothing needs to be journalled."""
    if flag == 8:
        assert isinstance(value, TupleValue)
        function.closure = tuple(c for c in value.items if isinstance(c, CellValue))
    elif flag == 4:
        pairs = value
        if isinstance(value, TupleValue):
            keys = value.items[::2]
            pairs = vm.dict_of(
                {k.constant(): v for k, v in zip(keys, value.items[1::2], strict=True)}
            )
        function.annotations = pairs
    elif flag == 2:
        assert isinstance(value, DictValue)
        function.kwdefault_values = {k.constant(): v for k, v in vm.dict_items(value)}
    elif flag == 1:
        function.default_values = vm.unpack(value)


@opcode("RETURN_VALUE")
def return_value(vm: Machine, frame: Frame, ins: Instruction) -> int:
    frame.returned = frame.pop()
    return RETURNED


@opcode("RETURN_CONST")
def return_const(vm: Machine, frame: Frame, ins: Instruction) -> int:
    frame.returned = constant_value(vm, ins.argval)
    return RETURNED


@opcode("CALL_INTRINSIC_1")
def call_intrinsic_1(vm: Machine, frame: Frame, ins: Instruction) -> None:
    name = str(ins.argval)
    if name == "INTRINSIC_LIST_TO_TUPLE":
        frame.push(tuple_of_list(vm, frame.pop()))
    elif name == "INTRINSIC_UNARY_POSITIVE":
        frame.push(vm.unary("+", frame.pop()))
    else:
        raise GraphBreak("PTC-B006", f"{name} is not supported")


@opcode("IMPORT_NAME")
def import_name(vm: Machine, frame: Frame, ins: Instruction) -> None:
    """Imports are run at capture: a module's body runs once a process, whoever asks first."""
    level, names = frame.pop_many(2)
    namespace = frame.globals.namespace
    fromlist = names.constant()
    frame.push(vm.evaluate_import(ins.argval, namespace, fromlist, level.constant()))


@opcode("IMPORT_FROM")
def import_from(vm: Machine, frame: Frame, ins: Instruction) -> None:
    module: Any = frame.stack[-1]
    name: Any = ins.argval
    value = vm.getattr_or_none(module, name)
    if value is None:
        full = f"{module.real().__name__}.{name}"
        if full in sys.modules:
            value = vm.wrap_fixed(sys.modules[full])
        else:
            where = getattr(module.real(), "__file__", None) or "unknown location"
            text = f"cannot import name {name!r} from {module.real().__name__!r} ({where})"
            raise vm.exception(ImportError, text)
    frame.push(value)


# -- exceptions ---------------------------------------------------------------------------------


@opcode("RAISE_VARARGS")
def raise_varargs(vm: Machine, frame: Frame, ins: Instruction) -> None:
    count = ins.arg or 0
    if count == 0:
        if vm.handled is None:
            raise vm.exception(RuntimeError, "No active exception to reraise")
        raise Raised(vm.handled)
    cause = frame.pop() if count == 2 else None
    value = exception_instance(vm, frame.pop())
    if cause is not None:
        if cause.cls is not type(None):
            value.cause = exception_instance(vm, cause)
        value.suppress_context = True
    raise Raised(value)


def exception_instance(vm: Machine, value: Value) -> ExceptionValue:
    if isinstance(value, ClassValue) and issubclass(value.klass_object, BaseException):
        value = vm.call(value, [])
    if not isinstance(value, ExceptionValue):
        raise vm.type_error("exceptions must derive from BaseException")
    if not value.raised_at:
        vm.journal.assign(value, "raised_at", vm.stack_locations())
    return value


@opcode("PUSH_EXC_INFO")
def push_exc_info(vm: Machine, frame: Frame, ins: Instruction) -> None:
    value = frame.pop()
    frame.push(vm.handled if vm.handled is not None else ConstantValue(None))
    frame.push(value)
    vm.journal.assign(vm, "handled", value)


@opcode("POP_EXCEPT")
def pop_except(vm: Machine, frame: Frame, ins: Instruction) -> None:
    previous = frame.pop()
    nothing = isinstance(previous, ConstantValue) and previous.value is None
    vm.journal.assign(vm, "handled", None if nothing else previous)


@opcode("RERAISE")
def reraise(vm: Machine, frame: Frame, ins: Instruction) -> None:
    value = frame.pop()
    raise Raised(value)


@opcode("CHECK_EXC_MATCH")
def check_exc_match(vm: Machine, frame: Frame, ins: Instruction) -> None:
    wanted = frame.pop()
    value: Any = frame.stack[-1]
    frame.push(ConstantValue(exception_matches(vm, value, wanted)))


def exception_matches(vm: Machine, value: Value, wanted: Value) -> bool:
    if isinstance(wanted, TupleValue):
        return any(exception_matches(vm, value, one) for one in wanted.items)
    if not isinstance(wanted, ClassValue) or not issubclass(wanted.klass_object, BaseException):
        raise vm.type_error(
            "catching classes that do not inherit from BaseException is not allowed"
        )
    return issubclass(value.cls, wanted.klass_object)


@opcode("BEFORE_WITH")
def before_with(vm: Machine, frame: Frame, ins: Instruction) -> None:
    manager = frame.pop()
    exit_method = _special_method(vm, manager, "__exit__")
    enter = _special_method(vm, manager, "__enter__")
    if enter is None or exit_method is None:
        name = manager.cls.__name__
        missing = "" if enter is None else " (missed __exit__ method)"
        raise vm.type_error(
            f"'{name}' object does not support the context manager protocol{missing}"
        )
    frame.push(exit_method)
    frame.push(vm.call(enter, []))


def _special_method(vm: Machine, obj: Value, name: str) -> Value | None:
    """A special method looked up on the type, bound."""
    if not hasattr(obj.cls, name):
        return None
    return vm.getattr_or_none(obj, name)


@opcode("WITH_EXCEPT_START")
def with_except_start(vm: Machine, frame: Frame, ins: Instruction) -> None:
    exit_method: Any = frame.stack[-4]
    value: Any = frame.stack[-1]
    arguments: list[Value] = [vm.class_value(value.cls), value, ConstantValue(None)]
    frame.push(vm.call(exit_method, arguments))


# -- generators ---------------------------------------------------------------------------------


@opcode("RETURN_GENERATOR")
def return_generator(vm: Machine, frame: Frame, ins: Instruction) -> None:
    """The frame is already a generator's: go on at the first send, which CPython would push."""
    frame.push(ConstantValue(None))


@opcode("YIELD_VALUE")
def yield_value(vm: Machine, frame: Frame, ins: Instruction) -> int | None:
    """The value stays on the stack until the generator's `send` takes it."""
    return vm.collected(frame)


@opcode("GET_YIELD_FROM_ITER")
def get_yield_from_iter(vm: Machine, frame: Frame, ins: Instruction) -> None:
    if not isinstance(frame.stack[-1], GeneratorValue):
        frame.stack[-1] = vm.iterate(frame.stack[-1])  # type: ignore[arg-type]


@opcode("SEND")
def send(vm: Machine, frame: Frame, ins: Instruction) -> None:
    """One step of `yield from`: (receiver, sent) -> (receiver, yielded), or past the loop with the
    result (3.11 drops the receiver, later versions leave it to END_SEND)."""
    value = frame.pop()
    receiver: Any = frame.stack[-1]
    yielded = vm.send(receiver, value)
    if yielded is not None:
        frame.push(yielded)
        return
    result = receiver.frame.returned if isinstance(receiver, GeneratorValue) else vm.stop_value
    behind_send(frame, ins, result)


def behind_send(frame: Frame, ins: Instruction, result: Value | None) -> None:
    """`yield from` has come to its end."""
    if sys.version_info < (3, 12):
        frame.pop()
    frame.push(result if result is not None else ConstantValue(None))
    frame.ip = ins.target  # type: ignore[assignment]


@opcode("END_SEND")
def end_send(vm: Machine, frame: Frame, ins: Instruction) -> None:
    value = frame.pop()
    frame.stack[-1] = value


@opcode("GET_AWAITABLE", "GET_AITER", "GET_ANEXT", "BEFORE_ASYNC_WITH", "END_ASYNC_FOR",
        "ASYNC_GEN_WRAP", "CLEANUP_THROW")  # fmt: skip
def asynchronous(vm: Machine, frame: Frame, ins: Instruction) -> None:
    raise GraphBreak("PTC-B013", "coroutines and async generators are not captured")
