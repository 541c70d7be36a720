"""Graph breaks in torch programs: results, order of effects and what runs compiled."""

from __future__ import annotations

import contextlib
import gc
import io
from typing import Any

import pytest
import torch
from torch import nn

from tests.capture.torch_capture import TorchDispatcher


def run_both(fn: Any, *args: Any, calls: int = 2, **kwargs: Any) -> TorchDispatcher:
    """Compare `fn` native and captured: results and printed text, twice (the second call hits the
    cache)."""
    dispatcher = TorchDispatcher()
    for _ in range(calls):
        native, native_text = printed(fn, *args, **kwargs)
        captured, captured_text = printed(dispatcher(fn), *args, **kwargs)
        assert native_text == captured_text
        assert same(captured, native), (captured, native)
    return dispatcher


def same(left: Any, right: Any) -> bool:
    """Equal structure, tensors close in dtype and value."""
    if isinstance(left, torch.Tensor):
        torch.testing.assert_close(left, right)
        return True
    if isinstance(left, (list, tuple)):
        return type(left) is type(right) and len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


def printed(fn: Any, *args: Any, **kwargs: Any) -> tuple[Any, str]:
    with contextlib.redirect_stdout(io.StringIO()) as text:
        result = fn(*args, **kwargs)
    return result, text.getvalue()


