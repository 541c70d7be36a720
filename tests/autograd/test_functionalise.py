"""Functionalisation against eager: values, write-backs, aliasing, symbolic sizes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from ptc.autograd.functionalise import functionalise
from ptc.graph.printer import print_program
from ptc.graph.program import AtenProgram, DimRange, InputKind, OutputKind
from ptc.graph.verifier import verify_aten, verify_captured
from ptc.support.diagnostics import CompileError
from tests.graph.tracing import trace


def functional(fn: Callable[..., Any], *args: Any, **options: Any) -> AtenProgram:
    captured = trace(fn, args, **options)
    verify_captured(captured)
    program = functionalise(captured)
    verify_aten(program)
    return program


def run(program: AtenProgram, values: list[Any]) -> tuple[Any, ...]:
    """Run the printed program and do its write-backs."""
    space: dict[str, Any] = {}
    exec(print_program(program), space)
    results = space["forward"](*values)
    for output, result in zip(program.outputs, results, strict=True):
        if output.kind is OutputKind.WRITE_BACK:
            values[output.target].copy_(result)  # type: ignore[index]
    return results


def check(fn: Callable[..., Any], *args: torch.Tensor, **options: Any) -> AtenProgram:
    """Values and effects on the arguments equal eager's, bit by bit unless told otherwise."""
    program = functional(fn, *[arg.clone() for arg in args], **options)
    for shapes in (args, *options.pop("more", ())):
        ours = [arg.clone() for arg in shapes]
        theirs = [arg.clone() for arg in shapes]
        results = run(program, ours)
        expected = fn(*theirs)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for result, wanted in zip(results, expected, strict=False):
            torch.testing.assert_close(result, wanted, rtol=1e-6, atol=1e-6)
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a, b)
    return program


def targets(program: AtenProgram) -> list[str]:
    return [str(n.target) for n in program.graph.graph.nodes if n.op == "call_function"]


# --- mutation -------------------------------------------------------------------------------------


def test_a_write_to_an_input_becomes_a_write_back() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * 2

    program = check(fn, torch.randn(3))
    assert [(o.kind, o.target) for o in program.outputs] == [
        (OutputKind.USER, None),
        (OutputKind.WRITE_BACK, 0),
    ]


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, y: x[0].mul_(2) + y[0],
        lambda x, y: (operator.setitem(x, (slice(None), 1), y[:, 0]), x.sum(1))[1],
        lambda x, y: (operator.setitem(x, 1, 5.0), x.t().contiguous())[1],
        lambda x, y: (operator.setitem(x, x > 0, 0.0), x + y)[1],
        lambda x, y: (operator.setitem(x, torch.tensor([0, 2]), y[:2]), x)[1],
        lambda x, y: torch.add(x, y, out=torch.empty(3, 4)),
        lambda x, y: (x.view(-1)[3:5].fill_(7), x)[1],
        lambda x, y: (x.t()[0].copy_(y[:, 1]), x.sum())[1],
        lambda x, y: (x.unsqueeze(0).transpose(1, 2).relu_(), x)[1],
        lambda x, y: x.index_add_(0, torch.tensor([0, 0]), y[:2]),
        lambda x, y: x.masked_fill_(y > 0, 1.0).clamp_(max=0.5),
        lambda x, y: x.zero_().add(y.exp_()),
        lambda x, y: (x.chunk(2, 1)[0].add_(1), x)[1],
        lambda x, y: x.data.mul_(3) + y.detach(),
        lambda x, y: F.relu(x + 1, inplace=True) + F.dropout(y, 0.5, training=False),
    ],
)
def test_writes_through_views(fn: Callable[..., Any]) -> None:
    check(fn, torch.randn(3, 4), torch.randn(3, 4))


def test_buffers_are_written_back() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("steps", torch.zeros(2))
            self.linear = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.steps.add_(x.sum(0))
            return self.linear(x) + self.steps

    model = Counter()
    x = torch.randn(3, 2)
    program = functional(model, x)
    (back,) = (o for o in program.outputs if o.kind is OutputKind.WRITE_BACK)
    assert program.inputs[back.target].name == "steps"  # type: ignore[index]
    assert program.inputs[back.target].kind is InputKind.BUFFER  # type: ignore[index]
    values = [i.live.detach().clone() if i.live is not None else x for i in program.inputs]
    result = run(program, values)[0]
    torch.testing.assert_close(result, model(x))
    torch.testing.assert_close(values[back.target], model.steps)  # type: ignore[index]


def test_unused_inputs_keep_their_place() -> None:
    program = check(lambda a, b, c: c + 1, torch.ones(1), torch.ones(2), torch.ones(3))
    assert sum(n.op == "placeholder" for n in program.graph.graph.nodes) == 3


