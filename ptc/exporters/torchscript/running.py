"""Running a loaded module as the program with control flow that it was made of.

Takes flat values, gives flat values, with what it printed and raised in Python's terms.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import torch

from ptc.exporters.torchscript.compiled import JitError, quiet
from ptc.exporters.torchscript.straight import call_of
from ptc.exporters.torchscript.structures import Mismatch, flat_values
from ptc.graph.control import ControlProgram, Emit, Raise, walk
from ptc.graph.program import InputKind
from ptc.hosting.effects import Emit as EmitCallback
from ptc.hosting.effects import exception_of
from ptc.support.diagnostics import CompileError, InternalError

_CALL = (InputKind.USER, InputKind.SCALAR)
_MARK = "<--- HERE"
_FROM_WITHIN = re.compile(r" \(Triggered internally at .*\)\.?$", re.DOTALL)


class ScriptRunner:
    """Calls of one session; `load` gives the module as it was saved."""

    def __init__(self, program: ControlProgram, load: Callable[[], Any]) -> None:
        self._program, self._load = program, load
        self._script = load()
        items = list(walk(program.body))
        self._raised = {item.type_name for item in items if isinstance(item, Raise)}
        labels = {i.label for i in items if isinstance(i, Emit) and i.channel == "warning"}
        self._label = next(iter(labels), "") or "UserWarning"

    def reset(self) -> None:
        self._script = self._load()

    def __call__(self, values: Sequence[Any], emit: EmitCallback) -> tuple[Sequence[Any], int]:
        program = self._program
        positions = [n for n, i in enumerate(program.inputs) if i.kind in _CALL]
        given = dict(zip(positions, values, strict=True))
        try:
            with torch.no_grad(), quiet(), _texts(emit, self._label):
                value = self._script(*call_of(program.arguments, given))
        except (RuntimeError, JitError) as error:
            raise self._error(str(error)) from None
        return self._flat(value)

    def _error(self, message: str) -> BaseException:
        found = raised_in(message, self._raised)
        if found is not None:
            return exception_of(*found)
        last = message.strip().splitlines()[-1]
        return CompileError("PTC-E032", f"the TorchScript module ended with an error: {last}")

    def _flat(self, value: Any) -> tuple[Sequence[Any], int]:
        program = self._program
        reasons: list[str] = []
        for number, variant in enumerate(program.variants or (program.result,)):
            assert variant is not None
            try:
                found = flat_values(variant, value)
            except Mismatch as reason:
                reasons.append(str(reason))
                continue
            return [found.get(n) for n in range(len(program.outputs))], number
        raise InternalError("export", f"the module gave another structure: {', '.join(reasons)}")


def raised_in(message: str, known: Collection[str]) -> tuple[str, str] | None:
    """Class and text of an exception of the program's own, from what torch says of it."""
    text = message[message.rfind(_MARK) + len(_MARK) :]
    for name in known:
        shown = f"\n{name if '.' in name else f'builtins.{name}'}: "
        at = text.find(shown)
        if at >= 0:
            return name, text[at + len(shown) :].removesuffix("\n")
    return None


class _Stream(io.TextIOBase):
    def __init__(self, emit: EmitCallback) -> None:
        self._emit = emit

    def write(self, text: str) -> int:
        self._emit("stdout", "", text)
        return len(text)


@contextlib.contextmanager
def _texts(emit: EmitCallback, label: str) -> Iterator[None]:
    """What the module prints and warns of goes to `emit`."""
    with (
        contextlib.redirect_stdout(_Stream(emit)),  # pyright: ignore[reportArgumentType]
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for warning in caught:
                if "TorchScript" not in str(warning.message):
                    emit("warning", label, _FROM_WITHIN.sub("", str(warning.message)))
