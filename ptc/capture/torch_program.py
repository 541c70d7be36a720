"""From the machine's graph to a CapturedProgram."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
import torch.fx

from ptc.capture.errors import GraphBreak
from ptc.capture.torch_machine import TorchMachine
from ptc.capture.values.base import Value
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.program import CapturedProgram, DimRange, ProgramInput, ProgramOutput
from ptc.graph.symbols import symbols_of


def finish_program(
    vm: TorchMachine, outputs: list[Value], name: str, output_names: list[str] | None = None
) -> CapturedProgram:
    """Close the graph with these outputs."""
    nodes: list[torch.fx.Node] = []
    described: list[ProgramOutput] = []
    storages = input_storages(vm)
    for number, value in enumerate(outputs):
        assert isinstance(value, (TensorValue, SymbolicNumber))
        if isinstance(value, TensorValue):
            _require_usual(vm, value)
        nodes.append(value.node(vm))
        label = output_names[number] if output_names else f"output{number}"
        alias = storages.get(_storage(value.fake)) if isinstance(value, TensorValue) else None
        described.append(ProgramOutput(label, alias_of=alias))
    graph = vm.builder.graph
    output = graph.output(tuple(nodes))
    output.meta["val"] = tuple(node.meta["val"] for node in nodes)
    _drop_unused_sizes(graph)
    module = torch.fx.GraphModule(torch.nn.Module(), graph, class_name=identifier_class(name))
    return CapturedProgram(
        graph=module,
        inputs=_inputs(vm),
        outputs=tuple(described),
        fake_mode=vm.fakes.mode,
        dims=_sizes_in_use(vm),
        name=name,
        location=vm.frames[0].location() if vm.frames else None,
        declared=dict(vm.fakes.dims),
    )


def _require_usual(vm: TorchMachine, value: TensorValue) -> None:
    """Results are tensors of no transform; no graph gives one for its caller to differentiate
    by."""
    value.require_no_level()
    made = vm.records_gradients and value.source is None
    if made and value.fake.requires_grad and value.fake.is_leaf:
        raise GraphBreak(
            "PTC-B016",
            f"{value.describe()}, which is made to require a gradient, is a result",
            "return it detached",
        )


def _sizes_in_use(vm: TorchMachine) -> dict[str, DimRange]:
    """Sizes that the inputs still tell: one that a guard made equal to another is gone."""
    used = frozenset().union(
        *(symbols_of(node.meta["val"]) for node in vm.builder.graph.find_nodes(op="placeholder"))
    )
    return {symbol: dim for symbol, dim in vm.fakes.dims.items() if symbol in used}


def _inputs(vm: TorchMachine) -> tuple[ProgramInput, ...]:
    """The inputs with the other names under which the program found them."""
    described: list[ProgramInput] = []
    for position, (program_input, _) in enumerate(vm.builder.inputs):
        value = vm.builder.input_of_value.get(position, -1)
        others = tuple(
            name for owner, name in vm.aliases if owner == value and name != program_input.name
        )
        described.append(replace(program_input, aliases=others))
    return tuple(described)


def identifier_class(name: str) -> str:
    text = "".join(c if c.isalnum() else "_" for c in name)
    return text if text[:1].isalpha() else "Model_" + text


def _storage(fake: torch.Tensor) -> int:
    return fake.untyped_storage()._cdata


def input_storages(vm: TorchMachine) -> dict[int, int]:
    """Storage of each tensor input -> its position."""
    storages: dict[int, int] = {}
    for position, node in enumerate(n for n in vm.builder.graph.nodes if n.op == "placeholder"):
        value: Any = node.meta["val"]
        if isinstance(value, torch.Tensor):
            storages.setdefault(_storage(value), position)
    return storages


_SIZE_READS = (torch.ops.aten.sym_size.int, torch.ops.aten.sym_stride.int)


def _drop_unused_sizes(graph: torch.fx.Graph) -> None:
    """Sizes that the program read and did not use in the graph; reading has no effect."""
    for node in reversed(graph.nodes):
        value = node.meta.get("val")
        symbolic = isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))
        if node.op == "call_function" and not node.users and symbolic:
            graph.erase_node(node)
