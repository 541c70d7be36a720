"""The manifest of an artifact (`NAME.json`): dataclasses, and their JSON form, version 1.

The same text is embedded in the library. Unknown keys are ignored, so that a newer ptc may add
some; a missing or wrongly typed key is an error that names it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ptc.hosting.dtypes import ElementType, element_type
from ptc.support.diagnostics import CompileError

FORMAT = 1
Dim = int | str


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """An input or output. A dimension is a number, or an expression of size symbols (`s0*2`).

    alias_of  outputs: number of the input whose storage eager's result shares (a library copies)
    mutated   inputs: the entry writes to it, in place
    kind      outputs of an entry with control flow: `tensor`, `number` (a Python number), `text` (a
              string, as UTF-8), or `list`, `numbers` and `texts`, whose length data decides: dtype
              and shape are those of an element
    """

    name: str
    dtype: str
    shape: tuple[Dim, ...]
    alias_of: int | None = None
    mutated: bool = False
    kind: str = "tensor"

    @property
    def type(self) -> ElementType:
        found = element_type(self.dtype)
        if found is None:
            raise _malformed(f"`{self.name}` has the unknown element type `{self.dtype}`")
        return found


@dataclass(frozen=True, slots=True)
class SizeInfo:
    """A size symbol: the name the user gave it, its range, and the input dimension it is read
    from."""

    symbol: str
    name: str
    lower: int
    upper: int | None
    input: int
    dim: int


@dataclass(frozen=True, slots=True)
class EntryInfo:
    """`control`: it has control flow, so that the library alone knows its results' shapes.
    `variants`: the structures its result may have, where that depends on data."""

    name: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    sizes: tuple[SizeInfo, ...] = ()
    arguments: Mapping[str, Any] | None = None
    result: Mapping[str, Any] | None = None
    operators: int = 0
    kernels: int = 0
    control: bool = False
    variants: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class WeightInfo:
    """A stored tensor: `offset` and `bytes` within the weights."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    bytes: int
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WeightsInfo:
    """`storage` is "embedded" (a section of the library's file), "memory" (its constants) or
    "file"; `file` is a name beside the library."""

    storage: str = "embedded"
    file: str | None = None
    bytes: int = 0
    tensors: tuple[WeightInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class TargetInfo:
    triple: str
    isa: str
    threads: bool = True


@dataclass(frozen=True, slots=True)
class Manifest:
    name: str
    entries: tuple[EntryInfo, ...]
    target: TargetInfo
    weights: WeightsInfo = field(default_factory=WeightsInfo)
    ptc: str = ""
    torch: str = ""
    abi: int = 1
    hashes: Mapping[str, str] = field(default_factory=dict[str, str])
    format: int = FORMAT

    def entry(self, name: str) -> EntryInfo | None:
        return next((e for e in self.entries if e.name == name), None)


def to_text(manifest: Manifest) -> str:
    """The manifest as indented JSON with a final newline; short lists stay on one line."""
    data = asdict(manifest)
    keys = ("format", "ptc", "abi", "name", "torch", "target", "entries", "weights", "hashes")
    return _indented({key: data[key] for key in keys}) + "\n"


def from_text(text: str, where: str) -> Manifest:
    """Read a manifest. `where` says where the text comes from, for errors (PTC-R006)."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise _malformed(f"{where} is not JSON: {error}") from None
    except (RecursionError, ValueError) as error:  # nested too deep, numbers of too many digits
        raise _malformed(f"{where}: {error}") from None
    if not isinstance(data, dict):
        raise _malformed(f"{where} is not a JSON object")
    if data.get("format") != FORMAT:
        raise CompileError(
            "PTC-R006",
            f"{where} has format {data.get('format')}, this ptc reads format {FORMAT}",
            hint="compile the model again, or use the ptc version that made it: "
            f"{data.get('ptc', 'unknown')}",
        )
    try:
        return _manifest(data)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise _malformed(f"{where}: {type(error).__name__} {error}") from None


def _manifest(data: Mapping[str, Any]) -> Manifest:
    target, weights = data["target"], data["weights"]
    return Manifest(
        name=str(data["name"]),
        entries=tuple(entry_of(entry) for entry in data["entries"]),
        target=TargetInfo(target["triple"], str(target["isa"]), bool(target["threads"])),
        weights=WeightsInfo(
            weights["storage"],
            weights["file"],
            int(weights["bytes"]),
            tuple(
                WeightInfo(
                    w["name"],
                    w["dtype"],
                    tuple(w["shape"]),
                    w["offset"],
                    w["bytes"],
                    tuple(w.get("aliases", ())),
                )
                for w in weights["tensors"]
            ),
        ),
        ptc=data.get("ptc", ""),
        torch=data.get("torch", ""),
        abi=int(data["abi"]),
        hashes=dict(data.get("hashes", {})),
    )


def entry_of(data: Mapping[str, Any]) -> EntryInfo:
    """An entry from its JSON form. Raises KeyError, TypeError or ValueError for a malformed one."""
    return EntryInfo(
        name=data["name"],
        inputs=tuple(_tensor(t) for t in data["inputs"]),
        outputs=tuple(_tensor(t) for t in data["outputs"]),
        sizes=tuple(
            SizeInfo(s["symbol"], s["name"], s["lower"], s["upper"], s["input"], s["dim"])
            for s in data.get("sizes", ())
        ),
        arguments=data.get("arguments"),
        result=data.get("result"),
        operators=int(data.get("operators", 0)),
        kernels=int(data.get("kernels", 0)),
        control=bool(data.get("control", False)),
        variants=tuple(data.get("variants", ())),
    )


def _tensor(data: Mapping[str, Any]) -> TensorInfo:
    if not all(isinstance(dim, (int, str)) for dim in data["shape"]):
        raise ValueError(f"the shape of `{data['name']}` is {data['shape']}")
    return TensorInfo(
        data["name"],
        data["dtype"],
        tuple(data["shape"]),
        data.get("alias_of"),
        bool(data.get("mutated", False)),
        str(data.get("kind", "tensor")),
    )


def _indented(value: Any, indent: str = "") -> str:
    """JSON that a person can read: what fits on a line stays on one."""
    short = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(short) <= 100 or not isinstance(value, (dict, list, tuple)) or not value:
        return short
    inner = indent + "  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(str(k))}: {_indented(v, inner)}" for k, v in value.items()]
        opening, closing = "{", "}"
    else:
        parts = [_indented(v, inner) for v in value]
        opening, closing = "[", "]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{closing}"


def _malformed(reason: str) -> CompileError:
    return CompileError(
        "PTC-R006", f"the manifest cannot be read: {reason}", hint="compile the model again"
    )
