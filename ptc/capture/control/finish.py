"""From the tree that was written to a ControlProgram: blocks become segments that give out what is
used, and what nothing uses is left out.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx

from ptc.capture import torch_state
from ptc.capture.control import dicts, keys, list_forms, lists, numbers_among
from ptc.capture.control.arithmetic import operand
from ptc.capture.control.dicts import DataDictValue
from ptc.capture.control.handles import HandleValue, RecordClass
from ptc.capture.control.list_forms import (
    Form,
    HandleForm,
    ListForm,
    LongForm,
    NumberForm,
    ObjectForm,
    OneOfForm,
    TensorForm,
    TextForm,
    TupleForm,
)
from ptc.capture.control.lists import DataListValue, not_printed
from ptc.capture.control.machine import ControlMachine
from ptc.capture.control.questions import Fork, Question, impossible
from ptc.capture.control.records import RecordValue
from ptc.capture.control.result_kinds import Kinds
from ptc.capture.control.tensors import declare
from ptc.capture.control.tuples import DataTupleValue
from ptc.capture.control.work import require_shallow
from ptc.capture.control.writer import Block, is_computation
from ptc.capture.effects import refuse_effects
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.frame import Frame
from ptc.capture.program_structure import CallArguments, Describer, type_name
from ptc.capture.torch_program import identifier_class
from ptc.capture.values.base import Value
from ptc.capture.values.choices import MISSING, ChoiceValue
from ptc.capture.values.containers import TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.mappings import DictValue
from ptc.capture.values.texts import TextValue
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import (
    Assign,
    Bind,
    Body,
    Compute,
    ControlOutput,
    ControlProgram,
    If,
    Item,
    ListItem,
    ListVar,
    MakeText,
    NumberKind,
    NumberVar,
    ReadItem,
    Segment,
    Switch,
    TensorVar,
    TextItem,
    TextVar,
    Var,
    bodies,
)
from ptc.graph.control_parts import reads_of
from ptc.graph.program import (
    CapturedProgram,
    DimRange,
    Leaf,
    Node,
    ProgramOutput,
    Structure,
)
from ptc.graph.structure import tuple_name
from ptc.graph.symbols import symbols_of


class _Arguments(Describer):
    def leaf(self, value: Value, path: str) -> Structure:
        assert isinstance(value, TensorValue)
        declare(self.vm, value)  # type: ignore[arg-type]
        return Leaf(list(self.vm.homes.inputs).index(value))  # type: ignore[attr-defined]


class _Result(Kinds):
    """Collects outputs; one value returned twice is one output."""

    def __init__(self, vm: ControlMachine) -> None:
        super().__init__(vm)
        self.outputs: list[ControlOutput] = []
        self.varies = False  # whether there are several structures
        self._numbers: dict[Any, int] = {}
        self._rows_of: dict[int, Structure] = {}
        self._as_ones: dict[int, Value] = {}
        self._alive: list[Value] = []

    def describe(self, value: Value, path: str) -> Structure:
        value = self.control.settle(self._as_one(value))
        if isinstance(value, DataListValue) and not (
            value.is_plain and not isinstance(value.state.form, ListForm)
        ):
            return self._rows(value, path)
        if isinstance(value, RecordValue):
            value = value.known(self.control)
        elif isinstance(value, HandleValue):
            attributes = self.control.lists.stores.attributes(value.klass)
            items = [self.control.getattr(value, name) for name in attributes]
            return self.instance(value.klass, items, attributes, path)
        if isinstance(value, DataTupleValue):
            return Node("tuple of", (self.describe(value.elements, path),))
        if isinstance(value, DataDictValue):
            pairs = self._rows(dicts.as_pairs(value), path)
            name = "" if value.klass is dict else type_name(value.klass)
            return Node("mapping", (pairs,), (), name)
        if isinstance(value, DictValue) and _has_data_keys(value):
            return Node("mapping", (self._rows(self._pairs(value), path),))
        if isinstance(value, (DataNumber, DataListValue, TextValue)):
            return self.leaf(value, path)
        return super().describe(value, path)

    def _as_one(self, value: Value) -> Value:
        """A choice that is one number or string, for which there need be no structures."""
        if not isinstance(value, ChoiceValue):
            return value
        if self.varies:
            return numbers_among.as_one(self.control, value)
        known = self._as_ones.get(id(value))
        if known is None:
            known = self._as_ones[id(value)] = numbers_among.as_one(self.control, value)
            self._alive.append(value)
        return known

    def _pairs(self, value: DictValue) -> DataListValue:
        """The keys with their values, of the entries that are there, as a list."""
        vm = self.control
        pairs: list[tuple[Value, Value]] = []  # whether it is there, and the pair
        for key, content in list(value.entries.values()):
            there = keys.presence(vm, (key, content))
            settled = _present(vm, content)
            if settled is not MISSING:
                pairs.append((there, TupleValue([vm.settle(key), settled])))
        try:
            form = lists.common_form(vm, [[pair for _, pair in pairs]])
        except lists.Unlistable as why:
            vm.lists.references.reconsider(why.by_reference, why.mixed)
            vm.lists.stores.reconsider(why.klass)
            raise GraphBreak(
                "PTC-B011",
                f"a dictionary with keys that data decides is part of the result, and holds {why}",
                "give it keys of one type and values of one type",
            ) from None
        assert form is not None
        found = lists.make(vm, [], form)
        for there, pair in pairs:
            arm = Body()
            if not isinstance(there, DataNumber):
                lists.insert(vm, found, None, pair)
                continue
            with vm.at_end_of(arm):
                lists.insert(vm, found, None, pair)
            vm.writer.add(If(there.var, arm, Body(), None, "return"))
            vm.lists.forget_lengths(found.state.name)
        return found

    def _rows(self, value: DataListValue, path: str) -> Structure:
        """A list of what has several parts: an output for each of them."""
        known = self._rows_of.get(id(value))
        if known is not None and not self.varies:
            return known
        state = value.state
        names = map(str, itertools.count())
        structure = self.columns(
            value, state.form, iter(state.vars), (f"{path}.{n}" if path else n for n in names)
        )
        rows = Node("rows", (structure,))
        if not self.varies:
            self._alive.append(value)
            self._rows_of[id(value)] = rows
        return rows

    def columns(
        self, value: DataListValue, form: Form, variables: Iterator[ListVar], names: Iterator[str]
    ) -> Structure:
        """The structure of one element, whose leaves are lists of what all elements have there."""
        if isinstance(form, ListForm):
            return self._inner(value, form, variables, names)
        if isinstance(form, OneOfForm) or (
            isinstance(form, ObjectForm) and not list_forms.holds_texts(form)
        ):
            return self.one_of(value, form, variables, names)
        if isinstance(form, HandleForm):
            give = self.records if isinstance(form.klass, RecordClass) else self.objects
            return give(value, form.klass, next(variables), names)
        if isinstance(form, LongForm):
            return Node("tuple of", (self._inner(value, form, variables, names),))
        if not isinstance(form, TupleForm):
            var = next(variables)
            if list_forms.holds_texts(form):
                var = lists.converted(self.control, lists.ListState(form, (var,))).vars[0]
            elif not isinstance(form, (NumberForm, TensorForm, TextForm)):
                raise not_printed(value)
            if isinstance(form, TensorForm) and form.numbered:
                next(variables)  # which tensor it is
            return self.column(var, next(names))
        parts = tuple(self.columns(value, part, variables, names) for part in form.parts)
        fields = getattr(form.klass, "_fields", None)
        if fields is None:
            kind = "list" if form.klass is list else "tuple"
            return Node(kind, parts, (), tuple_name(form.klass))
        name = f"{form.klass.__module__}.{form.klass.__qualname__}"
        return Node("namedtuple", parts, tuple(fields), name)

    def _inner(
        self,
        value: DataListValue,
        form: ListForm | LongForm,
        variables: Iterator[ListVar],
        names: Iterator[str],
    ) -> Structure:
        """Lists in a list: their lengths, and the elements of all."""
        writer = self.control.writer
        mine = [next(variables) for _ in list_forms.leaves(form)]
        lengths = ListVar(writer.name("l"), NumberKind.INT)
        writer.add(ListItem("lengths", lengths, (mine[0],)))
        flat: list[ListVar] = []
        for var in mine:
            assert isinstance(var.element, ListVar)
            flat.append(ListVar(writer.name("l"), var.element.element))
            writer.add(ListItem("flat", flat[-1], (var,)))
        first = self.column(lengths, next(names))
        return Node("lists", (first, self.columns(value, form.element, iter(flat), names)))

    def column(self, var: Var, name: str) -> Structure:
        if self.varies:
            return self._slot(var, name)
        self.outputs.append(ControlOutput(name, var))
        return Leaf(len(self.outputs) - 1)

    def leaf(self, value: Value, path: str) -> Structure:
        if self.varies:
            return self._slot(self._variable(value), path)
        known = self._numbers.get(id(value))
        if known is None:
            known = self._numbers[id(value)] = len(self.outputs)
            self._alive.append(value)
            self.outputs.append(ControlOutput(path or "output", self._variable(value)))
        return Leaf(known)

    def _slot(self, source: Var, path: str) -> Structure:
        """A result's place in one of several structures: those that have it alike share it."""
        key = (path, *_type_key(source))
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self.outputs)
            target = self.control.variable_like(source)
            self.outputs.append(ControlOutput(path or "output", target))
        self.control.writer.add(Assign(self.outputs[known].value, source))
        return Leaf(known)

    def _variable(self, value: Value) -> Var:
        vm = self.control
        if isinstance(value, TensorValue):
            return vm.tensor_variable(value)
        if isinstance(value, DataListValue):
            return value.text_variable(vm)
        if isinstance(value, TextValue):
            return vm.text_variable(value)
        assert isinstance(value, (DataNumber, SymbolicNumber))
        source = operand(vm, value)
        assert isinstance(source, NumberVar)
        return source


