"""Arguments and result of a whole program as structures over flat inputs and outputs."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ptc.capture.effects import refuse_effects
from ptc.capture.errors import GraphBreak, NotConstant
from ptc.capture.interpreter.frame import Frame
from ptc.capture.torch_machine import TorchMachine
from ptc.capture.torch_program import finish_program
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.mappings import DictValue
from ptc.capture.values.objects import ObjectValue
from ptc.capture.values.torch_module import ModuleValue
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.program import CapturedProgram, Const, Leaf, Node, Structure
from ptc.graph.structure import tuple_name


def _declare(vm: TorchMachine, value: Value) -> None:
    if isinstance(value, TensorValue):
        vm.declare_input(value)
    elif isinstance(value, (ListValue, TupleValue)):
        for element in value.items:
            _declare(vm, element)
    elif isinstance(value, DictValue):
        for element in value.values(vm):
            _declare(vm, element)
    elif isinstance(value, ObjectValue) and not isinstance(value, ModuleValue):
        for name in value.attribute_names(vm):
            element = value.attribute(vm, name)
            if element is not None:
                _declare(vm, element)


class Describer:
    """Turns a value into a Structure; leaves are numbered by `number`."""

    def __init__(self, vm: TorchMachine) -> None:
        self.vm = vm

    def leaf(self, value: Value, path: str) -> Structure:
        raise NotImplementedError

    def describe(self, value: Value, path: str) -> Structure:
        if isinstance(value, ConstantValue):
            return Const(value.value)
        if isinstance(value, (TensorValue, SymbolicNumber)):
            return self.leaf(value, path)
        if isinstance(value, TupleValue):
            fields = getattr(value.klass, "_fields", None)
            if fields is not None:
                return self._node("namedtuple", value.items, fields, value.klass, path)
            keys = tuple(range(len(value.items)))
            children = self._children(value.items, keys, path)
            return Node("tuple", children, (), tuple_name(value.klass))
        if isinstance(value, ListValue):
            keys = tuple(range(len(value.items)))
            return Node("list", self._children(value.items, keys, path))
        if isinstance(value, DictValue):
            try:
                keys = tuple(key.constant() for key in value.keys(self.vm))
            except NotConstant:
                raise GraphBreak(
                    "PTC-B011",
                    "a dictionary with keys that data decides cannot be part of a program's result",
                    "return a list of the values, or keys that are known",
                ) from None
            children = self._children(value.values(self.vm), keys, path)
            name = "" if value.klass is dict else type_name(value.klass)
            return Node("dict", children, keys, name)
        if isinstance(value, ObjectValue) and not isinstance(value, ModuleValue):
            names = tuple(value.attribute_names(self.vm))
            items = [self.vm.getattr(value, name) for name in names]
            return self.instance(value.klass, items, names, path)
        raise GraphBreak(
            "PTC-B011",
            f"{value.describe()} cannot be part of a compiled program's arguments or result",
            "pass and return tensors, numbers, None, and lists, tuples, dicts, dataclasses",
        )

    def instance(self, cls: type, items: list[Value], names: tuple[str, ...], path: str) -> Node:
        """An object with these attributes."""
        kind = "dataclass" if hasattr(cls, "__dataclass_fields__") else "object"
        return self._node(kind, items, names, cls, path)

    def _node(
        self, kind: str, items: list[Value], keys: tuple[Any, ...], cls: type, path: str
    ) -> Node:
        return Node(kind, self._children(items, keys, path), tuple(keys), type_name(cls))

    def _children(
        self, items: list[Value], keys: tuple[Any, ...], path: str
    ) -> tuple[Structure, ...]:
        return tuple(
            self.describe(item, f"{path}.{key}" if path else str(key))
            for item, key in zip(items, keys, strict=True)
        )


class _Arguments(Describer):
    def leaf(self, value: Value, path: str) -> Structure:
        assert isinstance(value, (TensorValue, SymbolicNumber))
        node = value.node(self.vm)
        placeholders = [n for n in self.vm.builder.graph.nodes if n.op == "placeholder"]
        return Leaf(placeholders.index(node))


class Result(Describer):
    """Collects outputs; one tensor returned twice is one output."""

    def __init__(self, vm: TorchMachine) -> None:
        super().__init__(vm)
        self.outputs: list[Value] = []
        self.names: list[str] = []

    def leaf(self, value: Value, path: str) -> Structure:
        for number, known in enumerate(self.outputs):
            if known is value:
                return Leaf(number)
        self.outputs.append(value)
        self.names.append(path or "output")
        return Leaf(len(self.outputs) - 1)


def type_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def whole_program(
    vm: TorchMachine, frame: Frame, result: Value, arguments: CallArguments, name: str
) -> CapturedProgram:
    """The program of a frame that returned `result`."""
    notes = refuse_effects(vm.effects, frame.code)
    collector = Result(vm)
    structure = collector.describe(result, "")
    program = finish_program(vm, collector.outputs, name, collector.names)
    program.arguments = arguments.structure(vm)
    program.result = structure
    program.location = frame.location()
    program.notes = notes
    program.assigned = vm.effects.all_assigned()
    return program


@dataclass(frozen=True, slots=True)
class CallArguments:
    """A call's arguments as values, in the form they were passed; without `self`."""

    args: tuple[tuple[str, Value], ...]
    kwargs: tuple[tuple[str, Value], ...]

    @staticmethod
    def of(
        vm: TorchMachine, frame: Frame, count: int, keywords: Iterable[str], skip_self: bool
    ) -> CallArguments:
        """From a frame that has just been entered: `count` positional arguments were passed."""
        code = frame.code
        names = code.co_varnames[: code.co_argcount]
        args = [(name, frame.locals[name]) for name in names[:count]]
        slot = code.co_argcount + code.co_kwonlyargcount
        if count > len(names):
            name = code.co_varnames[slot]
            extra = vm.unpack(frame.locals[name])
            args += [(f"{name}.{i}", value) for i, value in enumerate(extra)]
        kwargs: list[tuple[str, Value]] = []
        for keyword in keywords:
            value = frame.locals.get(keyword)
            if keyword not in code.co_varnames[:slot] or value is None:
                rest = slot + bool(code.co_flags & inspect.CO_VARARGS)
                mapping = frame.locals[code.co_varnames[rest]]
                value = vm.getitem(mapping, ConstantValue(keyword))
            kwargs.append((keyword, value))
        return CallArguments(tuple(args[1:] if skip_self else args), tuple(kwargs))

    def declare(self, vm: TorchMachine) -> None:
        """Placeholders for all tensors, in order, whether the program reads them or not."""
        for _, value in (*self.args, *self.kwargs):
            _declare(vm, value)

    def structure(self, vm: TorchMachine, describer: Describer | None = None) -> Structure:
        """The arguments in terms of the program's inputs."""
        describer = describer or _Arguments(vm)
        args = tuple(describer.describe(value, name) for name, value in self.args)
        kwargs = tuple(describer.describe(value, name) for name, value in self.kwargs)
        keys = tuple(name for name, _ in self.kwargs)
        return Node("tuple", (Node("tuple", args), Node("dict", kwargs, keys)))
