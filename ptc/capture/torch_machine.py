"""The machine with torch: calls of torch functions run on fake tensors and become graph nodes."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.fx

from ptc.capture import call_failures, fakes, torch_functions, torch_state, view_recipes
from ptc.capture.call_failures import name_of
from ptc.capture.errors import DataDependentBranch, GraphBreak, NotConstant
from ptc.capture.fake_forms import form_of
from ptc.capture.fakes import Fakes
from ptc.capture.interpreter.frame import Frame
from ptc.capture.interpreter.machine import Machine
from ptc.capture.interpreter.operators import BINARY, COMPARE, INPLACE
from ptc.capture.rebuild import Rebuilder
from ptc.capture.sources import Source, fixed
from ptc.capture.torch_graph import GraphBuilder
from ptc.capture.values.base import Value
from ptc.capture.values.callables import FunctionValue
from ptc.capture.values.constants import ConstantValue, SliceValue, is_immutable
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.mappings import DictValue
from ptc.capture.values.torch_module import ModuleValue
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph import transforms
from ptc.graph.program import InputKind

_HINT_BRANCH = "`control_flow=True` compiles both ways; in one straight graph use torch.where"
SIZES = (torch.SymInt, torch.SymFloat, torch.SymBool)
# Parts of torch that steer the process and compute nothing
_HOST_MODULES = tuple(
    f"torch.{name}"
    for name in (
        "_compile",
        "_dynamo",
        "_inductor",
        "_logging",
        "accelerator",
        "backends",
        "cuda",
        "distributed",
        "hub",
        "mps",
        "multiprocessing",
        "overrides",
        "profiler",
        "random",
        "serialization",
        "xpu",
    )
)
_NUMBERS = (bool, int, float, complex)
# Calls that read tensors given for their bounds as numbers, if one bound is a number
_TAKES_NUMBERS = frozenset({"clamp", "clamp_", "clip", "clip_"})


class TorchMachine(Machine):
    """One capture of a program that uses torch."""

    def __init__(self, *, whole_program: bool, dynamic: Any = None) -> None:
        super().__init__(whole_program=whole_program)
        self.fakes = Fakes()
        self.builder = GraphBuilder(self.journal)
        self.dynamic = dynamic
        self.records_gradients = not whole_program
        # Whether generators from outside, torch's own among them, are the program's to write
        self.owns_generators = whole_program
        self.lost_gradient: str | None = None  # a call whose backward is not in the graph
        self.reentered = 0  # the depth of a level that was entered again, without its tensors
        # Names of input tensors, by id of the value
        self.aliases: dict[tuple[int, str], None] = {}
        self.state_on_entry = torch_state.current()
        self.tensors_by_fake: dict[int, TensorValue] = {}
        self.value_of_node: dict[torch.fx.Node, TensorValue] = {}
        self.sizes: dict[tuple[int, int], Value] = {}
        self.size_sources: dict[str, tuple[Source, int]] = {}

    # -- values --------------------------------------------------------------------------------

    def tensor_value(self, fake: torch.Tensor, node: torch.fx.Node) -> TensorValue:
        known = self.tensors_by_fake.get(id(fake))
        if known is not None:
            return known
        value = TensorValue(fake, node)
        self.journal.put(self.value_of_node, node, value)
        self.remember(value)
        return value

    def may_require_grad(self, value: TensorValue) -> bool:
        """Whether gradients of a tensor may be recorded, which libraries never do."""
        return self.records_gradients and value.fake.requires_grad

    def require_known_gradient(self, value: TensorValue, name: str) -> None:
        """Before a program reads whether gradients of a tensor are recorded."""

    def has_history(self, value: TensorValue) -> bool:
        """Whether a call with this tensor is recorded for gradients, where the program runs."""
        return torch.is_grad_enabled() and value.fake.requires_grad

    def note_own_backward(self, what: str, values: Sequence[Value]) -> None:
        """Note a call that is captured as its forward, where gradients may be asked for later."""
        if any(isinstance(value, TensorValue) and self.has_history(value) for value in values):
            self.lost_gradient = f"{what}, which has a backward of its own"

    def require_whole_history(self, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
        """Refuse `torch.autograd.grad(*args)` where a part of what is differentiated is not in the
        same graph."""
        for node, value in self.value_of_node.items():
            live = value.live
            if node.op == "placeholder" and live is not None and live.grad_fn is not None:
                raise GraphBreak(
                    "PTC-B016",
                    f"gradients are asked for beside {value.describe()}, whose own history is not "
                    "in the graph",
                    "detach it, or compute it and the gradients in one piece",
                )

    def takes_requires_grad(self, value: TensorValue) -> bool:
        """Whether a change of `requires_grad` holds wherever the tensor is used."""
        return True

    def note_recording(self, node: torch.fx.Node) -> None:
        """Say beside a call in which gradient mode the program was entered."""
        node.meta[transforms.MODE_ON_ENTRY] = self.state_on_entry[0]

    def remember(self, value: TensorValue) -> None:
        self.journal.put(self.tensors_by_fake, id(value.fake), value)

    def tensor_node(self, value: TensorValue) -> torch.fx.Node:
        """The node of a tensor. One from outside gets a placeholder when it is first used."""
        node = value.known_node()
        if node is None:
            assert value.source is not None
            node = self.builder.add_input(value.kind, value.source, value.fake, value.live)
            position = len(self.builder.inputs) - 1
            self.journal.put(self.builder.input_of_value, position, id(value))
            value.became_input(self, node)
        return node

    def declare_input(self, value: TensorValue) -> None:
        """An argument of the program: its inputs stand in the order of this call."""
        value.node(self)

    def tensor_truth(self, value: TensorValue) -> bool:
        """The truth of a tensor with one element that only data decides."""
        raise DataDependentBranch(
            "PTC-B001", f"a branch depends on the data of {value.describe()}", _HINT_BRANCH
        )

    def tensor_contains(self, value: TensorValue, item: Value) -> Value:
        raise DataDependentBranch(
            "PTC-B001", f"a value is searched in {value.describe()}", _HINT_BRANCH
        )

    def iterate_rows(self, value: TensorValue) -> Value | None:
        """An iterator over rows whose number is not known; None to take the rows one by one."""
        if self.whole_program and isinstance(value.fake.shape[0], torch.SymInt):
            raise GraphBreak(
                "PTC-B009",
                f"iterating over {value.describe()} holds for one number of rows only",
                "make the size static, or compute with the whole tensor",
            )
        return None

    def data_read(self, name: str, args: list[Value]) -> Value | None:
        """What a method of a tensor reads out of its data; None where that cannot be captured."""
        return None

    def number_value(self, number: Any, make_node: Callable[[], torch.fx.Node]) -> Value:
        if not isinstance(number, SIZES):
            return ConstantValue(number)
        expression = fakes.expression_of(number)
        if expression.is_number:
            return ConstantValue(_constant_of(number))
        return SymbolicNumber(number, make_node)

    def number_node(self, host: Any, operands: list[Value], result: Any) -> torch.fx.Node:
        args = tuple(self.graph_argument(operand) for operand in operands)
        return self.builder.add_call(
            "call_function", host, args, {}, result, self.stack_locations()
        )

    def size_value(self, tensor: TensorValue, dim: int) -> Value:
        size = tensor.fake.shape[dim]
        if isinstance(size, int):
            return ConstantValue(size)
        known = self.sizes.get((id(tensor), dim))
        if known is None:
            stack = self.stack_locations()

            def make_node() -> torch.fx.Node:
                args = (tensor.node(self), dim)
                if transforms.is_wrapped(tensor.fake):  # transforms have no rule for sym_size
                    return self.builder.add_call("call_method", "size", args, {}, size, stack)
                target = torch.ops.aten.sym_size.int
                return self.builder.add_call("call_function", target, args, {}, size, stack)

            known = self.number_value(size, make_node)
            self.journal.put(self.sizes, (id(tensor), dim), known)
        return known

    def shape_value(self, tensor: TensorValue) -> Value:
        sizes = [self.size_value(tensor, dim) for dim in range(tensor.fake.dim())]
        return TupleValue(sizes, torch.Size)

    def asks_layout(self, tensor: TensorValue, what: str = "strides") -> None:
        """Before the program sees strides of a tensor, or its offset."""

    def stride_value(self, tensor: TensorValue, dim: int) -> Value:
        stride = tensor.fake.stride(dim)
        stack = self.stack_locations()

        def make_node() -> torch.fx.Node:
            args = (tensor.node(self), dim)
            if transforms.is_wrapped(tensor.fake):
                return self.builder.add_call("call_method", "stride", args, {}, stride, stack)
            target = torch.ops.aten.sym_stride.int
            return self.builder.add_call("call_function", target, args, {}, stride, stack)

        return self.number_value(stride, make_node)

    # -- arguments of graph calls --------------------------------------------------------------

    def graph_argument(self, value: Value) -> Any:
        """What stands for a value in a node's arguments."""
        return self._convert(value, lambda leaf: leaf.node(self))

    def host_argument(self, value: Value) -> Any:
        """The fake tensor, symbolic size or constant to compute with."""
        return self._convert(
            value, lambda leaf: leaf.fake if isinstance(leaf, TensorValue) else leaf.number
        )

    def _convert(self, value: Value, leaf: Callable[[Any], Any]) -> Any:
        if isinstance(value, ConstantValue):
            constant = value.value
            return constant.item() if isinstance(constant, np.generic) else constant
        if isinstance(value, (TensorValue, SymbolicNumber)):
            return leaf(value)
        if isinstance(value, ListValue) and value.cls is list:
            return [self._convert(element, leaf) for element in value.items]
        if isinstance(value, TupleValue):
            elements = [self._convert(element, leaf) for element in value.items]
            return tuple(elements)
        if isinstance(value, SliceValue):
            return slice(*(self._convert(known_number(part), leaf) for part in value.parts))
        if isinstance(value, DictValue):
            return {k.constant(): self._convert(v, leaf) for k, v in self.dict_items(value)}
        try:
            return value.constant()
        except NotConstant:
            raise GraphBreak(
                "PTC-B011", f"{value.describe()} is passed to a torch function"
            ) from None

    # -- calls ---------------------------------------------------------------------------------

    def torch_call(
        self, op: str, target: Any, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        """Run a torch function on fakes; it becomes a node if its result is a tensor, or if it
        changes one."""
        name = name_of(target).rpartition(".")[2]
        if name.startswith("quantize_per_"):  # fake tensors are never quantised
            raise GraphBreak(
                "PTC-B004", f"{name} gives a quantised tensor", "quantise outside of the model"
            )
        if name in _TAKES_NUMBERS:
            args = [*args[:1], *map(known_number, args[1:])]
            kwargs = {name: known_number(value) for name, value in kwargs.items()}
        if not name.startswith("sym_"):
            args = [self._known_flag(arg) for arg in args]
            kwargs = {name: self._known_flag(value) for name, value in kwargs.items()}
        fake_args = [self.host_argument(arg) for arg in args]
        fake_kwargs = {name: self.host_argument(value) for name, value in kwargs.items()}
        function = _method_caller(target) if op == "call_method" else target
        function = torch_functions.checked(target, function)
        result = self.run_fake(function, target, fake_args, fake_kwargs)
        if _is_plain(result) and not torch_functions.mutates(target, kwargs):
            return self.wrap_new(result)
        graph_args = tuple(self.graph_argument(arg) for arg in args)
        graph_kwargs = {name: self.graph_argument(value) for name, value in kwargs.items()}
        node = self.builder.add_call(
            op, target, graph_args, graph_kwargs, result, self.stack_locations()
        )
        if transforms.is_recording(node):
            self.note_recording(node)
        return self.result_value(result, node)

    def repeat_text(self, text: Value, count: Value) -> Value:
        """`text * count`, where a size decides how often."""
        raise GraphBreak("PTC-B002", "a string is repeated as often as a size says")

    def _known_flag(self, value: Value) -> Value:
        """A comparison of sizes as the bool that functions of torch want."""
        if isinstance(value, SymbolicNumber) and value.cls is bool:
            return ConstantValue(self.truth(value))
        return value

    def run_fake(self, function: Any, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if self.reentered:
            raise GraphBreak("PTC-B004", "a function transform is gone back into")
        own = function
        if self.fakes.is_symbolic:
            ranges = self.whole_program and not self.fakes.asks
            function = form_of(function, target, checks_ranges_only=ranges)
        try:
            return self.fakes.run(target, args, kwargs, function)
        except GraphBreak:
            raise
        except Exception as error:
            stopped = call_failures.refusal(target, error)
            if stopped is not None:
                raise stopped from error
            raise self.call_exception(error, own, args, kwargs) from None

    def call_exception(
        self, error: Exception, function: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> BaseException:
        """What the program gets for an exception of a call's rule."""
        return self.native_exception(error)

    def result_value(self, result: Any, node: torch.fx.Node) -> Value:
        """The value of a node's result; elements of a tuple get nodes of their own."""
        if isinstance(result, torch.Tensor):
            return self.tensor_value(result, node)
        if isinstance(result, SIZES):
            return self.number_value(result, lambda: node)
        if isinstance(result, (tuple, list)):
            items = [self._element(node, i, element) for i, element in enumerate(result)]
            if isinstance(result, list):
                return ListValue(items)
            return TupleValue(items, type(result))
        return self.wrap_new(result)

    def _element(self, node: torch.fx.Node, index: int, element: Any) -> Value:
        if is_immutable(element):
            return ConstantValue(element)
        known = self.tensors_by_fake.get(id(element))
        if known is not None:
            return known
        stack = node.meta.get("stack", ())
        part = self.builder.add_call(
            "call_function", operator.getitem, (node, index), {}, element, stack
        )
        return self.result_value(element, part)

    # -- operators on tensors ------------------------------------------------------------------

    def takes_part(self, value: Value) -> bool:
        """Whether a value may be an operand beside a tensor."""
        if isinstance(value, (TensorValue, SymbolicNumber)):
            return True
        return isinstance(value, ConstantValue) and isinstance(value.value, _NUMBERS)

    def torch_operator(self, op: str, args: list[Value]) -> Value:
        return self.torch_call("call_function", BINARY[op][1], args, {})

    def torch_inplace(self, op: str, args: list[Value]) -> Value:
        return self.torch_call("call_function", INPLACE[op], args, {})

    def torch_compare(self, op: str, args: list[Value]) -> Value:
        return self.torch_call("call_function", COMPARE[op][2], args, {})

    def torch_unary(self, op: str, value: TensorValue) -> Value | None:
        host = {"-": operator.neg, "+": operator.pos, "~": operator.invert, "__abs__": torch.abs}
        if op not in host:
            return None
        return self.torch_call("call_function", host[op], [value], {})

    def tensor_attribute(self, value: TensorValue, name: str) -> Value:
        return self.torch_call("call_function", getattr, [value, ConstantValue(name)], {})

    @staticmethod
    def host_operator(op: str) -> Any:
        return BINARY[op][1]

    @staticmethod
    def host_comparison(op: str) -> Any:
        return COMPARE[op][2]

    @staticmethod
    def number_function(op: str) -> Any:
        """torch's symbolic form of a unary special method, if it has one."""
        return torch_functions.SYMBOLIC_UNARY.get(op)

    def symbolic_sizes(self, tensor: torch.Tensor, source: Source) -> dict[int, torch.SymInt]:
        """The dimensions of an input that the caller wants symbolic."""
        if self.dynamic is None:
            return {}
        sizes: dict[int, torch.SymInt] = {}
        for dim, (name, lower, upper) in self.dynamic.dims_of(
            tensor, source, self.builder.path(source)
        ).items():
            origin = f"{source.text()}.shape[{dim}]"
            if name in self.fakes.sizes:
                self.guard("SAME_SIZE", source, (dim, self.size_sources[name]))
            else:
                self.size_sources[name] = (source, dim)
            sizes[dim] = self.fakes.size(name, tensor.shape[dim], lower, upper, origin)
        return sizes

    # -- hooks ---------------------------------------------------------------------------------

    def symbolic_number(self, number: int, source: Source) -> Value | None:
        """An int that calls show to change is an input of the graph. A negative one stays as it is:
        what counts from the end (slices, dimensions) is another computation."""
        if self.dynamic is None or source.text() not in self.dynamic.numbers:
            return None
        name = self.builder.path(source)
        if name in self.fakes.sizes or not 0 <= number <= fakes.LARGEST_NUMBER:
            return None
        self.size_sources[name] = (source, fakes.VALUE)
        made = self.fakes.number(name, number, source.text())
        self.guard("TYPE", source, fixed(int, "int"))

        def make_node() -> torch.fx.Node:
            return self.builder.add_input(InputKind.SCALAR, source, made, None)

        return SymbolicNumber(made, make_node, source)

    def entered(self, frame: Frame) -> None:
        """The first argument, if it is a module, is the one whose names are qualified; a decorated
        forward may have it in `*args`."""
        name, value = next(iter(frame.locals.items()), ("self", None))
        if isinstance(value, TupleValue) and value.items and not frame.code.co_argcount:
            name, value = f"{name}.0", value.items[0]
        if isinstance(value, ModuleValue):
            self.builder.self_name = name

    def found_again(self, value: Value, source: Source) -> None:
        if isinstance(value, TensorValue):
            self.journal.put(self.aliases, (id(value), self.builder.path(source)), None)

    def derived(self, emit: Rebuilder, outputs: list[Value]) -> Callable[[Value], str | None]:
        shared = view_recipes.shared_storages(self, outputs)
        return lambda value: (
            view_recipes.derive(self, emit, value, shared)
            if isinstance(value, TensorValue)
            else None
        )

    def leave_state(self, emit: Rebuilder) -> None:
        torch_state.leave(emit, self.state_on_entry)

    def before_inlining(
        self, function: FunctionValue, args: list[Value], kwargs: dict[str, Value]
    ) -> Value | None:
        return torch_functions.leaf_call(self, function.obj, args, kwargs)

    def new_instance(self, cls: type) -> Value:
        return ModuleValue(cls) if issubclass(cls, torch.nn.Module) else super().new_instance(cls)

    def hash_key(self, value: Value) -> Any:
        """Tensors hash by identity, by a method written in Python."""
        if isinstance(value, TensorValue):
            return value.hash_key(self)
        return super().hash_key(value)

    def instance_check(self, cls: type, value: Value) -> bool | None:
        if cls is torch.nn.Parameter:
            return isinstance(value, TensorValue) and issubclass(value.klass, torch.nn.Parameter)
        if cls is torch.nn.Buffer:
            return False
        return None

    def close(self) -> None:
        super().close()
        for table in (self.tensors_by_fake, self.value_of_node, self.sizes):
            table.clear()

    def worth_dispatching(self, function: FunctionValue) -> bool:
        module = str(function.globals.namespace.get("__name__"))
        if any(module == name or module.startswith(name + ".") for name in _HOST_MODULES):
            return False
        return super().worth_dispatching(function)

    def dispatched_callable(self, callee: Value) -> tuple[Value, Value] | None:
        if isinstance(callee, ModuleValue) and callee.plain_call(self):
            forward = self.getattr(callee, "forward")
            func = getattr(forward, "func", None)
            if isinstance(func, FunctionValue):
                return func, callee
        return None

    def decide(self, condition: Any) -> bool:
        """The truth of a condition on symbolic sizes."""
        if isinstance(condition, bool):
            return condition
        known = self.fakes.decide(condition)
        if known is not None:
            return known
        if self.whole_program:
            text = self.fakes.holds_for(condition)
            raise GraphBreak(
                "PTC-B009",
                f"the branch on {text} does not go the same way for the whole declared range",
                "narrow the range, or make the size static",
            )
        return bool(condition)

    def pin(self, value: Value) -> Any:
        if not isinstance(value, SymbolicNumber):
            return None
        if self.whole_program:
            raise GraphBreak(
                "PTC-B009",
                f"{value.describe()} is used as a fixed number, which holds for one size only",
                "make the size static",
            )
        return {int: int, float: float, bool: bool}[value.cls](value.number)

    def symbolic_extreme(self, name: str, values: list[Value]) -> Value | None:
        if not any(isinstance(value, SymbolicNumber) for value in values):
            return None
        if not all(isinstance(v, SymbolicNumber) or v.is_constant() for v in values):
            return None
        host: Any = torch.sym_max if name == "max" else torch.sym_min
        result = values[0]
        for value in values[1:]:
            left, right = self.host_argument(result), self.host_argument(value)
            number = host(left, right)
            operands = [result, value]
            result = self.number_value(
                number, lambda o=operands, n=number: self.number_node(host, o, n)
            )
        return result


def known_number(value: Value) -> Value:
    """A tensor that holds one number which the program wrote down, as that number."""
    if isinstance(value, TensorValue):
        number = fakes.known_number(value.fake)
        if number is not None:
            return ConstantValue(number)
    return value


def _constant_of(number: Any) -> Any:
    if isinstance(number, torch.SymBool):
        return bool(number)
    return int(number) if isinstance(number, torch.SymInt) else float(number)


def _method_caller(name: str) -> Callable[..., Any]:
    return lambda owner, *args, **kwargs: getattr(owner, name)(*args, **kwargs)


def _is_plain(result: Any) -> bool:
    """Whether a result holds neither tensors nor symbolic numbers."""
    if isinstance(result, (torch.Tensor, *SIZES)):
        return False
    if isinstance(result, (tuple, list)):
        return all(_is_plain(element) for element in result)
    return True
