"""The state of one capture and the interpreter loop.

`Machine` is the context passed to every handler and value (`vm`). It knows Python; subclasses add
the graph and what torch needs through the hooks at the end. Operations defined in other modules of
this package are attached as methods.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ptc.capture.effects import Effects
from ptc.capture.errors import GraphBreak, NotConstant, Raised
from ptc.capture.guards import Guard
from ptc.capture.interpreter import attributes, calls, operators, text, wrapping
from ptc.capture.interpreter.frame import Frame
from ptc.capture.journal import Journal
from ptc.capture.rebuild import Rebuilder
from ptc.capture.sources import Source, fixed, is_guarded
from ptc.capture.values.base import Value
from ptc.capture.values.callables import ClassValue, FunctionValue, LostValue
from ptc.capture.values.constants import IMMUTABLE_TYPES, ConstantValue
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.exceptions import ExceptionValue
from ptc.capture.values.iterators import GeneratorValue
from ptc.capture.values.mappings import DictValue
from ptc.capture.values.namespaces import Globals
from ptc.capture.values.objects import ObjectValue
from ptc.support.diagnostics import Location

_BUILTINS: Any = vars(builtins)
_WRAPPING_MODULES = frozenset({"__main__", "contextlib", "functools"})
RETURNED = 1
YIELDED = 2
PYTHON_VERSION = sys.version_info[:2]
MAX_INSTRUCTIONS = 20_000_000
_PLAIN = frozenset({*IMMUTABLE_TYPES, list, tuple, dict, set, types.FunctionType, types.MethodType})


class Machine:
    """One capture. See the module docstring."""

    def __init__(self, *, whole_program: bool) -> None:
        self.whole_program = whole_program
        self.journal = Journal()
        self.effects = Effects(self.journal)
        self.guards: dict[Guard, None] = {}
        self.wrapped: dict[int, Value] = {}
        self.kept_alive: dict[int, Any] = {}
        self.instance_dicts: dict[int, Value] = {}
        self.frames: list[Frame] = []
        self.handled: Value | None = None  # sys.exc_info()
        self.pending_attribute_error: Raised | None = None
        self.python_version = PYTHON_VERSION
        self.plain_classes: frozenset[type] = _PLAIN
        self.instructions_run = 0
        self.library_calls = 0  # handlers of library functions that are at work
        self.catchers: list[tuple[tuple[type, ...], Callable[[], None] | None]] = []
        self.stop_value: Value | None = None  # of the StopIteration that `next` turned into None
        self._globals: dict[int, Globals] = {}
        self._builtins = Globals(_BUILTINS, trusted=True)

    # Operations from the other modules of this package
    getattr = attributes.getattr_
    getattr_or_none = attributes.getattr_or_none
    generic_getattr = attributes.generic_getattr
    setattr = attributes.setattr_
    generic_setattr = attributes.generic_setattr
    delattr = attributes.delattr_
    generic_delattr = attributes.generic_delattr
    hasattr = attributes.hasattr_
    attribute_error = attributes.attribute_error
    python_method = attributes.python_method
    instance_dict = attributes.instance_dict
    call = calls.call
    call_function = calls.call_function
    trace_function = calls.trace_function
    call_builtin = calls.call_builtin
    instantiate = calls.instantiate
    type_call = calls.type_call
    evaluate = calls.evaluate
    exception = calls.exception
    raised = calls.raised
    native_exception = calls.native_exception
    class_value = calls.class_value
    binary = operators.binary
    inplace = operators.inplace
    unary = operators.unary
    compare = operators.compare
    is_same = operators.is_same
    same_constant = operators.same_constant
    truth = operators.truth
    length = operators.length
    contains = operators.contains
    contains_by_iteration = operators.contains_by_iteration
    getitem = operators.getitem
    setitem = operators.setitem
    delitem = operators.delitem
    has_index = operators.has_index
    as_index = operators.as_index
    iterate = operators.iterate
    iterate_snapshot = operators.iterate_snapshot
    next = operators.next_
    unpack = operators.unpack
    logical_not = operators.logical_not
    mapping_items = operators.mapping_items
    str = text.to_str
    repr = text.to_repr
    format = text.format_
    evaluate_import = text.evaluate_import
    wrap = wrapping.wrap
    wrap_fixed = wrapping.wrap_fixed
    wrap_new = wrapping.wrap_new
    wrap_at = wrapping.wrap_at
    trusted_class = staticmethod(wrapping.trusted_class)

    def close(self) -> None:
        """Let go of the program's objects once the capture is written down."""
        for table in (self.wrapped, self.kept_alive, self.instance_dicts, self._globals):
            table.clear()
        self.effects.log.clear()
        self.journal.clear()

    # -- making values -------------------------------------------------------------------------

    def const(self, value: Any) -> Value:
        return ConstantValue(value)

    def tuple(self, items: list[Value]) -> Value:
        return TupleValue(items)

    def list(self, items: list[Value]) -> Value:
        return ListValue(items)

    def dict_of(self, items: dict[str, Value]) -> Value:
        """A new dict with string keys."""
        return DictValue({name: (ConstantValue(name), value) for name, value in items.items()})

    def dict_items(self, mapping: DictValue) -> list[tuple[Value, Value]]:
        mapping.load_all(self)
        return list(mapping.entries.values())

    def type_error(self, text: str) -> Raised:
        return self.exception(TypeError, text)

    def hash_key(self, value: Value) -> Any:
        """A host key with the hash and equality of `value`."""
        method = self.python_method(value, "__hash__")
        if method is not None and not isinstance(value, (ClassValue, ConstantValue)):
            return self.hash_by_methods(value)
        return value.hash_key(self)

    def key_in(self, entries: dict[Any, Any], key: Value) -> Any:
        """The host key of `key` among the entries of a dictionary or set."""
        return self.hash_key(key)

    def hash_by_methods(self, value: Value) -> Any:
        """Classes with `__eq__` and `__hash__` of their own: use the hash's tuple of constants.

        Right only if equality compares what the hash covers, which holds for frozen dataclasses."""
        parameters = getattr(value.cls, "__dataclass_params__", None)
        if parameters is not None and parameters.frozen and parameters.eq:
            fields = [
                self.hash_key(self.getattr(value, name))
                for name, field in value.cls.__dataclass_fields__.items()  # type: ignore[attr-defined]
                if (field.compare if field.hash is None else field.hash)
            ]
            return (value.cls, *fields)
        if value.cls.__hash__ is None:
            raise self.type_error(f"unhashable type: '{value.cls.__name__}'")
        raise GraphBreak("PTC-B014", f"{value.describe()} is hashed by methods of its own")

    def new_object(self, cls: type) -> Value:
        return calls.c_new(self, object.__new__, cls, [], {})

    def stop_iteration(self, iterator: Value) -> Raised:
        """What `next(iterator)` raises at its end, with the generator's return value."""
        value = self.stop_value
        if isinstance(iterator, GeneratorValue):
            value = iterator.frame.returned
        if value is None or (value.is_constant() and value.constant() is None):
            return self.raised(StopIteration, [])
        return self.raised(StopIteration, [value])

    # -- guards and effects --------------------------------------------------------------------

    def guard(self, kind: str, source: Source | None, payload: Any = None) -> None:
        """Require a property of what is found at `source`, unless it cannot change."""
        if source is not None and not is_guarded(source):
            return
        guard = Guard(kind, source, payload, type(payload))
        if guard not in self.guards:
            self.journal.put(self.guards, guard, None)

    def guard_keys(self, source: Source, mapping: Any) -> None:
        keys = tuple(mapping)
        if is_guarded(source):
            known = next((g for g in self.guards if g.kind == "KEYS" and g.source == source), None)
            if known is None:
                self.guard("KEYS", source, fixed(keys, "keys"))

    def list_changed(self, value: ListValue) -> None:
        """The content of a list was changed."""
        self.effects.changed(value)

    def iterator_advanced(self, iterator: Value) -> None:
        if iterator.source is not None:
            self.effects.advanced(iterator)

    def class_overlay(self, cls: type, name: str) -> Value | None:
        """A class attribute written during this capture."""
        value = self.wrapped.get(id(cls))
        if isinstance(value, ClassValue):
            return value.attrs.get(name)
        return None

    # -- running -------------------------------------------------------------------------------

    def globals_of(self, namespace: dict[str, Any]) -> Globals:
        known = self._globals.get(id(namespace))
        if known is None:
            if namespace is _BUILTINS:
                known = self._builtins
            else:
                known = Globals(namespace, wrapping.trusted_module(namespace.get("__name__")))
            self._globals[id(namespace)] = known
        return known

    def load_global(self, frame: Frame, name: str) -> Value:
        value = frame.globals.load(self, name)
        if value is None:
            value = self._builtins.load(self, name)
            if value is None:
                raise self.exception(NameError, f"name {name!r} is not defined")
            if not frame.globals.trusted:
                self.guard("LACKS_KEY", fixed(frame.globals.namespace, "globals"), name)
        return value

    def run(self, frame: Frame) -> Value:
        """Run a function's frame to its return."""
        code = self.execute(frame)
        assert code == RETURNED and frame.returned is not None
        return frame.returned

    def execute(self, frame: Frame, thrown: Raised | None = None) -> int:
        """Run until the frame returns or yields; the user's exceptions unwind it."""
        self.frames.append(frame)
        handled = self.handled
        instructions, handlers = frame.instructions, frame.handlers
        start = self.instructions_run
        try:
            while True:
                try:
                    if thrown is not None:
                        pending, thrown = thrown, None
                        raise pending
                    while True:
                        index = frame.ip
                        frame.ip = index + 1
                        self.instructions_run += 1
                        stop = handlers[index](self, frame, instructions[index])
                        if stop:
                            return stop
                        if self.instructions_run - start > MAX_INSTRUCTIONS:
                            raise GraphBreak("PTC-B017", "capture runs for too long")
                except Raised as raised:
                    if not self.unwind(frame, raised):
                        raise
                except NotConstant as error:
                    name = frame.instructions[frame.ip - 1].opname
                    raise calls.not_constant(f"the instruction {name}", error) from None
        except GraphBreak as stopped:
            if not stopped.stack:
                stopped.stack = self.stack_locations()
            raise
        except Raised:
            self.handled = handled
            raise
        finally:
            self.frames.pop()

    def unwind(self, frame: Frame, raised: Raised) -> bool:
        """Continue at the exception handler around the raising instruction, if there is one."""
        instruction = frame.instructions[frame.ip - 1]
        handler = instruction.handler
        value = raised.value
        if (
            isinstance(value, ExceptionValue)
            and value.context is None
            and self.handled is not None
            and self.handled is not value
        ):
            value.context = self.handled
        if handler is None:
            return False
        del frame.stack[handler.depth :]
        if handler.lasti:
            frame.push(ConstantValue(instruction.offset))
        frame.push(value)
        frame.kw_names = ()
        frame.ip = handler.target
        return True

    @contextmanager
    def catching(
        self, *classes: type[BaseException], left: Callable[[], None] | None = None
    ) -> Iterator[None]:
        """While a library function or an operator runs the program's code and handles these
        exceptions; `left` is what it does where another one leaves it."""
        self.catchers.append((classes, left))
        try:
            yield
        finally:
            self.catchers.pop()

    def resume_generator(
        self, frame: Frame, value: Value | None, exception: Value | None
    ) -> Value | None:
        """Go on in a suspended frame: the next yielded value, None when it returned."""
        outer = self.handled
        if frame.handled is not None:
            self.handled = frame.handled
        if value is not None:
            frame.push(value)
        try:
            stop = self.execute(frame, Raised(exception) if exception is not None else None)
            frame.handled = self.handled if self.handled is not outer else None
        finally:
            self.handled = outer
        if stop == RETURNED:
            return None
        return frame.pop()

    def call_until_stop(self, function: Value, args: list[Value]) -> Value | None:
        """A call of a `__next__` written in Python; None when it raises StopIteration."""
        try:
            with self.catching(StopIteration):
                return self.call(function, args)
        except Raised as raised:
            value = raised.value
            if isinstance(value, ExceptionValue) and issubclass(value.cls, StopIteration):
                self.stop_value = value.args[0] if value.args else None
                return None
            raise

    def send(self, receiver: Value, value: Value) -> Value | None:
        """`receiver.send(value)` as `yield from` does it; None when it stops."""
        self.stop_value = None
        if isinstance(receiver, GeneratorValue):
            return receiver.send(self, value)
        if value.is_constant() and value.constant() is None:
            return self.next(receiver)
        return self.call_until_stop(self.getattr(receiver, "send"), [value])

    def branch(self, frame: Frame, value: Value) -> bool:
        """The truth of a value that decides a jump."""
        return self.truth(value)

    def stack_locations(self) -> tuple[Location, ...]:
        return tuple(frame.location() for frame in self.frames)

    def graph_break(self, code: str, reason: str, hint: str = "") -> GraphBreak:
        return GraphBreak(code, reason, hint)

    def class_getitem(self, cls: Value, key: Value) -> Value:
        """`cls[key]`: enum members, generic aliases."""
        real = cls.real()
        try:
            return self.evaluate(lambda: real[key.constant()])
        except NotImplementedError as error:
            raise GraphBreak("PTC-B006", f"subscript of {cls.describe()}") from error

    # -- hooks for torch -----------------------------------------------------------------------

    def entered(self, frame: Frame) -> None:
        """The captured frame was made, its arguments are wrapped."""

    def found_again(self, value: Value, source: Source) -> None:
        """An object that is known already was found by another path."""

    def symbolic_number(self, number: int, source: Source) -> Value | None:
        """A symbolic value for an int from outside, or None to take it as it is, under a guard."""
        return None

    def derived(self, emit: Rebuilder, outputs: list[Value]) -> Callable[[Value], str | None]:
        """For the rebuilder: how to make results again that must share memory, given what the graph
        would return without."""
        return lambda value: None

    def leave_state(self, emit: Rebuilder) -> None:
        """Write what sets the process's state as the captured part of the program leaves it."""

    def before_inlining(
        self, function: FunctionValue, args: list[Value], kwargs: dict[str, Value]
    ) -> Value | None:
        """A value instead of tracing the function's body, or None."""
        return None

    def property_handler(self, raw: property) -> Any:
        """How a library's property is computed, `(vm, obj) -> Value`, if not by tracing."""
        return calls.find_handler(raw)

    def new_instance(self, cls: type) -> Value:
        """`object.__new__(cls)` for a class written in Python."""
        return ObjectValue(cls)

    def initialise(
        self, function: Value, made: Value, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        """`made.__init__(*args, **kwargs)` in the call of a class."""
        return self.call(function, [made, *args], kwargs)

    def instance_check(self, cls: type, value: Value) -> bool | None:
        """`isinstance` against a class with a library's own `__instancecheck__`."""
        return None

    def kept_attribute(self, owner: Any, name: str, real: Any) -> Value | None:
        """The value of an attribute that changes from call to call; None: as it is now."""
        return None

    def attribute_set(self, owner: Any, name: str, value: Value) -> None:
        """An attribute was written."""

    def attribute_deleted(self, owner: Any, name: str) -> None:
        """An attribute was deleted."""

    def buffer_set(self, module: Any, name: str, value: Value) -> None:
        """A buffer of a module was replaced."""

    def lost(self, generator: GeneratorValue) -> GraphBreak:
        """A generator is to go on that stood at different places in the arms of a branch."""
        return GraphBreak(
            "PTC-B006",
            f"{generator.describe()} has come to different places, which data decides, and goes on",
            "make a list of its elements first",
        )

    def lost_object(self, value: LostValue) -> BaseException:
        """An object is asked for that the program has no name for."""
        return value.refusal()

    def collected(self, frame: Frame) -> int | None:
        """What comes of a yield: YIELDED, RETURNED, or None where the generator goes on."""
        return YIELDED

    def present(self, value: Value) -> Value | None:
        """What is under a key; None if it turns out that the key is absent."""
        return value

    def settle(self, value: Value) -> Value:
        """The one that a value is of those that it may be."""
        return value

    def settle_presence(self, entries: dict[Any, Any]) -> None:
        """Find out which entries of a dictionary or set are there."""

    @property
    def told_outside(self) -> int:
        """How many prints, log records and exceptions are part of the program so far."""
        return 0

    def has_data_length(self, iterable: Value) -> bool:
        """Whether data decides how many elements an iterable has."""
        return False

    def range_by_data(self, args: list[Value]) -> Value | None:
        """`range(*args)` where a bound depends on data; None where none does."""
        return None

    def contains_by_data(self, container: Value, item: Value) -> Value | None:
        """`item in container` for a container whose length data decides; None for all others."""
        return None

    def entries_changed(self, container: Value) -> None:
        """The content of a dictionary or set has changed."""
        self.effects.changed(container)

    def entries_by_data(self, container: Value, *entry: Value) -> bool:
        """Before an entry is put in a dictionary or set: whether that has become one whose number
        of entries data decides."""
        return False

    def order_by_data(self, value: Value) -> bool:
        """Before the order of a set is asked for: whether it has become one whose elements data
        decides."""
        return False

    def unpack_by_data(self, value: Value, before: int, after: int | None) -> list[Value] | None:
        """The elements of an iterable whose length data decides: `before` of them, then, unless
        `after` is None, a list of the rest and `after` more; None for all others."""
        return None

    def extend_by_data(self, target: Value, values: Value) -> bool:
        """Put the elements of an iterable whose length data decides at the end of a list; False for
        all others."""
        return False

    def settle_arguments(
        self, args: list[Value], kwargs: dict[str, Value], handler: Any = None
    ) -> tuple[list[Value], dict[str, Value]]:
        """Arguments for a library function with this handler, each one value for certain."""
        return args, kwargs

    def require_order(self, keys: list[Value]) -> None:
        """Before keys that are not known are sorted."""

    def exchanged(
        self, values: list[Value], keys: list[Value], backward: bool
    ) -> list[Value] | None:
        """Values in the order of keys that are not known; None to compare as CPython does."""
        return None

    def print(self, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """A call of `print`."""
        raise GraphBreak(
            "PTC-B003",
            "print or another input or output operation cannot be part of the graph",
            "remove the print, or keep it outside of the model's forward",
        )

    def warn(self, message: Value, category: Value | None) -> bool:
        """A warning as part of the program. False: it is to be deferred like other calls."""
        return False

    def log(self, level: int, logger: str, args: list[Value], kwargs: dict[str, Value]) -> bool:
        """A log record as part of the program. False: it is to be deferred like other calls."""
        return False

    def join_text(self, parts: list[Value]) -> Value:
        """Strings as one."""
        return ConstantValue("".join([part.constant() for part in parts]))

    def next_by_data(self, iterator: Any) -> Value | None:
        """The next element of an iterator whose position data decides."""
        raise AssertionError("no position depends on data in straight capture")

    def symbolic_extreme(self, name: str, values: list[Value]) -> Value | None:
        """`min` or `max` of symbolic numbers without deciding which it is; None: compare."""
        return None

    def worth_dispatching(self, function: FunctionValue) -> bool:
        """Whether a function that broke the graph may hold more to capture. The standard library's
        own do not, but for those that wrap the user's functions."""
        module = function.globals.namespace.get("__name__")
        root = module.partition(".")[0] if isinstance(module, str) else ""
        return root in _WRAPPING_MODULES or root not in sys.stdlib_module_names

    def dispatched_callable(self, callee: Value) -> tuple[Value, Value] | None:
        """The Python function that calling an object amounts to, and its first argument."""
        return None

    def pin(self, value: Value) -> Any:
        """The host number of a symbolic one, fixed by a guard; None if it has none."""
        return None
