"""What was built, as the command and `ptc.build` tell it.

Takes what the manifest says of an entry and how it compared with eager. Must not print.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ptc.artifact.verify import Verification
from ptc.hosting.manifest import EntryInfo, TensorInfo

_NUMBERS = {"i64": "int", "f64": "float"}


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output as people read it: `x`, `f32`, `[batch, 10]`; `kind` is the manifest's."""

    name: str
    dtype: str
    shape: str
    kind: str = "tensor"

    def __str__(self) -> str:
        """Its type: `f32[batch, 10]`, `int`, `list[str]`, `list[f32[3]]`."""
        number = _NUMBERS.get(self.dtype, self.dtype)
        types = {
            "number": number,
            "numbers": f"list[{number}]",
            "text": "str",
            "texts": "list[str]",
        }
        tensor = f"{self.dtype}{self.shape}"
        return types.get(self.kind, f"list[{tensor}]" if self.kind == "list" else tensor)


@dataclass(frozen=True, slots=True)
class EntryReport:
    """One entry of a library: its signature, size, and how it compared with eager.

    `worst_error` is relative to the largest value of the output, `checked` counts input sets.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    operators: int
    kernels: int
    worst_error: float | None
    checked: int


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What was built. `size` and `weights_bytes` in bytes, `seconds` by stage."""

    library: Path
    header: Path
    manifest: Path
    files: tuple[Path, ...]
    entries: tuple[EntryReport, ...]
    size: int
    weights_bytes: int
    seconds: Mapping[str, float]
    notes: tuple[str, ...] = ()


def entry_report(info: EntryInfo, check: Verification | None) -> EntryReport:
    names = {size.symbol: size.name for size in info.sizes}
    worst = check.worst if check is not None else None
    return EntryReport(
        name=info.name,
        inputs=tuple(_port(tensor, names) for tensor in info.inputs),
        outputs=tuple(_port(tensor, names) for tensor in info.outputs),
        operators=info.operators,
        kernels=info.kernels,
        worst_error=worst.error if worst is not None else None,
        checked=check.input_sets if check is not None else 0,
    )


def _port(tensor: TensorInfo, names: Mapping[str, str]) -> Port:
    shape = ", ".join(
        re.sub(r"[A-Za-z_]\w*", lambda m: names.get(m[0], m[0]), str(dim)) for dim in tensor.shape
    )
    return Port(tensor.name, tensor.dtype, f"[{shape}]", tensor.kind)
