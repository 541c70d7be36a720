"""Between which bounds an int that data decides lies, as far as the computation that gives it says:
`n % 3` is 0, 1 or 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Range = tuple[int, int]


def of_computation(op: str, operands: Sequence[Range | None]) -> Range | None:
    """The range of a result; None if nothing is known. A number that is known has itself for both
    bounds."""
    rule = _RULES.get(op)
    return None if rule is None else rule(operands)


def _remainder(operands: Sequence[Range | None]) -> Range | None:
    divisor = operands[1]
    return (0, divisor[1] - 1) if divisor is not None and divisor[0] > 0 else None


def _masked(operands: Sequence[Range | None]) -> Range | None:
    """Of two operands of which one is not negative, the result is at most that one."""
    limits = [one[1] for one in operands if one is not None and one[0] >= 0]
    return (0, min(limits)) if limits else None


def _both(combine: Callable[[Range, Range], Range]) -> Callable[..., Range | None]:
    def rule(operands: Sequence[Range | None]) -> Range | None:
        one, other = operands
        return None if one is None or other is None else combine(one, other)

    return rule


def _product(one: Range, other: Range) -> Range:
    products = [a * b for a in one for b in other]
    return min(products), max(products)


def _selected(operands: Sequence[Range | None]) -> Range | None:
    one, other = operands[1:]
    return None if one is None or other is None else (min(one[0], other[0]), max(one[1], other[1]))


def _quotient(operands: Sequence[Range | None]) -> Range | None:
    one, by = operands
    if one is None or by is None or by[0] != by[1] or by[0] <= 0:
        return None
    return one[0] // by[0], one[1] // by[0]


_RULES: Mapping[str, Callable[[Sequence[Range | None]], Range | None]] = {
    "mod": _remainder,
    "and": _masked,
    "add": _both(lambda a, b: (a[0] + b[0], a[1] + b[1])),
    "sub": _both(lambda a, b: (a[0] - b[1], a[1] - b[0])),
    "mul": _both(_product),
    "floordiv": _quotient,
    "int": lambda operands: operands[0],
    "neg": lambda operands: None if operands[0] is None else (-operands[0][1], -operands[0][0]),
    "select": _selected,
    "min": _both(lambda a, b: (min(a[0], b[0]), min(a[1], b[1]))),
    "max": _both(lambda a, b: (max(a[0], b[0]), max(a[1], b[1]))),
}
