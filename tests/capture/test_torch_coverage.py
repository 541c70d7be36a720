"""Programs as people write them, captured whole: one graph that gives what eager gives."""

from __future__ import annotations

import contextlib
import copy
import functools
import math
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import torch.utils.checkpoint as checkpoints
from torch import nn
from torch.nn.utils import parametrizations, parametrize

import ptc
from ptc.capture.api import capture_program
from ptc.dispatch.proxy import compiler_of
from ptc.support.diagnostics import CompileError

Case = tuple[Any, tuple[Any, ...], dict[str, Any]]
CASES: dict[str, Callable[[], Case]] = {}


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    CASES[make.__name__] = make
    return make


@case
def transformer() -> Case:
    module = nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()
    return module, (torch.randn(2, 5, 8), torch.randn(2, 4, 8)), {}


@case
def transformer_with_masks() -> Case:
    """In eager the encoder runs on nested tensors and clears its padding: the decoder sees it."""
    module = nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()
    padding = torch.tensor([[0, 0, 0, 0, 1], [0, 0, 0, 1, 1]]).bool()
    masks = {
        "tgt_mask": nn.Transformer.generate_square_subsequent_mask(4),
        "src_key_padding_mask": padding,
    }
    return module, (torch.randn(2, 5, 8), torch.randn(2, 4, 8)), masks


