"""Inspection: what ptc makes of a call, stage by stage, with breaks and guards in words.

A model without graph breaks is one program, shown as `ptc compile` builds it: a graph, or, where
data decides, a tree of branches and loops around graphs. One with breaks is run once on its example
inputs, segments in eager, and every segment is shown in the order in which it was captured. Takes a
callable and arguments; gives text or JSON data.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from ptc.artifact.describe import codegen_entry
from ptc.artifact.entry_capture import capture_entry
from ptc.artifact.forms import (
    Captured,
    captured_text,
    compiled_form,
    functional_form,
    functional_text,
    loop_form,
    loops_text,
    scheduled_form,
)
from ptc.backends.registry import BackendOptions, resolve_backend
from ptc.capture.api import CapturedFrame
from ptc.codegen.generate import generate
from ptc.dispatch.config import CompileConfig
from ptc.dispatch.proxy import compile_function, compile_module, compiler_of
from ptc.graph.control import ControlProgram, segment_numbers, walk
from ptc.graph.control import Segment as ControlSegment
from ptc.graph.control_outline import Construct, constructs
from ptc.loader.model import EntryRequest
from ptc.schedule.passes import Options
from ptc.support.diagnostics import CompileError, Diagnostic, Location
from ptc.support.wording import counted

STAGES = ("captured", "aten", "loops", "scheduled", "code")


@dataclass(frozen=True, slots=True)
class Break:
    """A graph break: why the graph ends, and where."""

    code: str
    reason: str
    location: Location | None
    hint: str

    def render(self) -> str:
        return Diagnostic(
            self.code, self.reason, self.location, self.hint, severity="graph break"
        ).render()


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of one function between breaks, or a whole program. `program` is None without a
    tensor operator."""

    name: str
    location: Location | None
    program: Captured | None
    guards: tuple[str, ...] = ()
    breaks: tuple[Break, ...] = ()

    @property
    def operators(self) -> int:
        """Torch calls in the captured graph, or in all graphs of a program with control flow."""
        return sum(
            node.op.startswith("call_") for graph in self._graphs() for node in graph.graph.nodes
        )

    @property
    def constructs(self) -> tuple[Construct, ...]:
        """The branches, switches and loops of a program with control flow."""
        return constructs(self.program) if isinstance(self.program, ControlProgram) else ()

    @property
    def whole(self) -> bool:
        """True for a program with control flow, which has segments of its own."""
        return isinstance(self.program, ControlProgram)

    @property
    def parts(self) -> int:
        """The segments of a program with control flow, else 1."""
        return len(segment_numbers(self.program)) if isinstance(self.program, ControlProgram) else 1

    def _graphs(self) -> list[torch.fx.GraphModule]:
        if isinstance(self.program, ControlProgram):
            items = (i for i in walk(self.program.body) if isinstance(i, ControlSegment))
            return [item.program.graph for item in {id(item): item for item in items}.values()]
        return [] if self.program is None else [self.program.graph]

    def stage(self, stage: str) -> str:
        """The segment's program at a stage of STAGES, as text; "" for an empty segment."""
        if stage not in STAGES:
            raise CompileError(
                "PTC-U003", f"unknown stage `{stage}`", hint=f"choose one of {', '.join(STAGES)}"
            )
        if self.program is None:
            return ""
        if stage == "captured":
            return captured_text(self.program)
        functional = functional_form(self.program)
        if stage == "aten":
            return functional_text(functional)
        loops = loop_form(functional)
        if stage == "loops":
            return loops_text(loops)
        scheduled = scheduled_form(loops, Options(freeze=True))
        if stage == "scheduled":
            return loops_text(scheduled)
        entry = codegen_entry(compiled_form(self.name, functional, scheduled))
        files = generate([entry], name=self.program.name).sources.files()
        return "\n".join(f"// ==== {name}\n{text}" for name, text in files.items())


