"""Random numbers from generators that the program makes: what eager draws, in the same order."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import ptc
from tests.capture.control.checking import check

Tensor = torch.Tensor
X = torch.tensor([0.5, -1.0, 2.0, 0.25])


def uniform(x: Tensor) -> Any:
    g = torch.Generator().manual_seed(17)
    wide = torch.rand(size=(2, 3), generator=g, dtype=torch.float64)
    filled = torch.empty(3, 4).uniform_(-1, 2, generator=g)
    like = torch.rand(x.shape, generator=g)
    return torch.rand(3, 2, generator=g), wide, filled, like, torch.rand((), generator=g).item()


def normal(x: Tensor) -> Any:
    """One of a pair waits: the next draw takes it, whatever was drawn in between."""
    g = torch.Generator()
    g.manual_seed(-3)
    few = torch.randn(3, generator=g)
    uniform = torch.rand(2, generator=g)
    wide = torch.randn(2, generator=g, dtype=torch.float64)
    many = [torch.randn(n, generator=g) for n in (16, 17, 40)]
    filled = torch.empty(20).normal_(1.5, 0.25, generator=g)
    moved = torch.normal(x, x.abs(), generator=g), torch.normal(x, 2.0, generator=g)
    both = torch.normal(1.0, x.abs(), generator=g), torch.normal(0.5, 2.0, (3,), generator=g)
    return few, uniform, wide, many, filled, moved, both


def integers(x: Tensor) -> Any:
    g = torch.Generator().manual_seed(2**40 + 5)
    small = torch.randint(10, (6,), generator=g), torch.randint(-4, 3, (2, 2), generator=g)
    wide = torch.randint(-(2**40), 2**41, (3,), generator=g)
    typed = torch.randint(0, 200, (5,), generator=g, dtype=torch.uint8)
    named = torch.randint(low=2, high=9, size=(4,), generator=g)
    order = torch.randperm(9, generator=g), torch.randperm(1, generator=g)
    filled = torch.empty(3).random_(1, 7, generator=g)
    return small, wide, typed, named, order, filled, x.sum().item()


def chances(x: Tensor) -> Any:
    g = torch.Generator().manual_seed(5)
    p = torch.sigmoid(x)
    drawn = torch.bernoulli(p, generator=g), p.bernoulli(generator=g)
    filled = torch.empty(7).bernoulli_(0.3, generator=g), torch.empty(4).bernoulli_(p, generator=g)
    times = torch.empty(5).exponential_(2.0, generator=g)
    return drawn, filled, times


def samples(x: Tensor) -> Any:
    g = torch.Generator().manual_seed(6)
    p = torch.softmax(x, 0)
    rows = torch.stack([p, p.flip(0)])
    return (
        torch.multinomial(p, 1, generator=g),
        p.multinomial(3, generator=g),
        torch.multinomial(rows, 6, replacement=True, generator=g),
        torch.multinomial(rows, num_samples=2, generator=g),
    )


@pytest.mark.parametrize("program", [uniform, normal, integers, chances, samples])
def test_draws(program: Any) -> None:
    check(program, X, X * 2)


class Settings:
    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(3)


def _noisy(x: Tensor, generator: torch.Generator) -> Tensor:
    return x + torch.rand(x.shape, generator=generator)


def by_data(x: Tensor) -> Any:
    """Which draws there are, and how many, data decides."""
    g = torch.Generator().manual_seed(11)
    held = {"generator": g}
    if x.sum() > 1:
        x = _noisy(x, g)
    else:
        x = x * torch.randn(4, generator=held["generator"])
    steps = 0
    while x.sum() < 12:
        x = _noisy(x, g)
        steps += 1
        if x.max() > 3:
            g.manual_seed(steps)
    return x, steps, torch.randint(100, (3,), generator=g)


def seeded_by_data(x: Tensor) -> Any:
    g = torch.Generator().manual_seed(int(x.sum()))
    other = torch.Generator().manual_seed(x.shape[0])
    return torch.rand(3, generator=g), torch.randn(3, generator=other), other.initial_seed()


def sized_by_data(x: Tensor) -> Any:
    g = torch.Generator().manual_seed(1)
    n = int((x > 0).sum())
    return torch.rand(n, generator=g), torch.randperm(n, generator=g), torch.randn(2, generator=g)


def bounded_by_data(x: Tensor) -> Any:
    g = torch.Generator().manual_seed(1)
    last = x.abs().max().item()
    high = int(x.sum()) + 3
    return torch.empty(3).uniform_(-last, last, generator=g), torch.randint(high, (4,), generator=g)


def one_of_two(x: Tensor) -> Any:
    g = torch.Generator().manual_seed(1) if x.sum() > 3 else torch.Generator().manual_seed(2)
    return torch.rand(2, generator=g), torch.randn(2, generator=g)


def one_of_a_list(x: Tensor) -> Any:
    generators = [torch.Generator().manual_seed(i) for i in range(3)]
    chosen = generators[int(x.abs().sum()) % 3]
    return torch.rand(2, generator=chosen), torch.rand(2, generator=generators[0])


def of_an_object(x: Tensor) -> Any:
    settings = Settings()
    first = torch.rand(2, generator=settings.generator)
    again = torch.rand(2, generator=settings.generator)
    return first, again, settings.generator.initial_seed(), x.sum().item()


@pytest.mark.parametrize(
    "program",
    [
        by_data,
        seeded_by_data,
        sized_by_data,
        bounded_by_data,
        one_of_two,
        one_of_a_list,
        of_an_object,
    ],
)
def test_generators(program: Any) -> None:
    check(program, X, X * 3, X.abs() + 1)


def drawing_badly(x: Tensor) -> Any:
    return torch.multinomial(x, 2, generator=torch.Generator())


def drawing_from_nothing(x: Tensor) -> Any:
    return torch.randint(int(x.sum()), (2,), generator=torch.Generator())


def seeding_badly(x: Tensor) -> Any:
    seed: Any = x.sum().item()
    torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("program", [drawing_badly, drawing_from_nothing, seeding_badly])
def test_what_draws_raise(program: Any) -> None:
    check(program, X, X.abs(), -X, X * 0)


def kinds(x: Tensor) -> Any:
    g = torch.Generator()
    assert isinstance(g, torch.Generator) and g.device.type == "cpu"
    one = g is g.manual_seed(4) and type(g) is torch.Generator
    return x + torch.rand(1, generator=g), one, x.sum().item()


def test_a_generator_is_one() -> None:
    check(kinds, X)


@pytest.mark.parametrize(
    "refused",
    [
        lambda x: torch.rand(3, generator=torch.Generator().manual_seed(1), dtype=torch.float16),
        lambda x: x.cauchy_(generator=torch.Generator()),
        lambda x: torch.Generator().seed(),
        lambda x: torch.ones(4, 4).T.normal_(generator=torch.Generator()),
    ],
)
def test_what_is_not_followed_is_refused(refused: Any) -> None:
    with pytest.raises(ptc.CompileError, match="PTC-B004"):
        check(refused, X)


class Sampler(torch.nn.Module):
    def forward(self, x: Tensor) -> Any:
        return samples(x), integers(x), uniform(x), by_data(x)


def test_a_library_draws_what_eager_draws(tmp_path: Path) -> None:
    library = ptc.load(ptc.build(Sampler(), (X,), output=tmp_path / "lib.so").library)
    for x in (X, -X, X + 1):
        torch.testing.assert_close(library(x), Sampler()(x), rtol=1e-6, atol=1e-6)


def test_compiled_calls_draw_what_eager_draws() -> None:
    compiled = ptc.compile(Sampler(), control_flow=True)
    for x in (X, -X, X + 1):
        torch.testing.assert_close(compiled(x), Sampler()(x), rtol=1e-6, atol=1e-6)


# -- generators that go on from call to call ------------------------------------------------------


class Holder(torch.nn.Module):
    """Draws from a generator of its own and from torch's."""

    def __init__(self) -> None:
        super().__init__()
        self.generator = torch.Generator().manual_seed(9)

    def forward(self, x: Tensor) -> Any:
        noise = torch.rand(4, generator=self.generator)
        if x.sum() > 1:
            x = x + torch.rand_like(x)
        return x + noise, torch.randn(3), torch.randperm(5), torch.empty(20).normal_()


