"""Running sample rows: drawing tensors, eager's answer, a float64 answer, the verdict.

Every route that executes an operator (loop interpreter, generated C++, ONNX, portable executor)
judges itself on the same rows with this module: `draw` the arguments, `single_call` to get a graph,
`reference` for the truth, `mismatch` for the comparison. Knows no route.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import getitem
from typing import Any

import torch
import torch.fx
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

from ptc.graph.program import AtenProgram, DimRange, InputKind, ProgramInput, ProgramOutput
from ptc.loops.nodes import DType
from ptc.ops.dtypes import to_torch
from ptc.ops.protocol import Sample, T

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

_SPECIAL = (math.inf, -math.inf, math.nan, 0.0, -0.0, 1e-40, -1e-40, 1.0)


# --- drawing ------------------------------------------------------------------------------------


def draw(row: Sample, seed: int = 0) -> Arguments:
    """The row's arguments with a tensor for every `T`."""
    generator = torch.Generator().manual_seed(seed)
    args = tuple(_drawn(a, generator) for a in row.args)
    return args, {name: _drawn(a, generator) for name, a in row.kwargs.items()}


def parse_spec(spec: str) -> tuple[torch.dtype, tuple[int, ...]]:
    """`f32[3,4]` -> (torch.float32, (3, 4))."""
    name, _, sizes = spec.rstrip("]").partition("[")
    return to_torch(DType(name)), tuple(int(s) for s in sizes.split(",") if s)


def _drawn(value: Any, generator: torch.Generator) -> Any:
    if isinstance(value, T):
        return _tensor(value, generator)
    if isinstance(value, list | tuple):
        return [_drawn(v, generator) for v in value]
    return value


def _tensor(t: T, generator: torch.Generator) -> torch.Tensor:
    dtype, shape = parse_spec(t.spec)
    if dtype.is_complex:
        part = {torch.complex64: "f32", torch.complex128: "f64"}[dtype]
        parts = replace(t, spec=f"{part}[{','.join(map(str, shape))}]", layout="contiguous")
        whole = torch.complex(_tensor(parts, generator), _tensor(parts, generator))
        return _laid_out(whole, t.layout)
    if dtype is torch.bool:
        values = torch.randint(0, 2, shape, generator=generator)
    elif not dtype.is_floating_point:
        low = int(-10 if t.low is None else t.low)
        high = int(10 if t.high is None else t.high)
        if dtype is torch.uint8:
            low = max(low, 0)
        # The upper end is exclusive; a row that gives only one number still has a range.
        values = torch.randint(low, max(high, low + 1), shape, generator=generator)
    elif t.low is None or t.high is None:
        values = torch.randn(shape, generator=generator, dtype=torch.float64)
    else:
        unit = torch.rand(shape, generator=generator, dtype=torch.float64)
        values = unit * (t.high - t.low) + t.low
    if t.definite:
        values = values @ values.mT + torch.eye(shape[-1])
    tensor = values.to(dtype)
    if t.special:
        flat = tensor.view(-1)
        for n in range(flat.numel()):
            if torch.rand((), generator=generator) < 0.5:
                pick = int(torch.randint(0, len(_SPECIAL), (), generator=generator))
                flat[n] = _SPECIAL[pick]
    return _laid_out(tensor, t.layout)


