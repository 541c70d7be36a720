"""Symbolic sizes: their expressions, their ranges, and their values for concrete inputs.

The only place that looks inside a torch SymInt. Takes fake values, `DimRange`s and concrete shapes;
gives symbol names, numbers and errors in the user's terms. Knows no operators.
"""

# pyright: reportPrivateUsage=false
# `torch._check` is how a range is told to the shape environment.

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import sympy
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
    uninteresting_files,
)

from ptc.graph.program import DimRange
from ptc.support.diagnostics import CompileError

SymbolicValue = torch.SymInt | torch.SymFloat | torch.SymBool
SYMBOLIC_TYPES = (torch.SymInt, torch.SymFloat, torch.SymBool)


def expression_of(value: Any) -> Any:
    """The sympy expression behind a symbolic value, with what is known of it put in; of a number,
    the number as sympy writes it."""
    if isinstance(value, SYMBOLIC_TYPES):
        return sympy.sympify(value.node.expr)
    return sympy.sympify(value)


def symbols_of(value: Any) -> frozenset[str]:
    """The names of the symbols in a fake value (tensor, size, or a nest of them)."""
    if isinstance(value, torch.Tensor):
        return frozenset().union(*(symbols_of(size) for size in value.shape))
    if isinstance(value, SYMBOLIC_TYPES):
        return frozenset(str(symbol) for symbol in expression_of(value).free_symbols)
    if isinstance(value, (tuple, list)):
        return frozenset().union(*(symbols_of(item) for item in value))
    return frozenset()


def same_size(a: Any, b: Any) -> bool:
    """True if two sizes have the same expression. Nothing is assumed: sizes that merely may be
    equal are not the same."""
    if isinstance(a, SYMBOLIC_TYPES) or isinstance(b, SYMBOLIC_TYPES):
        return bool(expression_of(a) == expression_of(b))
    return a == b


