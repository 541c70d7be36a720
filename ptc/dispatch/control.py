"""Running captured programs with control flow for `ptc.compile(control_flow=True)`.

The native way calls a library; other backends take graphs without control flow, so that for them
the reference interpreter runs the program. Both give the result as the user's code would, with its
effects, and leave the real objects as it would.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from ptc import pipeline
from ptc.capture.api import CapturedCall
from ptc.dispatch.config import STATISTICS
from ptc.dispatch.control_gradients import Recorded, with_gradients
from ptc.dispatch.gradients import announce
from ptc.dispatch.live_control import LiveProgram, live_program
from ptc.dispatch.notices import notify
from ptc.dispatch.references import require_own_tensors
from ptc.graph.control import Assign, NumberKind, Segment, TensorVar, walk
from ptc.graph.control_run import Failure, run_outputs
from ptc.hosting.abi import OpenOptions, Status
from ptc.hosting.effects import NotSupported, UsersException
from ptc.hosting.library import Session
from ptc.hosting.results import Results
from ptc.hosting.slots import Slot, pointers
from ptc.hosting.tensors import Operand
from ptc.support.diagnostics import CompileError, Diagnostic, InternalError

#: `store(numbers, tensors)`: see `ptc.capture.control.entry`.
Store = Callable[[Mapping[str, Any], Mapping[str, Any]], None]
Execute = Callable[[Sequence[Any], Mapping[str, Any], Store], Any]

_MESSAGE_BYTES = 1024


def compile_native(call: CapturedCall, *, fallback: bool) -> Execute:
    """Run the program as a library. One that keeps tensors, strings or lists in the user's objects,
    or gradients of what outlives the run, runs in eager, if `fallback`, and the user is told.
    Raises CompileError for what cannot be lowered."""
    live = live_program(call)
    recorded = Recorded.by(live.program)
    why = _kept(live) or _outside(live, recorded)
    if why is not None:
        _run_in_eager(why, fallback)
        return _InterpretedProgram(live, bool(recorded.names))
    built = pipeline.compile_control(live.program)
    require_own_tensors(built.compiled.loops.functional, live.replaced)
    STATISTICS.graphs += 1
    STATISTICS.kernels += built.info.kernels
    native = _NativeProgram(live, built)
    if not recorded.results:
        return native
    announce(live.program.location, "program")
    run = with_gradients(native.flat, live, recorded.names)
    return lambda inputs, numbers, store: live.result(*run(inputs, numbers, store))


def _kept(live: LiveProgram) -> Diagnostic | None:
    """A session's numbers are open to its process, the tensors and lists that it keeps are not."""
    paths = sorted(f"`{kept.path}`" for kept in live.program.references)
    if not paths:
        return None
    names = f"{', '.join(paths)} {'is' if len(paths) == 1 else 'are'}"
    return Diagnostic(
        "PTC-D026",
        f"the program runs in eager: {names} kept from call to call, no number and no buffer",
        live.program.location,
        hint="`ptc compile` makes a library that keeps them; in Python keep numbers and buffers",
        severity="warning",
    )


def _outside(live: LiveProgram, recorded: Recorded) -> Diagnostic | None:
    if not recorded.outside:
        return None
    return Diagnostic(
        "PTC-D023",
        "the program runs in eager: gradients are recorded of what it writes to or prints",
        live.program.location,
        hint="call it under torch.no_grad(), or write and print what is detached",
        severity="warning",
    )


def _run_in_eager(why: Diagnostic, fallback: bool) -> None:
    if not fallback:
        raise CompileError(why.code, why.message, location=why.location, hint=why.hint)
    STATISTICS.fallbacks += 1
    notify(why)


def compile_interpreted(call: CapturedCall) -> Execute:
    """Run the program's graphs by torch, one operator at a time."""
    live = live_program(call)
    return _InterpretedProgram(live, bool(Recorded.by(live.program).names))


def _kept_inputs(live: LiveProgram) -> dict[int, int]:
    """Outputs that always are one of the inputs, as the object that was given: by position."""
    assigned: set[str] = set()
    for item in walk(live.program.body):
        if isinstance(item, Assign):
            assigned.add(item.target.name)
        elif isinstance(item, Segment):
            assigned.update(output.name for output in item.program.outputs)
    names = [described.name for described in live.program.inputs]
    return {
        number: names.index(output.value.name)
        for number, output in enumerate(live.program.outputs)
        if isinstance(output.value, TensorVar)
        and output.value.name in names
        and output.value.name not in assigned
    }


