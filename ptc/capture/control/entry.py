"""The Python function of a captured call: reads inputs and kept attributes out of the real objects,
runs the program, writes back what it changed.

Takes a `CapturedCall` and what runs its program, gives functions with the original's signature.
Knows no torch and no libraries.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ptc.capture.code import build_function
from ptc.capture.guards import Namespace, Signature
from ptc.capture.sources import AttributeSource, ItemSource, Source
from ptc.capture.values.constants import is_immutable
from ptc.graph.control import Assign, ControlProgram, TensorVar, walk

if TYPE_CHECKING:
    from ptc.capture.control.api import CapturedCall
    from ptc.capture.control.kept import KeptAttribute


@dataclass(frozen=True, slots=True)
class CallCode:
    """`run(fn, *args, **kwargs)` does what the call does; `accepts(fn, *args, **kwargs)` says
    whether the kept attributes are of the kinds that the program knows."""

    run: Callable[..., Any]
    accepts: Callable[..., bool] | None
    source: str


def replaced_inputs(program: ControlProgram) -> tuple[str, ...]:
    """The inputs whose place gets another tensor: a buffer that the model assigns."""
    names = {item.target.name for item in walk(program.body) if isinstance(item, Assign)
             and isinstance(item.target, TensorVar)}  # fmt: skip
    return tuple(
        described.name
        for described in program.inputs
        if described.live is not None and described.name in names
    )


def write_call(fn: types.FunctionType, call: CapturedCall, execute: Callable[..., Any]) -> CallCode:
    """`execute(inputs, numbers, store)` runs the program and gives its result: `inputs` as in
    `program.inputs`, `numbers` by name of the kept variable. It calls `store(numbers, tensors)`
    with what they are after the run, however that ends; `tensors` are the replaced ones by name."""
    signature = Signature.of(fn)
    names = Namespace(signature.names())
    attributes = call.attributes
    inputs = [call.sources[described.name] for described in call.program.inputs]
    owners = [attribute.source.owner for attribute in attributes]
    replaced = replaced_inputs(call.program)
    places = [call.sources[name] for name in replaced]
    place_owners = [_owner(place) for place in places]

    def code(sources: Sequence[Source]) -> str:
        return "(" + "".join(f"{source.full_code(names)}, " for source in sources) + ")"

    keeper = _Keeper(attributes, replaced, places)
    lines = [
        *signature.fill_defaults(),
        f"v0_ = {code(owners)}",
        f"v1_ = {code(place_owners)}",
        f"v2_ = {names(keeper.storing, 'storing')}(v0_, v1_)",
        f"v3_ = {names(keeper.numbers, 'numbers')}(v0_)",
        f"return {names(execute, 'program')}({code(inputs)}, v3_, v2_)",
    ]
    text = f"def run({signature.parameters()}):\n" + "".join(f"    {line}\n" for line in lines)
    run = build_function(text, "run", names.globals, fn.__name__)
    signature.name_parameters(run)
    if not attributes:
        return CallCode(run, None, text)
    lines = [
        *signature.fill_defaults(),
        f"return {names(keeper.accepts, 'accepts')}({code(owners)})",
    ]
    check = f"def accepts({signature.parameters()}):\n" + "".join(f"    {li}\n" for li in lines)
    accepts = build_function(check, "accepts", names.globals, fn.__name__)
    signature.name_parameters(accepts)
    return CallCode(run, accepts, text)


def _owner(place: Source) -> Source:
    assert isinstance(place, (AttributeSource, ItemSource))
    return place.owner


def _same_constant(value: Any, real: Any) -> bool:
    return is_immutable(value) and type(value) is type(real) and value == real


_ABSENT = object()


class _Keeper:
    """Reads and writes the attributes that a program keeps."""

    def __init__(
        self,
        attributes: Sequence[KeptAttribute],
        replaced: Sequence[str],
        places: Sequence[Source],
    ) -> None:
        self._attributes = attributes
        self._replaced = replaced
        self._places = places

    def accepts(self, owners: Sequence[Any]) -> bool:
        return all(
            attribute.values(getattr(owner, attribute.source.name, _ABSENT)) is not None
            for attribute, owner in zip(self._attributes, owners, strict=True)
        )

    def numbers(self, owners: Sequence[Any]) -> dict[str, Any]:
        """The values of the kept variables; one that an attribute's form does not use is left
        out."""
        found: dict[str, Any] = {}
        for attribute, owner in zip(self._attributes, owners, strict=True):
            values = attribute.values(getattr(owner, attribute.source.name))
            assert values is not None  # the entry accepted the call
            found |= values
        return found

    def storing(self, owners: Sequence[Any], places: Sequence[Any]) -> Callable[..., None]:
        """What writes back into these objects."""

        def store(numbers: Mapping[str, Any], tensors: Mapping[str, Any]) -> None:
            for attribute, owner in zip(self._attributes, owners, strict=True):
                name = attribute.source.name
                real = getattr(owner, name)
                value = attribute.value(numbers, real)
                if value is not real and not _same_constant(value, real):
                    object.__setattr__(owner, name, value)
            for name, place, owner in zip(self._replaced, self._places, places, strict=True):
                if name not in tensors:
                    continue
                if isinstance(place, ItemSource):
                    owner[place.key] = tensors[name]
                else:
                    assert isinstance(place, AttributeSource)
                    setattr(owner, place.name, tensors[name])

        return store
