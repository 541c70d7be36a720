"""What may go from values and regions: what a loop or branch hands on unchanged, and whatever
no result of the program needs.

Takes a `RegionProgram` and changes it. Knows nothing of how it was made, and no export format.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from torch.fx import Node

from ptc.exporters.regions import (
    Branch,
    Call,
    Constant,
    Dimension,
    Loop,
    Operation,
    Primitive,
    Region,
    RegionProgram,
    Undefined,
    Value,
    operands_of,
    regions_of,
    results_of,
    walk,
)
from ptc.support.diagnostics import CompileError

#: The kind of a primitive that stands for a tensor or list after something that may be it was
#: written to. None may be left when unneeded values are gone.
AMBIGUOUS = "ambiguous"


def prune(program: RegionProgram) -> None:
    """Leave out what nothing needs."""
    renamed: dict[Value, Value] = {}
    while _unify(program.body, renamed):
        pass
    _rename(program, renamed)
    _sweep(program.body, _needed(program))


def require_clear(program: RegionProgram) -> None:
    """Raise CompileError PTC-E007 for a value that hangs on which tensor another one is."""
    for operation in walk(program.body):
        if isinstance(operation, Primitive) and operation.kind == AMBIGUOUS:
            raise CompileError(
                "PTC-E007",
                f"whether `{operation.op}` is what is written to here hangs on data",
                location=operation.location,
                hint="make a new tensor or list instead of changing one in place",
            )


# --- values that are handed on ------------------------------------------------------------


def _unify(region: Region, renamed: dict[Value, Value]) -> bool:
    """Note results that are one value whatever happens; whether there are any new ones."""
    found = False
    for operation in region.operations:
        for inner in regions_of(operation):
            found |= _unify(inner, renamed)
        if isinstance(operation, Branch):
            found |= _unify_branch(operation, renamed)
        elif isinstance(operation, Loop):
            found |= _unify_loop(operation, renamed)
    return found


def _unify_branch(branch: Branch, renamed: dict[Value, Value]) -> bool:
    undefined = [_undefined(arm) for arm in (branch.then, branch.orelse)]
    made = [_made(arm) for arm in (branch.then, branch.orelse)]
    found = False
    for position, result in enumerate(branch.results):
        if result in renamed:
            continue
        one, other = (
            _follow(arm.results[position], renamed) for arm in (branch.then, branch.orelse)
        )
        if one is other or (other in undefined[1] and one not in made[0]):
            renamed[result], found = one, True
        elif one in undefined[0] and other not in made[1]:
            renamed[result], found = other, True
    return found


def _unify_loop(loop: Loop, renamed: dict[Value, Value]) -> bool:
    found = False
    for position, (param, result) in enumerate(zip(loop.body.params, loop.results, strict=True)):
        if param in renamed:
            continue
        if _follow(loop.body.results[position], renamed) is param:
            first = _follow(loop.initial[position], renamed)
            renamed[param] = renamed[result] = first
            found = True
    return found


def _undefined(region: Region) -> set[Value]:
    return {o.result for o in region.operations if isinstance(o, Undefined)}


def _made(region: Region) -> set[Value]:
    return {value for operation in region.operations for value in results_of(operation)}


def _follow(value: Value, renamed: dict[Value, Value]) -> Value:
    while value in renamed:
        value = renamed[value]
    return value


def _rename(program: RegionProgram, renamed: dict[Value, Value]) -> None:
    def new(value: Value) -> Value:
        return _follow(value, renamed)

    def maybe(value: Value | None) -> Value | None:
        return None if value is None else new(value)

    for operation in walk(program.body):
        match operation:
            case Call() | Primitive():
                operation.args = [maybe(value) for value in operation.args]
            case Branch():
                operation.condition = new(operation.condition)
            case Loop():
                operation.initial = [new(value) for value in operation.initial]
                operation.again = new(operation.again)
            case Dimension():
                operation.tensor = new(operation.tensor)
            case Constant() | Undefined():
                pass
            case _:
                assert_never(operation)
        for region in regions_of(operation):
            region.results = [new(value) for value in region.results]
    program.outputs = [(name, new(value)) for name, value in program.outputs]
    program.written = [(described, new(value)) for described, value in program.written]
    program.kept = [(kept, new(value)) for kept, value in program.kept]
    program.selector = maybe(program.selector)


# --- values that are needed ------------------------------------------------------------


def _needed(program: RegionProgram) -> set[Value]:
    """The values on which a result of the program depends."""
    makers: dict[Value, Operation] = {}
    params: dict[Value, Loop] = {}
    for operation in walk(program.body):
        makers.update(dict.fromkeys(results_of(operation), operation))
        if isinstance(operation, Loop):
            params.update(dict.fromkeys(operation.body.params, operation))
    needed: set[Value] = set()
    waiting = [value for _, value in (*program.outputs, *program.written, *program.kept)]
    waiting += [program.selector] if program.selector is not None else []
    while waiting:
        value = waiting.pop()
        if value in needed:
            continue
        needed.add(value)
        if value in params:
            waiting += _of_param(params[value], value)
        elif value in makers:
            waiting += _of_result(makers[value], value)
    return needed


def _of_param(loop: Loop, value: Value) -> Iterable[Value]:
    position = loop.body.params.index(value)
    return (loop.initial[position], loop.body.results[position], loop.again)


def _of_result(operation: Operation, value: Value) -> Iterable[Value]:
    match operation:
        case Branch():
            position = operation.results.index(value)
            arms = (operation.then, operation.orelse)
            return (operation.condition, *(arm.results[position] for arm in arms))
        case Loop():
            return (operation.body.results[operation.results.index(value)], operation.again)
        case Call():
            return _used(operation, [operation.results.index(value)])
        case _:
            return operands_of(operation)


def _used(call: Call, positions: Iterable[int]) -> list[Value]:
    """The arguments on which these results depend."""
    nodes = call.segment.aten.graph.graph.nodes
    returned = call.segment.aten.graph.graph.output_node().args[0]
    assert isinstance(returned, tuple | list)
    waiting = [returned[n] for n in positions]
    seen: set[object] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, Node) and node not in seen:
            seen.add(node)
            waiting += node.all_input_nodes
    placeholders = [node for node in nodes if node.op == "placeholder"]
    pairs = zip(placeholders, call.args, strict=True)
    return [value for node, value in pairs if value is not None and node in seen]


def _sweep(region: Region, needed: set[Value]) -> None:
    kept: list[Operation] = []
    for operation in region.operations:
        if isinstance(operation, Loop):
            if needed.isdisjoint(operation.results) and needed.isdisjoint(operation.body.params):
                continue
            kept += _sweep_loop(operation, needed)
        elif not needed.isdisjoint(results_of(operation)):
            _sweep_results(operation, needed)
        else:
            continue
        for inner in regions_of(operation):
            _sweep(inner, needed)
        kept.append(operation)
    region.operations = kept


def _sweep_results(operation: Operation, needed: set[Value]) -> None:
    if isinstance(operation, Call):
        operation.results = [value if value in needed else None for value in operation.results]
        left = [n for n, value in enumerate(operation.results) if value is not None]
        used = _used(operation, left)
        operation.args = [value if value in used else None for value in operation.args]
    elif isinstance(operation, Branch):
        places = [n for n, value in enumerate(operation.results) if value in needed]
        operation.results = [operation.results[n] for n in places]
        for arm in (operation.then, operation.orelse):
            arm.results = [arm.results[n] for n in places]


def _sweep_loop(loop: Loop, needed: set[Value]) -> list[Undefined]:
    """Leave out what is not carried; where only the result of the last run is needed, the loop may
    start with anything, which is given back."""
    places = [
        n
        for n, pair in enumerate(zip(loop.body.params, loop.results, strict=True))
        if not needed.isdisjoint(pair)
    ]
    for values in (loop.results, loop.body.params, loop.body.results, loop.initial):
        values[:] = [values[n] for n in places]
    anything: list[Undefined] = []
    for n, value in enumerate(loop.initial):
        if value not in needed:
            made = Undefined(Value(f"{loop.results[n].name}_before", loop.results[n].type))
            anything.append(made)
            loop.initial[n] = made.result
    return anything
