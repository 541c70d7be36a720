"""Results of entries with control flow: the library alone knows their shapes and lengths.

Each is allocated by the library, copied into memory of Python's, and given back. Knows the C form
of numbers, texts and lists, and no structure of results.
"""

from __future__ import annotations

import ctypes
from typing import Any

from ptc.hosting.abi import DLTensor
from ptc.hosting.library import Session
from ptc.hosting.manifest import TensorInfo
from ptc.hosting.slots import LibraryAllocated, pointers

_PLAIN = {"i64": int, "f64": float, "bool": bool}


class Results:
    """The results of one call, made anew for each."""

    def __init__(self, infos: tuple[TensorInfo, ...]) -> None:
        self.infos = infos
        self.places = [LibraryAllocated(info) for info in infos]
        self.pointers = pointers([place.descriptor for place in self.places])

    def take(self, session: Session, *, as_torch: bool) -> list[Any]:
        """All results; None for one that has no part in the variant that was run."""
        taken: list[Any] = []
        for info, place in zip(self.infos, self.places, strict=True):
            if not place.descriptor.data:
                taken.append(None)
                continue
            taken.append(_value(info, place, as_torch=as_torch))
            session.release(place.descriptor)
        return taken


def _value(info: TensorInfo, place: LibraryAllocated, *, as_torch: bool) -> Any:
    if info.kind == "number":
        return _PLAIN[info.dtype](place.copy(as_torch=False).item())
    if info.kind == "text":
        return _text(place.descriptor)
    if info.kind == "texts":
        return [_text(item) for item in _items(place.descriptor)]
    if info.kind == "numbers":
        return place.copy(as_torch=False).tolist()
    if info.kind == "list":
        return [_element(info, item, as_torch) for item in _items(place.descriptor)]
    return place.copy(as_torch=as_torch)


def _text(descriptor: DLTensor) -> str:
    data = ctypes.string_at(descriptor.data + descriptor.byte_offset, descriptor.shape[0])
    return data.decode("utf-8", "surrogatepass")


def _items(descriptor: DLTensor) -> list[DLTensor]:
    """The tensors of a list."""
    count = descriptor.shape[0]
    table = ctypes.cast(descriptor.data, ctypes.POINTER(ctypes.POINTER(DLTensor)))
    return [table[i].contents for i in range(count)]


def _element(info: TensorInfo, item: DLTensor, as_torch: bool) -> Any:
    return LibraryAllocated(info, item).copy(as_torch=as_torch)