def test_outputs_that_share_memory_say_so() -> None:
    program = functional(lambda x, y: (x.view(-1), y + 1, x[0], y), torch.ones(2, 2), torch.ones(2))
    assert [o.alias_of for o in program.outputs] == [0, None, 0, 1]


def test_inputs_that_share_memory_must_not_be_written() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            base = torch.zeros(4)
            self.register_buffer("a", base[:2])
            self.register_buffer("b", base)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.a.add_(1)
            return x + self.b

    with pytest.raises(CompileError, match="shares memory with `b`"):
        functional(Tied(), torch.zeros(4))


def test_an_input_that_changes_shape_is_refused() -> None:
    with pytest.raises(CompileError, match="changes its shape in place") as info:
        functional(lambda x: x.t_().contiguous(), torch.zeros(2, 3))
    assert info.value.code == "PTC-A003"


# --- what vanishes --------------------------------------------------------------------------------


def test_clean_up() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        y = x.clone().float().contiguous().view(4, 3).view(2, 6).detach()
        z = y.expand(2, 6)[:, :] + x.reshape(2, 6)
        return F.dropout(z, training=False).permute(1, 0).permute(1, 0)

    program = check(fn, torch.randn(3, 4))
    assert sorted(targets(program)) == ["aten.add.Tensor", "aten.view.default"]


def test_a_copy_that_changes_the_layout_stays() -> None:
    program = check(lambda x: x.permute(2, 0, 1).contiguous().view(4, -1), torch.randn(2, 3, 4))
    assert targets(program) == ["aten.permute.default", "aten.clone.default", "aten.view.default"]


def test_equal_nodes_merge_but_random_ones_do_not() -> None:
    program = functional(
        lambda x: (x.exp() + x.exp(), torch.rand(2) + torch.rand(2)), torch.ones(2)
    )
    assert targets(program).count("aten.exp.default") == 1
    assert sum("rand" in name for name in targets(program)) == 2


def test_equal_arguments_of_other_types_do_not_merge() -> None:
    program = check(
        lambda x: (x.new_full((2,), 1), x.new_full((2,), True), x + 0.0, x + -0.0), torch.ones(2)
    )
    assert targets(program).count("aten.add.Tensor") == 2


# --- constants ------------------------------------------------------------------------------------


def test_constants_become_literals() -> None:
    program = check(
        lambda x: x[torch.tensor([2, 0])] * torch.tensor(3.0) + torch.tensor([[1.0], [2.0]]),
        torch.randn(3, 4),
    )
    literals = [n for n in program.graph.graph.nodes if n.op == "get_attr"]
    assert len(literals) == 3 and len(dict(program.graph.named_buffers())) == 3


def test_a_literal_may_be_written_to() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        table = torch.tensor([1.0, 2.0, 3.0])
        table[1] = x[0]
        return table + x

    program = check(fn, torch.randn(3))
    assert run(program, [torch.zeros(3)])[0].tolist() == [1.0, 0.0, 3.0]


# --- symbolic sizes -------------------------------------------------------------------------------


def batch(*positions: int, lower: int = 2, upper: int | None = None) -> Any:
    return {position: {0: ("batch", lower, upper)} for position in positions}


def test_sizes_survive() -> None:
    def fn(x: torch.Tensor) -> Any:
        n = x.shape[0]
        y = torch.zeros(n * 2, 4)
        y[::2] = x
        return y.view(n, 8), torch.arange(n) + n, x.reshape(-1), x.mean(0)

    program = functional(fn, torch.randn(3, 4), dynamic=batch(0))
    for n in (3, 5, 2):
        x = torch.randn(n, 4)
        for ours, theirs in zip(run(program, [x]), fn(x), strict=True):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x[: (x.shape[0] + 1) // 2].sum(),
        lambda x: F.pad(x, (0, 0, 1, x.shape[0] % 3)),
        lambda x: torch.cat([x, x.flip(0)]).softmax(-1),
        lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True),
        lambda x: F.interpolate(x[None, None], scale_factor=2.0),
        lambda x: torch.tril(torch.ones(x.shape[0], x.shape[0])) @ x,
        lambda x: x.repeat(2, 1) / x.shape[0],
        lambda x: F.layer_norm(x, (4,)),
        lambda x: x.new_ones(x.shape[0]).cumsum(0),
    ],
)
def test_operators_with_symbolic_sizes(fn: Callable[..., Any]) -> None:
    program = functional(fn, torch.randn(5, 4), dynamic=batch(0))
    for n in (5, 3, 8):
        x = torch.randn(n, 4)
        torch.testing.assert_close(run(program, [x])[0], fn(x))


def test_integer_outputs_are_nodes() -> None:
    program = functional(lambda x: (x.shape[0] * 3 + 1, x + 1), torch.zeros(4, 2), dynamic=batch(0))
    assert run(program, [torch.zeros(6, 2)])[0] == 19


