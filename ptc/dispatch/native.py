"""The native backend: a captured graph becomes a library and a Python function that calls it.

The function is generated for the graph: it reads sizes and addresses from the tensors that it gets,
allocates the outputs, calls `run_raw` and returns. Guards have checked everything before.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ptc import pipeline
from ptc.backends.registry import BackendOptions, CompiledGraph, register_backend
from ptc.dispatch.config import STATISTICS
from ptc.dispatch.failures import raise_as_eager
from ptc.dispatch.frozen import FrozenGraph, FrozenRun, Taken
from ptc.dispatch.gradients import needs_gradients, with_gradients
from ptc.dispatch.notices import notify
from ptc.graph.program import AtenProgram, CapturedProgram, OutputKind
from ptc.hosting.abi import Api, OpenOptions, Status
from ptc.loops.index import Index
from ptc.loops.nodes import Buffer, BufferKind, DType, Program
from ptc.ops.dtypes import to_torch
from ptc.support.diagnostics import CompileError, Diagnostic, InternalError

_MESSAGE_BYTES = 1024


@register_backend("native")
def native(program: CapturedProgram, options: BackendOptions) -> CompiledGraph:
    """Compile with ptc's own code generator. A graph that it cannot lower runs in eager, and the
    user is told."""
    if not any(node.op.startswith("call_") for node in program.graph.graph.nodes):
        return _eager(program)
    try:
        _require_cpu(program)
        if options.freeze:
            graph = FrozenGraph(program, _build_frozen)
        else:
            graph = _build(program)
    except CompileError as error:
        if options.options.get("fallback", True) is False:
            raise
        return _fall_back(program, error)
    if not needs_gradients(program):
        return graph.call
    return with_gradients(graph.call, program, graph.written)


def _build(
    program: CapturedProgram, live: frozenset[int] = frozenset(), changed: Any = None
) -> NativeGraph:
    built = pipeline.compile_graph(program, freeze=changed is not None, live=live)
    STATISTICS.graphs += 1
    STATISTICS.kernels += len(built.loops.kernels)
    return NativeGraph(built, program, changed)


def _build_frozen(
    program: CapturedProgram, live: frozenset[int], changed: CompiledGraph
) -> FrozenRun:
    graph = _build(program, live, changed)
    return FrozenRun(graph.call, graph.taken, graph.written)


def _require_cpu(program: CapturedProgram) -> None:
    for node in program.graph.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.device.type != "cpu":
            raise CompileError(
                "PTC-D005",
                f"`{node.name}` is a tensor on `{value.device}`",
                location=node.meta.get("location"),
                hint="move the module and its inputs to the CPU",
            )


def _eager(program: CapturedProgram) -> CompiledGraph:
    graph = program.graph
    return lambda *inputs: tuple(graph(*inputs))


def _fall_back(program: CapturedProgram, error: CompileError) -> CompiledGraph:
    STATISTICS.fallbacks += 1
    cause = error.diagnostic
    notify(
        Diagnostic(
            "PTC-D021",
            f"a graph of {len(program.graph.graph.nodes)} nodes runs in eager: {cause.message}",
            cause.location or program.location,
            hint=cause.hint,
            notes=(f"because of {cause.code}",),
            severity="warning",
        )
    )
    return _eager(program)


class _Handle:
    """A model or session of a library; freed when nothing refers to this object any more.
    `keeps` lives at least as long."""

    def __init__(self, pointer: ctypes.c_void_p, free: Any, keeps: Any) -> None:
        self.pointer = pointer
        # At exit the process frees everything, and other threads may still be running.
        weakref.finalize(self, _free, pointer, free, keeps).atexit = False


def _free(pointer: ctypes.c_void_p, free: Any, keeps: Any) -> None:
    free(pointer)
    del keeps


class NativeGraph:
    """A loaded library with one entry. `call` takes flat inputs and gives flat outputs.

    Sessions end with their thread, the model when the graph is dropped and no session is left.
    """

    def __init__(
        self,
        built: pipeline.BuiltGraph,
        program: CapturedProgram,
        changed: CompiledGraph | None = None,
    ) -> None:
        """`changed` is what a call is handed over to when a frozen weight is no longer the same."""
        self._api = built.api
        self._library = built.handle
        self._local = threading.local()
        self._frozen = built.frozen
        self.taken = _taken_weights(built) if built.frozen else {}
        self._weights = [taken.tensor.detach() for taken in self.taken.values()]
        self.written = [
            output.target
            for output in built.aten.outputs
            if output.kind is OutputKind.WRITE_BACK and output.target is not None
        ]
        self._model = self._open()
        self.source, self.call = _generate(built, program, self._session, self.taken, changed)

    def _open(self) -> _Handle:
        pointers = (ctypes.c_void_p * max(1, len(self._weights)))(
            *(weight.data_ptr() for weight in self._weights)
        )
        options = OpenOptions(
            ctypes.sizeof(OpenOptions), torch.get_num_threads(), None,
            ctypes.cast(pointers, ctypes.POINTER(ctypes.c_void_p)) if self._frozen else None,
        )  # fmt: skip
        model = ctypes.c_void_p()
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        status = self._api.open(ctypes.byref(options), ctypes.byref(model), message, _MESSAGE_BYTES)
        if status != Status.OK:
            raise InternalError("open", message.value.decode(errors="replace"))
        return _Handle(model, self._api.close, (self._library, self._weights))

    def _session(self) -> ctypes.c_void_p:
        """This thread's session: two threads may call one compiled function."""
        try:
            return self._local.session.pointer
        except AttributeError:
            session = ctypes.c_void_p()
            status = self._api.session_new(self._model.pointer, ctypes.byref(session))
            if status != Status.OK:
                raise MemoryError("no memory for a session of a compiled graph") from None
            self._local.session = _Handle(session, self._api.session_free, self._model)
            return session