@case
def encoder_padded_in_front() -> Case:
    """Padding that is not at the end keeps eager from nested tensors."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    module = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(8)).eval()
    padding = torch.tensor([[1, 0, 0], [0, 0, 1]]).bool()
    return module, (torch.randn(2, 3, 8),), {"src_key_padding_mask": padding}


@case
def encoder_padded_at_the_end() -> Case:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    module = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(8)).eval()
    padding = torch.tensor([[0, 0, 0], [0, 1, 1]]).bool()
    return module, (torch.randn(2, 3, 8),), {"src_key_padding_mask": padding}


@case
def lstm() -> Case:
    module = nn.LSTM(4, 3, 2, bidirectional=True, batch_first=True).eval()
    return module, (torch.randn(2, 5, 4),), {}


@case
def gru_with_state() -> Case:
    return nn.GRU(4, 3).eval(), (torch.randn(5, 2, 4), torch.randn(1, 2, 3)), {}


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: int) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return grads[0] * 7, None


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.round()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)


@case
def custom_functions() -> Case:
    def program(x: torch.Tensor) -> Any:
        return Doubled.apply(x, 3) + Rounded.apply(x)

    return program, (torch.randn(4),), {}


class Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.rest = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))

    def forward(self, x: torch.Tensor) -> Any:
        x = checkpoints.checkpoint(self.first, x, use_reentrant=True)
        x = checkpoints.checkpoint(lambda t, k: self.rest(t) * k, x, 2, use_reentrant=False)
        return checkpoints.checkpoint_sequential(self.rest, 2, x, use_reentrant=False)


@case
def checkpointed() -> Case:
    return Checkpointed().eval(), (torch.randn(2, 4),), {}


@case
def modules_made_in_forward() -> Case:
    def program(x: torch.Tensor) -> Any:
        up = nn.Upsample(scale_factor=2)(x)
        return nn.Sequential(nn.Softmax(dim=-1), nn.ReLU())(up), nn.HuberLoss()(x, x + 2)

    return program, (torch.randn(1, 2, 3, 3),), {}


class WalksParameters(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids: torch.Tensor) -> Any:
        x = self.head(self.embed(ids)).to(next(self.parameters()).dtype)
        penalty = sum(p.pow(2).sum() for p in self.parameters())
        return x, penalty, [name for name, _ in self.named_parameters()], len(list(self.modules()))


@case
def walks_parameters() -> Case:
    return WalksParameters().eval(), (torch.tensor([[1, 2]]),), {}


@case
def functional_call() -> Case:
    inner = nn.Linear(3, 3)

    def program(x: torch.Tensor, weight: torch.Tensor) -> Any:
        return torch.func.functional_call(inner, {"weight": weight}, (x,))

    return program, (torch.randn(2, 3), torch.randn(3, 3)), {}


@case
def parametrized() -> Case:
    module = nn.Sequential(
        parametrizations.weight_norm(nn.Linear(3, 3)),
        parametrizations.spectral_norm(nn.Linear(3, 2)),
    )
    return module.eval(), (torch.randn(2, 3),), {}


@case
def left_over_from_scripting() -> Case:
    def program(x: torch.Tensor) -> Any:
        out = torch.jit.annotate(typing.List[torch.Tensor], [])  # noqa: UP006
        out.append(x + 1)
        return out

    return program, (torch.randn(2),), {}


@case
def deep_copies() -> Case:
    class Config:
        def __init__(self) -> None:
            self.sizes = [1, 2]
            self.table = {"a": (1, [2])}

    config = Config()

    def program(x: torch.Tensor) -> Any:
        mine = copy.deepcopy(config)
        mine.sizes.append(3)
        mine.table["a"][1].append(4)
        return x * len(mine.sizes) * len(mine.table["a"][1]), len(config.sizes)

    return program, (torch.randn(2),), {}


@case
def numbers_in_tensors() -> Case:
    def program(x: torch.Tensor) -> Any:
        span = torch.tensor(min(x.shape[0], 5))
        if span > 2:
            x = x[3 - span : 3 + span]
        return x * torch.tensor(2.0).item(), torch.clamp(x, 0, span - 1)

    return program, (torch.randn(4, 2),), {}


@case
def callables() -> Case:
    def program(x: torch.Tensor) -> Any:
        act = functools.partial(F.leaky_relu, negative_slope=0.1)
        return act(x), callable(act), callable(1.5), callable(len), callable(type(x)), callable(x)

    return program, (torch.randn(2),), {}


@case
def associative_scan() -> Case:
    from torch._higher_order_ops.associative_scan import associative_scan as scan

    def combine(left: Any, right: Any) -> Any:
        return left[0] * right[0], left[1] * right[0] + right[1]

    def program(a: torch.Tensor, b: torch.Tensor) -> Any:
        if torch.compiler.is_compiling():
            return scan(combine, (a, b), 1)[1]
        state, states = torch.zeros_like(b[:, 0]), []
        for t in range(a.shape[1]):
            state = a[:, t] * state + b[:, t]
            states.append(state)
        return torch.stack(states, 1)

    return program, (torch.rand(2, 5), torch.rand(2, 5)), {}


def _equal(expected: Any, got: Any) -> None:
    assert type(got) is type(expected)
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)
    elif isinstance(expected, (list, tuple)):
        assert len(got) == len(expected)
        for left, right in zip(expected, got, strict=True):
            _equal(left, right)
    else:
        assert got == expected


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("backend", ["eager", "aten"])
def test_one_graph_gives_what_eager_gives(name: str, backend: str) -> None:
    torch.manual_seed(0)
    program, args, kwargs = CASES[name]()
    with torch.no_grad():
        expected = program(*args, **kwargs)
        compiled = ptc.compile(program, backend=backend)
        breaks: list[Any] = []
        compiler_of(compiled).observer = lambda _, frame: breaks.extend(frame.breaks)
        _equal(expected, compiled(*args, **kwargs))
        assert breaks == []
        capture_program(program, args, kwargs)


@pytest.mark.filterwarnings("ignore::Warning")
def test_a_custom_backward_is_kept_when_gradients_are_recorded() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return Doubled.apply(x * 1.0, 3) * 2  # type: ignore[operator]

    x = torch.ones(2, requires_grad=True)
    ptc.compile(program, backend="eager")(x).sum().backward()
    assert torch.equal(x.grad, torch.full((2,), 14.0))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["linearize", "functionalize"])
def test_transforms_that_trace_are_refused_by_name(name: str) -> None:
    transform = getattr(torch.func, name)

    def program(x: torch.Tensor) -> Any:
        return transform(lambda row: (row * 2).sum(), x)

    with pytest.raises(CompileError) as refused:
        capture_program(program, (torch.randn(3),))
    assert refused.value.diagnostic.code == "PTC-B004"
    assert f"torch.func.{name}" in refused.value.diagnostic.message


def test_equal_results_have_memory_of_their_own() -> None:
    def program(x: torch.Tensor) -> Any:
        return x + 1, x + 1, torch.arange(3), torch.arange(3)

    results = ptc.compile(program, backend="aten")(torch.ones(2))
    assert len({result.data_ptr() for result in results}) == 4


def test_a_proxy_class_is_not_announced_to_the_modules_base() -> None:
    heard: list[str] = []

    class Base(nn.Module):
        def __init_subclass__(cls, **options: Any) -> None:
            heard.append(cls.__name__)
            super().__init_subclass__(**options)

    class Model(Base):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + len(heard)

    compiled = ptc.compile(Model(), backend="eager")
    assert torch.equal(compiled(torch.zeros(1)), torch.ones(1))
    assert heard == ["Model"]


def test_rounded_divisions_of_sizes_are_guarded_in_python() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        rows = math.ceil(x.shape[0] / 3)
        padded = F.pad(x, (0, 0, 0, rows * 3 - x.shape[0]))
        return padded.reshape(rows, 3, -1).sum(1)

    compiled = ptc.compile(program, backend="eager", dynamic=True)
    for size in (7, 8, 9, 10):
        x = torch.randn(size, 2)
        torch.testing.assert_close(compiled(x), program(x))


def test_a_whole_program_does_not_rely_on_one_tensor_in_two_places() -> None:
    def program(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a * 2 if a is b else a * b

    x = torch.ones(2)
    captured = capture_program(program, (x, x))
    assert len(captured.inputs) == 2
    assert torch.equal(captured.graph(x * 3, x * 5)[0], x * 15)


class _Symmetric(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.triu() + x.triu(1).transpose(-1, -2)


def test_parametrizations_are_cached() -> None:
    layer = torch.nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", _Symmetric())

    def program(x: torch.Tensor) -> torch.Tensor:
        with parametrize.cached():
            return layer(layer(x))

    x = torch.randn(2, 3)
    with torch.no_grad():
        torch.testing.assert_close(ptc.compile(program, backend="eager")(x), program(x))


def test_a_context_manager_passes_on_the_exception_itself() -> None:
    @contextlib.contextmanager
    def around() -> Iterator[None]:
        try:
            yield
        except ValueError:
            yield

    def program(x: torch.Tensor) -> Any:
        raised = RuntimeError("one", 2)
        try:
            with around():
                raise raised
        except RuntimeError as error:
            return x + 1, error is raised, error.args
        return x

    x = torch.ones(2)
    compiled = ptc.compile(program, backend="eager", fullgraph=True)
    assert compiled(x)[1:] == (True, ("one", 2)) == program(x)[1:]
