"""The API of capture.

`capture_program` takes a whole program: one graph, or a CompileError with the user's line.
`capture_frame` takes one call of one Python function, up to its return or its first graph break,
for `ptc.compile`. Both trace the bytecode; the user's code does not run.
"""

from __future__ import annotations

import gc
import logging
import sys
import types
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from ptc.capture import alias_guards, shape_guards, torch_state
from ptc.capture.binding import argument_names, bind_call
from ptc.capture.builtins_table import (
    all_tables,
    linalg_tables,
    numpy_tables,
    operator_tables,
    random_tables,
    torch_library_tables,
    torch_state_tables,
    torch_tables,
    transform_tables,
)
from ptc.capture.builtins_table.torch_library_tables import register_loaded, replaced
from ptc.capture.compiling import answering
from ptc.capture.control.api import CapturedCall, capture_call, capture_control
from ptc.capture.control.entry import CallCode, write_call
from ptc.capture.errors import BREAK_CODES, GraphBreak, Raised
from ptc.capture.guards import GuardSet
from ptc.capture.program_structure import CallArguments, whole_program
from ptc.capture.segments import (
    Dispatch,
    GraphBreakReport,
    GraphCode,
    SegmentCapture,
    enter,
    location_of_function,
)
from ptc.capture.sources import Source
from ptc.capture.torch_machine import TorchMachine
from ptc.capture.torch_program import finish_program
from ptc.capture.torch_wrapping import guard_ambient
from ptc.capture.values.base import Value
from ptc.capture.values.exceptions import ExceptionValue
from ptc.graph import transforms
from ptc.graph.control import ControlProgram
from ptc.graph.program import CapturedProgram
from ptc.support.diagnostics import CompileError, InternalError

# Imported for what they register
_TABLES = (
    all_tables, linalg_tables, numpy_tables, operator_tables, random_tables,
    torch_library_tables, torch_state_tables, torch_tables, transform_tables,
)  # fmt: skip

DimSpec = tuple[str, int, int | None]
CompiledGraph = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class DynamicSpec:
    """Which sizes are symbolic.

    `dims` maps an argument's path (`x`, `batch.ids`) to {dimension: (name, lower, upper)}. With
    `all`, every size of a user's tensor that is neither 0 nor 1 is symbolic, each with a name of
    its own. `numbers` holds the sources (`L['self'].step`) of ints that are inputs of the graph.
    """

    dims: Mapping[str, Mapping[int, DimSpec]]
    all: bool = False
    numbers: frozenset[str] = frozenset()

    def dims_of(self, tensor: torch.Tensor, source: Source, path: str) -> dict[int, DimSpec]:
        chosen = dict(self.dims.get(path, {}))
        if self.all and not isinstance(tensor, torch.nn.Parameter) and _is_users(source):
            for dim, size in enumerate(tensor.shape):
                if size > 1 and dim not in chosen:
                    chosen[dim] = (f"{path}_{dim}", 2, None)
        return chosen


def _is_users(source: Source) -> bool:
    text = source.text()
    return text.startswith("L[") and "._parameters" not in text and "._buffers" not in text


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """`dynamic`: symbolic sizes. `name`: of the program, for messages and files."""

    dynamic: DynamicSpec | None = None
    name: str = "model"


