"""Programs with control flow as TorchScript, a small one for each construct, against eager.

Each is compared by the exporter itself on drawn inputs, and here on calls that take every way.
"""

from __future__ import annotations

import contextlib
import io
import logging
import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import ptc
from ptc.exporters.torchscript.compiled import load
from ptc.exporters.torchscript.running import raised_in
from ptc.support.diagnostics import CompileError
from tests.zoo import harness
from tests.zoo.catalog import cases


def exported(model: Any, *args: Any, folder: Path, **options: Any) -> Any:
    path = folder / "model.pt"
    ptc.export(model, args, format="torchscript", output=path, **options)
    return load(path)[0]


#: Models of the zoo that TorchScript cannot say.
REFUSED = {
    "print_tensors": "the text of a tensor",
    "progress_log": "a text that goes to log",
    "warn_and_fix": "warnings of several categories",
    "set_membership": "the operation `hash`",
    "bigrams_once": "the operation `hash`",
    "union_find": "the operation `hash`",
}


def observed(function: Callable[..., Any], args: Sequence[Any]) -> tuple[Any, str, Any]:
    """What a call gave, printed, and raised."""
    printed, raised, result = io.StringIO(), None, None
    with contextlib.redirect_stdout(printed), torch.no_grad():
        try:
            result = function(*args)
        except torch.jit.Error as error:
            raised = raised_in(str(error), ("ValueError", "KeyError", f"{__name__}.Refused"))
        except Exception as error:
            name = type(error).__name__
            raised = (
                (name if type(error).__module__ == "builtins" else f"{__name__}.{name}"),
                str(error),
            )
    return result, printed.getvalue(), raised


def assert_equal(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        assert_equal(list(found.values()), list(expected.values()))
    elif isinstance(expected, torch.Tensor):
        torch.testing.assert_close(found, expected)
    else:
        assert found == expected or found == pytest.approx(expected, nan_ok=True)


def same(model: Any, folder: Path, calls: Sequence[Sequence[Any]], **options: Any) -> Any:
    """Export for the first call and compare all of them."""
    script = exported(model, *calls[0], folder=folder, **options)
    for args in calls:
        expected, found = observed(model, args), observed(script, args)
        assert found[1:] == expected[1:]
        assert_equal(found[0], expected[0])
    return script


X = torch.tensor([1.0, 2.0, 3.0])


class Refused(Exception):
    pass


def test_a_branch_with_prints(tmp_path: Path) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            print("above", x.sum().item() / 3, f"{x[0].item():.3f}|{int(x[1]):5d}|{x[2].item():+e}")
            return x * 2
        print("below", int(x[0]) // 2, int(x[0]) % 3, [1, int(x[1])], f"{x[0].item() > 1}")
        return -x

    same(model, tmp_path, [(X,), (-X,), (X * 1e-7,), (X * 1e17,)])


def test_a_loop_with_numbers(tmp_path: Path) -> None:
    def model(x: torch.Tensor) -> Any:
        n, total = int(x[0]), 0.0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            total += math.sqrt(n) - round(total / 7, 2)
            if n == 5:
                break
        return x + total, n, total > 3, n**2, -n // 4, total // 0.7

    same(model, tmp_path, [(X * k,) for k in (7, 1, 6, 27)])


def test_exceptions_of_the_user(tmp_path: Path) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        k = int(x.sum())
        if k > 10:
            raise ValueError(f"sum {k} is too large:\nat most 10")
        if k < 0:
            raise Refused("negative")
        return x / (k + 1)

    same(model, tmp_path, [(X,), (X * 9,), (-X,)])


def test_lists_and_texts(tmp_path: Path) -> None:
    def model(x: torch.Tensor, n: int) -> Any:
        found: list[int] = []
        words: list[str] = []
        for value in x.tolist():
            if value > 1:
                found.append(int(value) * n)
                words.append(f"v{value}")
        found.reverse()
        text = "-".join(words)
        return found, text.upper(), len(text), found.count(4), sum(found)

    same(model, tmp_path, [(X, 2), (-X, 2), (X * 2.5, 2)])


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3)])
        self.register_buffer("mean", torch.zeros(3))
        self.steps = 0

    def forward(self, x: torch.Tensor) -> Any:
        self.steps += 1
        if x.sum() > 0:
            self.mean.mul_(0.5).add_(x)
            if self.steps > 2:
                raise ValueError(f"step {self.steps}")
        return self.layers[0](x) + self.mean, self.steps