def same_view(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors that share memory are the same elements in the same order."""
    if a.dtype != b.dtype or a.dim() != b.dim():
        return False
    pairs = zip((*a.shape, *a.stride()), (*b.shape, *b.stride()), strict=True)
    same = all(same_size(x, y) for x, y in pairs)
    return same and same_size(a.storage_offset(), b.storage_offset())


def hints_of(value: Any) -> dict[str, int]:
    """The example's values of the sizes that `value`, a fake tensor or a size, has as they are."""
    if isinstance(value, torch.Tensor):
        return {symbol: hint for size in value.shape for symbol, hint in hints_of(size).items()}
    if isinstance(value, torch.SymInt) and expression_of(value).is_Symbol and value.node.has_hint():
        return {str(expression_of(value)): int(value.node.hint)}
    return {}


def concrete(value: Any, sizes: Mapping[str, float]) -> Any:
    """`value` with numbers for symbols. Raises KeyError for a symbol that `sizes` lacks."""
    if isinstance(value, SYMBOLIC_TYPES):
        expression = expression_of(value)
        known = {symbol: sizes[str(symbol)] for symbol in expression.free_symbols}
        numbers = {
            symbol: sympy.Float(number) if isinstance(number, float) else sympy.Integer(number)
            for symbol, number in known.items()
        }
        result = expression.xreplace(numbers)
        if isinstance(value, torch.SymBool):
            return bool(result)
        return int(result) if isinstance(value, torch.SymInt) else float(result)
    if isinstance(value, (tuple, list, torch.Size)):
        return tuple(concrete(item, sizes) for item in value)
    return value


def bind_sizes(
    names: Sequence[str],
    expected: Sequence[Any],
    shapes: Sequence[Sequence[int] | int],
    dims: Mapping[str, DimRange],
) -> dict[str, int]:
    """The value of every symbol, from the inputs of one call.

    `expected` are the placeholders' fake values, `shapes` what was given: a shape for a tensor, the
    number itself for a symbolic scalar. Raises CompileError PTC-A010 naming the input that does not
    fit: wrong rank, wrong size, a size out of its range, or one symbol with two values.
    """
    sizes: dict[str, int] = {}
    rest: list[tuple[str, Any, int]] = []
    for name, label, size, given in _pairs(names, expected, shapes):
        expression = expression_of(size)
        if not expression.is_Symbol:
            rest.append((label, size, given))
            continue
        symbol = str(expression)
        described = dims.get(symbol)
        if described is not None and not in_range(described, given):
            raise CompileError(
                "PTC-A010",
                f"{label} is {given}, `{described.name}` must be {range_text(described)}",
            )
        if sizes.setdefault(symbol, given) != given:
            shown = described.name if described is not None else symbol
            raise CompileError(
                "PTC-A010",
                f"{label} is {given}, but `{shown}` is {sizes[symbol]} elsewhere in the same call",
                notes=(f"input `{name}`",),
            )
    for label, size, given in rest:
        wanted = concrete(size, sizes)
        if wanted != given:
            raise CompileError("PTC-A010", f"{label} is {given}, expected {wanted} ({size})")
    return sizes


def in_range(described: DimRange, size: int) -> bool:
    return size >= described.lower and (described.upper is None or size <= described.upper)


def range_text(described: DimRange) -> str:
    """`1..64`, `at least 2`."""
    if described.upper is None:
        return f"at least {described.lower}"
    return f"{described.lower}..{described.upper}"


def relation_text(condition: Any) -> str:
    """A relation in Python's signs: `n % 4 == 0`."""
    if not isinstance(condition, sympy.core.relational.Relational):
        return str(condition)
    text = f"{condition.lhs} {condition.rel_op} {condition.rhs}"  # pyright: ignore[reportAttributeAccessIssue]
    return re.sub(r"(?:Python)?Mod\(([^(),]+), (\w+)\)", _remainder_text, text)


def _remainder_text(found: re.Match[str]) -> str:
    value, divisor = found.groups()
    return f"{value} % {divisor}" if re.fullmatch(r"\w+", value) else f"({value}) % {divisor}"


#: What torch asks of a tensor's layout and then keeps with the tensor.
_REMEMBERED = (
    "is_contiguous",
    "is_contiguous_for_memory_format",
    "is_channels_last_contiguous_2d",
    "is_channels_last_contiguous_3d",
    "is_non_overlapping_and_dense",
)

#: What torch asks to order the dimensions of a result in memory.
_ORDERING = (
    "compute_elementwise_output_strides",
    "compute_elementwise_output_logical_to_physical_perm",
)

#: Where torch asks about sizes only to choose a library or a memory layout: file -> functions.
_LAYOUT_QUESTIONS = {
    "fake_impls": ("conv",),
    "_meta_registrations": ("_exec_fft", "_sort_dims"),
    "_refs": ("_reshape_view_helper_core_alg",),
    "_prims": ("_as_strided_meta", "check_in_bounds_for_storage"),
    "_prims_common": (*_REMEMBERED, *_ORDERING, "suggest_memory_format"),
}


def is_layout_choice(guard: Any) -> bool:
    """True for a guard that decided no value and no shape: which library runs a convolution (that
    depends on the batch size, among others), whether a tensor counts as contiguous."""
    place = getattr(guard.sloc, "framework_loc", None)
    return place is not None and is_layout_question(place.filename, place.name)


@cache
def is_layout_question(filename: str, function: str) -> bool:
    """Whether this function of torch asks about sizes only to choose a library or a layout."""
    return any(
        folder in filename and function in functions
        for folder, functions in _LAYOUT_QUESTIONS.items()
    )


def asks_for_layout() -> bool:
    """Whether torch asks only in order to choose a memory layout or a library."""
    return _asked_within(is_layout_question, 15)


def is_remembered_question() -> bool:
    """Whether torch keeps the answer with the tensor, for which it then has to hold on every path
    of a program."""
    return _asked_within(_is_remembered, 15)


def _is_remembered(filename: str, function: str) -> bool:
    return "_prims_common" in filename and function in _REMEMBERED


def _asked_within(is_asker: Callable[[str, str], bool], depth: int) -> bool:
    """Whether one of the nearest callers (file, function) is such a one."""
    here = inspect.currentframe()
    frame = here.f_back.f_back if here is not None and here.f_back is not None else None
    for _ in range(depth):
        if frame is None:
            return False
        if is_asker(frame.f_code.co_filename, frame.f_code.co_name):
            return True
        frame = frame.f_back
    return False


def is_idle_question(condition: Any) -> bool:
    """Whether torch asks this without need. Before 2.13 it divides the sizes of pooled images with
    a correction for quotients that are rounded up, as Python's never are; to answer would be to
    assume that the size divides."""
    return isinstance(condition, sympy.Ne) and _asked_within(_is_division, 8)


def _is_division(filename: str, function: str) -> bool:
    return function == "div_rtn" and "_meta_registrations" in filename


def _orders_dimensions(filename: str, function: str) -> bool:
    """Whether this function of torch asks in what order the result of an elementwise operator lies
    in memory, which no value depends on."""
    return function in _ORDERING and "_prims_common" in filename


class SizeEnv(ShapeEnv):
    """Torch's shape environment without the questions that have no need of an answer.

    What only orders the dimensions of a result in memory is answered for the example, and nothing
    is noted: a guard would make the answer known, and a program that asks the same on its own
    account later would then assume it in silence.
    """

    def evaluate_expr(self, orig_expr: sympy.Basic, *args: Any, **kwargs: Any) -> sympy.Basic:
        if is_idle_question(orig_expr):
            return sympy.false
        if orig_expr.free_symbols and _asked_within(_orders_dimensions, 15):
            example = args[0] if args else kwargs.get("hint")
            if isinstance(example, (bool, sympy.logic.boolalg.BooleanAtom)):
                return sympy.true if example else sympy.false
        return super().evaluate_expr(orig_expr, *args, **kwargs)

    def _get_user_frame(self) -> types.FrameType | None:
        """Who asks, as torch notes it in a guard: its own answer would be the nearest method that
        overrides `evaluate_expr`, and `is_layout_choice` reads the place."""
        frame = inspect.currentframe()
        passed = (SizeEnv._get_user_frame.__name__, SizeEnv.evaluate_expr.__name__)
        while frame is not None and (
            frame.f_code.co_name in passed or frame.f_code.co_filename in uninteresting_files()
        ):
            frame = frame.f_back
        return frame


def fresh_sizes(
    dims: Mapping[str, DimRange],
) -> tuple[FakeTensorMode, dict[str, torch.SymInt], dict[str, DimRange]]:
    """A fake mode with one symbolic size a dim, for a program that is read from a file.

    Gives the mode, the SymInt of each name in `dims`, and the ranges under the symbols torch chose.
    """
    mode = FakeTensorMode(shape_env=SizeEnv())
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC])
    sizes: dict[str, torch.SymInt] = {}
    ranges: dict[str, DimRange] = {}
    for position, (name, described) in enumerate(dims.items()):
        # The hint only has to lie in the range; distinct primes keep sizes from looking equal.
        hint = max(described.lower, _HINTS[position % len(_HINTS)])
        hint = hint if described.upper is None else min(hint, described.upper)
        probe = mode.from_tensor(torch.empty(hint, device="meta"), symbolic_context=context)
        size = probe.shape[0]
        if not isinstance(size, torch.SymInt):
            raise CompileError("PTC-A010", f"`{described.name}` has one value only, {hint}")
        torch._check(size >= described.lower)
        if described.upper is not None:
            torch._check(size <= described.upper)
        sizes[name] = size
        ranges[str(expression_of(size))] = described
    return mode, sizes, ranges


_HINTS = (7, 11, 13, 17, 19, 23, 29, 31, 37, 41)


def _pairs(
    names: Sequence[str], expected: Sequence[Any], shapes: Sequence[Sequence[int] | int]
) -> Iterator[tuple[str, str, Any, int]]:
    """(input, label of the place, expected size, given size) for every size of a call."""
    for name, value, shape in zip(names, expected, shapes, strict=True):
        if isinstance(value, torch.Tensor):
            given = tuple(shape) if not isinstance(shape, int) else ()
            if len(given) != value.dim():
                raise CompileError(
                    "PTC-A010",
                    f"input `{name}` has {len(given)} dimensions, expected {value.dim()}",
                )
            for dim, size in enumerate(value.shape):
                yield name, f"dim {dim} of input `{name}`", size, given[dim]
        elif isinstance(value, torch.SymInt):
            assert isinstance(shape, int)
            yield name, f"input `{name}`", value, shape
