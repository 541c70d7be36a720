"""The machine that captures programs with control flow.

Adds to straight capture: values live in variables that cross blocks, questions that data answers,
and what Python reads out of tensors.
"""

# pyright: reportPrivateUsage=false, reportAssignmentType=false
# Functions of the other modules of this package are attached as methods.

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sympy
import torch
import torch.fx

from ptc.capture import torch_state
from ptc.capture.control import (
    arithmetic,
    data_sizes,
    dict_methods,
    driving,
    effects,
    elements,
    entries,
    forks,
    formatting,
    generators,
    indexing,
    keys,
    layouts,
    library,
    list_methods,
    list_tensors,
    lists,
    operands,
    passing,
    pieces,
    reading,
    sized,
    sorting,
    stores,
    strings,
    tensor_index,
    tensors,
    text,
    torch_errors,
    variables,
)
from ptc.capture.control.block_builder import BlockBuilder
from ptc.capture.control.carrying import Uncarriable
from ptc.capture.control.facts import Facts
from ptc.capture.control.forks import Answer, Attempt, SplitExit, Stops, advance, run_arm
from ptc.capture.control.histories import Histories
from ptc.capture.control.homes import Homes
from ptc.capture.control.kept import Kept, State
from ptc.capture.control.list_registry import Lists
from ptc.capture.control.loops import LoopContext
from ptc.capture.control.questions import Fork, NumberTruth, Question, SizeTruth, TensorTruth
from ptc.capture.control.splits import run_apart, take_apart
from ptc.capture.control.work import QUESTION, TENSOR_CALL, Work
from ptc.capture.control.writer import Writer
from ptc.capture.errors import GraphBreak, Raised
from ptc.capture.fakes import Fakes
from ptc.capture.interpreter.calls import find_handler
from ptc.capture.interpreter.frame import Frame
from ptc.capture.values.base import Value
from ptc.capture.values.callables import FunctionValue, LostValue
from ptc.capture.values.choices import MISSING, may_be_missing
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.iterators import GeneratorValue
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import Body, NumberKind, NumberVar, Operand