class _InterpretedProgram:
    """`record`: whether gradients are recorded."""

    def __init__(self, live: LiveProgram, record: bool) -> None:
        self._live = live
        self._record = record
        self._names = [described.name for described in live.program.inputs]

    def __call__(self, inputs: Sequence[Any], numbers: Mapping[str, Any], store: Store) -> Any:
        live = self._live
        tensors = dict(zip(self._names, inputs, strict=True))
        given = {name: tensors.pop(name) for name in live.replaced}
        state: dict[str, Any] = {**numbers, **given}
        try:
            outputs, variant = run_outputs(
                live.program, tensors, state, emit=live.emit, record=self._record
            )
        except UsersException as error:
            failure: BaseException = live.exception(error.type_name, str(error))
        except Failure as error:
            failure = NotSupported(str(error))
        else:
            return live.result(outputs, variant)
        finally:
            store(state, {name: state[name] for name in given if state[name] is not given[name]})
        raise failure


class _Lane:
    """What one run at a time needs: a session and the descriptors of its inputs."""

    def __init__(self, model: _Model, infos: Sequence[Any], emit: Any) -> None:
        self.session = Session(model)  # type: ignore[arg-type]
        self.session.emit = emit
        self.session.listen()
        self.slots = [Slot(info) for info in infos]
        self.pointers = pointers([slot.descriptor for slot in self.slots])
        self.numbers = ctypes.POINTER(ctypes.c_int64)()
        self.weights = ctypes.POINTER(ctypes.c_void_p)()
        model.library.api.state(
            self.session.handle, ctypes.byref(self.numbers), ctypes.byref(self.weights)
        )


class _Model:
    """An opened library, as sessions want it."""

    def __init__(self, built: pipeline.BuiltControl, weights: Sequence[torch.Tensor]) -> None:
        self.library = built
        self.api: Any = built.api
        self._weights = weights
        self.handle = ctypes.c_void_p()
        addresses = (ctypes.c_void_p * max(1, len(weights)))(*(w.data_ptr() for w in weights))
        options = OpenOptions(
            ctypes.sizeof(OpenOptions), torch.get_num_threads(), None,
            ctypes.cast(addresses, ctypes.POINTER(ctypes.c_void_p)),
        )  # fmt: skip
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        status = built.api.open(
            ctypes.byref(options), ctypes.byref(self.handle), message, _MESSAGE_BYTES
        )
        if status != Status.OK:
            raise InternalError("open", message.value.decode(errors="replace"))
        # The library and the weights live as long. At exit the process frees everything.
        weakref.finalize(self, _close, built, self.handle, weights).atexit = False


def _close(built: pipeline.BuiltControl, handle: ctypes.c_void_p, weights: object) -> None:
    built.api.close(handle)
    del weights


@dataclass(frozen=True, slots=True)
class _Number:
    """A kept number in the session's table."""

    name: str
    kind: NumberKind
    initial: int | float | bool

    def write(self, table: Any, place: int, value: Any) -> None:
        if self.kind is NumberKind.FLOAT:
            table[place] = ctypes.c_int64.from_buffer_copy(ctypes.c_double(value)).value
        else:
            table[place] = int(value)

    def read(self, table: Any, place: int) -> Any:
        raw = ctypes.c_int64(table[place])
        if self.kind is NumberKind.FLOAT:
            return ctypes.c_double.from_buffer_copy(raw).value
        return bool(raw.value & 0xFF) if self.kind is NumberKind.BOOL else raw.value


