"""Lists whose length data decides, against eager on every path."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from ptc.capture.api import capture_program
from ptc.graph.control import ControlProgram, ListItem, walk
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import check

_COUNTS = tuple(torch.tensor(n) for n in (4, 2, 1, 0))


def doubled(n: Tensor) -> list[int]:
    made = []
    for i in range(int(n)):
        made.append(i * 2)
    return made


# -- growing --------------------------------------------------------------------------------------


def grown_in_arms(x: Tensor) -> tuple[list[Tensor], int]:
    out = []
    if x.sum() > 0:
        out.append(x)
    if x.max() > 1:
        out.extend([x * 2, x])
    if x.min() < 0:
        out.insert(0, x - 1)
    return out, len(out)


def grown_in_a_loop(x: Tensor) -> tuple[list[float], int, float]:
    norms = []
    while x.norm() > 1:
        norms.append(x.norm().item())
        x = x * 0.5
    return norms, len(norms), sum(norms)


def comprehension(x: Tensor) -> tuple[list[Tensor], int]:
    rows = [row * 2 for row in x if row.sum() > 0]
    return rows, len(rows)


def pieces_of_different_sizes(x: Tensor) -> Tensor:
    pieces = []
    for i, row in enumerate(x):
        if row.sum() > 0:
            pieces.append(row[: i + 1])
    if not pieces:
        return x.new_zeros(1)
    return torch.cat(pieces) + pieces[-1].sum()


def one_list_by_two_names(n: Tensor) -> tuple[list[int], list[int]]:
    made = [1, 2]
    other = made
    if n > 1:
        made = made[1:]
    if n > 2:
        made = made + [int(n)]  # noqa: RUF005
    made.append(5)
    other.append(6)
    return made, other


def made_anew(n: Tensor) -> tuple[list[int], list[int]]:
    made: list[int] = []
    before = made
    for i in range(int(n)):
        made = made + [i] if i % 2 else [-i, *made]  # noqa: RUF005
    made.append(7)
    return made, before


def by_generations(n: Tensor) -> list[int]:
    current = [0]
    while len(current) < int(n):
        following = []
        for c in current:
            following.append(c + 1)
            following.append(c * 2)
        current = following
    return current


def bounded_deque(n: Tensor) -> tuple[int, int, int]:
    last: deque[int] = deque(maxlen=2)
    for i in range(int(n)):
        last.append(i + 10)
    if last:
        last.appendleft(3)
    return len(last), sum(last), last[-1] if last else -1


# -- operations -----------------------------------------------------------------------------------


def changes(n: Tensor) -> tuple[list[int], list[int]]:
    made = doubled(n)
    made += [3]
    made.extend(made)
    made.extend(range(int(n)))
    made.pop(0)
    made.reverse()
    empty = made.copy()
    empty.clear()
    made.insert(1, 7)
    made[0] = 5
    del made[-1]
    return made, empty


def slices(n: Tensor) -> tuple[list[int], ...]:
    made = doubled(n)
    return made[1:], made[:-1], made[:2], made[::-1], made[-2:], [1, 2, 3][int(n) :]


def elements(n: Tensor) -> tuple[int, int, int]:
    made = doubled(n)
    return made[-1], made[int(n) - 1], made[0]


def popped(n: Tensor) -> tuple[int, int]:
    made = doubled(n)
    value = 0
    while made:
        value = value * 3 + made.pop()
    return value, made.pop() if n > 2 else 0


def joined(n: Tensor) -> tuple[list[int], ...]:
    made = doubled(n)
    return [*made, 5, *made], made + [1], [2] + made, made + made  # noqa: RUF005


def unpacked(n: Tensor) -> tuple[int, list[int], int]:
    first, *middle, last = doubled(n)
    return first, middle, last


def unpacked_exactly(n: Tensor) -> tuple[int, int]:
    first, second = doubled(n)
    return first, second


def iterated(n: Tensor) -> None:
    made = doubled(n)
    for i, value in enumerate(made):
        print(i, value)
    for value in reversed(made):
        print(value)
    for a, b in zip(made, made[1:], strict=False):  # noqa: RUF007
        print(a, b)
    print(made, f"{made}")


def searched(n: Tensor) -> tuple[list[int], int, bool, int]:
    made = doubled(n)
    made.append(9)
    count = made.count(4)
    made.remove(9)
    if 2 in made:
        made.remove(2)
    return made, count, 4 not in made, made.index(4)


def consumed(n: Tensor) -> tuple[Any, ...]:
    made = doubled(n)
    return sum(made), any(made), all(made), min(made, default=3), max(made, default=-3)


def largest(n: Tensor) -> int:
    return max(doubled(n))


def in_order(n: Tensor) -> tuple[list[int], list[int], list[int]]:
    made = [(i * 7) % 4 for i in range(int(n))]
    ordered = sorted(made)
    backward = sorted(made, key=lambda value: -value)
    made.sort(reverse=True)
    return ordered, backward, made


def as_tensor(n: Tensor) -> Tensor:
    return torch.tensor(doubled(n))


def tuples(n: Tensor) -> float:
    pairs = [(i, i * 0.5) for i in range(int(n))]
    total = 0.0
    for i, half in pairs:
        total += i * half
    return total


class Entry(NamedTuple):
    position: int
    parts: tuple[float, Tensor]


def entries(n: Tensor) -> tuple[list[Entry], int]:
    made = [Entry(i, (i * 0.5, n + i)) for i in range(int(n))]
    return made, len(made)


def words(n: Tensor) -> int:
    names = ["first"]
    for i in range(int(n)):
        if i % 2:
            names.append("odd")
        else:
            names.append("even")
    for name in names:
        print(name)
    return len(names)


@pytest.mark.parametrize(
    "function",
    [
        made_anew, one_list_by_two_names, by_generations, bounded_deque, changes, slices, elements,
        popped, joined, unpacked, unpacked_exactly, iterated, searched, consumed, largest, in_order,
        as_tensor, tuples, entries, words,
    ],
)  # fmt: skip
def test_of_numbers(function: Callable[..., Any]) -> None:
    check(function, *_COUNTS)


def rows_written(n: Tensor) -> int:
    rows = [[0, 0]]
    for i in range(int(n)):
        rows.append([i, i + 1])
    for row in rows:
        row[0] = row[1] * 2
        row[1] += 1
    rows[0][1] = 7
    total = 0
    for i in range(len(rows)):
        total = total * 3 + rows[i][0] + rows[i][1]
    rows.pop()[0] = 3
    return total


def rows_returned(n: Tensor) -> list[list[int]]:
    return [[i, i * i] for i in range(int(n))]


@pytest.mark.parametrize("function", [rows_written, rows_returned])
def test_of_lists(function: Callable[..., Any]) -> None:
    check(function, *_COUNTS)


def test_rows_that_arms_write() -> None:
    def intervals(x: Tensor) -> Tensor:
        merged: list[list[Tensor]] = []
        for i in range(x.shape[0]):
            if merged and x[i] <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], x[i] + 2)
            else:
                merged.append([x[i], x[i] + 1])
        return torch.stack([torch.stack(pair) for pair in merged])

    check(
        intervals, *(torch.tensor(v) for v in ([2.0, 1.0, 9.0], [1.0, 2.0, 3.0], [1.0, 5.0, 9.0]))
    )


def _second_name(n: Tensor) -> int:
    inner: list[Any] = [1, 0.5]
    outer: list[list[Any]] = []
    if n > 0:
        outer.append(inner)
    inner[0] = 3
    return len(outer)


def _two_rows(n: Tensor) -> int:
    rows: list[list[Any]] = [[0, 0.5]]
    for i in range(int(n)):
        rows.append([i, i / 2])
    one, same = rows[0], rows[0]
    one[0] = 5
    return same[0]


@pytest.mark.parametrize("function", [_second_name, _two_rows])
def test_second_names_of_inner_lists_of_several_kinds_are_refused(
    function: Callable[..., Any],
) -> None:
    with pytest.raises(CompileError, match="by another name"):
        capture_program(function, (torch.tensor(3),))


def test_numbers_read_by_two_names() -> None:
    def read(x: Tensor) -> tuple[float, float]:
        kept = [x.sum()]
        if x.sum() > 0:
            kept.append(x.sum() + 1)
        one, same = kept[-1], kept[-1]
        before = same.item()
        one.add_(1)
        return before, same.item()

    check(read, *_VECTORS)


_VECTORS = tuple(torch.tensor(v) for v in ([1.0, 2.0], [-1.0, 0.5], [0.0, 0.0], [9.0, -7.0]))
_ROWS = tuple(
    torch.tensor(v)
    for v in (
        [[1.0, 2.0, 0.0], [-3.0, -4.0, 1.0], [3.0, 3.0, 2.0]],
        [[-1.0, -2.0, 0.0], [-3.0, -4.0, 1.0], [-3.0, 3.0, -2.0]],
        [[1.0, 2.0, 0.0], [3.0, 4.0, 1.0], [3.0, 3.0, 2.0]],
    )
)


@pytest.mark.parametrize("function", [grown_in_arms, grown_in_a_loop])
def test_of_vectors(function: Callable[..., Any]) -> None:
    check(function, *_VECTORS)


@pytest.mark.parametrize("function", [comprehension, pieces_of_different_sizes])
def test_of_rows(function: Callable[..., Any]) -> None:
    check(function, *_ROWS)


def test_stack_of_uneven_tensors_raises() -> None:
    def stacked(x: Tensor) -> Tensor:
        pieces = []
        for row in x:
            if row[0] > 0:
                pieces.append(row[: int(row[1])])
        return torch.stack(pieces)

    check(stacked, torch.tensor([[1.0, 2.0], [1.0, 2.0]]), torch.tensor([[1.0, 1.0], [1.0, 2.0]]),
          torch.tensor([[0.0, 1.0], [0.0, 2.0]]))  # fmt: skip


def test_rows_and_numbers_of_a_tensor_whose_size_data_decides() -> None:
    def positives(x: Tensor) -> tuple[list[int], Tensor]:
        found = (x > 0).nonzero().flatten()
        total = torch.zeros(())
        for i in found:
            total = total + x[i]
        return found.tolist(), total

    check(positives, torch.tensor([1.0, -2.0, 3.0]), torch.tensor([-1.0, -2.0, -3.0]))


def test_written_elements() -> None:
    def written(x: Tensor) -> tuple[Tensor, list[Tensor]]:
        kept = [x + 1]
        if x.sum() > 0:
            kept.append(x + 2)
        last = kept[-1]
        last += 10
        return last, kept

    check(written, *_VECTORS)


def _mixed(x: Tensor) -> int:
    kept: list[Any] = []
    while x.sum() > 1:
        kept.append(1)
        kept.append(x)
        x = x / 2
    return len(kept)


def _text(x: Tensor) -> int:
    text = ""
    while x.sum() > 1:
        text += "ab" if x[0] > 2 else "c"
        x = x / 2
    print(text)
    return 0


def test_strings_that_grow() -> None:
    check(_text, torch.tensor([3.0, 4.0]), torch.tensor([0.5, 0.25]), torch.tensor([900.0, 1.0]))


def test_numbers_beside_tensors() -> None:
    check(_mixed, torch.tensor([3.0, 4.0]), torch.tensor([0.5, 0.25]))


def _functions(x: Tensor) -> int:
    kept: list[Any] = []
    while x.sum() > 1:
        kept.append(lambda: 1)
        x = x / 2
    return len(kept)


def test_refusals_name_the_line() -> None:
    with pytest.raises(CompileError) as refused:
        capture_program(_functions, (torch.tensor([3.0, 4.0]),))
    diagnostic = refused.value.diagnostic
    assert diagnostic.code == "PTC-B006"
    assert "list" in str(refused.value) and __file__ in str(refused.value)


def test_what_is_read_of_a_list_for_nothing_is_left_out() -> None:
    def above(x: torch.Tensor) -> torch.Tensor:
        found = [row * 2 for row in x if row > 0]
        _ = found[-1:], len(found), found[0] if found else None
        return torch.stack(found) if found else x

    check(above, *(torch.tensor(rows) for rows in ([1.0, -1.0, 3.0], [-1.0, -2.0, -3.0])))
    program = capture_program(above, (torch.ones(3),))
    assert isinstance(program, ControlProgram)
    reads = [item.op for item in walk(program.body) if isinstance(item, ListItem)]
    assert "slice" not in reads and "get" not in reads


def zipped(x: Tensor) -> Any:
    """Some data long, some of a known length."""
    values = [v for v in x.tolist() if v > 0]
    numbered = [n for _, n in sorted(zip(values, range(9), strict=False))]
    known = list(zip(values, x.repeat(3).tolist(), strict=False))
    return numbered, len(known), sum(a * b for a, b in zip(values, [1, 2], strict=False))


def test_zip_of_lists_of_different_kinds() -> None:
    check(zipped, *map(torch.tensor, ([1.0, -2, 3, -4], [-1.0, -2, -3, -4], [4.0, 2, 3, 1])))