def _has_data_keys(value: DictValue) -> bool:
    known = value.complete and value.klass is dict
    return known and any(keys.decided_by_data(key) for key, _ in value.entries.values())


def _present(vm: ControlMachine, content: Value) -> Value:
    """The value of an entry where it is there."""
    parts = content.alternatives if isinstance(content, ChoiceValue) else (content,)
    there = [part for part in parts if part is not MISSING]
    return there[0] if len(there) == 1 else vm.settle(content)


def _type_key(var: Var) -> tuple[Any, ...]:
    if isinstance(var, TensorVar):
        fake = var.fake
        return (fake.dtype, tuple(map(str, fake.shape)), tuple(map(str, fake.stride())))
    if isinstance(var, NumberVar):
        return (var.kind,)
    if isinstance(var, TextVar):
        return ("text",)
    element = var.element
    if isinstance(element, ListVar):
        return ("list", _type_key(element))
    if isinstance(element, torch.Tensor):
        return ("list", _type_key(TensorVar("", element)))
    return ("list", element)


@dataclass(slots=True)
class _Variants:
    """The structures that a result has, depending on data: which one, says `selector`."""

    vm: ControlMachine
    collector: _Result
    selector: NumberVar
    structures: list[Structure] = field(default_factory=list[Structure])
    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def explore(self, result: Value, body: Body) -> None:
        """Describe the result at the end of `body`, in arms of its own where it takes an answer."""
        vm = self.vm
        with vm.at_end_of(body):
            try:
                structure = self.collector.describe(result, "")
            except Fork as fork:
                if not self.collector.varies:
                    self.collector.outputs.clear()
                    self.collector.varies = True
                self._branch(result, fork.question)
                return
            # By its text: 0, 0.0, -0.0 and False are different results
            number = self.numbers.setdefault(repr(structure), len(self.structures))
            if number == len(self.structures):
                self.structures.append(structure)
                if len(self.structures) > _MOST_VARIANTS:
                    raise GraphBreak(
                        "PTC-B011", "the result has too many structures that data decides",
                        "return one structure, with None or empty tensors in it",
                    )  # fmt: skip
            vm.writer.add(Assign(self.selector, number))

    def _branch(self, result: Value, question: Question) -> None:
        vm = self.vm
        selector = question.selector(vm)
        vm.writer.flush()
        arms: list[Body] = []
        excluded = impossible(question, vm)
        for answer in range(question.count):
            arm = Body()
            arms.append(arm)
            if answer not in excluded:
                mark = vm.journal.mark()
                question.assume(vm, answer)
                self.explore(result, arm)
                vm.journal.rollback(mark)
        if selector.kind is NumberKind.BOOL:
            vm.writer.add(If(selector, arms[0], arms[1], None, "return"))
        else:
            vm.writer.add(Switch(selector, tuple(arms), None, "return"))


