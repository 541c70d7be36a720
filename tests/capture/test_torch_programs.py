"""Whole programs: structure, naming, dynamic sizes, refusals with codes."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

from ptc.capture.api import DynamicSpec, capture_program
from ptc.graph.program import CapturedProgram, Const, InputKind, Leaf, Node
from ptc.support.diagnostics import CompileError


def flat_inputs(program: CapturedProgram, users: list[Any]) -> list[Any]:
    """The graph's inputs: live tensors, and the user's in order."""
    rest = iter(users)
    return [
        next(rest) if i.kind in (InputKind.USER, InputKind.SCALAR) else i.live
        for i in program.inputs
    ]


def run(program: CapturedProgram, *users: Any) -> tuple[Any, ...]:
    program.graph.graph.lint()
    return program.graph(*flat_inputs(program, list(users)))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {"norm": nn.LayerNorm(8), "mlp": nn.Sequential(nn.Linear(8, 8), nn.GELU())}
            )
            for _ in range(2)
        )
        self.register_buffer("scale", torch.tensor(0.5))
        self.head = nn.Linear(8, 10, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> dict[str, Any]:
        x = self.embed(ids) * self.scale
        for block in self.blocks:
            x = x + block["mlp"](block["norm"](x))
        if mask is not None:
            x = x.masked_fill(mask[..., None], 0.0)
        return {"logits": self.head(x), "hidden": (x, None), "size": x.shape[1]}


def test_module_program() -> None:
    model = Net().eval()
    ids = torch.randint(0, 10, (2, 5))
    program = capture_program(model, (ids,))
    expected = model(ids)
    outputs = run(program, ids)
    torch.testing.assert_close(outputs[0], expected["logits"])
    torch.testing.assert_close(outputs[1], expected["hidden"][0])
    names = [i.name for i in program.inputs]
    assert names[0] == "ids"
    assert "blocks.1.mlp.0.weight" in names and "scale" in names
    # Tied weights are one input
    assert names.count("embed.weight") == 1 and "head.weight" not in names
    tied = program.inputs[names.index("embed.weight")]
    assert tied.kind is InputKind.PARAMETER and tied.live is model.embed.weight
    assert "head.weight" in tied.aliases
    assert program.inputs[names.index("scale")].kind is InputKind.BUFFER
    assert program.result == Node(
        "dict",
        (Leaf(0), Node("tuple", (Leaf(1), Const(None))), Const(5)),
        ("logits", "hidden", "size"),
    )
    assert program.arguments == Node("tuple", (Node("tuple", (Leaf(0),)), Node("dict", ())))
    for node in program.graph.graph.nodes:
        assert "val" in node.meta
        if node.op.startswith("call"):
            assert node.meta["location"].line > 0 and node.meta["stack"]


def test_keyword_arguments_and_nested_inputs() -> None:
    def fn(batch: dict[str, Any], *rest: torch.Tensor, flag: bool = True, **extra: Any) -> Any:
        total = batch["a"] + batch["pair"][1]
        for tensor in rest:
            total = total * tensor
        return [total, extra["bias"] + 1 if flag else None]

    a, b, c, d = (torch.randn(3) for _ in range(4))
    program = capture_program(fn, ({"a": a, "pair": (1, b)}, c), {"bias": d})
    assert [i.name for i in program.inputs] == ["batch.a", "batch.pair.1", "rest.0", "bias"]
    outputs = run(program, a, b, c, d)
    torch.testing.assert_close(list(outputs), fn({"a": a, "pair": (1, b)}, c, bias=d))
    assert program.arguments == Node(
        "tuple",
        (
            Node("tuple", (
                Node("dict", (Leaf(0), Node("tuple", (Const(1), Leaf(1)))), ("a", "pair")), Leaf(2),
            )),
            Node("dict", (Leaf(3),), ("bias",)),
        ),
    )  # fmt: skip


@dataclasses.dataclass
class Output:
    value: torch.Tensor
    label: str = "x"


class Pair(NamedTuple):
    left: torch.Tensor
    right: int


def test_structured_results() -> None:
    def fn(x: torch.Tensor) -> Any:
        return Output(x + 1), Pair(x * 2, 3), x

    program = capture_program(fn, (torch.randn(2),))
    assert isinstance(program.result, Node)
    kinds = [child.kind for child in program.result.children if isinstance(child, Node)]
    assert kinds == ["dataclass", "namedtuple"]
    assert program.result.children[2] == Leaf(2)
    assert program.outputs[2].alias_of == 0


@pytest.mark.parametrize("size", [2, 3, 7])
def test_dynamic_batch(size: int) -> None:
    convolution = nn.Conv2d(3, 4, 3, padding=1)
    head = nn.Linear(4 * 16, 5)
    model = nn.Sequential(convolution, nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(1), head).eval()

    def fn(x: torch.Tensor) -> torch.Tensor:
        y = model(x)
        return y.view(x.shape[0], -1, 1).expand(x.size(0), 5, 2) + x.shape[0] * 2

    program = capture_program(
        fn, (torch.randn(4, 3, 4, 4),), dynamic=DynamicSpec({"x": {0: ("batch", 1, 64)}})
    )
    assert [d.name for d in program.dims.values()] == ["batch"]
    x = torch.randn(size, 3, 4, 4)
    torch.testing.assert_close(run(program, x)[0], fn(x))


def test_branch_on_symbolic_size() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 8:
            return x + 1
        return x - 1

    spec = DynamicSpec({"x": {0: ("n", 1, 64)}})
    with pytest.raises(CompileError) as caught:
        capture_program(fn, (torch.randn(4),), dynamic=spec)
    diagnostic = caught.value.diagnostic
    assert diagnostic.code == "PTC-B009"
    assert diagnostic.location is not None and "x.shape[0] > 8" in diagnostic.location.text
    narrow = DynamicSpec({"x": {0: ("n", 1, 8)}})
    x = torch.randn(3)
    program = capture_program(fn, (torch.randn(4),), dynamic=narrow)
    torch.testing.assert_close(run(program, x)[0], x - 1)


def refused(fn: Any, *args: Any) -> CompileError:
    with pytest.raises(CompileError) as caught:
        capture_program(fn, args)
    assert caught.value.diagnostic.location is not None
    return caught.value


def test_refusals_name_code_and_line() -> None:
    def reads(x: torch.Tensor) -> Any:
        return x * len(open("names.txt").read())

    def write(x: torch.Tensor) -> Any:
        STATE["x"] = x
        return x

    x = torch.randn(3)
    assert refused(reads, x).code == "PTC-B003"
    with pytest.raises(CompileError) as caught:
        capture_program(write, (x,))
    assert caught.value.code == "PTC-B003"


STATE: dict[str, Any] = {}


def test_users_error_is_raised_with_lines() -> None:
    def helper(x: torch.Tensor) -> torch.Tensor:
        return x @ torch.ones(7, 7)

    def fn(x: torch.Tensor) -> torch.Tensor:
        return helper(x) + 1

    with pytest.raises(RuntimeError) as caught:
        capture_program(fn, (torch.randn(2, 3),))
    assert any("x @ torch.ones(7, 7)" in note for note in caught.value.__notes__)

    def raises(x: torch.Tensor) -> torch.Tensor:
        raise ValueError(f"bad size {x.shape[0]}")

    with pytest.raises(ValueError, match="bad size 2"):
        capture_program(raises, (torch.randn(2, 3),))


def test_mutation_stays_in_the_graph() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count += 1
            return x * self.count

    model = Counter()
    program = capture_program(model, (torch.ones(2),))
    torch.testing.assert_close(run(program, torch.ones(2))[0], torch.ones(2))
    assert model.count.item() == 1.0


def test_capture_runs_no_user_code_and_leaves_state() -> None:
    log: list[str] = []

    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                return x + 1

    model = Model()
    before = torch.random.get_rng_state()
    capture_program(model, (torch.ones(2),))
    assert torch.is_grad_enabled() and not log
    assert torch.equal(before, torch.random.get_rng_state())


def test_tensor_methods_and_operators() -> None:
    def fn(x: torch.Tensor, i: torch.Tensor) -> Any:
        a = x.T @ x
        b = x[..., None].expand(-1, -1, 2).permute(2, 0, 1)
        c = x[1:, ::2] + 2 ** x[0, 0] - (3 // (x.abs() + 1))[1:, :2]
        d = torch.cat([x, x.new_zeros(1, 4)]).chunk(2, dim=0)
        e, f = torch.max(x, dim=1)
        g = x.max(dim=0).values
        h = torch.where(x > 0, x, -x)
        k = x.gather(1, i)
        x2 = x.clone()
        x2[0] = 1.0
        x2[x2 > 2] = 0.0
        x2 += 1
        m = -x2 if len(x) == 3 else x2
        n = sum(row.sum() for row in x)
        o = torch.stack(list(x.unbind(0))).float().to(torch.float64)
        p = torch.einsum("ij,kj->ik", x, x)
        q = x.size(), x.dim(), x.numel(), x.dtype, x.is_floating_point(), x.device.type
        return a, b, c, d, e, f, g, h, k, m, n, o, p, list(q[0]), q[1:3], q[4:]

    x, i = torch.randn(3, 4), torch.zeros(3, 1, dtype=torch.long)
    program = capture_program(fn, (x, i))
    flat: list[Any] = []

    def collect(value: Any) -> None:
        if isinstance(value, torch.Tensor):
            flat.append(value)
        elif isinstance(value, (tuple, list)):
            for element in value:
                collect(element)

    collect(fn(x, i))
    for actual, expected in zip(run(program, x, i), flat, strict=True):
        torch.testing.assert_close(actual, expected)
