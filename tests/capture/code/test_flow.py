"""Control flow: post-dominators against their definition, joins of plain Python statements."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from ptc.capture.code import EXIT, Block, analyse, control_flow, decode, versions
from ptc.capture.code.flow import post_dominators
from tests.capture.code import corpus
from tests.capture.code.corpus import note


def reaches_exit(successors: dict[int, tuple[int, ...]], start: int, without: int) -> bool:
    seen: set[int] = set()
    work = [start]
    while work:
        number = work.pop()
        if number == EXIT:
            return True
        if number not in seen and number != without:
            seen.add(number)
            work.extend(successors[number])
    return False


def by_definition(blocks: Iterable[Block]) -> dict[int, int]:
    """a post-dominates b if b cannot reach the exit without a; the immediate one is dominated by
    all others. Only for graphs in which every block reaches the exit."""
    successors = {block.number: block.successors for block in blocks}
    strict = {
        b: {a for a in successors if a != b and not reaches_exit(successors, b, a)}
        for b in successors
    }
    return {b: max(strict[b], key=lambda a: len(strict[a]), default=EXIT) for b in successors}


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 12)
    blocks = tuple(
        Block(
            number,
            (number,),
            tuple(
                {rng.choice([*range(count), EXIT]) for _ in range(rng.choice((1, 2, 2)))}
                # A way out for every block, so that the definition applies.
                | ({number + 1 if number + 1 < count else EXIT} if rng.random() < 0.9 else {EXIT})
            ),
        )
        for number in range(count)
    )
    assert dict(enumerate(post_dominators(blocks))) == by_definition(blocks)


@pytest.mark.parametrize("function", [f for f, _, _ in corpus.CASES], ids=lambda f: f.__name__)
def test_corpus(function: Callable[..., Any]) -> None:
    flow = control_flow(function.__code__)
    for block in flow.blocks:
        for index in block.instructions:
            assert flow.block_of(index) is block
        assert block.number == flow.blocks.index(block)
    successors = {block.number: block.successors for block in flow.blocks}
    if all(reaches_exit(successors, number, without=-2) for number in successors):
        assert dict(enumerate(flow.post_dominators)) == by_definition(flow.blocks)


def joins(function: Callable[..., Any]) -> list[int | None]:
    """For each branch in code order: the line, relative to `def`, at which its arms meet."""
    code = function.__code__
    decoded = decode(code)
    flow = control_flow(code)
    found: list[int | None] = []
    for instruction in decoded.instructions:
        if instruction.index in flow.block_at and instruction.opname in versions.BRANCHES:
            meeting = flow.join(instruction.index)
            lines = {decoded.instructions[index].position.line for index in meeting}
            depths = {analyse(code).depth(index) for index in meeting}
            assert len(depths) <= 1
            found.append(min(lines) - code.co_firstlineno if lines else None)
    return found


def meeting_opcodes(function: Callable[..., Any]) -> set[str]:
    """Opcodes at the join of the function's only branch."""
    decoded = decode(function.__code__)
    flow = control_flow(function.__code__)
    (branch,) = [i.index for i in decoded.instructions if i.opname in versions.BRANCHES]
    return {decoded.instructions[index].opname for index in flow.join(branch)}


def test_if_else_joins_behind_both_arms() -> None:
    def branch(x):
        if x:
            y = 1
        else:
            y = 2
        return y

    assert joins(branch) == [5]


def test_nested_if_joins() -> None:
    def nested(x, y):
        if x:
            if y:
                z = 1
            else:
                z = 2
            z += 1
        else:
            z = 3
        return z

    assert joins(nested) == [9, 6]


def test_conditional_expression_in_returned_call() -> None:
    """The call and the return are written twice; they meet at the call, the callee on the stack."""

    def returned(f, x):
        return f(x + 1 if x else x - 1)

    expected = "PRECALL" if versions.HAS_PRECALL else "CALL"
    assert meeting_opcodes(returned) == {expected}


def test_equal_returns_meet() -> None:
    def returns(x):
        if x:
            note(1)
        else:
            note(2)

    assert len(joins(returns)) == 1
    assert joins(returns) != [None]


def test_returns_meet_at_the_return_itself() -> None:
    """With the value on the stack; a constant return of 3.12 and later has no value there."""

    def values(x, y):
        if x:
            return x + y
        return x - y

    def constants(x):
        if x:
            return 1
        return 2

    assert meeting_opcodes(values) == {"RETURN_VALUE"}
    assert meeting_opcodes(constants) == (set() if versions.PY312 else {"RETURN_VALUE"})


def test_textual_twins_are_not_one_place() -> None:
    """Calls that look alike are told apart by their position: a traceback shows which one ran."""

    def twins(x):
        if x:
            return note(1)
        return note(1)

    assert meeting_opcodes(twins) == {"RETURN_VALUE"}


def test_raise_leaves_through_the_exit() -> None:
    def raises(x):
        if x:
            raise ValueError
        return 2

    assert joins(raises) == [None]


def test_while_test_is_one_place() -> None:
    def loop(x):
        while x > 1:
            x -= 1
        return x

    assert joins(loop) == [3]


def test_for_loop_joins_where_control_arrives() -> None:
    def loop(items):
        total = 0
        for item in items:
            if item:
                total += item
            else:
                total -= 1
        return total

    code = loop.__code__
    decoded = decode(code)
    flow = control_flow(code)
    (start,) = [i for i in decoded.instructions if i.opname == "FOR_ITER"]
    assert start.target is not None
    assert start.target + versions.FOR_ITER_EXIT_SKIP in flow.join(start.index)
    (branch,) = [i.index for i in decoded.instructions if "_IF_" in i.opname]
    assert flow.join(branch) == {start.index}


def test_exception_edges_are_ignored() -> None:
    def guarded(x):
        try:
            if x:
                y = 1
            else:
                y = 2
            z = y
        except ValueError:
            z = 0
        return z

    assert joins(guarded) == [6]


def test_with_and_finally() -> None:
    def cleaned(x, manager):
        with manager:
            try:
                if x:
                    y = 1
                else:
                    y = 2
            finally:
                note(x)
        return y

    assert joins(cleaned) == [8]


def test_endless_loop_has_an_exit() -> None:
    def endless(x):
        while True:
            if x:
                x = None
            else:
                x = 1

    flow = control_flow(endless.__code__)
    assert len(flow.post_dominators) == len(flow.blocks)
