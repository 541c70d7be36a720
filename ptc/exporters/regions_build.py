"""From a functionalised program with control flow to values and regions.

Takes a `FunctionalControl`, gives a `RegionProgram`. Variables become values, references to one
tensor or list stay together (`regions_state`), effects go, and what nothing needs goes
(`regions_prune`). Knows no export format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import assert_never

from ptc.autograd.control import FunctionalControl, FunctionalSegment
from ptc.exporters.regions import (
    Branch,
    Call,
    Dimension,
    Loop,
    Primitive,
    Region,
    RegionProgram,
    Undefined,
    Value,
)
from ptc.exporters.regions_prune import prune, require_clear
from ptc.exporters.regions_state import RAISED, Families, State, changes_list, join
from ptc.exporters.regions_variables import Variables, entry_of
from ptc.graph.control import (
    Assign,
    Bind,
    Body,
    Compute,
    ControlProgram,
    DataSized,
    Emit,
    Formatted,
    If,
    Item,
    ListItem,
    ListVar,
    MakeText,
    NumberKind,
    NumberVar,
    Raise,
    ReadItem,
    Segment,
    StateNumber,
    StateReference,
    Switch,
    TensorVar,
    Text,
    TextItem,
    Var,
    While,
    walk,
)
from ptc.graph.control_parts import placeholders_of, variable_of
from ptc.graph.program import InputKind, ProgramInput
from ptc.graph.symbols import expression_of
from ptc.support.diagnostics import CompileError, Location


def build_regions(functional: FunctionalControl) -> RegionProgram:
    """The functional form of a whole program.

    Raises CompileError PTC-E007 where it hangs on data whether a tensor or list that is used is the
    one that was written to, and PTC-E008 for a program that always raises."""
    made = _Builder(functional).run()
    prune(made)
    require_clear(made)
    return made


class _Builder(Variables):
    def __init__(self, functional: FunctionalControl) -> None:
        segments = {id(s.item): s for s in functional.segments}
        super().__init__(Families(functional.program.body, segments))
        self._program: ControlProgram = functional.program
        self._segments = segments
        self._notes: dict[str, None] = {}
        items = list(walk(self._program.body))
        self._flagged = any(isinstance(i, Raise) for i in items) and any(
            isinstance(i, While) for i in items
        )

    def run(self) -> RegionProgram:
        program = self._program
        inputs = list(self._inputs())
        state: list[tuple[StateNumber | StateReference, Value]] = []
        for kept in (*program.state, *program.references):
            value = self._value(kept.variable)
            self._define(kept.variable, value)
            state.append((kept, value))
        if self._flagged:
            self._define(_FLAG, self._constant(False))
        self._body(program.body)
        if self._state.ended:
            raise CompileError(
                "PTC-E008",
                "the program raises an exception whatever its data",
                location=program.location,
            )
        return RegionProgram(
            program=program,
            inputs=inputs,
            state=state,
            body=self._region,
            outputs=[(o.name, self._read(o.value)) for o in program.outputs],
            written=[
                (described, self._read(entry_of(TensorVar(described.name, value.type.fake))))
                for described, value in inputs
                if described.name in program.written and isinstance(value.type, TensorVar)
            ],
            kept=[(kept, self._read(kept.variable)) for kept, _ in state],
            selector=None if program.selector is None else self._read(program.selector),
            notes=tuple(self._notes),
        )

    def _inputs(self) -> Iterator[tuple[ProgramInput, Value]]:
        """Enter the inputs that are variables, and their sizes."""
        program = self._program
        sized: list[tuple[str, Value, int]] = []
        for described, fake in zip(program.inputs, program.values, strict=True):
            given = described.kind in (InputKind.USER, InputKind.SCALAR)
            if not given and described.name not in program.written:
                continue
            variable = variable_of(described.name, fake)
            value = self._value(variable)
            self._define(variable, value)
            if isinstance(variable, NumberVar):
                if getattr(expression_of(fake), "is_Symbol", False):
                    self._define(NumberVar(str(expression_of(fake)), variable.kind), value)
            else:
                assert isinstance(variable, TensorVar)
                if described.name in program.written:
                    # A buffer is what its variable is at the end, an input the memory it came in
                    entry = entry_of(variable)
                    if described.live is None:
                        self._state.places[entry.name] = self._state.places[variable.name]
                        self._types[entry.name] = entry
                for dim, size in enumerate(variable.fake.shape):
                    if getattr(expression_of(size), "is_Symbol", False):
                        sized.append((str(expression_of(size)), value, dim))
            yield described, value
        for symbol, value, dim in sized:
            if symbol not in self._state.places:
                self._bind(symbol, Dimension(self._value(_symbol(symbol)), value, dim))

    # --- items ------------------------------------------------------------------------------------

    def _body(self, body: Body) -> None:
        for item in body.items:
            if self._state.ended:
                return
            self._item(item)

    def _item(self, item: Item) -> None:
        match item:
            case Segment():
                self._segment(self._segments[id(item)])
            case Compute():
                self._primitive("compute", item.op, item.args, item.target)
            case ReadItem():
                self._primitive("item", "item", (item.tensor,), item.target)
            case Bind():
                self._bind_item(item)
            case Assign():
                self._assign(item)
            case DataSized():
                self._primitive("data_sized", item.op, item.args, *item.targets)
            case ListItem():
                self._list_item(item)
            case MakeText():
                args = [part.value for part in item.text if isinstance(part, Formatted)]
                self._primitive("text", "make", args, item.target, text=item.text)
            case TextItem():
                self._primitive("text", item.op, item.args, item.target)
            case If():
                self._if(item)
            case Switch():
                self._switch(item)
            case While():
                self._while(item)
            case Emit():
                what = {"stdout": "print", "stderr": "print", "log": "log record"}
                self._note(what.get(item.channel, item.channel), item.location)
            case Raise():
                self._note(f"exception {item.type_name}", item.location)
                if self._flagged:
                    self._define(_FLAG, self._constant(True))
                self._state.ended = True
            case _:
                assert_never(item)

    def _note(self, what: str, location: Location | None) -> None:
        where = f" of {location}" if location is not None else ""
        raised = what.startswith("exception")
        more = ": where it is raised, the results may be anything" if raised else ""
        self._notes.setdefault(f"the {what}{where} is left out{more}")

    def _primitive(self, kind: str, op: str, args: object, *targets: Var, text: Text = ()) -> None:
        assert isinstance(args, tuple | list)
        values = [None if arg is None else self._read(arg) for arg in args]
        results = [self._value(target) for target in targets]
        self._emit(Primitive(kind, op, values, results, self._where, text))
        for target, result in zip(targets, results, strict=True):
            self._define(target, result)

    def _bind_item(self, item: Bind) -> None:
        if item.tensor is None:
            assert item.value is not None
            self._define(_symbol(item.symbol), self._read(item.value))
        else:
            result = self._value(_symbol(item.symbol))
            self._bind(item.symbol, Dimension(result, self._read(item.tensor), item.dim))

    def _bind(self, symbol: str, made: Dimension) -> None:
        self._emit(made)
        self._define(_symbol(symbol), made.result)

    def _assign(self, item: Assign) -> None:
        target, source = item.target, item.source
        if not isinstance(source, Var):
            self._define(target, self._read(source))
        elif source.name in self._state.places:
            self._types.setdefault(target.name, target)
            self._state.places[target.name] = self._state.places[source.name]
        else:
            self._state.places.pop(target.name, None)

    def _segment(self, segment: FunctionalSegment) -> None:
        aten = segment.aten
        self._where = segment.item.program.location
        args: list[Value | None] = []
        for described, node in placeholders_of(aten):
            is_weight = described.kind not in (InputKind.USER, InputKind.SCALAR)
            variable = None if is_weight else variable_of(described.name, node.meta["val"])
            args.append(None if variable is None else self._read(variable))
        results: list[Value | None] = []
        places = dict(self._state.places)
        variables: list[Var] = []
        fakes = aten.graph.graph.output_node().meta["val"]
        for output, fake in zip(aten.outputs, fakes, strict=True):
            name = output.name if output.target is None else aten.inputs[output.target].name
            variables.append(variable_of(name, fake))
            results.append(self._value(variables[-1]))
        self._emit(Call(segment, args, results))
        for output, variable, result in zip(aten.outputs, variables, results, strict=True):
            if output.target is not None and result is not None:
                self._change(variable.name, result)
        for position, (output, variable) in enumerate(zip(aten.outputs, variables, strict=True)):
            result = results[position]
            if output.target is not None or result is None:
                continue
            same = segment.shared.get(position)
            if same is not None and same in places:
                self._types.setdefault(variable.name, variable)
                self._state.places[variable.name] = places[same]
            else:
                self._define(variable, result)

    def _list_item(self, item: ListItem) -> None:
        names = self._state.places
        if item.op == "new" and any(isinstance(a, Var) and a.name not in names for a in item.args):
            assert item.target is not None
            names.pop(item.target.name, None)
            return
        if item.op == "same" and self._compare(item):
            return
        if not changes_list(item):
            assert item.target is not None
            self._primitive("list", item.op, item.args, item.target)
            return
        owner = item.args[0]
        assert isinstance(owner, ListVar)
        values: list[Value | None] = [self._read(arg) for arg in item.args]
        results = [self._value(self._types.get(owner.name, owner))]
        if item.target is not None:
            results.append(self._value(item.target))
        self._emit(Primitive("list", item.op, values, results, self._where))
        if owner.name in names:
            self._change(owner.name, results[0])
        if item.target is not None:
            self._define(item.target, results[1])

    def _compare(self, item: ListItem) -> bool:
        """Whether two lists are one, where that is known."""
        one, other = item.args
        assert isinstance(one, ListVar) and isinstance(other, ListVar) and item.target is not None
        places = [self._state.places.get(name) for name in (one.name, other.name)]
        a, b = places
        if a is None or b is None:
            return False
        apart = frozenset({a, b}) not in self._state.doubts
        if a == b or not self._families.are_one(one.name, other.name):
            self._define(item.target, self._constant(a == b))
            return True
        if apart and self._families.is_written(one.name) and not self._families.is_held(one.name):
            self._define(item.target, self._constant(False))
            return True
        return False

    # --- control flow -----------------------------------------------------------------------------

    def _if(self, item: If) -> None:
        self._where = item.location
        self._branch(
            lambda: self._read(item.condition),
            (lambda: self._body(item.then), _always_raises(item.then)),
            (lambda: self._body(item.orelse), _always_raises(item.orelse)),
            item,
        )

    def _switch(self, item: Switch) -> None:
        """Arms one after the other, the last one without a question."""
        arms = [n for n, arm in enumerate(item.arms) if not _always_raises(arm)]
        arms += [n for n in range(len(item.arms)) if n not in arms]
        self._where = item.location

        def choose(left: list[int]) -> None:
            first, rest = left[0], left[1:]
            if not rest:
                self._body(item.arms[first])
                return

            def condition() -> Value:
                args: list[Value | None] = [self._read(item.selector), self._constant(first)]
                value = self._value(NumberVar("chosen", NumberKind.BOOL))
                self._emit(Primitive("compute", "eq", args, [value], item.location))
                return value

            raises = all(_always_raises(item.arms[n]) for n in rest)
            self._branch(
                condition,
                (lambda: self._body(item.arms[first]), _always_raises(item.arms[first])),
                (lambda: choose(rest), raises),
                item,
            )

        choose(arms)

    def _branch(
        self,
        condition: Callable[[], Value],
        then: tuple[Callable[[], None], bool],
        orelse: tuple[Callable[[], None], bool],
        item: If | Switch,
    ) -> None:
        """Two arms, each with whether it always raises: then the other is what runs."""
        if then[1] and orelse[1]:
            then[0]()
            return
        holds = condition()
        if then[1] or orelse[1]:
            self._raising(holds, then[0] if then[1] else orelse[0], raised=then[1])
            (orelse if then[1] else then)[0]()
            return
        before = self._state
        one = self._arm(then[0], before)
        other = self._arm(orelse[0], before)
        self._state, results = self._merge(one, other)
        self._emit(Branch(holds, one[0], other[0], results, item.location, item.construct))

    def _raising(self, holds: Value, arm: Callable[[], None], *, raised: bool) -> None:
        """An arm that always raises is left out, but for the note that it did."""
        before = self._state
        self._arm(arm, before)  # for its notes
        self._state = before
        if self._flagged:
            if not raised:
                holds = self._number("not", [holds])
            flag = self._number("or", [self._read(_FLAG), holds])
            self._define(_FLAG, flag)

    def _number(self, op: str, args: list[Value]) -> Value:
        result = self._value(NumberVar("flag", NumberKind.BOOL))
        self._emit(Primitive("compute", op, [*args], [result], self._where))
        return result

    def _arm(self, body: Callable[[], None], before: State) -> tuple[Region, State]:
        outer, self._region, self._state = self._region, Region(), before.copy()
        body()
        region, self._region = self._region, outer
        state = self._state
        return region, state

    def _merge(
        self, one: tuple[Region, State], other: tuple[Region, State]
    ) -> tuple[State, list[Value]]:
        """The state behind two arms, whose regions get their results."""
        joined = join(one[1], other[1], self._numbers, self._families)
        state = joined.state
        results: list[Value] = []
        for place, names in state.groups().items():
            pair = joined.sources[place]
            ways = [
                None if source is None else way[1].contents[source]
                for source, way in zip(pair, (one, other), strict=True)
            ]
            if ways[0] is ways[1] and ways[0] is not None:
                state.contents[place] = ways[0]
                continue
            variable = self._types[names[0]]
            for value, (region, _) in zip(ways, (one, other), strict=True):
                region.results.append(self._filled(value, variable, region))
            state.contents[place] = self._value(variable)
            results.append(state.contents[place])
        return state, results

    def _filled(self, value: Value | None, variable: Var, region: Region) -> Value:
        if value is not None:
            return value
        value = self._value(variable)
        region.operations.append(Undefined(value))
        return value

    def _while(self, item: While) -> None:
        if _always_raises(item.body):
            self._body(item.body)
            return
        self._where = item.location
        before = self._state
        entry = before.copy()
        while True:
            notes = dict(self._notes)
            region, header, end, again = self._iteration(item, entry)
            joined = join(entry, end, self._numbers, self._families).state
            missing = set(end.places) - set(entry.places)
            if not missing and _same_shape(entry, joined):
                break
            self._notes = notes
            # Once more, with what an iteration showed to be apart, in doubt, or not there at first
            for place, names in joined.groups().items():
                known = before.content(names[0])
                joined.contents[place] = (
                    known if known is not None else self._undefined(self._types[names[0]])
                )
            entry = joined
        self._emit_loop(item, entry, header, end, region, again)

    def _iteration(
        self, item: While, entry: State
    ) -> tuple[Region, dict[int, Value], State, Value]:
        """One run of the body from the places of `entry`: its region, the value of each place that
        enters, the state at its end, and whether it goes on."""
        header: dict[int, Value] = {}
        state = entry.copy()
        for place, names in entry.groups().items():
            header[place] = state.contents[place] = self._value(self._types[names[0]])
        outer, self._region, self._state = self._region, Region(), state
        self._region.params = list(header.values())
        self._body(item.body)
        end = self._state
        assert not end.ended
        again = self._read(item.again)
        if self._flagged:
            going = self._number("not", [self._read(_FLAG)])
            again = self._number("and", [again, going])
        region, self._region = self._region, outer
        return region, header, end, again

    def _emit_loop(
        self,
        item: While,
        entry: State,
        header: dict[int, Value],
        end: State,
        region: Region,
        again: Value,
    ) -> None:
        groups = entry.groups()
        initial: list[Value] = []
        results: dict[str, Value] = {}
        for place in header:
            name = groups[place][0]
            variable = self._types[name]
            initial.append(entry.contents[place])
            value = end.content(name)
            region.results.append(self._filled(value, variable, region))
            results[name] = self._value(variable)
        firsts = {name: names[0] for names in groups.values() for name in names}
        after = end.copy()
        for place, names in end.groups().items():
            after.contents[place] = results[firsts[names[0]]]
        self._state = after
        made = Loop(initial, region, again, list(results.values()), item.location, item.construct)
        self._emit(made)


_FLAG = NumberVar(RAISED, NumberKind.BOOL)


def _symbol(name: str) -> NumberVar:
    return NumberVar(name, NumberKind.INT)


def _same_shape(entry: State, joined: State) -> bool:
    """Whether the same variables are together, and the same are in doubt."""
    mine = {tuple(names) for names in entry.groups().values()}
    its = {tuple(names) for names in joined.groups().values()}
    return mine == its and _doubts(entry) == _doubts(joined)


def _doubts(state: State) -> set[frozenset[str]]:
    groups = state.groups()
    return {
        frozenset(groups[place][0] for place in pair)
        for pair in state.doubts
        if all(place in groups for place in pair)
    }


def _always_raises(body: Body) -> bool:
    for item in body.items:
        match item:
            case Raise():
                return True
            case If():
                arms = (item.then, item.orelse)
            case Switch():
                arms = item.arms
            case While():
                arms = (item.body,)
            case _:
                continue
        if all(_always_raises(arm) for arm in arms):
            return True
    return False