class Dropping(torch.nn.Module):
    def forward(self, x: Tensor) -> Any:
        chances = torch.sigmoid(x)
        drawn = torch.bernoulli(chances), torch.multinomial(chances, 2), chances.bernoulli()
        kept = F.dropout(x, 0.4), F.dropout(x), F.dropout(x, 0.0), F.dropout(x, 1.0)
        soft = F.gumbel_softmax(x), F.gumbel_softmax(x, tau=0.5, hard=True, dim=0)
        return drawn, kept, soft, F.dropout(x, 0.3, training=False)


class Seeding(torch.nn.Module):
    def forward(self, x: Tensor) -> Any:
        torch.manual_seed(int(x.abs().sum()))
        return torch.randn(20), torch.rand(2)


@pytest.mark.parametrize("kind", [Holder, Dropping, Seeding])
def test_libraries_own_generators_seeded_as_torchs(kind: Any, tmp_path: Path) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        torch.rand(3)
        state, model = torch.get_rng_state(), kind()
        library = ptc.load(ptc.build(model, (X,), output=tmp_path / "lib.so").library)
        assert torch.equal(state, torch.get_rng_state()), "building drew from torch's generator"
        torch.manual_seed(5)
        for x in (X, -X, X + 1):
            torch.testing.assert_close(library(x), model(x), rtol=1e-6, atol=1e-6)


