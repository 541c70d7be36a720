"""One test a private name of torch, so that a new release says which one is gone."""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from ptc.autograd import torch_internals as internals


def test_functional_wrappers() -> None:
    x = torch.zeros(2)
    with internals.functionalisation():
        wrapped = internals.wrap(x)
        assert internals.is_wrapped(wrapped) and not internals.is_wrapped(x)
        view = wrapped.view(2)
        view.add_(1)
        assert internals.storage_key(view) == internals.storage_key(wrapped)
        value = internals.unwrap(wrapped)
    assert value.tolist() == [1.0, 1.0] and x.tolist() == [0.0, 0.0]
    assert internals.unwrap(x) is x


def test_composite_operators() -> None:
    assert internals.is_composite(torch.ops.aten.linear.default)
    assert not internals.is_composite(torch.ops.aten.mm.default)


def test_operators_that_lift_and_ask() -> None:
    assert str(internals.DEVICE_QUERY) == "prim.device.default"
    assert {str(op) for op in internals.LIFT_OPERATORS} == {
        "aten.lift_fresh.default",
        "aten.lift_fresh_copy.default",
    }
    assert torch._C._set_grad_enabled in internals.GRADIENT_SWITCHES


def test_slice_end() -> None:
    with FakeTensorMode() as mode:
        assert mode.from_tensor(torch.zeros(3))[: internals.SLICE_END].shape == (3,)


def test_fake_tensors_and_guards() -> None:
    mode = FakeTensorMode(shape_env=ShapeEnv())
    fake = internals.fake_constant(mode, torch.zeros(2))
    assert internals.is_fake(fake) and not internals.is_fake(torch.zeros(2))
    assert internals.guards_of(mode) == []
    assert internals.guards_of(FakeTensorMode()) == []


def test_modes_can_be_left() -> None:
    with FakeTensorMode(), internals.without_modes():
        assert not internals.is_fake(torch.zeros(1))


def test_python_dispatcher() -> None:
    with internals.python_dispatcher(True):
        assert torch.ones(2).sum() == 2
    with internals.python_dispatcher(False):
        assert torch.ones(2).sum() == 2


def test_last_node() -> None:
    graph = Graph()
    root = internals.last_node(graph)
    x = graph.placeholder("x")
    assert root.op == "root" and internals.last_node(graph) is x


def test_sizes_of_symbols() -> None:
    mode = FakeTensorMode(shape_env=ShapeEnv())
    assert mode.shape_env is not None
    made = mode.shape_env.create_unbacked_symint()
    size = internals.size_of_symbol(mode, str(made))
    assert isinstance(size, torch.SymInt) and str(size) == str(made)
