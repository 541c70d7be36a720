"""What torch functions gave on fake tensors, for calls alike.

Loops and arms are followed again and again, and with them the same functions on tensors of the same
forms. Where sizes are symbols torch takes milliseconds to tell what one gives; here a result is put
together from what a call alike has given. What torch asked about sizes meanwhile is asked again, in
its order, of the path at hand: where the answers differ, the function runs.

Owns which calls are alike. How tensors of given sizes are made, and who answers, it is told.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch.autograd.graph import increment_version
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from ptc.capture import torch_state
from ptc.graph import transforms
from ptc.graph.symbols import SYMBOLIC_TYPES

_PLAIN = (bool, int, str, bytes, type(None), type(Ellipsis), torch.dtype, torch.device,
          torch.layout, torch.memory_format)  # fmt: skip
#: What was asked, by kind and expression, with the answers.
Asked = dict[tuple[str, Any], Any]


class Making(Protocol):
    """Who answers questions about sizes, and makes tensors."""

    def answer(self, kind: str, expression: Any) -> Any: ...
    def asked(self, run: Callable[[], Any]) -> tuple[Any, Asked]: ...
    def strided(self, form: Form) -> torch.Tensor: ...
    def view(self, base: torch.Tensor, form: Form) -> torch.Tensor: ...


class _NotKept(Exception):
    """A call whose result is not told by the forms of its arguments."""


@dataclass(frozen=True, slots=True)
class Form:
    """Sizes and strides in elements, as numbers or symbols."""

    sizes: tuple[Any, ...]
    strides: tuple[Any, ...]
    offset: Any
    dtype: torch.dtype
    device: torch.device

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Form:
        return cls(
            tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.dtype,
            tensor.device,
        )  # fmt: skip


@dataclass(slots=True)
class _Given:
    """A result: `parts` says of what, in `structure`; `written` which arguments it changed."""

    structure: Any
    written: tuple[int, ...]


@dataclass(slots=True)
class _Question:
    """What is asked next, and what follows each answer."""

    kind: str
    expression: Any
    following: dict[Any, _Question | _Given] = field(default_factory=dict[Any, Any])


class FakeCalls:
    """The calls of one capture."""

    def __init__(self, making: Making) -> None:
        self._making = making
        self._known: dict[Hashable, _Question | _Given] = {}

    def run(
        self, target: Any, args: Sequence[Any], kwargs: dict[str, Any], call: Callable[[], Any]
    ) -> Any:
        """What `call()` gives, which calls `target` with these arguments."""
        tensors: list[torch.Tensor] = []
        try:
            if transforms.depth() or torch._C._len_torch_function_stack():
                raise _NotKept
            key = (
                _key(target, tensors), _key(tuple(args), tensors), _key(kwargs, tensors),
                torch_state.current(), torch.get_default_dtype(),
            )  # fmt: skip
            hash(key)
        except (_NotKept, TypeError):
            return call()
        known = self._known.get(key)
        while isinstance(known, _Question):
            answer = self._making.answer(known.kind, known.expression)
            known = known.following.get(answer)
        if known is not None:
            return self._again(known, tensors)
        versions = [_version(tensor) for tensor in tensors]
        looks = [_look(tensor) for tensor in tensors]
        result, asked = self._making.asked(call)
        if looks != [_look(tensor) for tensor in tensors]:
            return result  # it changed more of an argument than its content
        changed = tuple(
            n for n, (t, before) in enumerate(zip(tensors, versions, strict=True))
            if _version(t) != before
        )  # fmt: skip
        try:
            given = _Given(_structure(result, tensors, []), changed)
        except _NotKept:
            return result
        self._keep(key, asked, given)
        return result

    def _keep(self, key: Hashable, asked: Asked, given: _Given) -> None:
        place: dict[Any, Any] = self._known
        step: Any = key
        for (kind, expression), answer in asked.items():
            question = place.setdefault(step, _Question(kind, expression))
            place, step = question.following, answer
        place[step] = given

    def _again(self, given: _Given, tensors: Sequence[torch.Tensor]) -> Any:
        for number in given.written:
            increment_version(tensors[number])
        return _rebuilt(self._making, given.structure, tensors)


def _look(tensor: torch.Tensor) -> Hashable:
    """What is to be seen of a tensor beside its content."""
    form = Form.of(tensor)
    numbers = (*form.sizes, *form.strides, form.offset)
    expressions = tuple(n.node.expr if isinstance(n, torch.SymInt) else n for n in numbers)
    return form.dtype, form.device, len(form.sizes), expressions, tensor.requires_grad


def _version(tensor: torch.Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


# -- which calls are alike ------------------------------------------------------------------------


def _key(value: Any, tensors: list[torch.Tensor]) -> Hashable:
    """What a result can depend on of an argument. The tensors in it are appended."""
    kind = type(value)
    if isinstance(value, torch.Tensor):
        return _tensor_key(value, tensors)
    if isinstance(value, _PLAIN):
        return kind, value
    if kind in (float, complex):
        return kind, repr(value)  # tells zeros apart, and NaN is itself
    if isinstance(value, SYMBOLIC_TYPES):
        return kind, value.node.expr
    if kind in (tuple, list, torch.Size):
        return kind, tuple(_key(item, tensors) for item in value)
    if kind is slice:
        return kind, tuple(_key(n, tensors) for n in (value.start, value.stop, value.step))
    if kind is dict:
        return kind, tuple((name, _key(item, tensors)) for name, item in value.items())
    if callable(value):
        return "function", value
    raise _NotKept


def _tensor_key(tensor: torch.Tensor, tensors: list[torch.Tensor]) -> Hashable:
    for number, known in enumerate(tensors):
        if known is tensor:
            return "again", number
    if not _is_plain(tensor) or (tensor.requires_grad and torch.is_grad_enabled()):
        raise _NotKept
    storage = tensor.untyped_storage()._cdata
    shares = tuple(
        n for n, known in enumerate(tensors) if known.untyped_storage()._cdata == storage
    )
    tensors.append(tensor)
    return _look(tensor), shares, tensor.is_inference()


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether sizes, strides and type are all that there is to a fake tensor."""
    return (
        tensor.layout is torch.strided
        and not tensor.is_quantized
        and not tensor.is_conj()
        and not tensor.is_neg()
        and getattr(tensor, "constant", None) is None
        and not is_traceable_wrapper_subclass(tensor)
    )


