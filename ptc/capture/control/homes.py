"""Where tensors live: which of them share their memory, and which are copies."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import torch

from ptc.capture.control.identities import Identities
from ptc.capture.control.layouts import Layouts
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import NumberVar, TensorVar
from ptc.graph.program import ProgramInput
from ptc.graph.transforms import is_wrapped, unwrapped
from ptc.support.diagnostics import Location


class Homes:
    """Where tensors live.

    `owner` is the first tensor known of each storage, `variables` holds the ones in a variable,
    `inputs` are the program's own inputs in order, `numbers` those of them that are ints. `written`
    names inputs that the program writes to. `shares` says which storages may be the same one at run
    time, `copied` which are copies where Python has a view, or have such copies: `copies` of which
    others one may be a copy, `names` which it may be itself. `results` came of a merge, with the
    moment of it, and `merged` of which tensors; `sites` says at which place the states of arms met
    that had them. `unsure` are those of which data decides whether gradients are recorded of them,
    with the merges that this comes of. `stale` are copies of views whose base was written to since:
    no tensor any more that the program has. `awaited` says whom to tell before a storage is written
    to.
    """

    def __init__(self) -> None:
        self.owner: dict[int, TensorValue] = {}
        self.variables: dict[TensorValue, TensorVar] = {}
        self.inputs: dict[TensorValue, ProgramInput] = {}
        self.numbers: dict[NumberVar, ProgramInput] = {}
        self.written: dict[str, None] = {}
        self.shares: dict[int, set[int]] = {}
        self.copied: dict[int, str] = {}
        self.copies: dict[int, set[int]] = {}
        self.names: dict[int, set[int]] = {}
        self.results: dict[int, int] = {}
        self.merged: dict[TensorValue, list[TensorValue]] = {}
        self.sites: dict[int, Hashable] = {}
        self.identities = Identities()
        self.layouts = Layouts()
        self.unsure: dict[TensorValue, set[TensorValue]] = {}
        self.stale: dict[int, tuple[str, tuple[Location, ...]]] = {}
        self.awaited: dict[int, Callable[[], None]] = {}

    def clear(self) -> None:
        for table in (self.owner, self.variables, self.inputs, self.merged, self.sites):
            table.clear()
        self.unsure.clear()
        self.identities.clear()

    def one_of(self, key: int) -> set[int]:
        """The storages that one may be at run time."""
        reached, rest = {key}, [key]
        while rest:
            new = self.names.get(rest.pop(), set()) - reached
            reached |= new
            rest += new
        return reached

    def has_copies(self, key: int) -> bool:
        """Whether a storage may be a copy of a view, or there may be copies of views of it."""
        mine = self.one_of(key)
        return any(
            copy in mine or not mine.isdisjoint(self.one_of(source))
            for copy, sources in self.copies.items()
            for source in sources
        )

    def is_note(self, owner: Any) -> bool:
        """Whether this is a table of what holds of tensors that some path has."""
        return owner is self.results or owner is self.stale

    def register(self, value: TensorValue) -> None:
        if is_wrapped(value.fake):
            return  # gone where its function transform ends
        self.owner.setdefault(storage(value.fake), value)
        self.identities.made(value)

    def base(self, value: TensorValue) -> TensorValue:
        """The tensor that owns the memory: `value` itself if it is no view."""
        owner = self.owner.get(storage(value.fake), value)
        return owner if covers(owner.fake) else value


def storage(fake: torch.Tensor) -> int:
    return unwrapped(fake).untyped_storage()._cdata


def covers(fake: torch.Tensor) -> bool:
    """Whether a tensor has all of its storage."""
    fake = unwrapped(fake)
    offset = fake.storage_offset()
    if isinstance(offset, torch.SymInt) or offset != 0:
        return False
    if any(isinstance(size, torch.SymInt) for size in fake.shape):
        return True
    held = fake.untyped_storage().nbytes() // fake.element_size()
    return isinstance(held, torch.SymInt) or fake.numel() == held