def _taken_weights(built: pipeline.BuiltGraph) -> dict[int, Taken]:
    """The weights that the library takes, by position of the input."""
    return {
        position: Taken.of(described.live)
        for position, (name, described) in enumerate(
            zip(built.loops.inputs, built.aten.inputs, strict=True)
        )
        if built.loops.buffers[name].kind is BufferKind.WEIGHT and described.live is not None
    }


def _generate(
    built: pipeline.BuiltGraph,
    program: CapturedProgram,
    session: Any,
    taken: Mapping[int, Taken],
    changed: CompiledGraph | None,
) -> tuple[str, CompiledGraph]:
    """The text of the calling function, and the function."""
    writer = _CallWriter(built.aten, built.loops, built.frozen, taken)
    text = writer.text()
    api = built.api
    namespace: dict[str, Any] = {
        **writer.constants,
        "session": session,
        "run_raw": api.run_raw,
        "fail": lambda code, owner, *inputs: _fail(api, code, owner, program, inputs),
        "Pointers": ctypes.c_void_p * max(1, writer.pointer_count),
        "Sizes": ctypes.c_int64 * max(1, len(built.loops.sizes)),
        "empty": torch.empty,
        "empty_strided": torch.empty_strided,
        "address": ctypes.addressof,
        "c_int64": ctypes.c_int64,
        "c_double": ctypes.c_double,
        "c_bool": ctypes.c_bool,
        "changed": changed,
    }
    exec(compile(text, f"<call of {built.loops.name}>", "exec"), namespace)
    return text, namespace["call"]


def _fail(
    api: Api,
    code: int,
    session: ctypes.c_void_p,
    program: CapturedProgram,
    inputs: tuple[Any, ...],
) -> None:
    message = api.last_error(session).decode(errors="replace")
    if code == Status.MEMORY:
        raise MemoryError(message)
    if code == Status.RUNTIME:
        # A check of a lowered operator. Nothing has been written yet: eager raises its own error.
        raise_as_eager(program, inputs)
        raise IndexError(message) if "out of range" in message else RuntimeError(message)
    raise InternalError("run", f"{Status(code).name}: {message}")


_SCALAR_TYPES = {DType.I64: "c_int64", DType.F64: "c_double", DType.BOOL: "c_bool"}