def test_what_is_kept_from_call_to_call(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Counter().eval()
    script = same(model, tmp_path, [(X,), (-X,), (X,), (-X,), (X,)])
    assert script.steps == model.steps == 5
    torch.testing.assert_close(script.mean, model.mean)
    assert "layers.0.weight" in script.state_dict()


def test_arguments_written_on_one_way(tmp_path: Path) -> None:
    def model(x: torch.Tensor, y: torch.Tensor) -> Any:
        z = x.clone()
        if y.sum() > 0:
            x.add_(y)
            y.copy_(z)
        return x, z

    script = exported(model, X.clone(), X.clone(), folder=tmp_path)
    for sign in (1, -1):
        ours, theirs = (X.clone(), sign * X), (X.clone(), sign * X)
        assert all(map(torch.equal, model(*ours), script(*theirs)))
        assert all(map(torch.equal, ours, theirs))


def test_a_size_is_a_number_of_the_program(tmp_path: Path) -> None:
    def model(x: torch.Tensor) -> Any:
        best, where = x[0], 0
        for i in range(1, x.shape[0]):
            if x[i] > best:
                best, where = x[i], i
        return best, where, x.shape[0] - where

    calls = [(X,), (-X,), (torch.tensor([2.0, 5.0, 1.0, 7.0, 3.0]),)]
    same(model, tmp_path, calls, dynamic={"x": {0: "n[2..64]"}})


def test_sizes_that_data_decides(tmp_path: Path) -> None:
    def model(x: torch.Tensor) -> Any:
        kept = x[x > 1.5]
        if kept.numel() > 1:
            kept = torch.cat([kept, kept.mean()[None]])
        return kept, torch.unique((x * 2).long()), (x > 1).nonzero()

    calls = [(X,), (torch.ones(5),), (torch.arange(9.0),)]
    same(model, tmp_path, calls, dynamic={"x": {0: "n[2..64]"}})


def test_results_of_several_types(tmp_path: Path) -> None:
    def model(x: torch.Tensor) -> Any:
        if x[0] > 2:
            return x, None
        if x[0] > 1:
            return {"x": x, "n": int(x[1])}
        return [x, x + 1]

    same(model, tmp_path, [(X,), (X + 1,), (X + 2,)])


def test_one_of_many_ways(tmp_path: Path) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        functions = [torch.sin, torch.cos, torch.exp, torch.neg]
        return functions[int(x[0]) % 4](x)

    same(model, tmp_path, [(X + k,) for k in range(4)])


def test_warnings(tmp_path: Path) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        if x[0] > 0:
            warnings.warn(f"x is {int(x[0])}", stacklevel=2)
        return x + 1

    script = exported(model, X, folder=tmp_path)
    with pytest.warns(UserWarning, match="x is 1"):
        script(X)


def test_an_int_of_more_than_64_bits_ends_the_run(tmp_path: Path) -> None:
    def model(x: torch.Tensor) -> Any:
        n = int(x[0])
        return (n + 1) * n * n

    script = same(model, tmp_path, [(X,), (X * 1000,)])
    with pytest.raises(torch.jit.Error, match="an int of more than 64 bits in a multiplication"):
        script(X * 1e9)


def test_nans_are_no_equals(tmp_path: Path) -> None:
    def model(x: torch.Tensor) -> Any:
        a = x[0].item()
        return a == a, a != a, a <= a, a < 3, a < 10**15

    same(model, tmp_path, [(X,), (X * math.nan,), (X * math.inf,)])


def test_the_text_of_a_tensor_is_refused(tmp_path: Path) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            print(x)
        return x

    with pytest.raises(CompileError, match="the text of a tensor") as caught:
        exported(model, X, folder=tmp_path)
    assert caught.value.code == "PTC-E030"
    assert caught.value.diagnostic.location is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(cases()))
def test_the_zoo(name: str, tmp_path: Path) -> None:
    case = cases()[name]
    with harness.logging_at(logging.INFO):
        if name not in REFUSED:
            exported(case.make(), *case.inputs[0], folder=tmp_path, dynamic=case.dynamic)
            return
        with pytest.raises(CompileError, match=REFUSED[name]) as caught:
            exported(case.make(), *case.inputs[0], folder=tmp_path, dynamic=case.dynamic)
    assert caught.value.code == "PTC-E030"