class ControlMachine(Histories):
    """One capture of a whole program whose control flow may depend on data."""

    def __init__(self, *, dynamic: Any = None, kept: Kept | None = None) -> None:
        super().__init__(whole_program=True, dynamic=dynamic)
        self.fakes = Fakes(self._ask)
        self.journal.keep_reads()
        self.builder = BlockBuilder(self.journal)
        self.journal.keep(
            self.guards, self.wrapped, self.kept_alive, self.instance_dicts, self.effects.log,
            self.aliases, self.tensors_by_fake, self.value_of_node, self.sizes, self._globals,
            self.size_sources, self.builder._names,
        )  # fmt: skip
        self.writer = Writer(self.builder._unique)
        self.builder.writer = self.writer
        self.builder.set_state = lambda: torch_state.set_nodes(self)
        self.homes = Homes()
        self.state = State(self, kept or Kept())
        self.work = Work()
        self.attempt = Attempt((), 0)
        self.answers: tuple[Answer, ...] = ()
        self.notes: dict[str, None] = {}  # for the user
        # The generator that an instruction has run to its end, and the list
        self.collected_now: tuple[Any, Any, Any] = (None, None, None)
        self.ranges: dict[str, tuple[int, int]] = {}  # of variables that are computed
        self.definitions: dict[str, tuple[str, tuple[Operand, ...]]] = {}  # not of floats
        self.arms: list[Frame] = []
        self.loops: list[LoopContext] = []
        self.known_regions: dict[Any, bool] = {}
        self.budget = 0
        # Generators that are run at once, and what for
        self.collecting: dict[Frame, generators.Wanted] = {}
        self.kept_writes: set[tuple[int, str]] = set()  # that the session keeps
        self.split_depth = 0
        # What an arm knows
        self.facts = self.builder.facts = Facts(self.fakes, self.journal)
        self.fakes.answer_from(self.facts.truth, self.facts.value)
        self.leaf_facts: dict[int, tuple[Body, dict[Any, bool]]] = {}  # at the ends of arms
        self.known_truths: dict[str, bool] = {}
        self.possible: dict[str, frozenset[int]] = {}
        self.computed: dict[Any, DataNumber] = {}
        self.symbols: dict[Any, Any] = {}
        self.items: dict[tuple[TensorValue, int], DataNumber] = {}
        self.sized: dict[Any, list[TensorValue]] = {}
        self.symbol_variables: dict[sympy.Basic, NumberVar] = {}
        self.size_births: dict[str, int] = {}  # of symbols that data gives
        self.lists = Lists(self)
        self._fact_tables = {
            id(table)
            for table in (
                self.facts.table, self.known_truths, self.possible, self.computed, self.symbols,
                self.items, self.lists.lengths, self.lists.marks, self.lists.row_marks, self.sized,
                self.lists.found, self.lists.iterators, self.lists.stores.assigned,
                self.lists.stores.values,
            )
        }  # fmt: skip

    advance = advance
    initialise = forks.initialise
    run_arm = run_arm
    is_number = staticmethod(arithmetic.is_number)
    size_operand = arithmetic.size_operand
    arithmetic = arithmetic.arithmetic
    tensor_node = tensors.tensor_node
    tensor_variable = tensors.tensor_variable
    variable = tensors.variable
    new_tensor = tensors.new_tensor
    may_share = tensors.may_share
    tensor_home = tensors.tensor_home
    prepare_steps = elements.prepare
    prepare_operands = operands.prepare
    settle = operands.settle
    construct = staticmethod(operands.construct)
    loop_construct = staticmethod(operands.loop_construct)
    step_of = driving.step_of
    caught_outside = passing.caught_outside
    emit_raise = effects.emit_raise
    not_supported = effects.not_supported
    print = effects.print_call
    warn = effects.warn
    log = effects.log
    str = text.to_str
    repr = text.to_repr
    format = text.format_
    join_text = text.join_text
    data_read = tensors.data_read
    read_index = reading.read_index
    key_in = keys.key_in
    entries_by_data = entries.hold
    entries_changed = entries.note_change
    order_by_data = dict_methods.order_by_data
    contains_by_data = dict_methods.contained
    equal_texts = keys.equal_texts
    settle_presence = keys.settle_presence
    percent = formatting.percent
    text_variable = strings.variable
    text_operation = strings.operation
    text_item = strings.item
    text_number = strings.number_of
    repeat_text = strings.repeated
    ordered_texts = strings.ordered
    exchanged = sorting.exchanged
    sequence_key = reading.sequence_key
    declare_input = tensors.declare
    at_end_of = variables.at_end_of
    assign_at_end = variables.assign_at_end
    variable_like = variables.variable_like
    same_alternative = variables.same_alternative
    choice_selector = variables.choice_selector
    renumbered = variables.renumbered
    assign_choice = variables.assign_choice
    new_size = data_sizes.new_size
    least = data_sizes.least
    sizes_since = data_sizes.sizes_since
    same_size = staticmethod(data_sizes.same_size)
    bindings = data_sizes.bindings
    bindings_of = data_sizes.bindings_of
    asks_layout = layouts.ask
    call_exception = torch_errors.call_exception
    size_symbol = data_sizes.size_symbol
    value_symbol = data_sizes.value_symbol
    read_item = tensors.read_item
    next_by_data = indexing.next_by_data
    frame_ends = generators.note_end
    range_by_data = indexing.range_by_data
    new_instance = stores.new_instance
    instantiate = stores.instantiate

    # -- running -------------------------------------------------------------------------------

    def execute(self, frame: Frame, thrown: Raised | None = None) -> int:
        self.frames.append(frame)
        frame.library_calls = self.library_calls
        handled, outer = self.handled, self.attempt
        try:
            apart = len(self.frames) == 1 and self.state.known.splits
            end = run_apart(self, frame) if apart else advance(self, frame, Stops(), thrown)
            if not isinstance(end, dict):
                return passing.ended(self, frame, end, outer.caller)
            only = passing.let_through(self, frame, end, outer.caller)
            if only is not None:
                return passing.ended(self, frame, only, outer.caller)
            if any(one.kind == "yield" for one in end):
                self.state.found.collected.add(frame.code)
                raise GraphBreak("PTC-B006", "a generator goes different ways depending on data")
            self.split_depth = self.library_calls
            raise SplitExit(end)
        except GraphBreak as stopped:
            if not stopped.stack:
                stopped.stack = self.stack_locations()
            raise
        except Raised:
            self.handled = handled
            raise
        finally:
            self.attempt = outer
            self.frames.pop()

    @property
    def emitted_effects(self) -> int:
        return self.writer.effects

    def called_directly(self) -> bool:
        """Whether the frame's instruction has nothing left to do but to push a call's result."""
        return self.split_depth == self.frames[-1].library_calls

    def duplicated(self, count: int) -> None:
        """Note that so many ends of a branch are followed apart."""
        self.budget += count - 1
        self.lists.stores.multiplied(self.budget)
        if self.budget > 2000:
            raise GraphBreak(
                "PTC-B017", "branches whose arms cannot be joined multiply the program",
                "give the arms results of one kind and shape",
            )  # fmt: skip

    # -- questions -----------------------------------------------------------------------------

    def choose(self, question: Question) -> int:
        """The answer to a question, in this arm. Raises Fork where there are no arms yet."""
        known, key = question.known(self), question.key()
        expected = self.attempt.expected()
        if known is not None:
            if expected is not None and expected[0] == key:
                self.attempt.used += 1
            return known
        answer = self.attempt.answered(key)
        if answer is not None:
            question.assume(self, answer)
            return answer
        if expected is not None and question.is_like(self, expected[0]):
            self.attempt.used += 1
            question.assume(self, expected[1])
            return expected[1]
        if isinstance(question, SizeTruth):
            take_apart(self, question.condition)
        raise Fork(question)

    def _ask(self, condition: sympy.Basic, _: bool | None) -> bool:
        self.work.add(QUESTION)
        return self.choose(SizeTruth(condition)) == 0

    def tensor_truth(self, value: TensorValue) -> bool:
        tensors.require_current(self, value)
        return self.choose(TensorTruth(value)) == 0

    def number_truth(self, number: DataNumber) -> bool:
        return self.choose(NumberTruth(number)) == 0

    def decide(self, condition: Any) -> bool:
        if isinstance(condition, bool):
            return condition
        return self.choose(SizeTruth(condition.node.expr)) == 0

    def narrow(self, selector: str, indices: frozenset[int]) -> None:
        """Note that a choice is one of these of its alternatives."""
        known = self.possible.get(selector)
        self.journal.put(self.possible, selector, indices if known is None else known & indices)

    def bool_variable(self, number: DataNumber) -> NumberVar:
        if number.var.kind is NumberKind.BOOL:
            return number.var
        return arithmetic.computed(self, "bool", [number], NumberKind.BOOL).var

    @contextmanager
    def keeping_results(self) -> Iterator[None]:
        """What was computed, not from answers, stays known over a rollback, as its items stay."""
        tables: list[dict[Any, Any]] = [
            self.computed, self.symbols, self.items, self.lists.lengths, self.sized,
            self.lists.found, self.lists.stores.values,
        ]  # fmt: skip
        before = [dict(table) for table in tables]
        yield
        for table, known in zip(tables, before, strict=True):
            for key, value in known.items():
                if key not in table and not (table is self.symbols and key[1] == "sign"):
                    self.journal.put(table, key, value)

    def is_fact_table(self, owner: Any) -> bool:
        return id(owner) in self._fact_tables

    @staticmethod
    def is_loop(owner: Any) -> bool:
        return isinstance(owner, LoopContext)

    is_cache = is_fact_table

    # -- tensor calls --------------------------------------------------------------------------

    def torch_call(
        self, op: str, target: Any, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        args = [operands.settled_within(self, arg) for arg in args]
        kwargs = {name: operands.settled_within(self, arg) for name, arg in kwargs.items()}
        name = target if isinstance(target, str) else getattr(target, "__name__", "")
        by_value = arithmetic.taken_by_value(name)
        special = self._special_call(target, args, kwargs)
        if special is not None:
            return special

        def call(args: list[Value], kwargs: dict[str, Value]) -> Value:
            args = [operands.with_graph_numbers(self, arg, by_value) for arg in args]
            kwargs = {k: operands.with_graph_numbers(self, v, by_value) for k, v in kwargs.items()}
            return tensors.recorded_call(self, op, target, args, kwargs)

        return pieces.torch_call(self, target, call, args, kwargs)

    def _special_call(
        self, target: Any, args: list[Value], kwargs: dict[str, Value]
    ) -> Value | None:
        """Calls that are not one call of the same function in the graph."""
        found = list_tensors.torch_call(self, target, args, kwargs)
        if found is None:
            found = tensor_index.indexed(self, target, args)
        if found is None:
            found = reading.whole_comparison(self, target, args, kwargs)
        if found is None:
            found = sized.sized_call(self, target, args, kwargs)
        return tensors.special_call(self, target, args, kwargs) if found is None else found

    def plain_torch_call(
        self, op: str, target: Any, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        self.work.add(TENSOR_CALL)
        return super().torch_call(op, target, args, kwargs)

    def graph_argument(self, value: Value) -> Any:
        """Sizes stand for themselves: a block is given those that it uses."""
        return self._convert(
            value,
            lambda leaf: (
                tensors.number_argument(self, leaf.number)
                if isinstance(leaf, SymbolicNumber)
                else leaf.node(self)
            ),
        )

    def takes_part(self, value: Value) -> bool:
        return isinstance(value, DataNumber) or super().takes_part(value)

    def tensor_value(self, fake: torch.Tensor, node: torch.fx.Node) -> TensorValue:
        value = super().tensor_value(fake, node)
        self.homes.register(value)
        return value

    def remember(self, value: TensorValue) -> None:
        super().remember(value)
        self.fakes.settle_layout(value.fake)
        self.homes.register(value)

    def tensor_contains(self, value: TensorValue, item: Value) -> Value:
        found = self.torch_call("call_method", "eq", [value, item], {})
        return self.call_method(found, "any", [])

    def iterate_rows(self, value: TensorValue) -> Value | None:
        return list_methods.RowIterator(value) if list_methods.has_data_rows(value) else None

    def call_method(self, owner: Value, name: str, args: list[Value]) -> Value:
        return self.call(self.getattr(owner, name), args)

    def version(self, value: TensorValue) -> int:
        """Changes when the tensor is written to."""
        tensors.require_current(self, value)
        return tensors.version(self.homes.base(value))

    def decide_value(self, condition: Any) -> bool:
        return self.decide(condition) if isinstance(condition, torch.SymBool) else bool(condition)

    # -- operations on one of several values ---------------------------------------------------

    def getitem(self, obj: Value, key: Value) -> Value:
        obj, key = self.settle(obj), self.settle(key)
        if isinstance(key, TensorValue) and not isinstance(obj, TensorValue):
            key = self.sequence_key(obj, key, indexing.is_module_list(obj))
        if isinstance(key, DataNumber):
            found = indexing.element(self, obj, key)
            if found is None:
                found = indexing.module(self, obj, key)
            if found is not None:
                return found
        part = lists.slice_by_data(self, obj, key)
        if part is not None:
            return part
        return super().getitem(obj, indexing.known_slice(self, obj, key))

    def setitem(self, obj: Value, key: Value, value: Value) -> None:
        super().setitem(self.settle(obj), indexing.position(self, obj, self.settle(key)), value)

    def delitem(self, obj: Value, key: Value) -> None:
        obj = self.settle(obj)
        super().delitem(obj, indexing.position(self, obj, self.settle(key)))

    def getattr(self, obj: Value, name: str) -> Value:
        return super().getattr(self.settle(obj), name)

    def truth(self, value: Value) -> bool:
        return super().truth(self.settle(value))

    def binary(self, op: str, left: Value, right: Value) -> Value:
        return arithmetic.operation(self, super().binary, op, left, right)

    def inplace(self, op: str, left: Value, right: Value) -> Value:
        return arithmetic.operation(self, super().inplace, op, left, right)

    def compare(self, op: str, left: Value, right: Value) -> Value:
        return super().compare(op, self.settle(left), self.settle(right))

    def unary(self, op: str, value: Value) -> Value:
        return super().unary(op, self.settle(value))

    def is_same(self, left: Value, right: Value) -> bool:
        left, right = self.settle(left), self.settle(right)
        same = indexing.same_object(self, left, right)
        return super().is_same(left, right) if same is None else same

    def iterate(self, obj: Value) -> Value:
        obj = self.settle(obj)
        if isinstance(obj, TensorValue) and list_methods.has_data_rows(obj):
            return list_methods.RowIterator(obj)
        return super().iterate(generators.iterator(self, obj))

    def lost(self, generator: GeneratorValue) -> GraphBreak:
        generators.note_lost(self, generator)
        return super().lost(generator)

    def lost_object(self, value: LostValue) -> BaseException:
        if value.loop is None:
            return super().lost_object(value)
        return Uncarriable(value.loop, value.what)

    def resume_generator(
        self, frame: Frame, value: Value | None, exception: Value | None
    ) -> Value | None:
        self.attempt.generators.append(frame.code)
        return super().resume_generator(frame, value, exception)

    def next(self, iterator: Value) -> Value | None:
        return super().next(generators.iterator(self, iterator))

    def collected(self, frame: Frame) -> int | None:
        return generators.take(self, frame)

    def length(self, value: Value) -> Value:
        return super().length(self.settle(value))

    def contains(self, container: Value, item: Value) -> bool:
        container, item = self.settle(container), self.settle(item)
        if keys.decided_by_data(item) and self.python_method(container, "__contains__") is None:
            known = keys.known_elements(self, container)
            if known is not None:
                return keys.contained(self, known, item)
        return super().contains(container, item)

    def unpack(self, value: Value) -> Any:
        value = self.settle(value)
        if list_methods.unbounded(self, value):
            raise list_methods.not_unpacked(value)
        return super().unpack(value)

    @property
    def told_outside(self) -> int:
        return self.writer.texts

    def has_data_length(self, iterable: Value) -> bool:
        iterable = self.settle(iterable)
        if isinstance(iterable, GeneratorValue):
            return generators.is_collected(self, iterable)
        return list_methods.unbounded(self, iterable)

    def unpack_by_data(self, value: Value, before: int, after: int | None) -> Any:
        return list_methods.unpacked(self, self.settle(value), before, after)

    def extend_by_data(self, target: Value, values: Value) -> bool:
        return list_methods.extended(self, target, self.settle(values))

    def hash_key(self, value: Value) -> Any:
        return super().hash_key(operands.key(self, value))

    def present(self, value: Value) -> Value | None:
        settled = self.settle(value) if may_be_missing(value) else value
        return None if settled is MISSING else settled

    # -- calls ---------------------------------------------------------------------------------

    def symbolic_extreme(self, name: str, values: list[Value]) -> Value | None:
        found = library.extreme(self, name, values)
        return super().symbolic_extreme(name, values) if found is None else found

    def is_traced(self, function: FunctionValue) -> bool:
        """Whether a call of the function runs its bytecode."""
        obj = function.obj
        return find_handler(obj) is None and find_handler(function.code) is None

    def settle_arguments(
        self, args: list[Value], kwargs: dict[str, Value], handler: Any = None
    ) -> tuple[list[Value], dict[str, Value]]:
        settled = generators.arguments(self, handler, args)
        return settled, {name: self.settle(arg) for name, arg in kwargs.items()}

    def require_order(self, keys: list[Value]) -> None:
        sorting.require_order(self, keys)

    def call_builtin(self, function: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        taken = generators.taking_call(self, function, args, kwargs)
        if taken is not None:
            return taken
        if function is next and args:
            args = [generators.iterator(self, self.settle(args[0])), *args[1:]]
        args = generators.arguments(self, find_handler(function), args)
        args = elements.definite(self, function, args)
        self.library_calls += 1  # what they call does not give their result
        try:
            found = dict_methods.call(self, function, args, kwargs)
            if found is None:
                found = library.call_on_data(self, function, args, kwargs)
        finally:
            self.library_calls -= 1
        return super().call_builtin(function, args, kwargs) if found is None else found

    def list_changed(self, value: Any) -> None:
        self.lists.changed(value)
        super().list_changed(value)
        self.state.changed(value)

    # -- from outside --------------------------------------------------------------------------

    def kept_attribute(self, owner: Any, name: str, real: Any) -> Value | None:
        return self.state.read(owner, name, real)

    def attribute_set(self, owner: Any, name: str, value: Value) -> None:
        real = getattr(owner.obj, "__dict__", {}).get(name)
        replaced = (
            isinstance(real, torch.Tensor)
            and owner.source is not None
            and not self.state.keeps(owner, name)
            and self.state.replace(real, value, owner.attribute_source(name), may_differ=True)
        )
        if replaced:
            self.kept_writes.add((id(owner), name))
        else:
            self.state.write(owner, name, value)

    def attribute_deleted(self, owner: Any, name: str) -> None:
        if owner.source is not None:
            self.state.deleted(owner, name)

    def buffer_set(self, module: Any, name: str, value: Value) -> None:
        mapping = module.attribute(self, "_buffers")
        real = module.obj._buffers.get(name) if module.source is not None else None
        if real is not None and self.state.replace(real, value, mapping.item_source(name)):
            self.kept_writes.add((id(mapping), ""))

    def close(self) -> None:
        super().close()
        self.homes.clear()
        self.lists.clear()