@dataclass(slots=True)
class CapturedFrame:
    """One call captured up to its return or its first graph break.

    guards    `guards.check(fn, *args, **kwargs)` says whether a call may use this entry;
              `guards.explain_failure(fn, args, kwargs)` says why not; `guards.source` is its text.
    code_fn   `code_fn(fn, *args, **kwargs)` does what `fn(*args, **kwargs)` does. `fn` is the
    function
              object of this call (same code object, maybe another closure). None: run `fn` itself,
              nothing of it could be captured; `breaks` has the reason last.
    breaks    at most one break that ends the segment, and one more if code_fn is None.
    program   the graph, None if it is empty; a ControlProgram has the whole call.
    source    the text of code_fn.
    accepts   a further condition on a call, beside the guards.
    """

    guards: GuardSet
    code_fn: Callable[..., Any] | None
    breaks: tuple[GraphBreakReport, ...]
    program: CapturedProgram | ControlProgram | None
    source: str
    accepts: Callable[..., bool] | None = None

    def fits(self, fn: types.FunctionType, /, *args: Any, **kwargs: Any) -> bool:
        """Whether a call may use this entry."""
        if not self.guards.check(fn, *args, **kwargs):
            return False
        return self.accepts is None or self.accepts(fn, *args, **kwargs)


def capture_frame(
    fn: types.FunctionType,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    options: CaptureOptions,
    compile_graph: Callable[[CapturedProgram], CompiledGraph],
    dispatch: Dispatch,
    tail: Dispatch | None = None,
) -> CapturedFrame:
    """Capture one call of `fn`. Raises TypeError if the arguments do not bind.

    `dispatch(function)` gives the compiled counterpart of a callee. `tail(function)` gives what the
    captured part calls last, with the resume function that goes on after a graph break; what that
    returns is what `code_fn` returns.
    """
    vm = TorchMachine(whole_program=False, dynamic=options.dynamic)
    programs: list[CapturedProgram] = []

    def finish_graph(outputs: list[Value]) -> GraphCode | None:
        if len(vm.builder) == 0 and not outputs:
            return None
        program = finish_program(vm, outputs, options.name)
        programs.append(program)
        sources = tuple(source for _, source in vm.builder.inputs)
        return GraphCode(compile_graph(program), sources)

    capture = SegmentCapture(vm, replaced(fn), dispatch, finish_graph, tail or dispatch)
    with _host_state():
        try:
            guard_ambient(vm)
            segment = capture.capture(args, kwargs)
            shape_guards.add(vm)
            alias_guards.add(vm)
        except GraphBreak as stopped:
            return _native(fn, vm, stopped)
        finally:
            guards = GuardSet(fn, tuple(vm.guards))
            vm.close()
    program = programs[0] if programs else None
    return CapturedFrame(guards, segment.run, segment.breaks, program, segment.source)


#: Makes the callable that `CallCode` calls.
CompileCall = Callable[[CapturedCall], Callable[..., Any]]


def capture_call_frame(
    fn: types.FunctionType,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    options: CaptureOptions,
    compile_call: CompileCall,
) -> CapturedFrame:
    """Capture all of one call of `fn` with the control flow that data decides. Raises GraphBreak
    where it needs Python, and what `compile_call` raises."""
    with _host_state():
        bound = bind_call(fn, args, kwargs)
        try:
            call = capture_call(replaced(fn), bound, dynamic=options.dynamic, name=options.name)
        except (GraphBreak, CompileError):
            raise
        except Exception as error:
            raise _failure(error) from error
        code: CallCode = write_call(fn, call, compile_call(call))
    guards = GuardSet(fn, call.guards)
    return CapturedFrame(guards, code.run, (), call.program, code.source, code.accepts)


#: Why straight capture stops where a program with control flow may go on.
CONTROL_FLOW_CODES = frozenset({"PTC-B001", "PTC-B002", "PTC-B003", "PTC-B007"})


def _native(fn: types.FunctionType, vm: TorchMachine, stopped: GraphBreak) -> CapturedFrame:
    report = GraphBreakReport(stopped.code, stopped.reason, location_of_function(fn), stopped.hint)
    return CapturedFrame(GuardSet(fn, tuple(vm.guards)), None, (report,), None, "")


