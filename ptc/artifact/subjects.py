"""What is compared with eager: a library's entry, or what runs an exported program.

Each runs a call on copies of its arguments and tells all that can be seen of it. Knows nothing of
comparing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from ptc.artifact.observe import Observed, exception_text, joined, leaves, observe_library
from ptc.graph.control import ControlProgram
from ptc.graph.program import InputKind
from ptc.graph.structure import renumber, to_json
from ptc.hosting import LoadedArtifact
from ptc.hosting.binding import Binder
from ptc.hosting.effects import Emit
from ptc.hosting.structure import builder
from ptc.support.diagnostics import CompileError, InternalError

_CALL_KINDS = (InputKind.USER, InputKind.SCALAR)


class Subject(Protocol):
    """What runs calls, with state of its own. `omits` names what it does not do: `texts` and
    `exceptions` are then not compared."""

    omits: Collection[str]

    def observe(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Observed: ...

    def inputs(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs of the program for a call, by name."""
        ...

    def reset(self) -> None: ...


class LibrarySubject:
    """An entry of a library."""

    omits: Collection[str] = ()

    def __init__(self, artifact: LoadedArtifact, entry: str) -> None:
        self._artifact, self._entry = artifact, entry

    def observe(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Observed:
        return observe_library(self._artifact, self._entry, args, kwargs)

    def inputs(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        loaded = self._artifact.entry(self._entry)
        names = [info.name for info in loaded.info.inputs]
        return dict(zip(names, loaded.flat(args, kwargs), strict=True))

    def reset(self) -> None:
        self._artifact.reset()


#: As `ptc.exporters.formats.ControlRunner`.
Run = Callable[[Sequence[Any], Emit], tuple[Sequence[Any], int]]


class ProgramSubject:
    """A program with control flow in a form that `run` runs and `reset` has forget its state."""

    def __init__(
        self,
        program: ControlProgram,
        run: Run,
        reset: Callable[[], None],
        omits: Collection[str] = (),
    ) -> None:
        self._run, self.omits = run, omits
        self.reset = reset
        variants = program.variants or (program.result,)
        if program.arguments is None or None in variants:
            raise InternalError("check", "a part of a program cannot be compared with a function")
        calls = [n for n, i in enumerate(program.inputs) if i.kind in _CALL_KINDS]
        numbers = {position: number for number, position in enumerate(calls)}
        self._names = [program.inputs[position].name for position in calls]
        arguments = to_json(renumber(program.arguments, numbers))
        self._binder = Binder(arguments, self._names, program.name)
        self._build = [builder(to_json(v)) for v in variants if v is not None]

    def inputs(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return dict(zip(self._names, self._binder.bind(args, kwargs), strict=True))

    def observe(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Observed:
        observed = Observed()
        given = copy.deepcopy((args, dict(kwargs)))
        emitted: list[tuple[str, str, str]] = []
        values = list(self.inputs(*given).values())
        try:
            outputs, variant = self._run(values, lambda *parts: emitted.append(parts))
            observed.leaves = leaves(self._build[variant](list(outputs)))
        except InternalError:
            raise
        except CompileError as error:
            observed.failure = f"{error.code}: {error.diagnostic.message}"
        except Exception as error:  # the program's own
            observed.raised = exception_text(error)
        observed.texts = joined(emitted)
        observed.arguments = leaves(given)
        return observed
