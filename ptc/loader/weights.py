"""`--weights`: a checkpoint's tensors, mapped from their file, put into a module.

Reads .safetensors and .pt files and folders in Hugging Face layout. Names are matched after taking
a common prefix off either side (`module.`, Lightning's `model.`); tied parameters stay tied; a
parameter that the checkpoint lacks is an error, since its random value would be a wrong answer.
"""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from ptc.loader.torch_values import read_torch_file, short_name
from ptc.support.diagnostics import CompileError
from ptc.support.wording import listed

Tensors = dict[str, torch.Tensor]
Notes = list[str]

_INDEX_FILES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
_WHOLE_FILES = ("model.safetensors", "pytorch_model.bin")
#: Where training scripts and Lightning keep the state dict inside a checkpoint.
_STATE_KEYS = ("state_dict", "model_state_dict", "model", "module", "net", "weights", "params")


def read_checkpoint(path: Path) -> Tensors:
    """Every tensor of a checkpoint by name. Tensors are mapped where the format allows it."""
    if path.is_dir():
        return _read_folder(path)
    if not path.is_file():
        raise CompileError("PTC-L040", f"there is no weights file or folder {path}")
    if path.suffix == ".safetensors":
        return _read_safetensors(path)
    if path.suffix in (".pt", ".pth", ".bin", ".ckpt"):
        return _state_dict(_read_pickle(path), path)
    raise CompileError(
        "PTC-L040",
        f"cannot read weights from {path}: the file type `{path.suffix}` is not supported",
        hint="supported: .safetensors, .pt, .pth, .bin, .ckpt, or a Hugging Face folder",
    )


def load_weights(module: nn.Module, path: Path, notes: Notes) -> None:
    """Put the checkpoint at `path` into `module`, in place. Parameters share the file's memory."""
    stored = read_checkpoint(path)
    slots = _slots(module)
    names = {name for slot in slots for name in slot.names}
    renamed = _match_names(stored, names, notes)
    missing = [slot for slot in slots if not any(name in renamed for name in slot.names)]
    missing_parameters = [slot.names[0] for slot in missing if slot.required]
    if missing_parameters:
        raise CompileError(
            "PTC-L041",
            f"{path} lacks {len(missing_parameters)} of the model's {len(slots)} tensors: "
            f"{listed(missing_parameters)}",
            hint=f"the file holds, for example: {listed(list(stored), 3)}"
            if stored
            else "the file holds no tensors",
        )
    for slot in slots:
        name = next((name for name in slot.names if name in renamed), None)
        if name is not None:
            slot.fill(name, renamed[name], path)
    unused = [name for name in renamed if name not in names]
    if unused:
        notes.append(
            f"{len(unused)} tensors of {path.name} have no place in the model: {listed(unused)}"
        )


@dataclass(frozen=True, slots=True)
class _Slot:
    """A tensor of the module, with every (owner, attribute) that refers to it: ties are one
    slot."""

    names: tuple[str, ...]
    owners: tuple[tuple[nn.Module, str], ...]
    value: torch.Tensor
    is_parameter: bool
    persistent: bool

    @property
    def required(self) -> bool:
        """Integer buffers (positions, batch counters) are computed and may be absent from a file,
        as are those that the module itself would not save."""
        return self.is_parameter or (self.persistent and self.value.is_floating_point())

    def fill(self, name: str, stored: torch.Tensor, path: Path) -> None:
        if stored.shape != self.value.shape:
            raise CompileError(
                "PTC-L042",
                f"`{name}` has shape {list(stored.shape)} in {path.name}, "
                f"but {list(self.value.shape)} in the model",
                hint="make the model with the checkpoint's settings: `--init '{...}'`",
            )
        # Like load_state_dict, keep the model's element type: its code was written for that one.
        value = stored.to(self.value.dtype)
        if self.is_parameter:
            new = nn.Parameter(value, requires_grad=self.value.requires_grad)
        else:
            new = value.clone()  # the model may write to its buffers, never to the file
        for owner, attribute in self.owners:
            setattr(owner, attribute, new)


def _slots(module: nn.Module) -> list[_Slot]:
    saved = set(module.state_dict(keep_vars=True))
    groups: dict[int, list[tuple[str, nn.Module, str]]] = {}
    values: dict[int, torch.Tensor] = {}
    for prefix, owner in module.named_modules(remove_duplicate=False):
        own = dict(owner.named_parameters(recurse=False, remove_duplicate=False))
        for attribute, tensor in {**own, **dict(owner.named_buffers(recurse=False))}.items():
            name = f"{prefix}.{attribute}" if prefix else attribute
            groups.setdefault(id(tensor), []).append((name, owner, attribute))
            values[id(tensor)] = tensor
    return [
        _Slot(
            names=tuple(name for name, _, _ in uses),
            owners=tuple((owner, attribute) for _, owner, attribute in uses),
            value=values[key],
            is_parameter=isinstance(values[key], nn.Parameter),
            persistent=any(name in saved for name, _, _ in uses),
        )
        for key, uses in groups.items()
    ]


