"""`ptc.compile`: proxies, live weights, recompilation, breaks, gradients, against eager."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest
import torch
from torch import nn

import ptc
from ptc.dispatch.config import STATISTICS, reset_statistics
from ptc.dispatch.notices import CompileNotice
from ptc.support.diagnostics import CompileError


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 3)
        self.calls = 0

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        self.calls += 1
        return self.second(torch.relu(self.first(x))) * scale


class Branching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(10, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            print("positive")
            return torch.relu(self.linear(x))
        print("negative")
        return torch.sigmoid(self.linear(x))


@pytest.fixture(autouse=True)
def _fresh():
    torch.manual_seed(0)
    reset_statistics()
    with torch.no_grad():
        yield


def test_native_equals_eager_and_counts_nothing_eager():
    model = Net().eval()
    compiled = ptc.compile(model)
    x = torch.randn(5, 4)
    torch.testing.assert_close(compiled(x), model(x))
    torch.testing.assert_close(compiled(x, scale=2.0), model(x, 2.0))
    assert STATISTICS.fallbacks == 0 and STATISTICS.breaks == 0 and STATISTICS.graphs == 2


def test_effects_happen_once_a_call():
    model = Net().eval()
    compiled = ptc.compile(model)
    for count in range(1, 5):
        compiled(torch.randn(2, 4))
        assert model.calls == count


@pytest.mark.parametrize(
    "write",
    [
        lambda m: m.first.weight.data.mul_(2),
        lambda m: m.first.weight.detach().numpy().__setitem__(slice(None), 0.25),
        lambda m: m.first.weight.copy_(torch.ones(8, 4)),
        lambda m: setattr(m.first.weight, "data", torch.full((8, 4), 0.5)),
        lambda m: setattr(m.first, "weight", nn.Parameter(torch.full((8, 4), -0.5))),
        lambda m: m.load_state_dict({k: v * 3 for k, v in m.state_dict().items()}),
        lambda m: torch.nn.utils.vector_to_parameters(torch.linspace(-1, 1, 67), m.parameters()),
    ],
    ids=["data", "numpy", "copy", "data=", "parameter", "state_dict", "vector"],
)
def test_every_write_to_weights_is_seen(write):
    model = Net().eval()
    compiled = ptc.compile(model)
    x = torch.randn(3, 4)
    before = compiled(x)
    write(model)
    after = compiled(x)
    torch.testing.assert_close(after, model(x))
    assert not torch.equal(before, after)


def test_change_of_type_is_seen():
    model = Net().eval()
    compiled = ptc.compile(model)
    compiled(torch.randn(3, 4))
    model.double()
    x = torch.randn(3, 4, dtype=torch.float64)
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-12, atol=1e-12)


def test_frozen_weights_are_taken_anew_on_refresh():
    model = Net().eval()
    compiled = ptc.compile(model, freeze=True)
    x = torch.randn(3, 4)
    torch.testing.assert_close(compiled(x), model(x))
    model.first.weight.data.mul_(-1)
    compiled.refresh()
    torch.testing.assert_close(compiled(x), model(x))


def test_proxy_is_the_module():
    model = Net().eval()
    compiled = ptc.compile(model, backend="eager")
    assert isinstance(compiled, Net)
    assert compiled.first is model.first
    assert list(compiled.state_dict()) == list(model.state_dict())
    compiled.train()
    assert model.training
    compiled.eval()
    compiled.extra = 3
    assert model.extra == 3
    assert ptc.compile(compiled) is compiled


def test_proxy_survives_pickle_and_deepcopy():
    model = Net().eval()
    compiled = ptc.compile(model, backend="eager")
    x = torch.randn(2, 4)
    twin = copy.deepcopy(compiled)
    twin.first.weight.data.zero_()
    assert not torch.equal(twin(x), compiled(x))
    loaded = pickle.loads(pickle.dumps(compiled))
    torch.testing.assert_close(loaded(x), model(x))


def test_hooks_on_the_module_run():
    model = Net().eval()
    seen = []
    compiled = ptc.compile(model, backend="eager")
    compiled.register_forward_hook(lambda m, args, out: seen.append(tuple(out.shape)))
    compiled(torch.randn(2, 4))
    compiled(torch.randn(2, 4))
    assert seen == [(2, 3), (2, 3)]


def test_hook_on_a_child_added_later_is_seen():
    model = Net().eval()
    compiled = ptc.compile(model, backend="eager")
    x = torch.randn(2, 4)
    compiled(x)
    model.first.register_forward_hook(lambda m, args, out: out + 1)
    torch.testing.assert_close(compiled(x), model(x))


def test_branch_on_data_breaks_prints_and_resumes(capsys):
    model = Branching().eval()
    compiled = ptc.compile(model)
    positive, negative = torch.ones(10), torch.full((10,), -1.0)
    for x, text in ((positive, "positive"), (negative, "negative"), (positive, "positive")):
        result = compiled(x)
        assert capsys.readouterr().out == text + "\n"
        expected = model(x)
        capsys.readouterr()
        torch.testing.assert_close(result, expected)
    assert STATISTICS.breaks >= 2 and STATISTICS.fallbacks == 0


def test_fullgraph_turns_a_break_into_an_error():
    compiled = ptc.compile(Branching().eval(), fullgraph=True)
    with pytest.raises(CompileError) as caught:
        compiled(torch.ones(10))
    assert caught.value.code == "PTC-B001"
    assert caught.value.diagnostic.location.text.strip() == "if x.sum() > 0:"


def test_second_size_makes_it_symbolic():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    compiled = ptc.compile(model)
    for rows in (3, 5, 7, 11, 2):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(compiled(x), model(x))
    assert STATISTICS.graphs == 2


def test_dynamic_true_needs_one_graph():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    compiled = ptc.compile(model, dynamic=True)
    for rows in (3, 5, 7):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(compiled(x), model(x))
    assert STATISTICS.graphs == 1


def test_decorator_factory_and_bound_method():
    @ptc.compile(dynamic=True, backend="aten")
    def f(x: torch.Tensor) -> torch.Tensor:
        """Double."""
        return x * 2

    assert f.__name__ == "f" and f.__doc__ == "Double."
    torch.testing.assert_close(f(torch.ones(3)), torch.full((3,), 2.0))
    model = Net().eval()
    method = ptc.compile(model.forward, backend="aten")
    x = torch.randn(2, 4)
    torch.testing.assert_close(method(x), model(x))


@pytest.mark.parametrize("freeze", [False, True])
def test_mutated_input_and_buffer(freeze):
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total += x
            x.mul_(2)
            return x + self.total

    model, twin = Counter(), Counter()
    compiled = ptc.compile(model, freeze=freeze)
    for _ in range(3):
        x = torch.randn(3)
        y = x.clone()
        torch.testing.assert_close(compiled(x), twin(y))
        torch.testing.assert_close(x, y)
        torch.testing.assert_close(model.total, twin.total)


def test_returned_input_is_the_same_object():
    compiled = ptc.compile(lambda x: (x, x + 1), backend="aten")
    x = torch.ones(2)
    first, second = compiled(x)
    assert first is x
    torch.testing.assert_close(second, x + 1)


def test_gradients_flow_and_the_user_is_told():
    model = Net().eval()
    compiled = ptc.compile(model)
    x = torch.randn(3, 4)
    with torch.enable_grad(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled(x).square().sum().backward()
    assert any("PTC-D020" in str(w.message) for w in caught if w.category is CompileNotice)
    got = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    with torch.enable_grad():
        model(x).square().sum().backward()
    for mine, eager in zip(got, (p.grad for p in model.parameters()), strict=True):
        torch.testing.assert_close(mine, eager)


def test_only_what_requires_a_gradient_in_eager_does():
    weight = torch.ones(3, requires_grad=True)
    compiled = ptc.compile(lambda x: (x * weight, (x * weight).detach(), x.abs()))
    with torch.enable_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileNotice)
        results = compiled(torch.ones(3))
    assert [result.requires_grad for result in results] == [True, False, False]


def test_graph_without_lowering_runs_in_eager_and_says_so():
    compiled = ptc.compile(lambda x: torch.special.i1(x @ x.T) + 1)
    x = torch.randn(4, 4)
    with pytest.warns(CompileNotice, match="runs in eager"):
        result = compiled(x)
    torch.testing.assert_close(result, torch.special.i1(x @ x.T) + 1)
    assert STATISTICS.fallbacks == 1


def test_entry_limit_is_announced():
    compiled = ptc.compile(lambda x, n: x + n, backend="aten")
    x = torch.ones(2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(20):
            torch.testing.assert_close(compiled(x, n * 1.5), x + n * 1.5)
    assert any("PTC-D022" in str(w.message) for w in caught)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [({"backend": "nonsense"}, "PTC-D001"), ({"mode": "fastest"}, "PTC-D002")],
)
def test_bad_arguments(arguments, code):
    with pytest.raises(CompileError) as caught:
        ptc.compile(Net(), **arguments)
    assert caught.value.code == code


def test_not_compilable():
    with pytest.raises(CompileError) as caught:
        ptc.compile(3)
    assert caught.value.code == "PTC-D003"


def test_errors_of_the_model_are_its_own():
    compiled = ptc.compile(Net().eval(), backend="aten")
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        compiled(torch.randn(2, 5))


def test_changing_int_becomes_an_input():
    class Stepper(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.step = 2

        def forward(self, x: torch.Tensor, shift: int) -> torch.Tensor:
            self.step += 2
            return x * self.step + shift // 2

    model, twin = Stepper(), Stepper()
    compiled = ptc.compile(model)
    x = torch.randn(4)
    for shift in (5, 7, 0, 1, 12, 1000, 3):
        torch.testing.assert_close(compiled(x, shift), twin(x, shift))
        assert model.step == twin.step
        assert type(model.step) is int
    assert STATISTICS.graphs <= 3


def test_symbolic_sizes_keep_to_the_strides_they_were_captured_with():
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * 2 + y

    wide = torch.randn(12, 12)
    compiled = ptc.compile(f, dynamic=True)
    layouts = (
        wide[:8, :6],
        wide.t()[:8, :6],
        wide[::2][:5, :6],
        wide[:, ::2][:5, :6],
        torch.randn(7, 6),
        torch.randn(6, 7).t(),
        torch.randn(6).expand(4, 6),
    )
    for x in layouts:
        y = torch.randn(1, 6).expand(x.shape)
        torch.testing.assert_close(compiled(x, y), f(x, y))
    between = ptc.compile(lambda x: x + 1, dynamic=True)
    for n in (5, 7):  # strides (n, 1, 1): contiguous, though the middle one is odd
        x = torch.randn(3, n, 1).transpose(1, 2)
        torch.testing.assert_close(between(x), x + 1)


def test_layers_of_lstm_with_symbolic_batch_and_length():
    model = nn.LSTM(5, 7, 2, bidirectional=True, batch_first=True).eval()
    compiled = ptc.compile(model, dynamic=True)
    for shape in ((3, 4, 5), (2, 6, 5)):
        x = torch.randn(shape)
        torch.testing.assert_close(compiled(x), model(x))


def test_bounds_of_either_sign():
    def f(x: torch.Tensor, a: int) -> tuple[torch.Tensor, ...]:
        return x[a:] + 1, x[:a] + 1, x[a] + 1

    compiled = ptc.compile(f)
    x = torch.randn(7)
    for a in (2, 3, -2, -3, 0, -1):
        for got, wanted in zip(compiled(x, a), f(x, a), strict=True):
            torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, a: x[a:] + 1,
        lambda x, a: x[:a] * 2,
        lambda x, a: x[a - 5 :] + 1,
        lambda x, a: torch.roll(x, a - 4),
        lambda x, a: x * (a - 6) + a // 2 - (a - 5) % 3,
    ],
    ids=["from", "to", "from the end", "roll", "arithmetic"],
)
def test_int_of_any_sign(function):
    """A symbolic int is never negative: a negative index counts from the other end."""
    compiled = ptc.compile(function)
    x = torch.randn(9)
    for number in (6, 7, 3, 8, 0, -2, 5, -1):
        torch.testing.assert_close(compiled(x, number), function(x, number))