_MOST_VARIANTS = 128


def finish(
    vm: ControlMachine,
    frame: Frame,
    result: Value | None,
    arguments: CallArguments | None,
    name: str,
) -> ControlProgram:
    """The program of a frame that returned `result`; None: it never returns. Without `arguments`,
    of a call in this process: every effect counts, and nothing says how inputs are passed."""
    _forget_kept(vm)
    notes = refuse_effects(vm.effects, frame.code)
    if arguments is None and notes:
        raise GraphBreak("PTC-B003", notes[0].replace(" is left out", " is an effect outside"))
    collector = _Result(vm)
    variants = _Variants(vm, collector, NumberVar(vm.writer.name("n"), NumberKind.INT))
    if result is not None:
        variants.explore(result, vm.writer.root)
    structures = variants.structures
    varies = len(structures) > 1
    described = None if arguments is None else arguments.structure(vm, _Arguments(vm))
    vm.writer.flush()
    body = vm.writer.root
    require_shallow(body)
    vm.lists.stores.begin(body)
    vm.state.begin(body)
    wanted = {output.value.name for output in collector.outputs}
    # What is kept from call to call, others may read
    kept = (*vm.state.numbers, *vm.state.references)
    wanted |= {one.variable.name for one in kept} | set(vm.homes.written)
    _prune(body, wanted | ({variants.selector.name} if varies else set()))
    _close(vm, body, name)
    return ControlProgram(
        inputs=(*vm.homes.inputs.values(), *vm.homes.numbers.values()),
        values=(*(v.fake for v in vm.homes.inputs), *map(vm.value_symbol, vm.homes.numbers)),
        body=body,
        outputs=tuple(collector.outputs),
        fake_mode=vm.fakes.mode,
        dims=_dims(vm, [value.fake for value in vm.homes.inputs], vm.fakes.dims),
        sizes=dict(vm.fakes.data_dims),
        arguments=described,
        result=structures[0] if len(structures) == 1 else None,
        variants=tuple(structures) if varies else (),
        selector=variants.selector if varies else None,
        state=tuple(vm.state.numbers),
        references=tuple(vm.state.references),
        written=frozenset(vm.homes.written),
        name=name,
        location=frame.location(),
        notes=(*notes, *vm.notes),
        # In this process the objects are set by who makes the call
        assigned=() if arguments is None else (*vm.effects.all_assigned(), *vm.state.places()),
    )


