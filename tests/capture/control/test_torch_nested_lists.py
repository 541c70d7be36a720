"""Lists in lists whose lengths data decides, against eager: references, as in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from ptc.capture.api import capture_program
from ptc.graph.control import ControlProgram
from ptc.graph.control_printer import print_control
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import check

_COUNTS = tuple(torch.tensor(n) for n in (4, 2, 1, 0))
_ROWS = tuple(
    torch.tensor(rows)
    for rows in (
        [[1.0, 2.0], [3.0, 4.0], [-1.0, 0.5]],
        [[1.0, 2.0], [-3.0, 4.0], [-1.0, 0.5]],
        [[-1.0, -2.0], [-3.0, -4.0], [-1.0, -0.5]],
    )
)


# -- growing --------------------------------------------------------------------------------------


def grown_in_an_inner_loop(n: Tensor) -> tuple[int, list[int]]:
    components: list[list[int]] = []
    for i in range(int(n)):
        current: list[int] = []
        for j in range(i):
            current.append(j * 10 + i)
        components.append(current)
    total = 0
    for component in components:
        for value in component:
            total = total * 3 + value
    return total, [len(component) for component in components]


def by_an_index(n: Tensor) -> tuple[int, list[int], list[int]]:
    count = int(n)
    groups: list[list[int]] = [[] for _ in range(count)]
    for i in range(count * 3):
        groups[(i * i) % count].append(i)
    flat = [value for group in groups for value in group]
    return sum(len(group) for group in groups), [len(group) for group in groups], flat


def three_deep(n: Tensor) -> tuple[int, int]:
    out: list[list[list[int]]] = []
    for i in range(int(n)):
        middle: list[list[int]] = []
        for j in range(i + 1):
            inner: list[int] = []
            for k in range(j):
                inner.append(k)
            middle.append(inner)
        out.append(middle)
    total = 0
    for middle in out:
        for inner in middle:
            total = total * 3 + len(inner) + sum(inner)
    if len(out) > 1:
        out[1][0].append(4)
    return total, sum(len(inner) for middle in out for inner in middle)


def of_words(n: Tensor) -> str:
    lines: list[list[str]] = []
    for i in range(int(n)):
        words: list[str] = []
        for j in range(i):
            words.append(f"w{j}")
        lines.append(words)
    return "|".join(" ".join(words) for words in lines)


def of_pieces_of_all_sizes(n: Tensor) -> Tensor:
    pieces: list[list[Tensor]] = []
    for i in range(int(n)):
        row: list[Tensor] = []
        for j in range(i):
            row.append(torch.arange(j + 1).float())
        pieces.append(row)
    total = torch.zeros(())
    for row in pieces:
        for piece in row:
            total = total * 2 + piece.sum()
    return total


def levels(n: Tensor) -> list[list[int]]:
    frontier = [0]
    found: list[list[int]] = []
    seen = [False] * (int(n) + 1)
    seen[0] = True
    while frontier:
        found.append(frontier)
        following: list[int] = []
        for v in frontier:
            for w in (v + 1, v * 2):
                if w <= int(n) and not seen[w]:
                    seen[w] = True
                    following.append(w)
        frontier = following
    return found


def stack_of_lists(n: Tensor) -> int:
    stack = [[int(n)]]
    seen = 0
    while stack:
        top = stack.pop()
        seen += len(top)
        if top[-1] > 0:
            stack.append(top + [top[-1] - 1])  # noqa: RUF005
            if top[-1] % 2:
                stack.append([top[-1] - 2] if top[-1] > 2 else [0])
    return seen


@pytest.mark.parametrize(
    "function",
    [
        grown_in_an_inner_loop, by_an_index, three_deep, of_words, of_pieces_of_all_sizes, levels,
        stack_of_lists,
    ],
)  # fmt: skip
def test_that_grow(function: Callable[..., Any]) -> None:
    check(function, *_COUNTS)


def grouped(x: Tensor) -> tuple[Tensor, list[int]]:
    count = int((x.sum(1) > 0).sum()) + 1
    groups: list[list[Tensor]] = [[] for _ in range(count)]
    for i in range(x.shape[0]):
        groups[int(x[i].sum() > 3) * (count - 1)].append(x[i])
    out = torch.zeros(2)
    for group in groups:
        if group:
            out = out * 2 + torch.stack(group).sum(0)
    return out, [len(group) for group in groups]


def runs(x: Tensor) -> list[list[Tensor]]:
    found: list[list[Tensor]] = []
    current: list[Tensor] = []
    for row in x:
        if row.sum() > 0:
            current.append(row)
        else:
            found.append(current)
            current = []
    found.append(current)
    return found


def runs_with_names(x: Tensor) -> list[tuple[list[Tensor], int, list[str]]]:
    found: list[tuple[list[Tensor], int, list[str]]] = []
    current: list[Tensor] = []
    words: list[str] = []
    for i in range(x.shape[0]):
        row = x[i]
        if row.sum() > 0:
            current.append(row[: i + 1])
            words.append(f"r{i}")
        else:
            found.append((current, len(current), words))
            current, words = [], []
    found.append((current, len(current), words))
    return found


@pytest.mark.parametrize("function", [grouped, runs, runs_with_names])
def test_of_tensors(function: Callable[..., Any]) -> None:
    check(function, *_ROWS)


# -- beams ----------------------------------------------------------------------------------------


def beams_of_tuples(n: Tensor) -> tuple[Tensor, float, int]:
    beams = [([0], 0.0)]
    for _ in range(int(n)):
        candidates: list[tuple[list[int], float]] = []
        for tokens, score in beams:
            for t in range(3):
                gain = ((t * 7 + len(tokens) * 3) % 5) * 0.25 - 0.1 * t
                candidates.append((tokens + [t], score + gain))  # noqa: RUF005
        beams = sorted(candidates, key=lambda b: -b[1])[:2]
    return torch.tensor(beams[0][0]), beams[0][1], len(beams)


class Hypothesis(NamedTuple):
    tokens: list[int]
    score: float

    @property
    def last(self) -> int:
        return self.tokens[-1]


def beams_of_records(n: Tensor) -> tuple[Tensor, float, int]:
    beams = [Hypothesis([1], 0.0)]
    done: list[Hypothesis] = []
    for _ in range(int(n)):
        candidates = [
            Hypothesis(
                h.tokens + [t],  # noqa: RUF005
                h.score + ((t * 7 + len(h.tokens) * 3) % 5) * 0.25 - 0.1 * t,
            )
            for h in beams
            for t in range(3)
        ]
        candidates.sort(key=lambda h: h.score, reverse=True)
        beams = []
        for candidate in candidates:
            if candidate.last == 2:
                done.append(candidate)
            else:
                beams.append(candidate)
            if len(beams) == 2:
                break
    done.extend(beams)
    best = max(done, key=lambda h: h.score / len(h.tokens))
    return torch.tensor(best.tokens), best.score, len(done)


@pytest.mark.parametrize("function", [beams_of_tuples, beams_of_records])
def test_beams(function: Callable[..., Any]) -> None:
    check(function, *_COUNTS)


def test_candidates_of_known_number() -> None:
    """The arms of the branches put the lists of each in another place."""

    def searched(x: Tensor) -> tuple[list[int], float, int]:
        beams = [([0], 0.0)]
        done: list[tuple[list[int], float]] = []
        for _ in range(3):
            values = x.cumsum(0).tanh()
            candidates = [
                (tokens + [t], score + values[t].item() - 0.1 * len(tokens))  # noqa: RUF005
                for tokens, score in beams
                for t in range(2)
            ]
            candidates.sort(key=lambda c: c[1], reverse=True)
            beams = []
            for candidate in candidates:
                if candidate[0][-1] == 1:
                    done.append(candidate)
                else:
                    beams.append(candidate)
                if len(beams) == 2:
                    break
        done.extend(beams)
        best = max(done, key=lambda c: c[1])
        return best[0], best[1], len(done)

    check(searched, *(torch.tensor(v) for v in ([0.5, 1.0], [1.0, -2.0], [-1.0, 3.0])))


# -- operations -----------------------------------------------------------------------------------


def read_and_written(n: Tensor) -> tuple[int, list[int]]:
    a: list[list[int]] = []
    for i in range(int(n)):
        a.append([i, i + 1] if i % 2 else [i])
    total = 0
    for i in range(len(a)):
        for j in range(len(a[i])):
            a[i][j] += 100
            total = total * 3 + a[i][j]
    if len(a) > 1:
        a[1] = a[0]
        a[0].append(7)
    return total, [value for row in a for value in row]


def inner_pops(n: Tensor) -> int:
    rows: list[list[int]] = []
    for i in range(int(n)):
        rows.append(list(range(i + 1)))
    total = 0
    while rows:
        last = rows[-1]
        if last:
            total = total * 2 + last.pop()
        else:
            rows.pop()
    return total


def extended(n: Tensor) -> tuple[list[int], list[int], list[int]]:
    a: list[list[int]] = []
    b = [[7]]
    for i in range(int(n)):
        a.append([i] * i)
    a.extend(b)
    a += [[1, 2, 3]]
    b[0].append(1)
    c = a + b
    c[-1].append(2)
    return [len(row) for row in a], [len(row) for row in c], b[0]


def changed(n: Tensor) -> tuple[list[list[int]], list[int]]:
    a = [[i, i + 1, i + 2] for i in range(int(n) + 1)]
    del a[0][1]
    a[-1].insert(0, 9)
    a.insert(0, [5] * int(n))
    a.reverse()
    first, *rest = a
    first.append(3)
    return a, [len(row) for row in rest]


def repeated(n: Tensor) -> tuple[list[int], list[int], list[int], list[int]]:
    count = int(n)
    a = [1, 2] * count
    b = count * [[0]]
    if b:
        b[0].append(count)
    c = [3]
    same = c
    c *= count
    return a, [len(row) for row in b], same, a * 2


def compared(n: Tensor) -> tuple[int, bool, bool, bool]:
    a: list[list[int]] = []
    for i in range(int(n)):
        a.append(list(range(i % 2 + 1)))
    hits = 0
    for row in a:
        if row == [0, 1]:
            hits += 1
        if row != a[0]:
            hits += 10
    return hits, [0] in a, [5] in a, a == a[:]


def in_order(n: Tensor) -> tuple[list[int], list[int], bool, bool, bool]:
    a = [[(i * 7) % 3, i] if i % 2 else [(i * 7) % 3] for i in range(int(n))]
    ordered = sorted(a)
    first = [row[0] for row in ordered]
    return [len(row) for row in ordered], first, a < ordered, a == ordered, a >= ordered


def in_pairs(n: Tensor) -> tuple[list[int], int]:
    a = [[i] * (i % 3) for i in range(int(n))]
    b = [[i, i] for i in range(int(n))]
    out: list[list[int]] = []
    for x, y in zip(a, b, strict=True):
        out.append(x + y)
    return [len(row) for row in out], sum(sum(row) for row in out)


def chosen(n: Tensor) -> tuple[int, list[int], list[int], int]:
    a = [list(range(i)) for i in range(int(n))]
    long = [row for row in a if len(row) > 1]
    ordered = sorted(a, key=len, reverse=True)
    most = max([len(row) for row in a], default=0)
    return len(long), [sum(row) for row in long], [len(row) for row in ordered], most


def in_arms(n: Tensor) -> tuple[list[int], int]:
    a = [[1]]
    if n > 1:
        a.append([2, 3])
    if n > 2:
        a = [[9]] + a  # noqa: RUF005
    if n > 3:
        a[0].append(8)
    return [value for row in a for value in row], len(a)


def searched(n: Tensor) -> tuple[int, int, int]:
    a = [[i, i] for i in range(int(n) + 1)]
    place = a.index([0, 0])
    a.remove([int(n), int(n)])
    return place, len(a), a.count([1, 1])


def printed(n: Tensor) -> int:
    numbers = [list(range(i)) for i in range(int(n))]
    words = [[f"w{j}" for j in range(i)] for i in range(int(n))]
    print(numbers, words)
    return len(numbers)


def raised(n: Tensor) -> int:
    a = [[1]]
    for i in range(int(n)):
        a.append([i] * i)
    return a[3][2]


@pytest.mark.parametrize(
    "function",
    [
        read_and_written, inner_pops, extended, changed, repeated, compared, in_order, in_pairs,
        chosen, in_arms, searched, printed, raised,
    ],
)  # fmt: skip
def test_operations(function: Callable[..., Any]) -> None:
    check(function, *_COUNTS)


# -- results --------------------------------------------------------------------------------------


def returned(n: Tensor) -> list[list[int]]:
    return [list(range(i)) for i in range(int(n))]


def returned_in_tuples(n: Tensor) -> list[tuple[list[int], float]]:
    beams = [([0], 0.5)]
    for i in range(int(n)):
        beams.append((beams[-1][0] + [i], i * 0.5))
    return beams


def returned_in_one_of_two_structures(n: Tensor) -> tuple[list[list[int]], int | None]:
    out: list[list[int]] = []
    for i in range(int(n)):
        out.append([i] * i)
    if n > 2:
        return out, None
    return out, 5


@pytest.mark.parametrize(
    "function", [returned, returned_in_tuples, returned_in_one_of_two_structures]
)
def test_results(function: Callable[..., Any]) -> None:
    check(function, *_COUNTS)


def replaced_in_one_of_two_lists(n: Tensor) -> Any:
    k = int(n)
    out = [[1]]
    if k > 1:
        if k % 2 == 0:
            out = [[7], [8, 9]]
        out[0] = []
    out[0] = [2]
    return out


def test_what_no_way_reads_needs_no_value() -> None:
    """The second list is there only where `k > 1`; its element is assigned as one of two."""
    check(replaced_in_one_of_two_lists, *_COUNTS)


# -- refusals -------------------------------------------------------------------------------------


def _mixed(n: Tensor) -> int:
    groups: list[list[Any]] = [[] for _ in range(int(n))]
    for i in range(int(n)):
        groups[i].append(i)
        groups[0].append(0.5)
    return len(groups)


def _holds_itself(n: Tensor) -> int:
    out: list[Any] = []
    for _ in range(int(n)):
        out.append(out)
    return len(out)


@pytest.mark.parametrize("function", [_mixed, _holds_itself])
def test_refusals_name_the_line(function: Callable[..., Any]) -> None:
    with pytest.raises(CompileError) as refused:
        capture_program(function, (torch.tensor(3),))
    assert refused.value.diagnostic.code == "PTC-B006"
    assert "list" in str(refused.value) and __file__ in str(refused.value)


def test_a_result_of_lists_is_shown() -> None:
    program = capture_program(returned_in_tuples, (torch.tensor(3),))
    assert isinstance(program, ControlProgram)
    assert "return rows((lists(" in print_control(program)