class _NativeProgram:
    """A loaded library and the live objects that its runs work on."""

    def __init__(self, live: LiveProgram, built: pipeline.BuiltControl) -> None:
        self._live = live
        self._built = built
        program = live.program
        names = [described.name for described in program.inputs]
        self._given = [i for i, name in enumerate(names) if name not in live.replaced]
        #: Position among the inputs and in the library's table.
        self._buffers = [(names.index(name), built.weights.index(name)) for name in live.replaced]
        self._written = [i for i in self._given if names[i] in program.written]
        self._same = _kept_inputs(live)
        self._numbers = [
            _Number(s.variable.name, s.variable.kind, s.initial) for s in program.state
        ]
        lives = {d.name: d.live.detach().contiguous() for d in program.inputs if d.live is not None}
        self._model = _Model(built, [lives[name] for name in built.weights])
        self._lanes: list[_Lane] = []
        self._lock = threading.Lock()

    def __call__(self, inputs: Sequence[Any], numbers: Mapping[str, Any], store: Store) -> Any:
        return self._live.result(*self.flat(inputs, numbers, store))

    def flat(
        self, inputs: Sequence[Any], numbers: Mapping[str, Any], store: Store
    ) -> tuple[list[Any], int]:
        """The flat results, and the number of their structure."""
        with self._lane() as lane, torch.no_grad():
            self._set_state(lane, inputs, numbers)
            taken = [inputs[position] for position in self._given]
            operands = [slot.take(value) for slot, value in zip(lane.slots, taken, strict=True)]
            for slot, operand in zip(lane.slots, operands, strict=True):
                slot.place(operand.pointer, operand.shape)
            outputs = self._run(lane, inputs, operands, store)
            variant = lane.session.variant() if self._live.program.variants else 0
        for output, position in self._same.items():
            if outputs[output] is not None:
                outputs[output] = inputs[position]
        return outputs, variant

    def _run(
        self, lane: _Lane, inputs: Sequence[Any], operands: Sequence[Operand], store: Store
    ) -> list[Any]:
        session = lane.session
        results = Results(self._built.info.outputs)
        count = len(self._built.info.outputs)
        try:
            status = session.api.run(
                session.handle, 0, lane.pointers, len(lane.slots), results.pointers, count
            )
            session.raise_listeners_failure()
            if status:
                self._fail(lane, status)
            return results.take(session, as_torch=True)
        finally:
            for operand in operands:
                operand.write_back()
            for position in self._written:
                torch.autograd.graph.increment_version(inputs[position])
            store(*self._state(lane, inputs))

    def _fail(self, lane: _Lane, status: int) -> None:
        api, handle = lane.session.api, lane.session.handle
        message = (api.last_error(handle) or b"").decode("utf-8", "replace")
        if status == Status.RAISED:
            name = api.exception_type(handle).decode()
            raise self._live.exception(name, message[len(name) + 2 :])
        if status == Status.MEMORY:
            raise MemoryError(message)
        if status == Status.RUNTIME:
            if "integer overflow" in message:
                raise NotSupported(message)
            raise IndexError(message) if "out of range" in message else RuntimeError(message)
        raise InternalError("run", f"{Status(status).name}: {message}")

    # -- state ---------------------------------------------------------------------------------

    def _set_state(self, lane: _Lane, inputs: Sequence[Any], numbers: Mapping[str, Any]) -> None:
        for place, number in enumerate(self._numbers):
            number.write(lane.numbers, place, numbers.get(number.name, number.initial))
        for position, weight in self._buffers:
            content = inputs[position].detach().contiguous()
            ctypes.memmove(lane.weights[weight], content.data_ptr(), _bytes(content))

    def _state(
        self, lane: _Lane, inputs: Sequence[Any]
    ) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        """The kept numbers, and the buffers that have another content than was given."""
        numbers = {
            number.name: number.read(lane.numbers, place)
            for place, number in enumerate(self._numbers)
        }
        tensors: dict[str, torch.Tensor] = {}
        for position, weight in self._buffers:
            given = inputs[position].detach().contiguous()
            found = torch.empty_like(given)
            ctypes.memmove(found.data_ptr(), lane.weights[weight], _bytes(found))
            if not torch.equal(_raw(found), _raw(given)):
                tensors[self._live.program.inputs[position].name] = found
        return numbers, tensors

    @contextmanager
    def _lane(self) -> Iterator[_Lane]:
        """A session of this run's own: another thread, or what the program prints to, may run it
        too."""
        with self._lock:
            lane = self._lanes.pop() if self._lanes else None
        if lane is None:
            lane = _Lane(self._model, self._built.info.inputs, self._live.emit)
        try:
            yield lane
        finally:
            with self._lock:
                self._lanes.append(lane)


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _raw(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1).view(torch.uint8)