def _forget_kept(vm: ControlMachine) -> None:
    """Writes that the session keeps are no effects on the world outside."""
    kept = vm.state.handled() | vm.kept_writes
    for key in list(vm.effects.log):
        name = key[2] if key[0] == "attribute" else ""
        if key[0] in ("attribute", "content") and (key[1], name) in kept:
            del vm.effects.log[key]


def _dims(vm: ControlMachine, values: Any, known: Any) -> dict[str, DimRange]:
    used = symbols_of(list(values))
    return {symbol: dim for symbol, dim in known.items() if symbol in used}


# -- what nothing uses ----------------------------------------------------------------------------


def _prune(body: Body, wanted: set[str]) -> None:
    """Leave out computations of what nothing reads, until all are read."""
    readers = Counter(wanted)
    _count(body, readers)
    while _drop(body, readers):
        pass


def _count(body: Body, readers: Counter[str]) -> None:
    """Count the readers of every name."""
    for item in body.items:
        readers.update(_reads(item))
        for inner in bodies(item):
            _count(inner, readers)


def _reads(item: Any) -> Iterator[str]:
    """Variables and symbols that an item reads."""
    if isinstance(item, Block):
        yield from (described.name for described in item.inputs)
        for node in item.graph.nodes:
            yield from _read_in(node)
        return
    for variable in reads_of(item):
        yield variable.name
        if isinstance(variable, TensorVar):
            yield from symbols_of(variable.fake)


def _read_in(node: torch.fx.Node) -> Iterator[str]:
    yield from symbols_of(node.meta.get("val"))
    yield from _symbols_in(node)