def _laid_out(x: torch.Tensor, layout: str) -> torch.Tensor:
    if layout == "contiguous":
        return x
    if layout == "transposed":
        return x.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "channels_last":
        return x.to(memory_format=torch.channels_last)
    if layout == "expanded":
        return x[:1].expand(x.shape)
    if layout == "strided":
        wide = torch.zeros(*x.shape[:-1], x.shape[-1] * 2, dtype=x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    raise ValueError(f"unknown layout {layout!r}")


# --- graphs -------------------------------------------------------------------------------------


def tensors_of(arguments: Arguments) -> list[torch.Tensor]:
    """The tensors of a call, in order: the inputs of its graph."""
    found: list[torch.Tensor] = []

    def collect(value: Any) -> None:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            for item in value:
                collect(item)

    args, kwargs = arguments
    collect(args)
    collect(list(kwargs.values()))
    return found


def single_call(op: OpOverload, arguments: Arguments, *, dynamic: bool = False) -> AtenProgram:
    """A program of one operator. Its inputs are `tensors_of(arguments)`, `x0`, `x1`...

    With `dynamic`, every size of 2 or more is a symbol (equal sizes need not share one).
    """
    mode = FakeTensorMode(shape_env=ShapeEnv() if dynamic else None, static_shapes=not dynamic)
    graph = torch.fx.Graph()
    inputs: list[ProgramInput] = []

    def place(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            name = f"x{len(inputs)}"
            node = graph.placeholder(name)
            node.meta["val"] = _fake(mode, value, name, dynamic)
            inputs.append(ProgramInput(name, InputKind.USER, f"L['{name}']"))
            return node
        if isinstance(value, list | tuple):
            return [place(item) for item in value]
        return value

    args, kwargs = arguments
    placed = [place(a) for a in args], {n: place(a) for n, a in kwargs.items()}
    call = graph.call_function(op, tuple(placed[0]), placed[1])
    with mode:
        fake_args, fake_kwargs = torch.fx.map_arg(placed, lambda n: n.meta["val"])
        value = op(*fake_args, **fake_kwargs)
    call.meta["val"] = value
    results = _results(graph, call, value)
    output = graph.output(tuple(results))
    output.meta["val"] = tuple(node.meta["val"] for node in results)
    return AtenProgram(
        graph=torch.fx.GraphModule(torch.nn.Module(), graph),
        inputs=tuple(inputs),
        outputs=tuple(ProgramOutput(f"out{n}") for n in range(len(results))),
        fake_mode=mode,
        dims=_ranges(graph) if dynamic else {},
        name="sample",
    )


def _fake(mode: FakeTensorMode, x: torch.Tensor, name: str, dynamic: bool) -> torch.Tensor:
    if not dynamic:
        return mode.from_tensor(x)
    sizes = [DimDynamic.DYNAMIC if size > 1 else DimDynamic.STATIC for size in x.shape]
    context = StatelessSymbolicContext(dynamic_sizes=sizes)
    return mode.from_tensor(x, symbolic_context=context)


def _results(graph: torch.fx.Graph, call: torch.fx.Node, value: Any) -> list[torch.fx.Node]:
    if isinstance(value, torch.Tensor):
        return [call]
    nodes: list[torch.fx.Node] = []
    for n, item in enumerate(value or ()):
        node = graph.call_function(getitem, (call, n))
        node.meta["val"] = item
        nodes.append(node)
    return nodes


def _ranges(graph: torch.fx.Graph) -> dict[str, DimRange]:
    """The symbols of the placeholders. What the fake run specialised is a number by now."""
    symbols: set[str] = set()
    for node in graph.nodes:
        if node.op == "placeholder":
            for size in node.meta["val"].shape:
                if isinstance(size, torch.SymInt):
                    symbols |= {str(s) for s in size.node.expr.free_symbols}
    return {name: DimRange(name, 2, None) for name in sorted(symbols)}


# --- references ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reference:
    """What eager gives, and the same in float64 (None where float64 says nothing more)."""

    eager: tuple[torch.Tensor, ...]
    precise: tuple[torch.Tensor, ...] | None


def reference(op: OpOverload, arguments: Arguments) -> Reference:
    """Run the operator in eager, and again with every floating point tensor in float64."""
    args, kwargs = arguments
    eager = _as_tuple(op(*args, **kwargs))
    if not any(t.dtype.is_floating_point or t.is_complex() for t in eager) or "dtype" in kwargs:
        return Reference(eager, None)
    try:
        precise = _as_tuple(
            op(*(_precise(a) for a in args), **{n: _precise(a) for n, a in kwargs.items()})
        )
    except (RuntimeError, NotImplementedError):
        return Reference(eager, None)
    return Reference(eager, precise)


def _as_tuple(result: Any) -> tuple[torch.Tensor, ...]:
    return (result,) if isinstance(result, torch.Tensor) else tuple(result or ())


def _precise(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype.is_floating_point:
        return value.double()
    if isinstance(value, torch.Tensor) and value.is_complex():
        return value.to(torch.complex128)
    if isinstance(value, list | tuple):
        return [_precise(item) for item in value]
    return value


# --- the verdict --------------------------------------------------------------------------------


def mismatch(row: Sample, expected: Reference, actual: Sequence[torch.Tensor]) -> str | None:
    """Why `actual` is wrong, or None.

    Types and shapes must be eager's. Integers, bools and `exact` rows must be equal. Floats may be
    off by twice eager's own largest error and a few units in the last place, times the row's
    `tolerance`; NaN and infinities must be where eager has them.
    """
    if len(actual) != len(expected.eager):
        return f"{len(actual)} results, expected {len(expected.eager)}"
    for n, (got, want) in enumerate(zip(actual, expected.eager, strict=True)):
        precise = None if expected.precise is None else expected.precise[n]
        problem = _tensor_mismatch(row, got, want, precise)
        if problem is not None:
            return f"result {n}: {problem}"
    return None


def _tensor_mismatch(
    row: Sample, got: torch.Tensor, want: torch.Tensor, precise: torch.Tensor | None
) -> str | None:
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if want.is_complex():
        parts = (torch.view_as_real(x.resolve_conj()) for x in (got, want))
        wide = None if precise is None else torch.view_as_real(precise.resolve_conj())
        return _tensor_mismatch(row, *parts, wide)
    if row.exact or not want.dtype.is_floating_point:
        same = (got == want) | ((got != got) & (want != want))
        return None if bool(same.all()) else _worst(got, want, ~same)
    ours, eager = got.double(), want.double()
    finite = torch.isfinite(eager)
    special = ~finite & ~((ours == eager) | (ours.isnan() & eager.isnan()))
    if bool(special.any()):
        return _worst(got, want, special)
    truth = eager if precise is None or precise.shape != want.shape else precise.double()
    truth = torch.where(finite & torch.isfinite(truth), truth, eager)
    bound = _bound(row, eager, truth, finite, want.dtype)
    wrong = finite & ~((ours - truth).abs() <= bound)
    return _worst(got, want, wrong) if bool(wrong.any()) else None


def _bound(
    row: Sample, eager: torch.Tensor, truth: torch.Tensor, finite: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor:
    """The error allowed for each element."""
    info = torch.finfo(dtype)
    if not bool(finite.any()):
        return torch.zeros_like(truth)
    own = (eager - truth).abs()[finite].max()
    typical = truth.abs()[finite].median()
    # A few units of each value; of a typical one, where terms of that size may have cancelled.
    units = 4 * info.eps * (truth.abs() + typical * 0.5) + 4 * info.smallest_normal * info.eps
    relative = ((eager - truth).abs() / truth.abs().clamp_min(info.smallest_normal))[finite].max()
    spread = torch.minimum(own, relative * truth.abs() + relative * typical)
    return row.tolerance * (2 * spread + units)


def _worst(got: torch.Tensor, want: torch.Tensor, wrong: torch.Tensor) -> str:
    place = tuple(int(i) for i in wrong.nonzero()[0])
    count = int(wrong.sum())
    return (
        f"{count} of {wrong.numel()} elements differ, first at {list(place)}: "
        f"{got[place].item()!r}, expected {want[place].item()!r}"
    )


def sample_id(op: OpOverload, number: int, row: Sample) -> str:
    """A short test id: the operator, the row's number, the first tensor."""
    first = next((a.spec for a in row.args if isinstance(a, T)), "")
    return f"{str(op).replace('.default', '')}-{number}-{first}"


def sizes_of(program: AtenProgram, arguments: Arguments) -> Mapping[str, int]:
    """The values of a dynamic program's symbols for these arguments."""
    values: dict[str, int] = {}
    placeholders = [n for n in program.graph.graph.nodes if n.op == "placeholder"]
    for node, tensor in zip(placeholders, tensors_of(arguments), strict=True):
        for size, actual in zip(node.meta["val"].shape, tensor.shape, strict=True):
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                values[str(size.node.expr)] = actual
    return values
