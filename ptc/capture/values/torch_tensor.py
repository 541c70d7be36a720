"""Tensors: a fake tensor for what is known, a graph node for what is computed."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch
import torch.fx

from ptc.capture.errors import GraphBreak, NotConstant
from ptc.capture.fakes import known_number
from ptc.capture.sources import Source
from ptc.capture.values.base import IdentityKey, Value
from ptc.capture.values.constants import IMMUTABLE_TYPES, ConstantValue
from ptc.capture.values.containers import TupleValue
from ptc.capture.values.objects import Instance
from ptc.graph import transforms
from ptc.graph.program import InputKind

if TYPE_CHECKING:
    from ptc.capture.rebuild import Rebuilder
    from ptc.capture.torch_machine import TorchMachine

IMMUTABLE_TYPES.update(
    {torch.dtype, torch.device, torch.layout, torch.memory_format, torch.finfo, torch.iinfo}
)
_HINT_ITEM = "keep it a tensor; `control_flow=True` computes with such numbers, too"

# Attributes that a fake tensor answers as the real one would
_FACTS = frozenset(
    {
        "dtype",
        "device",
        "layout",
        "is_cuda",
        "is_cpu",
        "is_mps",
        "is_xpu",
        "is_sparse",
        "is_quantized",
        "is_meta",
        "is_mkldnn",
        "itemsize",
        "requires_grad",
        "is_leaf",
        "is_nested",
        "is_sparse_csr",
        "is_vulkan",
        "is_ipu",
        "is_xla",
        "is_maia",
    }
)
_OF_GRADIENTS = frozenset({"requires_grad", "is_leaf"})
_VIEWS = frozenset({"T", "mT", "H", "mH", "real", "imag", "data"})


class TensorValue(Instance):
    """A tensor. `node` is made when something first uses it, if it is an input."""

    __slots__ = ("_node", "fake", "first_version", "kind", "live")

    def __init__(
        self,
        fake: torch.Tensor,
        node: torch.fx.Node | None,
        source: Source | None = None,
        kind: InputKind = InputKind.USER,
        live: torch.Tensor | None = None,
    ) -> None:
        super().__init__(
            torch.nn.Parameter if isinstance(fake, torch.nn.Parameter) else torch.Tensor, source
        )
        self.fake = fake
        self.first_version = 0 if fake.is_inference() else fake._version
        self._node = node
        self.kind = kind
        self.live = live
        if live is not None:
            self.klass = type(live)

    def real(self) -> Any:
        if self.live is None:
            return super().real()
        return self.live

    def address(self, vm: TorchMachine) -> int:  # type: ignore[override]
        if self.kind is InputKind.USER:
            raise NotConstant(self)
        return self.fixed_address(vm)

    def node(self, vm: TorchMachine) -> torch.fx.Node:
        return vm.tensor_node(self)

    def became_input(self, vm: TorchMachine, node: torch.fx.Node) -> None:
        """The tensor was given a placeholder."""
        vm.journal.assign(self, "_node", node)
        vm.journal.put(vm.value_of_node, node, self)

    def describe(self) -> str:
        where = f" ({self.source})" if self.source is not None else ""
        return f"a tensor {self.fake.dtype}{list(self.fake.shape)}{where}".replace("torch.", "")

    # -- what a program may ask ----------------------------------------------------------------

    def truth(self, vm: TorchMachine) -> bool:  # type: ignore[override]
        if self.fake.numel() != 1:
            ambiguous = "Boolean value of Tensor with more than one value is ambiguous"
            if self.fake.numel() == 0:
                ambiguous = "Boolean value of Tensor with no values is ambiguous"
            raise vm.exception(RuntimeError, ambiguous)
        number = known_number(self.fake)
        if number is not None:
            return bool(number)
        return vm.tensor_truth(self)

    def length(self, vm: TorchMachine) -> Value:  # type: ignore[override]
        if self.fake.dim() == 0:
            raise vm.type_error("len() of a 0-d tensor")
        return vm.size_value(self, 0)

    def attribute(self, vm: TorchMachine, name: str) -> Value | None:  # type: ignore[override]
        if name in _FACTS:
            if name in _OF_GRADIENTS:
                vm.require_known_gradient(self, name)
            return ConstantValue(getattr(self.fake, name))
        if name == "shape":
            return vm.shape_value(self)
        if name == "ndim":
            return ConstantValue(self.fake.dim())
        if name in _VIEWS:
            return vm.tensor_attribute(self, name)
        if name == "grad":
            return self._grad(vm)
        if name == "grad_fn":
            vm.require_known_gradient(self, name)
            if not self.fake.requires_grad or self.fake.is_leaf:
                return ConstantValue(None)
            raise GraphBreak("PTC-B016", "grad_fn of a tensor computed in the graph is read")
        if name in ("names", "nbytes"):
            return vm.wrap_new(getattr(self.fake, name))
        if name in self.attrs or self.live is not None:
            return super().attribute(vm, name)
        return None

    def read_real(self, vm: TorchMachine, name: str) -> Value | None:  # type: ignore[override]
        """Attributes that a program has put on a tensor from outside."""
        namespace = getattr(self.live, "__dict__", None)
        if not namespace or name not in namespace:
            return None
        value = vm.wrap(namespace[name], self.attribute_source(name))
        vm.journal.read(self.attrs, name, value)
        return value

    def _grad(self, vm: TorchMachine) -> Value:
        if self.live is None or self.source is None:
            return ConstantValue(None)
        return vm.wrap(self.live.grad, self.attribute_source("grad"))

    def set_attribute(self, vm: TorchMachine, name: str, value: Value) -> None:  # type: ignore[override]
        if name == "requires_grad":
            vm.call(vm.getattr(self, "requires_grad_"), [value])
            return
        if name in ("data", "grad", "names"):
            raise GraphBreak("PTC-B016", f"attribute {name!r} of {self.describe()} is set")
        super().set_attribute(vm, name, value)

    def getitem(self, vm: TorchMachine, key: Value) -> Value:  # type: ignore[override]
        return vm.torch_call("call_function", operator.getitem, [self, key], {})

    def setitem(self, vm: TorchMachine, key: Value, value: Value) -> None:  # type: ignore[override]
        vm.torch_call("call_function", operator.setitem, [self, key, value], {})

    def iterate(self, vm: TorchMachine) -> Value:  # type: ignore[override]
        if self.fake.dim() == 0:
            raise vm.type_error("iteration over a 0-d tensor")
        by_data = vm.iterate_rows(self)
        if by_data is not None:
            return by_data
        parts = vm.torch_call("call_method", "unbind", [self, ConstantValue(0)], {})
        assert isinstance(parts, TupleValue)
        return parts.iterate(vm)

    def contains(self, vm: TorchMachine, item: Value) -> Value:  # type: ignore[override]
        return vm.tensor_contains(self, item)

    # -- arithmetic ----------------------------------------------------------------------------

    def binary(self, vm: TorchMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        if not vm.takes_part(other):
            return None
        args = [other, self] if reflected else [self, other]
        return vm.torch_operator(op, args)

    def inplace(self, vm: TorchMachine, op: str, other: Value) -> Value | None:  # type: ignore[override]
        if not vm.takes_part(other):
            return None
        return vm.torch_inplace(op, [self, other])

    def unary(self, vm: TorchMachine, op: str) -> Value | None:  # type: ignore[override]
        return vm.torch_unary(op, self)

    def compare(self, vm: TorchMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        if not vm.takes_part(other):
            return None
        args = [other, self] if reflected else [self, other]
        return vm.torch_compare(op, args)

    def convert(self, vm: TorchMachine, to: type) -> Value | None:  # type: ignore[override]
        if to is bool:
            return None
        number = known_number(self.fake)
        if number is not None:
            return ConstantValue(to(number))
        read = vm.data_read(f"__{to.__name__}__", [self])
        if read is not None:
            return read
        raise GraphBreak(
            "PTC-B002", f"{to.__name__}() reads the data of {self.describe()}", _HINT_ITEM
        )

    def hash_key(self, vm: TorchMachine) -> Any:  # type: ignore[override]
        return IdentityKey(self)

    def require_no_level(self) -> None:
        """A tensor of a function transform has no meaning outside of it."""
        if transforms.is_wrapped(self.fake):
            raise GraphBreak(
                "PTC-B004",
                f"{self.describe()} of a function transform is used where the graph ends",
                "return what the transformed function computes",
            )

    def known_node(self) -> torch.fx.Node | None:
        return self._node

    def rebuild(self, emit: Rebuilder) -> str:
        self.require_no_level()
        derived = emit.derive(self)
        if derived is not None:
            name = emit.define(self, derived)
        else:
            name = emit.output(self)
            emit.bind(self, name)
        for attribute, value in self.attrs.items():
            emit.line(f"{name}.{attribute} = {emit.value(value)}")
        return name