def _match_names(stored: Tensors, names: set[str], notes: Notes) -> Tensors:
    """The checkpoint with its names as the module has them."""
    best, removed, added = sum(name in names for name in stored), "", ""
    for prefix in _prefixes(stored, names):
        hits = sum(n.startswith(prefix) and n[len(prefix) :] in names for n in stored)
        if hits > best:
            best, removed, added = hits, prefix, ""
    for prefix in _prefixes(names, stored):
        hits = sum(prefix + name in names for name in stored)
        if hits > best:
            best, removed, added = hits, "", prefix
    if removed:
        notes.append(f"the prefix `{removed}` was taken off the names in the checkpoint")
        return {
            name[len(removed) :] if name.startswith(removed) else name: tensor
            for name, tensor in stored.items()
        }
    if added:
        notes.append(f"the prefix `{added}` was put before the names in the checkpoint")
        # Names that are right as they are stay: a head beside the prefixed body.
        return {name if name in names else added + name: t for name, t in stored.items()}
    return stored


def _prefixes(
    longer: Mapping[str, Any] | set[str], shorter: Mapping[str, Any] | set[str]
) -> list[str]:
    """What stands before a name of `shorter` in a name of `longer`, most frequent first."""
    counts: Counter[str] = Counter()
    for name in longer:
        parts = name.split(".")
        for i in range(1, min(len(parts), 5)):
            if ".".join(parts[i:]) in shorter:
                counts[".".join(parts[:i]) + "."] += 1
    return [prefix for prefix, _ in counts.most_common(8)]


def _read_folder(folder: Path) -> Tensors:
    for name in _INDEX_FILES:
        if (folder / name).is_file():
            return _read_shards(folder, name)
    for name in _WHOLE_FILES:
        if (folder / name).is_file():
            return read_checkpoint(folder / name)
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise CompileError(
            "PTC-L040",
            f"the folder {folder} holds no weights",
            hint="expected model.safetensors, or shards with model.safetensors.index.json",
        )
    return {name: t for file in files for name, t in _read_safetensors(file).items()}


def _read_shards(folder: Path, index: str) -> Tensors:
    try:
        weight_map: dict[str, str] = json.loads((folder / index).read_text())["weight_map"]
        files = sorted(set(weight_map.values()))
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise CompileError("PTC-L040", f"cannot read {folder / index}: {error!r}") from None
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise CompileError(
            "PTC-L040", f"{folder / index} names files that are not there: {listed(missing)}"
        )
    tensors: Tensors = {}
    for name in files:
        tensors |= read_checkpoint(folder / name)
    return tensors


def _read_safetensors(path: Path) -> Tensors:
    try:
        with safe_open(str(path), framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise CompileError("PTC-L040", f"cannot read weights from {path}: {error}") from None


def _read_pickle(path: Path) -> Any:
    if not zipfile.is_zipfile(path):
        return read_torch_file(path)  # torch's format before 1.6 cannot be mapped
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception:
        return read_torch_file(path)  # raises what is wrong, or reads what cannot be mapped


def _state_dict(content: Any, path: Path) -> Tensors:
    """The state dict in a checkpoint, which training scripts wrap in further dicts."""
    if isinstance(content, Mapping):
        tensors = {k: v for k, v in content.items() if isinstance(v, torch.Tensor)}
        nested = [content[k] for k in _STATE_KEYS if isinstance(content.get(k), Mapping)]
        if nested and len(tensors) < len(nested[0]):
            return _state_dict(nested[0], path)
        if tensors:
            return tensors
    raise CompileError(
        "PTC-L040",
        f"{path} holds no state dict but a {type(content).__name__}",
        hint="save one with `torch.save(model.state_dict(), path)`",
    )


def convert_floats(module: nn.Module, dtype: torch.dtype, notes: Notes) -> None:
    """`--dtype`: floating parameters and buffers to `dtype`, one at a time."""
    before = sorted({short_name(p.dtype) for p in module.parameters() if p.is_floating_point()})
    module.to(dtype)
    if before and before != [short_name(dtype)]:
        notes.append(f"parameters were converted from {', '.join(before)} to {short_name(dtype)}")