def capture_program(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic: DynamicSpec | None = None,
    name: str = "model",
    branch_on_sizes: bool = False,
) -> CapturedProgram | ControlProgram:
    """Capture all of `fn(*args, **kwargs)`: as one graph, or with control flow that data decides.
    With `branch_on_sizes`, sizes that torch treats apart are branches, rather than refused with
    PTC-B009.

    `fn` is a function, a bound method, or an nn.Module (then its `forward`, with its hooks). Raises
    CompileError for what cannot be part of a graph, and the program's own exception if it raises
    one.

    A program that asks `torch.compiler.is_compiling()` is told yes. Where it then cannot be
    captured, or raises, it is captured as eager runs it; its notes say so.
    """
    arguments = fn, args, kwargs or {}, dynamic, name, branch_on_sizes
    with answering(True) as question:
        try:
            return _capture_program(*arguments)
        except InternalError:
            raise
        except Exception as refused:
            sizes = isinstance(refused, CompileError) and refused.code == "PTC-B009"
            if sizes or not question.asked:
                raise
            first = refused
    with answering(False):
        try:
            captured = _capture_program(*arguments)
        except Exception:
            raise first from None
    first_line = str(first).splitlines()[0] if str(first) else type(first).__name__
    note = (
        "the program goes another way where torch.compiler.is_compiling(), which cannot be "
        f"captured ({first_line}); it is captured as eager runs it"
    )
    return replace(captured, notes=(*captured.notes, note))


def _capture_program(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic: DynamicSpec | None,
    name: str,
    branch_on_sizes: bool,
) -> CapturedProgram | ControlProgram:
    args, kwargs = _apart((args, kwargs), set())
    given = len(args)
    function, args = _function_of(fn, args)
    is_method = len(args) > given
    bound = bind_call(function, args, kwargs)
    names = argument_names(fn, function, args[is_method:], kwargs)
    with _host_state():
        try:
            if not branch_on_sizes:
                return _straight(function, args, bound, names, kwargs, is_method, dynamic, name)
        except GraphBreak as stopped:
            if stopped.code not in CONTROL_FLOW_CODES:
                raise _compile_error(stopped) from stopped.__cause__
        except Raised as raised:
            raise _users_error(raised) from None
        except CompileError:
            raise
        except Exception as error:
            raise _failure(error) from error
    with _host_state():
        try:
            return capture_control(
                function, bound, names=names, count=len(args), keywords=kwargs,
                is_method=is_method, dynamic=dynamic, name=name,
            )  # fmt: skip
        except GraphBreak as stopped:
            raise _compile_error(stopped) from stopped.__cause__
        except CompileError:
            raise
        except Exception as error:
            raise _failure(error) from error


def _failure(error: Exception) -> Exception:
    """What is said of an exception of capture itself."""
    if not isinstance(error, RecursionError):
        return InternalError("capture", f"{type(error).__name__}: {error}")
    return _compile_error(
        GraphBreak(
            "PTC-B017",
            "calls are nested too deep for capture to follow them",
            "write a loop, or bound the depth by a number that data does not decide",
        )
    )


def _straight(
    function: types.FunctionType,
    args: tuple[Any, ...],
    bound: dict[str, Any],
    names: dict[str, str],
    kwargs: dict[str, Any],
    is_method: bool,
    dynamic: DynamicSpec | None,
    name: str,
) -> CapturedProgram:
    vm = TorchMachine(whole_program=True, dynamic=dynamic)
    try:
        guard_ambient(vm)
        vm.builder.argument_names = names
        frame = enter(vm, function, bound)
        call = CallArguments.of(vm, frame, len(args), kwargs or {}, is_method)
        call.declare(vm)
        result = vm.run(frame)
        alias_guards.add(vm)
        return whole_program(vm, frame, result, call, name)
    finally:
        vm.close()


def _apart(value: Any, seen: set[int]) -> Any:
    """The arguments with a tensor of its own in each place: a program must not rely on two inputs
    being one object (as `attention(x, x, x)` would), because its callers can give others."""
    if isinstance(value, torch.Tensor):
        if id(value) in seen:
            return value.detach().clone().requires_grad_(value.requires_grad)
        seen.add(id(value))
        return value
    if type(value) in (list, tuple):
        return type(value)(_apart(element, seen) for element in value)
    if type(value) is dict:
        return {key: _apart(element, seen) for key, element in value.items()}
    return value