class DynamicModel(nn.Module):
    """The seed example."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(10, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            print("Path A: Input sum > 0, applying ReLU")
            x = torch.relu(self.linear(x))
        else:
            print("Path B: Input sum <= 0, applying Sigmoid")
            x = torch.sigmoid(self.linear(x))
        return x


def test_seed_example() -> None:
    model = DynamicModel()
    dispatcher = TorchDispatcher()
    for value, path in ((1.0, "Path A"), (-1.0, "Path B"), (1.0, "Path A")):
        x = torch.full((10,), value)
        expected, _ = printed(model, x)
        actual, text = printed(dispatcher(DynamicModel.forward), model, x)
        torch.testing.assert_close(actual, expected)
        assert text.startswith(path)
        assert text.count("\n") == 1
    codes = [stop.code for stop in dispatcher.breaks]
    assert codes == ["PTC-B001", "PTC-B003", "PTC-B003"]
    # test, path A, path B, then only resumed segments
    assert dispatcher.captures == 5
    assert dispatcher.graphs_run == 6


def test_break_in_callee_dispatches_the_callee() -> None:
    def inner(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        print("inner")
        return y + 1

    def outer(x: torch.Tensor) -> torch.Tensor:
        return inner(x.sin()).cos() + inner(x)

    dispatcher = run_both(outer, torch.randn(4))
    assert any(code.co_name == "inner" for code in dispatcher.entries)


def test_break_in_module_called_in_loop() -> None:
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
            h = self.linear(x) * scale
            if h.mean() > 100:
                return h
            return torch.tanh(h)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(Layer() for _ in range(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for i, layer in enumerate(self.layers):
                x = layer(x, scale=i + 1.0) + x
            return x

    model = Model()
    run_both(Model.forward, model, torch.randn(2, 3))


def test_break_inside_no_grad() -> None:
    weight = torch.randn(3, 3, requires_grad=True)

    def fn(x: torch.Tensor) -> tuple[Any, ...]:
        a = x @ weight
        with torch.no_grad():
            b = a * 2
            print("inside", torch.is_grad_enabled())
            c = b + x @ weight
        d = c + a
        return a.requires_grad, b.requires_grad, c.requires_grad, d.requires_grad, d.detach()

    run_both(fn, torch.randn(2, 3))
    assert torch.is_grad_enabled()


def test_exception_inside_no_grad_restores_grad_mode() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        try:
            with torch.no_grad():
                y = x + 1
                print("before")
                raise ValueError("stop")
        except ValueError:
            y = x * 3
        return y

    run_both(fn, torch.randn(3))
    assert torch.is_grad_enabled()


def test_item_and_python_arithmetic() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        n = int(x.abs().sum().item()) + 1
        y = x * n
        return y.sum() + len(y)

    run_both(fn, torch.randn(5))


def test_loop_until_data_says_stop() -> None:
    def fn(x: torch.Tensor) -> tuple[torch.Tensor, int]:
        steps = 0
        while x.norm() > 1:
            x = x / 2
            steps += 1
        return x, steps

    run_both(fn, torch.full((4,), 10.0))


def test_effects_happen_once_and_in_order() -> None:
    class Recorder:
        def __init__(self) -> None:
            self.seen: list[Any] = []
            self.count = 0

    def fn(recorder: Recorder, x: torch.Tensor) -> torch.Tensor:
        recorder.count += 1
        recorder.seen.append("start")
        y = x + recorder.count
        print(recorder.seen, recorder.count)
        recorder.seen.append(y.shape[0])
        recorder.last = y
        return y * 2

    dispatcher = TorchDispatcher()
    native, captured = Recorder(), Recorder()
    for _ in range(3):
        x = torch.randn(3)
        expected, expected_text = printed(fn, native, x)
        actual, text = printed(dispatcher(fn), captured, x)
        torch.testing.assert_close(actual, expected)
        assert text == expected_text
        assert captured.seen == native.seen and captured.count == native.count
        torch.testing.assert_close(captured.last, native.last)


def test_inputs_returned_are_the_same_objects() -> None:
    def fn(x: torch.Tensor, items: list[Any]) -> tuple[Any, ...]:
        y = x + 1
        items.append(y)
        return x, items, y

    dispatcher = TorchDispatcher()
    x, items = torch.randn(2), [1]
    result = dispatcher(fn)(x, items)
    assert result[0] is x and result[1] is items and items[1] is result[2]


def test_mutated_input() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        x[0] = 7
        y = x * 2
        x.mul_(3)
        return y

    x, z = torch.ones(3), torch.ones(3)
    expected = fn(z)
    actual = TorchDispatcher()(fn)(x)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(x, z)


def test_user_error_surfaces_natively() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        return y @ torch.ones(5, 5)

    with pytest.raises(RuntimeError, match="size mismatch|shapes cannot be multiplied"):
        TorchDispatcher()(fn)(torch.randn(2, 3))


def test_module_attribute_write() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(3))
            self.calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            self.total = self.total + x
            self.cache = x * 2
            return self.total * self.calls

    native, captured = Counter(), Counter()
    dispatcher = TorchDispatcher()
    for _ in range(3):
        x = torch.randn(3)
        torch.testing.assert_close(dispatcher(Counter.forward)(captured, x), native(x))
    torch.testing.assert_close(captured.total, native.total)
    torch.testing.assert_close(captured.cache, native.cache)
    assert captured.calls == 3 and "total" in captured._buffers
    assert list(captured.__dict__) == list(native.__dict__)


def test_closure_cells_survive_a_break() -> None:
    def fn(x: torch.Tensor) -> tuple[Any, ...]:
        total = 0

        def add(n: int) -> None:
            nonlocal total
            total += n

        add(1)
        y = x + total
        print(total)
        add(2)
        return y * total, [total for _ in range(2)]

    run_both(fn, torch.randn(2))


def test_break_in_comprehension_and_generator() -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        print("noisy")
        return x + 1

    def fn(x: torch.Tensor) -> tuple[Any, ...]:
        parts = [noisy(x * i) for i in range(3)]
        return sum(parts), sum(noisy(p) for p in parts)

    run_both(fn, torch.randn(2))


def test_guards_reject_and_recapture() -> None:
    def fn(x: torch.Tensor, flag: bool, scale: float = 2.0) -> torch.Tensor:
        return x * scale if flag else x - 1

    dispatcher = TorchDispatcher()
    for x, flag, extra in (
        (torch.randn(2), True, {}),
        (torch.randn(3), True, {}),
        (torch.randn(2), False, {}),
        (torch.randn(2).double(), True, {"scale": 3.0}),
        (torch.randn(2), True, {}),
        (torch.randn(2, 2).t(), True, {}),
    ):
        torch.testing.assert_close(dispatcher(fn)(x, flag, **extra), fn(x, flag, **extra))
    assert dispatcher.captures == 5
    entry = dispatcher.entries[fn.__code__][0]
    words = entry.guards.explain_failure(fn, (torch.randn(3), True), {})
    assert words is not None and "shape [2]" in words


def test_module_structure_is_guarded() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
            self.scale = 1.0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layers(x) * self.scale

    model = Model()
    dispatcher = TorchDispatcher()
    forward = dispatcher(Model.forward)
    x = torch.randn(3, 2)

    def check() -> None:
        torch.testing.assert_close(forward(model, x), model.forward(x))

    check()
    model.scale = 3.0
    check()
    model.layers.append(nn.Linear(2, 4))
    check()
    model.layers[0] = nn.Identity()
    check()
    model.layers[2].register_forward_hook(lambda module, args, result: result + 1)
    check()
    with torch.no_grad():
        model.layers[2].weight.add_(1)
    check()
    model.layers[2].weight = nn.Parameter(torch.randn(4, 2))
    check()
    model.layers[1].forward = lambda x: x * 5
    check()
    model.double()
    x = x.double()
    check()


def test_training_flag_is_guarded() -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1 if self.training else x - 1

    model = Model()
    dispatcher = TorchDispatcher()
    for train in (True, False, True):
        model.train(train)
        x = torch.randn(2)
        torch.testing.assert_close(dispatcher(Model.forward)(model, x), model(x))
    assert dispatcher.captures == 2


def test_generator_in_a_broken_loop() -> None:
    def numbers(x: torch.Tensor) -> Any:
        for i in range(3):
            yield x * i

    def fn(x: torch.Tensor) -> torch.Tensor:
        total = x.cos()
        for part in numbers(x.sin()):
            print("part")
            total = total + part
        return total

    dispatcher = run_both(fn, torch.randn(3))
    assert dispatcher.graphs_run > 0


def test_aliased_arguments_are_kept_apart() -> None:
    def fn(a: list[Any], b: list[Any], x: torch.Tensor, y: torch.Tensor) -> tuple[Any, ...]:
        a.append(1)
        x.add_(1)
        return len(b), y * 2, a is b

    dispatcher = TorchDispatcher()

    def check(make: Any) -> None:
        native, captured = make(), make()
        expected = fn(*native)
        torch.testing.assert_close(dispatcher(fn)(*captured), expected)
        assert native[0] == captured[0] and native[1] == captured[1]
        torch.testing.assert_close(captured[2], native[2])

    def same_list() -> tuple[Any, ...]:
        shared: list[Any] = []
        return shared, shared, torch.ones(2), torch.ones(2)

    def same_tensor() -> tuple[Any, ...]:
        shared = torch.ones(2)
        return [], [], shared, shared

    def overlapping() -> tuple[Any, ...]:
        base = torch.ones(3)
        return [], [], base[:2], base[1:]

    for make in (
        lambda: ([], [], torch.ones(2), torch.ones(2)), same_list, same_tensor, overlapping,
    ):  # fmt: skip
        check(make)
        check(make)


def test_deep_recursion() -> None:
    def deep(n: int) -> int:
        return 0 if n == 0 else 1 + deep(n - 1)

    def fn(x: torch.Tensor) -> torch.Tensor:
        return x + deep(200)

    run_both(fn, torch.randn(2))


def test_dynamic_segments_guard_relations() -> None:
    from ptc.capture.api import DynamicSpec

    def fn(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        if n > 4:
            x = x * n
        print("sizes")
        return x @ y + x.shape[0]

    dispatcher = TorchDispatcher(DynamicSpec({}, all=True))
    for n in (3, 4, 3, 6, 9, 5):
        x, y = torch.randn(n, n), torch.randn(n, 2)
        expected, _ = printed(fn, x, y)
        actual, _ = printed(dispatcher(fn), x, y)
        torch.testing.assert_close(actual, expected)
    assert len(dispatcher.entries[fn.__code__]) == 2


def test_views_stay_views_across_a_break() -> None:
    def fn(x: torch.Tensor, flag: bool) -> tuple[Any, ...]:
        a = x + 1
        b = a[0]
        c = a.view(-1)
        first, second = c.chunk(2)
        d = x.t()
        print("break")
        b.add_(10)
        second.mul_(2)
        if flag:
            d.zero_()
        return a, b, c, first, d

    dispatcher = TorchDispatcher()
    # Results as copies, which is what a compiled graph returns
    compile_graph = dispatcher.compile_graph

    def compile_to_copies(program: Any) -> Any:
        run_graph = compile_graph(program)
        return lambda *inputs: tuple(out.clone() for out in run_graph(*inputs))

    dispatcher.compile_graph = compile_to_copies  # type: ignore[method-assign]
    for flag in (False, True):
        x, y = torch.arange(4.0).view(2, 2), torch.arange(4.0).view(2, 2)
        expected, _ = printed(fn, x, flag)
        actual, _ = printed(dispatcher(fn), y, flag)
        torch.testing.assert_close(actual, expected)
        torch.testing.assert_close(y, x)


def test_autocast_across_a_break() -> None:
    linear = nn.Linear(4, 4)

    def fn(x: torch.Tensor, noisy: bool) -> tuple[Any, ...]:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            a = linear(x)
            if noisy:
                print(torch.is_autocast_enabled("cpu"))
            b = a @ torch.eye(4)
            with torch.autocast("cpu", enabled=False):
                c = linear(x) + b
        return a, b, c, linear(x), [str(t.dtype) for t in (a, b, c)]

    for noisy in (False, True):
        run_both(fn, torch.randn(3, 4), noisy)
        assert not torch.is_autocast_enabled("cpu")


def test_autocast_outside_is_guarded() -> None:
    linear = nn.Linear(4, 4)

    def fn(x: torch.Tensor) -> torch.Tensor:
        return linear(x)

    dispatcher = TorchDispatcher()
    x = torch.randn(2, 4)
    assert dispatcher(fn)(x).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert dispatcher(fn)(x).dtype == torch.bfloat16
    assert dispatcher(fn)(x).dtype == torch.float32
    assert dispatcher.captures == 2


def test_inference_mode_and_decorators() -> None:
    linear = nn.Linear(4, 4)

    @torch.inference_mode()
    def inner(x: torch.Tensor) -> torch.Tensor:
        return linear(x)

    @torch.no_grad()
    def quiet(x: torch.Tensor) -> torch.Tensor:
        print("quiet")
        return linear(x)

    def fn(x: torch.Tensor) -> tuple[Any, ...]:
        a, b = inner(x), quiet(x)
        with torch.set_grad_enabled(False):
            c = linear(x)
        with torch.enable_grad():
            d = linear(x)
        return a, b, c, d, [t.requires_grad for t in (a, b, c, d)]

    run_both(fn, torch.randn(2, 4))
    assert torch.is_grad_enabled()
    with torch.no_grad():
        run_both(fn, torch.randn(2, 4))


def test_identity_of_arguments_is_guarded() -> None:
    def fn(a: Any, b: Any, x: torch.Tensor) -> tuple[Any, ...]:
        return a is b, x + (1 if a is b else 2)

    dispatcher = TorchDispatcher()
    first, second, x = [1], [1], torch.ones(2)
    for a, b in ((first, second), (first, first), (second, first), (second, second)):
        assert same(dispatcher(fn)(a, b, x), fn(a, b, x))
    assert dispatcher.captures == 2


def test_object_with_c_state_lives_as_long_as_its_variable() -> None:
    import tempfile
    from pathlib import Path as FilePath

    def fn(x: torch.Tensor) -> tuple[Any, ...]:
        folder = tempfile.TemporaryDirectory()
        name = folder.name
        y = x + 1
        print("break")
        return FilePath(name).exists(), y

    assert TorchDispatcher()(fn)(torch.ones(2))[0] is True


def test_finaliser_runs() -> None:
    log: list[str] = []

    class Noisy:
        def __init__(self, name: str) -> None:
            self.name = name

        def __del__(self) -> None:
            log.append(self.name)

    def fn(x: torch.Tensor) -> torch.Tensor:
        first = Noisy("first")
        y = x + 1
        del first
        log.append("after")
        return y

    TorchDispatcher()(fn)(torch.ones(2))
    gc.collect()
    assert sorted(log) == ["after", "first"]
