"""Opening what was built to compare it with eager: here, or in an emulator of its processor."""

from __future__ import annotations

from ptc.artifact.emulated import emulator, load_emulated
from ptc.artifact.staging import Staged
from ptc.codegen import toolchain
from ptc.hosting import LoadedArtifact, load


def open_for_check(staged: Staged, notes: list[str]) -> LoadedArtifact | None:
    """The library as a callable; None where nothing here can run it, which a note says."""
    target = staged.target
    if staged.library is None:
        _note(notes, f"not compared with eager: no compiler here builds for {target.triple}")
        return None
    if toolchain.runs_here(target):
        return load(staged.library)
    command = emulator(target)
    if isinstance(command, str):
        _note(notes, f"not compared with eager: built for {target}, and {command}")
        return None
    _note(notes, f"compared with eager in {command[0].rpartition('/')[2]}, built for {target}")
    return load_emulated(staged.library, staged.manifest, staged.symbol, target, command)


def _note(notes: list[str], text: str) -> None:
    if text not in notes:
        notes.append(text)
