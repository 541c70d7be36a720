"""What a model's own code changes while it is run for a comparison, put back afterwards.

Takes what a program says of the live objects that its user's function writes: tensors, and
attributes; a tensor may stand for a generator. Gives sessions: each starts from the state at hand
and goes on where its last call ended, and none of them leaves a trace. Must not know why the
function is run.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from ptc.graph import random_operators

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class LiveState:
    """The state that calls of a function may change. `assigned`: objects with the name of an
    attribute, dicts with a key. `generators`: with the tensors that stand for them."""

    tensors: tuple[torch.Tensor, ...]
    generators: tuple[tuple[torch.Generator, torch.Tensor], ...]
    assigned: tuple[tuple[Any, str], ...]

    @staticmethod
    def of(tensors: Iterable[torch.Tensor], assigned: Iterable[tuple[Any, str]]) -> LiveState:
        """The places once each."""
        distinct = {id(tensor): tensor for tensor in tensors}
        generators: list[tuple[torch.Generator, torch.Tensor]] = []
        for key, tensor in list(distinct.items()):
            generator = random_operators.mirrored_by(tensor)
            if generator is not None:
                generators.append((generator, distinct.pop(key)))
        places = {(id(owner), name): (owner, name) for owner, name in assigned}
        return LiveState(tuple(distinct.values()), tuple(generators), tuple(places.values()))

    def begin(self) -> None:
        """Put generators where programs begin."""
        for generator, tensor in self.generators:
            generator.set_state(random_operators.generator_of(tensor).get_state())

    def save(self) -> _Saved:
        contents = tuple(tensor.detach().clone() for tensor in self.tensors)
        states = tuple(generator.get_state() for generator, _ in self.generators)
        return _Saved(contents, states, tuple(_restorer(_read(*place)) for place in self.assigned))

    def put(self, saved: _Saved) -> None:
        with torch.no_grad():
            for tensor, content in zip(self.tensors, saved.contents, strict=True):
                tensor.copy_(content)
        for (generator, _), state in zip(self.generators, saved.generators, strict=True):
            generator.set_state(state)
        for place, restore in zip(self.assigned, saved.attributes, strict=True):
            _write(*place, restore())


@dataclass(frozen=True, slots=True)
class _Saved:
    contents: tuple[torch.Tensor, ...]
    generators: tuple[torch.Tensor, ...]
    attributes: tuple[Callable[[], Any], ...]  # what gives the value, with the content it had


class Session:
    """A row of calls with state of their own, which begins as what the live objects hold."""

    def __init__(self, state: LiveState) -> None:
        self._state = state
        self._left: _Saved | None = None

    def fork(self) -> Session:
        """A row of its own that goes on from here."""
        other = Session(self._state)
        other._left = self._left
        return other

    @contextmanager
    def call(self) -> Iterator[None]:
        """One call: it finds what the last one left, and the live objects keep what they held."""
        before = self._state.save()
        try:
            if self._left is not None:
                self._state.put(self._left)
            else:
                self._state.begin()
            yield
            self._left = self._state.save()
        finally:
            self._state.put(before)


def _restorer(value: Any) -> Callable[[], Any]:
    """What gives the same object back, with the content that it has now: code changes lists, dicts,
    tensors and plain objects that attributes hold."""
    contents = list(_contents(value))

    def restored() -> Any:
        for restore in contents:
            restore()
        return value

    return restored


def _contents(value: Any) -> Iterator[Callable[[], None]]:
    """What puts back the content of each thing that `value` leads to."""
    seen: dict[int, Any] = {}
    pending = [value]
    while pending:
        found = pending.pop()
        if id(found) in seen:
            continue
        seen[id(found)] = found
        if isinstance(found, torch.Tensor):
            yield partial(_copy, found, found.detach().clone())
        elif isinstance(found, (list, collections.deque)):
            yield partial(_refill, found, list(found))
            pending += found
        elif isinstance(found, tuple):
            pending += found
        else:
            entries = found if isinstance(found, dict) else _attributes(found)
            if entries is not None:
                yield partial(_replace, entries, dict(entries))
                pending += entries.values()


def _attributes(value: Any) -> dict[Any, Any] | None:
    """The attributes of an object that is no more than that."""
    other = (type, torch.nn.Module, types.FunctionType, types.ModuleType)
    attributes = getattr(value, "__dict__", None)
    return attributes if type(attributes) is dict and not isinstance(value, other) else None


def _copy(tensor: torch.Tensor, content: torch.Tensor) -> None:
    if tensor.shape == content.shape:
        with torch.no_grad():
            tensor.copy_(content)


def _refill(target: Any, items: list[Any]) -> None:
    target.clear()
    target.extend(items)


def _replace(target: dict[Any, Any], entries: dict[Any, Any]) -> None:
    target.clear()
    target.update(entries)


def _read(owner: Any, name: str) -> Any:
    if isinstance(owner, dict):
        return dict[Any, Any].get(owner, name, _ABSENT)
    if _is_slot(owner, name):
        return getattr(owner, name, _ABSENT)
    return vars(owner).get(name, _ABSENT)


def _write(owner: Any, name: str, value: Any) -> None:
    """As Python stores it, past what classes make of assignments."""
    if isinstance(owner, dict):
        if value is not _ABSENT:
            dict[Any, Any].__setitem__(owner, name, value)
        else:
            dict[Any, Any].pop(owner, name, None)
    elif value is not _ABSENT:
        (type if isinstance(owner, type) else object).__setattr__(owner, name, value)
    elif _read(owner, name) is not _ABSENT:
        (type if isinstance(owner, type) else object).__delattr__(owner, name)


def _is_slot(owner: Any, name: str) -> bool:
    found = (vars(cls)[name] for cls in type(owner).__mro__ if name in vars(cls))
    return isinstance(next(found, None), types.MemberDescriptorType)
