"""Diagnostics: every message that reaches a user has a code, a location and a hint.

Owns the two exception families and their plain-text form. Takes nothing from the rest of ptc and
must not know who renders it: `cli` colours and prints, `ptc` raises.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the user's source: `file:line`, with the text of the line when it is known."""

    file: str
    line: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message. `message` is a lower-case sentence that states the actual and expected value."""

    code: str
    message: str
    location: Location | None = None
    hint: str = ""
    notes: tuple[str, ...] = field(default=())
    severity: str = "error"

    @property
    def is_error(self) -> bool:
        return self.severity == "error"

    def render(self) -> str:
        """The message as plain text, several lines, without a final newline."""
        lines = [f"{self.severity}[{self.code}]: {self.message}"]
        if self.location is not None:
            text = f"   {self.location.text.strip()}" if self.location.text else ""
            lines.append(f"  {self.location}{text}")
        lines.extend(f"  {note}" for note in self.notes)
        # Where the message says all there is, the code's page has the background.
        hint = self.hint or (f"`ptc explain {self.code}` says more" if self.is_error else "")
        if hint:
            lines.append(f"  hint: {hint}")
        return "\n".join(lines)


class CompileError(Exception):
    """The user's model, input or environment cannot be handled as asked. Carries a Diagnostic."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        location: Location | None = None,
        hint: str = "",
        notes: tuple[str, ...] = (),
    ) -> None:
        self.diagnostic = Diagnostic(code, message, location, hint, notes)
        super().__init__(self.diagnostic.render())

    @property
    def code(self) -> str:
        return self.diagnostic.code


class InternalError(Exception):
    """A fault of ptc itself. Names the stage that failed and, when dumping, the dump folder."""

    def __init__(self, stage: str, message: str, *, dump: str = "") -> None:
        self.stage = stage
        where = f" (dump: {dump})" if dump else ""
        self.diagnostic = Diagnostic(
            "PTC-I001",
            f"internal error in stage {stage}: {message}{where}",
            hint="please report it",
        )
        super().__init__(self.diagnostic.render())