# -- results --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor of this form: new (`base` is None), or in the memory of an argument."""

    base: int | None
    form: Form


@dataclass(frozen=True, slots=True)
class _Argument:
    number: int


@dataclass(frozen=True, slots=True)
class _Several:
    kind: type
    parts: tuple[Any, ...]


def _structure(result: Any, tensors: Sequence[torch.Tensor], made: list[int]) -> Any:
    """How to put the result together; the memory of new tensors is noted in `made`."""
    if isinstance(result, torch.Tensor):
        return _tensor(result, tensors, made)
    if isinstance(result, (*_PLAIN, float, complex, *SYMBOLIC_TYPES)):
        return result
    kind = type(result)
    if kind in (tuple, list, torch.Size) or hasattr(kind, "n_sequence_fields"):
        return _Several(kind, tuple(_structure(part, tensors, made) for part in result))
    raise _NotKept


def _tensor(
    result: torch.Tensor, tensors: Sequence[torch.Tensor], made: list[int]
) -> _Tensor | _Argument:
    for number, tensor in enumerate(tensors):
        if tensor is result:
            return _Argument(number)
    if not _is_plain(result) or result.requires_grad or result.is_inference():
        raise _NotKept
    storage = result.untyped_storage()._cdata
    form = Form.of(result)
    for number, tensor in enumerate(tensors):
        if tensor.untyped_storage()._cdata == storage:
            if tensor.dtype is not result.dtype or tensor.is_inference():
                raise _NotKept
            return _Tensor(number, form)
    if storage in made or not (isinstance(form.offset, int) and form.offset == 0):
        raise _NotKept
    made.append(storage)
    return _Tensor(None, form)


def _rebuilt(making: Making, structure: Any, tensors: Sequence[torch.Tensor]) -> Any:
    if isinstance(structure, _Argument):
        return tensors[structure.number]
    if isinstance(structure, _Tensor):
        if structure.base is None:
            return making.strided(structure.form)
        return making.view(tensors[structure.base], structure.form)
    if isinstance(structure, _Several):
        parts: Iterator[Any] = (_rebuilt(making, part, tensors) for part in structure.parts)
        kind = structure.kind
        return kind(list(parts)) if kind is not torch.Size else torch.Size(parts)
    return structure
