"""What inputs and outputs of a model are called: as the program says, or as was asked.

Takes a program and the settings `input_names` and `output_names`, gives names that differ from each
other. Knows nothing of graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ptc.graph.control import ControlProgram
from ptc.graph.program import AtenProgram, InputKind, OutputKind, ProgramInput
from ptc.support.diagnostics import CompileError


@dataclass(frozen=True, slots=True)
class Names:
    """`inputs` has the name of each input of the program, weights among them; `outputs` those of
    the outputs in order: the results, then what else the model gives."""

    inputs: Mapping[str, str]
    outputs: Sequence[str]

    def all(self) -> frozenset[str]:
        """Every name that nothing else may have."""
        return frozenset({*self.inputs.values(), *self.outputs})

    @classmethod
    def of(cls, program: AtenProgram, settings: Mapping[str, Any] | None = None) -> Names:
        """The names of a straight program."""
        results = [o.name for o in program.outputs if o.kind is OutputKind.USER]
        targets = [o.target for o in program.outputs if o.kind is OutputKind.WRITE_BACK]
        written = [program.inputs[n].name for n in targets if n is not None]
        return _names(program.inputs, results, written, settings or {})

    @classmethod
    def of_control(
        cls, program: ControlProgram, kept: Sequence[str], settings: Mapping[str, Any]
    ) -> Names:
        """The names of a program with control flow; `kept` is what it keeps from call to call."""
        results = [output.name for output in program.outputs]
        results += ["variant"] if program.selector is not None else []
        return _names(program.inputs, results, kept, settings)


def _names(
    described: Sequence[ProgramInput],
    results: Sequence[str],
    written: Sequence[str],
    settings: Mapping[str, Any],
) -> Names:
    calls = [d.name for d in described if d.kind in (InputKind.USER, InputKind.SCALAR)]
    asked = _asked(settings.get("input_names"), calls, "input")
    inputs = {d.name: asked.get(d.name, d.name) for d in described}
    _require_different([*inputs.values()])
    wanted = _asked(settings.get("output_names"), results, "output")
    taken = {*inputs.values(), *wanted.values()}
    outputs: list[str] = []
    for name in (*results, *(f"{inputs.get(name, name)}_out" for name in written)):
        chosen = wanted.get(name)
        if chosen is None:
            chosen = name
            while chosen in taken:  # an output that is called like an input
                chosen = f"{chosen}_out"
        taken.add(chosen)
        outputs.append(chosen)
    _require_different([*inputs.values(), *outputs])
    return Names(inputs, outputs)


def _asked(given: Any, known: Sequence[str], what: str) -> dict[str, str]:
    """New names by old: a mapping, or a list in order."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in known]
        if unknown:
            raise CompileError(
                "PTC-E024",
                f"there is no {what} `{unknown[0]}`; the {what}s are {', '.join(known)}",
            )
        return {str(old): str(new) for old, new in given.items()}
    if len(given) != len(known):
        raise CompileError(
            "PTC-E024",
            f"{len(given)} {what} names for {len(known)} {what}s ({', '.join(known)})",
        )
    return dict(zip(known, map(str, given), strict=True))


def _require_different(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1 or not name})
    if twice:
        raise CompileError(
            "PTC-E024",
            f"`{twice[0]}` would be the name of two inputs, outputs or parameters",
            hint="ONNX tells values apart by their names: choose another one",
        )