@dataclass(frozen=True, slots=True)
class Inspection:
    """All segments of one call, in the order of capture."""

    name: str
    segments: tuple[Segment, ...]
    refusal: Diagnostic | None = field(default=None)

    @property
    def breaks(self) -> tuple[Break, ...]:
        return tuple(found for segment in self.segments for found in segment.breaks)

    def text(self, stage: str = "captured") -> str:
        """For people: every segment with its program, guards and breaks."""
        blocks = [f"{self.name}: {self._summary()}"]
        for number, segment in enumerate(self.segments):
            where = f" from {segment.location}" if segment.location else ""
            what = "" if segment.whole else f"segment {number}: "
            title = f"--- {what}{segment.name}{where}, {counted(segment.operators, 'operator')}"
            parts = [title]
            if segment.constructs:
                parts.append("control flow:")
                parts.extend(f"{'  ' * (made.depth + 1)}{made}" for made in segment.constructs)
            parts.append(segment.stage(stage) or "(no tensor operator)")
            if segment.guards:
                parts.append("guards:\n" + "\n".join(f"  {guard}" for guard in segment.guards))
            parts.extend(found.render() for found in segment.breaks)
            blocks.append("\n".join(part.rstrip("\n") for part in parts))
        if self.refusal is not None:
            blocks.append("`ptc compile` refuses this model:\n" + self.refusal.render())
        return "\n\n".join(blocks) + "\n"

    def _summary(self) -> str:
        counts = [(len(self.segments), "segment")]
        if len(self.segments) == 1 and self.segments[0].whole:
            (segment,) = self.segments
            counts = [(segment.parts, "segment")]
            for kind in ("branch", "switch", "loop"):
                found = sum(made.kind == kind for made in segment.constructs)
                counts += [(found, kind)] if found else []
        counts.append((len(self.breaks), "graph break"))
        return ", ".join(counted(count, word) for count, word in counts)

    def data(self, stage: str = "captured") -> dict[str, Any]:
        """The same as plain data for JSON."""
        return {
            "name": self.name,
            "stage": stage,
            "refusal": None if self.refusal is None else self.refusal.render(),
            "segments": [
                {
                    "name": segment.name,
                    "location": None if segment.location is None else str(segment.location),
                    "operators": segment.operators,
                    "constructs": [_construct_data(made) for made in segment.constructs],
                    "program": segment.stage(stage),
                    "guards": list(segment.guards),
                    "breaks": [
                        {
                            "code": found.code,
                            "reason": found.reason,
                            "location": None if found.location is None else str(found.location),
                            "hint": found.hint,
                        }
                        for found in segment.breaks
                    ],
                }
                for segment in self.segments
            ],
        }


def inspect(model: Callable[..., Any], *args: Any, **kwargs: Any) -> Inspection:
    """Inspect one call of a module or function. If the model breaks the graph, user code runs once
    on these arguments (its prints and effects included), segments in eager."""
    name = getattr(model, "__name__", None) or type(model).__name__
    return inspect_entry(EntryRequest(name, model, args, kwargs))


def inspect_entry(request: EntryRequest) -> Inspection:
    """`inspect` for a loader's request, its dynamic sizes included."""
    try:
        program = capture_entry(request)
    except CompileError as error:
        if not error.code.startswith("PTC-B"):
            raise
        segments = _run_segments(request)
        return Inspection(request.name, segments, error.diagnostic)
    segment = Segment(request.name, program.location, program, _size_conditions(program))
    return Inspection(request.name, (segment,))


def render(request: EntryRequest, *, stage: str, format: str) -> str:
    """What `ptc inspect-graph` prints, as `text` or `json`."""
    found = inspect_entry(request)
    if format == "json":
        return json.dumps(found.data(stage), indent=2)
    if format != "text":
        raise CompileError("PTC-U004", f"unknown format `{format}`", hint="choose text or json")
    return found.text(stage)


def _construct_data(made: Construct) -> dict[str, Any]:
    place = made.location
    return {
        "kind": made.kind,
        "construct": made.name,
        "location": None if place is None else str(place),
        "line": "" if place is None else place.text.strip(),
        "depth": made.depth,
        "arms": [list(arm) for arm in made.arms],
    }


def _size_conditions(program: Captured) -> tuple[str, ...]:
    return tuple(
        f"{dim.lower} <= {dim.name}" + (f" <= {dim.upper}" if dim.upper is not None else "")
        for dim in program.dims.values()
    )


def _run_segments(request: EntryRequest) -> tuple[Segment, ...]:
    found: list[Segment] = []

    def observe(fn: types.FunctionType, frame: CapturedFrame) -> None:
        code = fn.__code__
        place = Location(code.co_filename, code.co_firstlineno)
        breaks = tuple(Break(b.code, b.reason, b.location, b.hint) for b in frame.breaks)
        guards = tuple(frame.guards.words())
        found.append(Segment(code.co_qualname, place, frame.program, guards, breaks))

    config = CompileConfig(resolve_backend("eager"), "eager", BackendOptions())
    function = request.function
    if isinstance(function, nn.Module):
        proxy: Callable[..., Any] = compile_module(function, config)
    else:
        proxy = compile_function(function, config)
    compiler_of(proxy).observer = observe
    with torch.no_grad():
        proxy(*request.args, **request.kwargs)
    return tuple(found)