def _symbols_in(node: torch.fx.Node) -> list[str]:
    found: list[str] = []

    def visit(argument: Any) -> None:
        if isinstance(argument, (list, tuple)):
            for part in argument:
                visit(part)
        elif isinstance(argument, slice):
            visit((argument.start, argument.stop, argument.step))
        elif isinstance(argument, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            found.extend(symbols_of(argument))

    visit(tuple(node.args))
    visit(tuple(node.kwargs.values()))
    return found


def _drop(body: Body, readers: Counter[str]) -> bool:
    """Leave out items whose results have no readers, from the last on: what they read may have none
    then. Whether there were any."""
    kept: list[Item] = []
    changed = False
    for item in reversed(body.items):
        for inner in reversed(bodies(item)):
            changed |= _drop(inner, readers)
        if isinstance(item, Block):
            unused = [name for name in item.exports if not readers[name]]
            for name in unused:
                del item.exports[name]
            changed |= bool(unused) | _drop_nodes(item, readers)
            needed = bool(item.exports) or item.writes
        elif (target := _computed(item)) is not None:
            needed = readers[target.name] > 0
        elif isinstance(item, Bind):
            needed = readers[item.symbol] > 0
        elif isinstance(item, (If, Switch)):
            needed = any(inner.items for inner in bodies(item))
        else:
            needed = True
        if needed:
            kept.append(item)
        else:
            readers.subtract(_reads(item))
        changed |= not needed
    body.items[:] = reversed(kept)
    return changed


def _computed(item: Item) -> Var | None:
    """The variable that an item is there for, if it does nothing else."""
    if isinstance(item, (Compute, ReadItem, Assign, MakeText, TextItem)):
        return item.target
    return item.target if isinstance(item, ListItem) and is_computation(item) else None


def _drop_nodes(block: Block, readers: Counter[str]) -> bool:
    """Leave out calls that nothing uses, if the block writes to nothing."""
    if block.writes:
        return False
    exported = set(block.exports.values())
    before = len(block.graph.nodes)
    for node in reversed(block.graph.nodes):
        if not node.users and node not in exported and not torch_state.is_setter(node.target):
            if node.op == "placeholder":
                position = [n for n in block.graph.nodes if n.op == "placeholder"].index(node)
                readers[block.inputs.pop(position).name] -= 1
            readers.subtract(_read_in(node))
            block.graph.erase_node(node)
    return len(block.graph.nodes) != before


# -- segments -------------------------------------------------------------------------------------


def _close(vm: ControlMachine, body: Body, name: str) -> None:
    for number, item in enumerate(body.items):
        if isinstance(item, Block):
            body.items[number] = _segment(vm, item, name)
        for inner in bodies(item):
            _close(vm, inner, name)


def _segment(vm: ControlMachine, block: Block, name: str) -> Segment:
    graph = block.graph
    nodes = list(block.exports.values())
    if block.modes:
        for function, arguments in torch_state.back_to(block.modes, vm.state_on_entry):
            block.add_call("call_function", function, arguments, {}, None, ())
    output = graph.output(tuple(nodes))
    output.meta["val"] = tuple(node.meta["val"] for node in nodes)
    values = [node.meta.get("val") for node in graph.nodes if node.op != "output"]
    symbols = frozenset().union(
        *(symbols_of(value) for value in values), *(_symbols_in(node) for node in graph.nodes)
    )
    known = {**vm.fakes.dims, **vm.fakes.data_dims}
    facts = vm.facts.of(block.known())
    program = CapturedProgram(
        graph=torch.fx.GraphModule(torch.nn.Module(), graph, class_name=identifier_class(name)),
        inputs=_ordered_inputs(block),
        outputs=tuple(ProgramOutput(export) for export in block.exports),
        fake_mode=vm.fakes.mode,
        dims={symbol: known[symbol] for symbol in sorted(symbols) if symbol in known},
        name=name,
        conditions=facts.truth,
        equal={s: e for s, e in facts.equal().items() if _names_of(s, e) <= symbols},
        location=next(
            (n.meta["location"] for n in graph.nodes if n.meta.get("location") is not None), None
        ),
    )
    return Segment(program)


def _names_of(*expressions: Any) -> set[str]:
    return {str(symbol) for e in expressions for symbol in e.free_symbols}


def _ordered_inputs(block: Block) -> Any:
    return tuple(block.inputs)