class _CallWriter:
    """Writes `def call(i0, i1, ...)` for one graph."""

    def __init__(
        self, aten: AtenProgram, loops: Program, frozen: bool, taken: Mapping[int, Taken]
    ) -> None:
        self.aten = aten
        self.loops = loops
        self.frozen = frozen
        self.taken = taken
        self.constants: dict[str, Any] = {}
        self.pointer_count = 0

    def text(self) -> str:
        names = [f"i{n}" for n in range(len(self.loops.inputs))]
        setup, pointers = self._inputs(names)
        results: list[str] = []
        writes: list[str] = []
        for number, (output, described) in enumerate(
            zip(self.loops.outputs, self.aten.outputs, strict=True)
        ):
            value = f"o{number}"
            if isinstance(output, Index):
                setup.append(f"{value} = c_int64()")
                pointers.append(f"address({value})")
                results.append(f"{value}.value")
                continue
            buffer = self.loops.buffers[output]
            setup.append(f"{value} = {self._allocation(buffer, number)}")
            pointers.append(f"{value}.data_ptr()")
            if described.kind is OutputKind.WRITE_BACK:
                writes.append(f"i{described.target}.copy_({value})")
            else:
                is_tensor = bool(buffer.shape) or self._is_tensor(number)
                results.append(value if is_tensor else f"{value}.item()")
        self.pointer_count = len(pointers)
        sizes = ", ".join(size.symbol for size in self.loops.sizes)
        body = [
            *self._checks(names),
            *setup,
            "owner = session()",
            f"status = run_raw(owner, 0, Pointers({', '.join(pointers)}), Sizes({sizes}))",
            f"if status: fail({', '.join(['status', 'owner', *names])})",
            *writes,
            f"return ({''.join(result + ', ' for result in results)})",
        ]
        return f"def call({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in body)

    def _checks(self, names: Sequence[str]) -> list[str]:
        """Statements that hand over where a frozen weight is not as it was taken."""
        conditions: list[str] = []
        for position, taken in self.taken.items():
            name, weight = names[position], f"w{position}"
            self.constants[weight] = taken.tensor
            conditions.append(f"{name} is not {weight}")
            conditions.append(f"{name}.data_ptr() != {taken.address}")
            if taken.version is not None:
                conditions.append(f"{name}._version != {taken.version}")
        if not conditions:
            return []
        return [f"if ({' or '.join(conditions)}):", f"    return changed({', '.join(names)})"]

    def _inputs(self, names: Sequence[str]) -> tuple[list[str], list[str]]:
        setup = [f"{size.symbol} = {self._size(size.symbol, names)}" for size in self.loops.sizes]
        pointers: list[str] = []
        for name, buffer_name in zip(names, self.loops.inputs, strict=True):
            buffer = self.loops.buffers[buffer_name]
            if self.frozen and buffer.kind is BufferKind.WEIGHT:
                continue
            if self._is_scalar(buffer_name):
                setup.append(f"{name}_ = {_SCALAR_TYPES[buffer.dtype]}({name})")
                pointers.append(f"address({name}_)")
            else:
                pointers.append(f"{name}.data_ptr()")
        return setup, pointers

    def _is_scalar(self, buffer_name: str) -> bool:
        position = self.loops.inputs.index(buffer_name)
        node = self.aten.graph.graph.find_nodes(op="placeholder")[position]
        return not isinstance(node.meta["val"], torch.Tensor)

    def _is_tensor(self, number: int) -> bool:
        (output,) = self.aten.graph.graph.find_nodes(op="output")
        element = output.args[0][number]  # type: ignore[index]
        return isinstance(element, torch.fx.Node) and isinstance(element.meta["val"], torch.Tensor)

    def _size(self, symbol: str, names: Sequence[str]) -> str:
        scalar = self.loops.scalars.get(symbol)
        if scalar is not None:
            return names[self.loops.inputs.index(scalar)]
        for name, buffer_name in zip(names, self.loops.inputs, strict=True):
            for dim, size in enumerate(self.loops.buffers[buffer_name].shape):
                if size.variable == symbol:
                    return f"{name}.size({dim})"
        raise InternalError("dispatch", f"no input gives the size {symbol}")

    def _allocation(self, buffer: Buffer, number: int) -> str:
        dtype = f"dtype{number}"
        self.constants[dtype] = to_torch(buffer.dtype)
        shape = _tuple(buffer.shape)
        if buffer.strides == _row_major(buffer.shape):
            return f"empty({shape}, dtype={dtype})"
        return f"empty_strided({shape}, {_tuple(buffer.strides)}, dtype={dtype})"


def _tuple(values: Sequence[Index]) -> str:
    return "(" + "".join(f"{value}, " for value in values) + ")"


def _row_major(shape: Sequence[Index]) -> tuple[Index, ...]:
    strides: list[Index] = []
    step = Index.const(1)
    for size in reversed(shape):
        strides.append(step)
        step = step * size
    return tuple(reversed(strides))
