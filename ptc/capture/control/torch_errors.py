"""What torch says where a call fails: its rules for symbolic sizes have texts, and now and then
exceptions, of their own. The call is made with tensors of zeros, of several sizes that the path
allows; what differs between the texts is a size, or a number of elements, that the program knows.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import sympy
import torch
import torch.utils._pytree as pytree

from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.graph.symbols import expression_of

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_GREAT = (101, 211, 307, 401, 503)  # found again in a text
_SMALL = range(8)
_MOST_TRIED, _MOST_NEAR, _ENOUGH, _MOST_ELEMENTS = 2000, 100, 5, 4_000_000
_NUMBER = re.compile(r"(\d+)")

Sizes = dict[Any, int]


def call_exception(
    vm: ControlMachine,
    error: Exception,
    function: Callable[..., Any],
    args: list[Any],
    kwargs: dict[str, Any],
) -> BaseException:
    """What the program gets for an exception that the rule of a call has raised."""
    leaves, form = pytree.tree_flatten((args, kwargs))
    if any(map(_is_opaque, leaves)):
        return vm.native_exception(error)
    symbols = _symbols(leaves)
    known = _Known(vm, symbols)
    allowed = _few(known, symbols)
    if allowed == 0:
        return vm.native_exception(error)  # no call takes this path
    failures = _failures(known, function, leaves, form)
    if not failures or any(one is None for _, one in failures):
        return _not_told(vm, error, leaves)
    kinds = {type(one) for _, one in failures}
    texts = [_NUMBER.split(str(one)) for _, one in failures]
    if len(kinds) > 1 or (len(failures) == 1 and allowed != 1):
        return _not_told(vm, error, leaves)
    if all(text == texts[0] for text in texts):
        assert failures[0][1] is not None
        return vm.native_exception(failures[0][1])
    parts = _template(vm, leaves, texts, [sizes for sizes, _ in failures])
    if parts is None:
        return _not_told(vm, error, leaves)
    return vm.raised(kinds.pop(), [vm.join_text(parts)])


def _is_opaque(leaf: Any) -> bool:
    """Whether there is nothing real to put in the place of an argument."""
    if isinstance(leaf, (torch.SymFloat, torch.SymBool)):
        return True
    return isinstance(leaf, torch.Tensor) and (
        leaf.layout is not torch.strided or leaf.device.type != "cpu" or leaf.is_quantized
    )


def _not_told(vm: ControlMachine, error: Exception, leaves: list[Any]) -> BaseException:
    """The exception of the rule, with the sizes of the run in its text for what only capture
    knows."""
    shown = {str(expression_of(n)): n for n in _candidates(leaves) if isinstance(n, torch.SymInt)}
    names = "|".join(map(re.escape, sorted(shown, key=len, reverse=True)))
    texts = re.split(rf"(?<!\w)({names})(?!\w)", str(error)) if names else [str(error)]
    if len(texts) == 1 or type(error).__module__ != "builtins":
        return vm.native_exception(error)
    parts: list[Value] = [
        vm.repr(SymbolicNumber(shown[text], None)) if place % 2 else ConstantValue(text)
        for place, text in enumerate(texts)
    ]
    return vm.raised(type(error), [vm.join_text(parts)])


# -- running it -----------------------------------------------------------------------------------


def _failures(
    known: _Known, function: Callable[..., Any], leaves: list[Any], form: Any
) -> list[tuple[Sizes, Exception | None]]:
    """What the call raises, None for nothing, of some sizes that the path allows."""
    found: list[tuple[Sizes, Exception | None]] = []
    for sizes in itertools.islice(_choices(_symbols(leaves)), _MOST_TRIED):
        if not known.allows(sizes):
            continue
        real = _real(leaves, sizes)
        if real is None:
            continue
        args, kwargs = pytree.tree_unflatten(real, form)
        try:
            with torch.no_grad(), torch.random.fork_rng(devices=[]):
                function(*args, **kwargs)
            found.append((sizes, None))
        except Exception as error:
            found.append((sizes, error))
        if len(found) == _ENOUGH:
            break
    return found


def _symbols(leaves: list[Any]) -> list[Any]:
    found: dict[Any, None] = {}
    for number in _numbers(leaves):
        found |= dict.fromkeys(sorted(expression_of(number).free_symbols, key=str))
    return list(found)


def _numbers(leaves: list[Any]) -> Iterator[Any]:
    """Symbolic sizes and ints of a call."""
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            numbers = (*leaf.shape, *leaf.stride(), leaf.storage_offset())
            yield from (one for one in numbers if isinstance(one, torch.SymInt))
        elif isinstance(leaf, torch.SymInt):
            yield leaf


def _choices(symbols: list[Any]) -> Iterator[Sizes]:
    if not symbols:
        yield {}
        return
    count = len(_GREAT)
    for turn in range(count):
        yield {one: _GREAT[(turn + 2 * i) % count] + i for i, one in enumerate(symbols)}
    for numbers in itertools.product((*_SMALL, _GREAT[0]), repeat=len(symbols)):
        yield dict(zip(symbols, numbers, strict=True))


class _Known:
    """What is known on a path of sizes that are called by symbols."""

    def __init__(self, vm: ControlMachine, symbols: list[Any]) -> None:
        dims = {symbol: vm.fakes.data_dims.get(str(symbol)) for symbol in symbols}
        self._least = {symbol: dim.lower for symbol, dim in dims.items() if dim is not None}
        self._facts = [
            (condition, holds)
            for condition, holds in vm.facts.table.items()
            if condition.free_symbols and condition.free_symbols <= set(symbols)
        ]

    def allows(self, sizes: Sizes) -> bool:
        """Whether nothing speaks against the sizes."""
        if any(sizes[symbol] < least for symbol, least in self._least.items()):
            return False
        given = {symbol: sympy.Integer(size) for symbol, size in sizes.items()}
        for condition, holds in self._facts:
            decided = condition.xreplace(given)
            if decided in (sympy.true, sympy.false) and bool(decided) is not holds:
                return False
        return True

    def numbers(self) -> set[int]:
        """Integers that what is known names, and those beside them."""
        named = {int(n) for condition, _ in self._facts for n in condition.atoms(sympy.Integer)}
        return {near for n in named for near in (n - 1, n, n + 1)}


def _few(known: _Known, symbols: list[Any]) -> int | None:
    """How many sizes are allowed, if that is none or one; None for more, or if it is not known."""
    if not symbols:
        return 1
    if len(symbols) > 1:
        return None
    tried = sorted({*range(_MOST_NEAR), *(n for n in known.numbers() if n >= 0)})
    allowed = (size for size in tried if known.allows({symbols[0]: size}))
    count = len(list(itertools.islice(allowed, 2)))
    return count if count < 2 else None


def _real(leaves: list[Any], sizes: Sizes) -> list[Any] | None:
    """The arguments with these sizes; None if that is too much memory."""
    made: list[Any] = []
    for leaf in leaves:
        if isinstance(leaf, torch.SymInt):
            made.append(_known(leaf, sizes))
        elif not isinstance(leaf, torch.Tensor):
            made.append(leaf)
        else:
            shape = [_known(one, sizes) for one in leaf.shape]
            steps = [_known(one, sizes) for one in leaf.stride()]
            reach = 1 + sum(max(n - 1, 0) * step for n, step in zip(shape, steps, strict=True))
            if min([0, *shape]) < 0 or max(reach, math.prod(shape)) > _MOST_ELEMENTS:
                return None
            memory = torch.zeros(reach, dtype=leaf.dtype)
            made.append(memory.as_strided(shape, steps))
    return made


def _known(number: Any, sizes: Sizes) -> int:
    return number if isinstance(number, int) else int(expression_of(number).subs(sizes))


# -- the text -------------------------------------------------------------------------------------


def _template(
    vm: ControlMachine, leaves: list[Any], texts: list[list[str]], sizes: list[Sizes]
) -> list[Value] | None:
    """The parts of the text that all of these are; None if it is not known what differs."""
    if len({len(text) for text in texts}) > 1:
        return None
    known = _candidates(leaves)
    parts: list[Value] = []
    for place, column in enumerate(zip(*texts, strict=True)):
        if len(set(column)) == 1:
            parts.append(ConstantValue(column[0]))
            continue
        if place % 2 == 0:
            return None  # words
        number = next((n for n in known if _is_shown(n, column, sizes)), None)
        if number is None:
            return None
        parts.append(vm.repr(SymbolicNumber(number, None)))
    return parts


def _candidates(leaves: list[Any]) -> list[Any]:
    """Numbers that a text may show: those of the call, of elements, and of what a call makes that
    repeats."""
    numbers = list(_numbers(leaves))
    fixed = {
        size for leaf in leaves if isinstance(leaf, torch.Tensor) for size in leaf.shape
        if isinstance(size, int) and size > 1
    }  # fmt: skip
    numbers += [number * size for number in numbers for size in sorted(fixed)]
    found = [sign for number in numbers for sign in (number, -number)]
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            count = leaf.numel()
            found += [count] if isinstance(count, torch.SymInt) else []
    return found


def _is_shown(number: Any, column: tuple[str, ...], sizes: list[Sizes]) -> bool:
    pairs = zip(column, sizes, strict=True)
    return all(shown == str(_known(number, here)) for shown, here in pairs)
