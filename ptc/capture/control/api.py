"""Capture of a program with control flow: of a whole program, and of a call for `ptc.compile`."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from ptc.capture import alias_guards, shape_guards, torch_state
from ptc.capture.control.effects import qualified
from ptc.capture.control.finish import finish
from ptc.capture.control.forks import Dead
from ptc.capture.control.kept import Kept, KeptAttribute, State
from ptc.capture.control.machine import ControlMachine
from ptc.capture.control.splits import Restart
from ptc.capture.control.work import TooMuchWork, Work
from ptc.capture.errors import GraphBreak, Raised
from ptc.capture.guards import Guard
from ptc.capture.interpreter.frame import Frame
from ptc.capture.program_structure import CallArguments
from ptc.capture.segments import enter
from ptc.capture.sources import Source, fixed
from ptc.capture.torch_wrapping import guard_ambient
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.exceptions import ExceptionValue
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph import transforms
from ptc.graph.control import ControlProgram, NumberKind, NumberVar
from ptc.graph.program import InputKind, ProgramInput

T = TypeVar("T")


def capture_control(
    function: types.FunctionType,
    bound: dict[str, Any],
    *,
    names: dict[str, str],
    count: int,
    keywords: dict[str, Any],
    is_method: bool,
    dynamic: Any,
    name: str,
) -> ControlProgram:
    """The program of one call. Raises GraphBreak for what needs Python."""

    def declared(vm: ControlMachine, frame: Frame) -> CallArguments:
        call = CallArguments.of(vm, frame, count, keywords, is_method)
        call.declare(vm)
        return call

    def finished(
        vm: ControlMachine, frame: Frame, call: CallArguments, result: Value | None
    ) -> ControlProgram:
        alias_guards.add(vm)
        return finish(vm, frame, result, call, name)

    def machine(kept: Kept) -> ControlMachine:
        return ControlMachine(dynamic=dynamic, kept=kept)

    return _captured(function, bound, names, machine, declared, finished)


# -- a call in this process ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CapturedCall:
    """A call as a program with control flow, for the process that it was captured in.

    guards      under which the program is that of another call
    sources     where the inputs come from, by name
    attributes  what the program keeps in the user's objects
    exceptions  the classes that it raises, by qualified name
    """

    program: ControlProgram
    guards: tuple[Guard, ...]
    sources: Mapping[str, Source]
    attributes: tuple[KeptAttribute, ...]
    exceptions: Mapping[str, type[BaseException]]


class _CallMachine(ControlMachine):
    """Keeps what the user's objects show of an effect."""

    def __init__(self, *, dynamic: Any, kept: Kept) -> None:
        super().__init__(dynamic=dynamic, kept=kept)
        self.state = State(self, kept, live=True)
        self.exceptions: dict[str, type[BaseException]] = {}
        self.records_gradients = True
        self.owns_generators = False
        self.number_sources: dict[str, tuple[NumberVar, Source]] = {}

    def symbolic_number(self, number: int, source: Source) -> Value | None:
        """An int that calls show to change is a number that data decides."""
        if self.dynamic is None or source.text() not in self.dynamic.numbers:
            return None
        found = self.number_sources.get(source.text())
        if found is None:
            if not -(2**63) <= number < 2**63:
                return None
            found = NumberVar(self.writer.name("n"), NumberKind.INT), source
            self.number_sources[source.text()] = found
            described = ProgramInput(found[0].name, InputKind.SCALAR, source.text())
            self.homes.numbers[found[0]] = described
        self.guard("TYPE", source, fixed(int, "int"))
        return DataNumber(found[0])

    def may_require_grad(self, value: TensorValue) -> bool:
        """What comes of a merge may, though its fake tensor does not."""
        if value.fake.requires_grad or value.source is not None:
            return value.fake.requires_grad
        recorded = torch.is_grad_enabled() and value.fake.is_floating_point()
        return recorded and any(known.fake.requires_grad for known in self.homes.inputs)

    def emit_raise(self, raised: Raised) -> None:
        value = raised.value
        choices = value.alternatives if isinstance(value, ChoiceValue) else (value,)
        for choice in choices:
            if isinstance(choice, ExceptionValue):
                self._note_class(choice.klass)
        super().emit_raise(raised)

    def _note_class(self, cls: type) -> None:
        if self.exceptions.setdefault(qualified(cls), cls) is not cls:
            raise GraphBreak("PTC-B011", f"two classes of exceptions are called {qualified(cls)}")


def capture_call(
    function: types.FunctionType, bound: dict[str, Any], *, dynamic: Any, name: str
) -> CapturedCall:
    """One call for `ptc.compile`. Raises GraphBreak for what needs Python."""

    def finished(vm: _CallMachine, frame: Frame, _: None, result: Value | None) -> CapturedCall:
        shape_guards.add(vm)
        alias_guards.add(vm)
        program = finish(vm, frame, result, None, name)
        sources = {
            described.name: value.source
            for value, described in vm.homes.inputs.items()
            if value.source is not None
        }
        sources |= {var.name: source for var, source in vm.number_sources.values()}
        return CapturedCall(
            program, tuple(vm.guards), sources, vm.state.attributes(), dict(vm.exceptions)
        )

    def machine(kept: Kept) -> _CallMachine:
        return _CallMachine(dynamic=dynamic, kept=kept)

    return _captured(function, bound, {}, machine, lambda vm, frame: None, finished)


# -- both ----------------------------------------------------------------------------------------

M = TypeVar("M", bound=ControlMachine)
A = TypeVar("A")


def _captured(
    function: types.FunctionType,
    bound: dict[str, Any],
    names: dict[str, str],
    machine: Callable[[Kept], M],
    entered: Callable[[M, Frame], A],
    finished: Callable[[M, Frame, A, Value | None], T],
) -> T:
    """Capture until nothing new is found that the program keeps from call to call."""
    kept, work, levels = Kept(), Work(), transforms.depth()
    for _ in range(_MOST_CAPTURES):
        vm = machine(kept)
        vm.work = work
        size = kept.size()
        try:
            guard_ambient(vm)
            vm.builder.argument_names = names
            frame = enter(vm, function, bound)
            call = entered(vm, frame)
            try:
                result = _result(vm, frame)
            except TooMuchWork:
                raise
            except GraphBreak:
                kept = vm.state.finished()
                if kept.size() == size:
                    vm.lists.stores.last_resort()
                    vm.lists.references.last_resort()
                    raise
                continue
            kept = vm.state.finished()
            if kept.size() > size:
                continue
            return finished(vm, frame, call, result)
        except Restart:
            kept = vm.state.finished()
        finally:
            vm.close()
            transforms.leave_to(levels)
            torch_state.restore(vm.state_on_entry)
    raise GraphBreak("PTC-B003", "the values that an attribute keeps from call to call have no end")


_MOST_CAPTURES = 24


def _result(vm: ControlMachine, frame: Frame) -> Value | None:
    """What the program returns; None if no path returns."""
    try:
        return vm.run(frame)
    except Raised as raised:
        vm.emit_raise(raised)
    except Dead:
        pass
    return None