def test_libraries_are_seeded_and_reset(tmp_path: Path) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = Dropping()
        library = ptc.load(ptc.build(model, (X,), output=tmp_path / "lib.so").library)
        first = library(X)
        for seed in (7, 2**63 + 7):
            library.seed(seed)
            torch.manual_seed(seed)
            for _ in range(2):
                torch.testing.assert_close(library(X), model(X), rtol=1e-6, atol=1e-6)
        library.reset()
        torch.testing.assert_close(library(X), first, rtol=0, atol=0)


@pytest.mark.parametrize("control_flow", [False, True])
def test_compiled_calls_draw_from_torchs_generators(control_flow: bool) -> None:
    with torch.random.fork_rng(devices=[]):
        model, other = Holder(), Holder()
        compiled = ptc.compile(model, control_flow=control_flow)
        for x in (X, -X, X + 1):
            torch.manual_seed(3)
            wanted = other(x)
            torch.manual_seed(3)
            torch.testing.assert_close(compiled(x), wanted, rtol=0, atol=0)


class Noisy(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.rand_like(x)


class Fixed(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.rand(4, generator=torch.Generator().manual_seed(3))


def test_exports_hold_no_generator(tmp_path: Path) -> None:
    with pytest.raises(ptc.CompileError, match="PTC-O002.*from call to call"):
        ptc.export(Noisy(), (X,), format="ptir", output=tmp_path / "noisy.ptir")
    ptc.export(Fixed(), (X,), format="ptir", output=tmp_path / "fixed.ptir")


@pytest.mark.parametrize("size", [3, 15, 16, 40])
def test_sizes_that_calls_bring_along(size: int, tmp_path: Path) -> None:
    def draw(x: Tensor) -> Any:
        g = torch.Generator().manual_seed(2)
        order = torch.randperm(x.shape[0], generator=g)
        return torch.randn(x.shape, generator=g), torch.rand(x.shape[0], generator=g), order

    built = ptc.build(draw, (X,), dynamic={"x": {0: "n[1..100]"}}, output=tmp_path / "lib.so")
    given = torch.ones(size)
    torch.testing.assert_close(ptc.load(built.library)(given), draw(given), rtol=1e-6, atol=1e-6)


PYTHONS = random.Random(3)


@pytest.mark.parametrize(
    "refused",
    [
        lambda x: x + random.random(),
        lambda x: x + random.randint(1, 3),
        lambda x: x + random.Random(3).random(),
        lambda x: x + PYTHONS.choice([1, 2]),
        lambda x: random.shuffle([x, x]),
    ],
)
def test_pythons_random_numbers_are_refused(refused: Any) -> None:
    with pytest.raises(ptc.CompileError, match="PTC-B004.*not torch's"):
        check(refused, X)