def test_an_assumption_on_a_size_is_refused() -> None:
    # The captured program says that the sizes differ symbolically; only the replay would fix them.
    captured = trace(lambda x: x + 1, (torch.zeros(4, 2),), dynamic=batch(0))
    node = next(n for n in captured.graph.graph.nodes if n.op == "call_function")

    def assume(x: torch.Tensor, one: int) -> torch.Tensor:
        return x + one if x.shape[0] == 4 else x

    node.target = assume
    with pytest.raises(CompileError, match=r"`batch` can only be 4[\s\S]*test\.py:1") as info:
        functionalise(captured)
    assert info.value.code == "PTC-A002"


def test_a_range_starts_where_the_program_begins_to_hold() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        return F.conv1d(x, torch.ones(2, 3, 5))

    sizes = {0: {0: ("batch", 2, None), 2: ("length", 2, None)}}
    program = functional(fn, torch.randn(2, 3, 9), dynamic=sizes)
    ranges = {described.name: described for described in program.dims.values()}
    assert ranges["length"].lower == 5
    assert ranges["batch"] == DimRange("batch", 2, None)
    for shape in ((40, 3, 5), (2, 3, 77)):
        x = torch.randn(shape)
        torch.testing.assert_close(run(program, [x])[0], fn(x))


def test_a_declared_range_is_not_narrowed() -> None:
    sizes = {0: {2: ("length", 2, 64)}}
    with pytest.raises(CompileError, match=r"`length` is 2\.\.64[\s\S]*it holds from 5 on"):
        functional(lambda x: F.conv1d(x, torch.ones(2, 3, 5)), torch.randn(2, 3, 9), dynamic=sizes)


def test_how_torch_would_run_a_convolution_narrows_no_declared_range() -> None:
    """Torch chooses another library from a batch of 16 on, another layout for an image of 1 x 1."""

    def fn(x: torch.Tensor) -> torch.Tensor:
        return F.conv2d(F.avg_pool2d(x, 2, ceil_mode=True), torch.ones(4, 3, 1, 1))

    sizes = {0: {0: ("batch", 2, 40), 2: ("height", 2, 9), 3: ("width", 2, 9)}}
    program = functional(fn, torch.randn(3, 3, 5, 6), dynamic=sizes)
    for shape in ((2, 3, 2, 2), (16, 3, 5, 6), (40, 3, 9, 9)):
        x = torch.randn(shape)
        torch.testing.assert_close(run(program, [x])[0], fn(x))


# --- places, modes, functions ---------------------------------------------------------------------


def test_nodes_carry_their_place() -> None:
    captured = trace(lambda x: F.softmax(x, -1).sum(), (torch.randn(2, 3),))
    program = functionalise(captured)
    for node in program.graph.graph.nodes:
        if node.op == "call_function":
            assert node.meta["location"].file == "test.py"
            assert node.meta["stack"]
            assert node.meta["val"] is not None


def test_autocast_regions_are_replayed() -> None:
    captured = trace(lambda x, w: F.linear(x, w), (torch.randn(2, 3), torch.randn(4, 3)))
    for node in captured.graph.graph.nodes:
        if node.op == "call_function":
            node.meta["autocast"] = ("cpu", torch.bfloat16, True)
    program = functionalise(captured)
    x, w = torch.randn(2, 3), torch.randn(4, 3)
    with torch.autocast("cpu", torch.bfloat16):
        expected = F.linear(x, w)
    result = run(program, [x, w])[0]
    assert result.dtype == torch.bfloat16
    torch.testing.assert_close(result, expected)


def test_opaque_functions_inside_torch_functions() -> None:
    """A Python function of torch's that calls `linear` reaches the opaque operator too."""

    class Attend(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x, x, x, need_weights=False)[0]

    program = functional(Attend(), torch.randn(2, 3, 8))
    assert "ptc.linear.default" in targets(program)
    assert "ptc.sdpa.default" in targets(program)


def test_an_operator_that_fails_names_the_line() -> None:
    captured = trace(lambda x: x + 1, (torch.zeros(2),))
    node = next(n for n in captured.graph.graph.nodes if n.op == "call_function")
    node.target = lambda x, one: x @ torch.zeros(5)
    with pytest.raises(CompileError, match=r"test\.py:1") as info:
        functionalise(captured)
    assert info.value.code == "PTC-A004"


def test_complex_numbers_without_a_rule_are_refused_with_their_line() -> None:
    with pytest.raises(CompileError, match=r"complex numbers[\s\S]*test\.py:1") as info:
        functional(lambda x: torch.view_as_complex(x).asinh(), torch.randn(4, 2))
    assert info.value.code == "PTC-A001"