def _function_of(
    fn: Callable[..., Any], args: tuple[Any, ...]
) -> tuple[types.FunctionType, tuple[Any, ...]]:
    if isinstance(fn, torch.nn.Module):
        if vars(fn).get("_forward_hooks") or vars(fn).get("_forward_pre_hooks"):
            return call_module, (fn, *args)
        return _function_of(fn.forward, args)
    if isinstance(fn, types.MethodType):
        function, args = _function_of(fn.__func__, (fn.__self__, *args))
        return function, args
    if isinstance(fn, types.FunctionType):
        return replaced(fn), args
    raise CompileError(
        "PTC-B011",
        f"{fn!r} is not a Python function, method or nn.Module: there is nothing to capture",
    )


def call_module(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
    """The program that calling a module with hooks amounts to."""
    return self(*args, **kwargs)


def _compile_error(stopped: GraphBreak) -> CompileError:
    notes = tuple(f"called from {place}: {place.text}" for place in stopped.stack[-2::-1])
    return CompileError(
        stopped.code,
        stopped.reason or BREAK_CODES[stopped.code],
        location=stopped.location,
        hint=stopped.hint,
        notes=notes,
    )


def _users_error(raised: Raised) -> BaseException:
    """The program's own exception, with the lines that led to it."""
    value = raised.value
    assert isinstance(value, ExceptionValue)
    try:
        error = value.to_python()
    except Exception:  # an exception class with a signature of its own
        return CompileError("PTC-B010", f"the program raises {value.message()}",
                            location=value.raised_at[-1] if value.raised_at else None)  # fmt: skip
    for place in value.raised_at:
        error.add_note(f"  at {place}: {place.text}")
    return error


#: Whose warnings are about the work of capture.
_INTERNALS = r"torch(\..*)?$|ptc\.(capture|graph)\..*"
_HOST_RECURSION = 6000  # see interpreter.calls.MAX_DEPTH


#: torch logs a traceback for every operator that fake tensors refuse. Such a failure is the user's,
#: and is reported as a diagnostic.
_FAKE_TENSOR_LOG = logging.getLogger("torch._subclasses.fake_tensor")


def _drop(_: logging.LogRecord) -> bool:
    return False


class _host_state:
    """Capture sets grad mode as the program does: give it back. It recurses with the program, and
    allocates much that stays: the cyclic garbage collector would only walk over it. What torch
    warns of concerns how capture uses it, not the user."""

    def __enter__(self) -> None:
        register_loaded()
        self.warnings = warnings.catch_warnings()
        self.warnings.__enter__()
        warnings.filterwarnings("ignore", category=UserWarning, module=_INTERNALS)
        self.state = torch_state.current()
        self.depth = transforms.depth()
        self.recursion = sys.getrecursionlimit()
        self.collects = gc.isenabled()
        sys.setrecursionlimit(max(self.recursion, _HOST_RECURSION))
        gc.disable()
        _FAKE_TENSOR_LOG.addFilter(_drop)

    def __exit__(self, *exc: object) -> None:
        _FAKE_TENSOR_LOG.removeFilter(_drop)
        self.warnings.__exit__(None, None, None)
        transforms.leave_to(self.depth)
        torch_state.restore(self.state)
        sys.setrecursionlimit(self.recursion)
        if self.collects:
            gc.enable()


__all__ = [
    "CONTROL_FLOW_CODES",
    "CaptureOptions",
    "CapturedCall",
    "CapturedFrame",
    "CompiledGraph",
    "DynamicSpec",
    "GraphBreakReport",
    "capture_call_frame",
    "capture_frame",
    "capture_program",
]
