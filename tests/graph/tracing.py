"""A small tracer for tests of the stages after capture: records torch calls of one execution.

It runs the function on fake tensors under a torch function mode and writes each call that user code
makes into a CapturedProgram. It knows nothing of Python control flow, effects or guards.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext
from torch.overrides import TorchFunctionMode

from ptc.autograd.sizes import SizeNodes
from ptc.autograd.torch_internals import python_dispatcher
from ptc.graph.program import (
    CapturedProgram,
    Const,
    DimRange,
    InputKind,
    Leaf,
    ProgramInput,
    ProgramOutput,
    Structure,
)
from ptc.graph.program import Node as StructureNode
from ptc.graph.symbols import SizeEnv
from ptc.support.diagnostics import Location

HERE = Location("test.py", 1, "traced in a test")
VALUES = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)
#: Attribute reads that give Python values, not tensors.
PLAIN = {
    torch.Tensor.shape.__get__,
    torch.Tensor.dtype.__get__,
    torch.Tensor.device.__get__,
    torch.Tensor.ndim.__get__,
    torch.Tensor.size,
    torch.Tensor.dim,
    torch.Tensor.numel,
    torch.Tensor.is_floating_point,
    torch.Tensor.requires_grad.__get__,
    torch.Tensor.layout.__get__,
    torch.Tensor.is_cuda.__get__,
    torch.Tensor.__len__,
    torch.Tensor.is_contiguous,
    torch.Tensor.stride,
}


class Tracer(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.graph = Graph()
        self.nodes: dict[int, tuple[Any, Node]] = {}
        self.sizes = SizeNodes(self.graph)

    def placeholder(self, name: str, value: Any) -> None:
        node = self.graph.placeholder("p_" + name.replace(".", "_"))
        self.finish(node, value)

    def finish(self, node: Node, value: Any) -> None:
        node.meta.update(val=value, location=HERE, stack=(HERE,))
        self.sizes.learn(node, value)
        if isinstance(value, torch.Tensor):
            self.nodes.setdefault(id(value), (value, node))
        elif isinstance(value, (tuple, list)):
            for index, item in enumerate(value):
                if isinstance(item, VALUES):
                    self.finish(
                        self.graph.call_function(operator.getitem, (node, index)),
                        item,
                    )

    def arg(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.nodes[id(value)][1]
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return self.sizes.node(value)
        if isinstance(value, (tuple, list)):
            items = [self.arg(item) for item in value]
            return tuple(items) if isinstance(value, tuple) else items
        if isinstance(value, dict):
            return {key: self.arg(item) for key, item in value.items()}
        if isinstance(value, slice):
            return slice(self.arg(value.start), self.arg(value.stop), self.arg(value.step))
        return value

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in PLAIN:
            return func(*args, **kwargs)
        result = func(*args, **kwargs)
        if not _holds_tensor(result) and func.__name__ not in ("__setitem__",):
            return result
        if func.__name__ == "__get__":
            node = self.graph.call_function(getattr, (self.arg(args[0]), func.__self__.__name__))
        else:
            node = self.graph.call_function(func, self.arg(tuple(args)), self.arg(kwargs))
        self.finish(node, result)
        return result


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_holds_tensor(item) for item in value)
    return isinstance(value, torch.Tensor)


def trace(
    fn: Callable[..., Any],
    args: Sequence[Any],
    *,
    dynamic: Mapping[int, Mapping[int, tuple[str, int, int | None]]] | None = None,
    name: str = "model",
) -> CapturedProgram:
    """Capture `fn(*args)`; `dynamic`: argument number -> dim -> (name, lower, upper)."""
    mode = FakeTensorMode(shape_env=SizeEnv())
    tracer = Tracer()
    dims: dict[str, DimRange] = {}
    inputs: list[ProgramInput] = []
    state: dict[str, torch.Tensor] = {}
    if isinstance(fn, torch.nn.Module):
        names: dict[int, str] = {}
        for kind, tensors in (
            (InputKind.PARAMETER, fn.named_parameters(remove_duplicate=False)),
            (InputKind.BUFFER, fn.named_buffers(remove_duplicate=False)),
        ):
            for path, tensor in tensors:
                if id(tensor) not in names:
                    names[id(tensor)] = path
                    inputs.append(ProgramInput(path, kind, f"L['self'].{path}", tensor))
                    state[path] = mode.from_tensor(tensor, static_shapes=True)
                else:
                    state[path] = state[names[id(tensor)]]
        for described in inputs:
            tracer.placeholder(described.name, state[described.name])
    fakes: list[Any] = []
    children: list[Structure] = []
    for position, value in enumerate(args):
        if not isinstance(value, torch.Tensor):
            fakes.append(value)
            children.append(Const(value))
            continue
        spec = (dynamic or {}).get(position, {})
        context = StatelessSymbolicContext(
            dynamic_sizes=[
                DimDynamic.DYNAMIC if dim in spec else DimDynamic.STATIC
                for dim in range(value.dim())
            ]
        )
        fake = mode.from_tensor(value, symbolic_context=context)
        for dim, (label, lower, upper) in spec.items():
            symbol = fake.shape[dim].node.expr
            torch._check(fake.shape[dim] >= lower)
            if upper is not None:
                torch._check(fake.shape[dim] <= upper)
            dims[str(symbol)] = DimRange(label, lower, upper)
        children.append(Leaf(len(inputs)))
        inputs.append(ProgramInput(f"x{position}", InputKind.USER, f"L['x{position}']"))
        tracer.placeholder(f"x{position}", fake)
        fakes.append(fake)
    with torch.no_grad(), mode, python_dispatcher(bool(dims)), tracer:
        if isinstance(fn, torch.nn.Module):
            result = torch.func.functional_call(fn, state, tuple(fakes), tie_weights=False)
        else:
            result = fn(*fakes)
    leaves: list[Any] = []
    structure = _structure(result, leaves)
    tracer.graph.output(tuple(tracer.arg(leaf) for leaf in leaves))
    return CapturedProgram(
        graph=GraphModule(torch.nn.Module(), tracer.graph),
        inputs=tuple(inputs),
        outputs=tuple(ProgramOutput(f"out{i}") for i in range(len(leaves))),
        fake_mode=mode,
        dims=dims,
        arguments=StructureNode(
            "tuple", (StructureNode("tuple", tuple(children)), StructureNode("dict", ()))
        ),
        result=structure,
        name=name,
        location=HERE,
    )


def _structure(value: Any, leaves: list[Any]) -> Structure:
    if isinstance(value, VALUES):
        leaves.append(value)
        return Leaf(len(leaves) - 1)
    if isinstance(value, (tuple, list)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return StructureNode(kind, tuple(_structure(item, leaves) for item in value))
    if isinstance(value, Mapping):
        kids = tuple(_structure(item, leaves) for item in value.values())
        name = "" if type(value) is dict else f"{type(value).__module__}.{type(value).__qualname__}"
        return StructureNode("dict", kids, tuple(value.keys()), name)
    return Const(value)
