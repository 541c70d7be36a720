"""A value that is one of several, which one depends on data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptc.capture.errors import NotConstant
from ptc.capture.values.base import Value
from ptc.graph.control import NumberVar

if TYPE_CHECKING:
    from ptc.capture.rebuild import Rebuilder


class Missing(Value):
    """Stands in a choice for "there is none": an unbound variable, an absent key."""

    __slots__ = ()

    @property
    def cls(self) -> type:
        raise NotConstant(self)

    def describe(self) -> str:
        return "nothing"


MISSING = Missing()


class ChoiceValue(Value):
    """`alternatives[selector]`. What uses it asks first which one it is, and goes on with that in
    an arm of its own."""

    __slots__ = ("alternatives", "selector")

    def __init__(self, selector: NumberVar, alternatives: tuple[Value, ...]) -> None:
        self.source = None
        self.selector = selector
        self.alternatives = alternatives

    @property
    def cls(self) -> type:
        raise NotConstant(self)

    def constant(self) -> Any:
        raise NotConstant(self)

    def describe(self) -> str:
        first = " or ".join(a.describe() for a in self.alternatives[:3])
        return first if len(self.alternatives) <= 3 else first + " or ..."

    def rebuild(self, emit: Rebuilder) -> str:
        raise NotConstant(self)


def alternatives_of(value: Value) -> tuple[Value, ...]:
    """What a value may be: itself, unless it is one of several."""
    return value.alternatives if isinstance(value, ChoiceValue) else (value,)


def may_be_missing(value: Value) -> bool:
    return isinstance(value, ChoiceValue) and MISSING in value.alternatives
