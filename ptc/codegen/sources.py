"""Generated source files: what `generate` hands to the toolchain and to dumps.

Plain data, no knowledge of programs or compilers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Unit:
    """One translation unit.

    `baseline` units are compiled without the target's instruction set: they run before the CPU
    check. `cost` is an estimate of the compile time in arbitrary units; expensive units start
    first. `isa` names another instruction set than the target's, `defines` are macros.
    """

    name: str
    text: str
    baseline: bool = False
    cost: float = 1.0
    isa: str | None = None
    defines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sources:
    """A library's sources: its units and the header for its users (`NAME.h`)."""

    name: str
    units: tuple[Unit, ...]
    header: str = ""

    def files(self) -> dict[str, str]:
        """File name -> text, for dumps."""
        files = {unit.name: unit.text for unit in self.units}
        if self.header:
            files[f"{self.name}.h"] = self.header
        return files

    def with_unit(self, unit: Unit) -> Sources:
        """The same with one more unit, replacing one of the same name."""
        kept = tuple(u for u in self.units if u.name != unit.name)
        return replace(self, units=(*kept, unit))
