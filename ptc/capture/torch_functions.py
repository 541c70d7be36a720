"""Which torch functions are graph nodes as they are, which change their arguments, and the few that
need handlers of their own.

A leaf is called on fake tensors and put into the graph, though it may be written in Python
(`F.softmax`). All other Python functions of torch (module methods, containers) are traced.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F

from ptc.capture import fakes, torch_state
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.calls import FALLBACKS, builtin, pure
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import SLICED_AS_THEMSELVES, TupleValue
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph import transforms

if TYPE_CHECKING:
    from ptc.capture.torch_machine import TorchMachine

_C: Any = torch._C
SYMBOLIC_UNARY: dict[str, Any] = {
    "__floor__": math.floor,
    "__ceil__": math.ceil,
    "__trunc__": math.trunc,
}

# Tensor methods that change what Python sees of a tensor, not its data
_METADATA_METHODS = frozenset(
    {
        "resize_",
        "resize_as_",
        "set_",
        "squeeze_",
        "unsqueeze_",
        "transpose_",
        "swapaxes_",
        "swapdims_",
        "t_",
        "as_strided_",
        "requires_grad_",
        "detach_",
        "rename_",
        "share_memory_",
        "swap_tensors",
        "data_ptr",
        "register_hook",
        "backward",
        "retain_grad",
        "storage",
        "untyped_storage",
        "tolist",
        "numpy",
        "__array__",
        "__dlpack__",
        "apply_",
        "map_",
        "map2_",
        "register_post_accumulate_grad_hook",
        "_make_subclass",
        "__deepcopy__",
        "__reduce_ex__",
    }
)
_READS_DATA = frozenset(
    {
        "item",
        "tolist",
        "numpy",
        "__array__",
        "__index__",
        "__int__",
        "__float__",
        "__bool__",
        "__complex__",
        "is_nonzero",
        "__format__",
        "__repr__",
        "__str__",
    }
)
# What they give for a tensor whose one number is known
_READ_KNOWN: dict[str, Any] = {
    "item": lambda number: number,
    "tolist": lambda number: number,
    "__index__": operator.index,
    "__int__": int,
    "__float__": float,
    "__bool__": bool,
}
_HINT_ITEM = "keep it a tensor; `control_flow=True` computes with such numbers, too"
_HINT_MEMORY = "stay with tensors and torch's functions"


def _leaf_functions() -> dict[int, Any]:
    leaves: dict[int, Any] = {}

    def add(owner: Any, names: Any) -> None:
        for name in names:
            function = getattr(owner, name, None)
            if callable(function) and not isinstance(function, type):
                leaves[id(function)] = function

    public = [name for name in dir(_C._VariableFunctions) if not name.startswith("__")]
    add(torch, public)
    add(_C._VariableFunctions, public)
    add(torch.functional, torch.functional.__all__)
    add(F, [n for n in dir(F) if not n.startswith("_") and n.islower() and n not in _NOT_LEAVES])
    add(F, ["_scaled_dot_product_attention"])
    for module in (_C._nn, torch.linalg, torch.fft, torch.special, torch.nested, torch.sparse):
        add(module, [n for n in dir(module) if not n.startswith("__") and n.islower()])
    add(torch, ["sym_int", "sym_float", "sym_max", "sym_min", "sym_not", "sym_ite", "sym_sum"])
    return leaves


_NOT_LEAVES = frozenset(
    {
        "torch",
        "math",
        "warnings",
        "importlib",
        "types",
        "has_torch_function",
        "handle_torch_function",
        "has_torch_function_unary",
        "has_torch_function_variadic",
        "boolean_dispatch",
        "np",
    }
)
_LEAVES = _leaf_functions()
_TENSOR_BASES = (torch.Tensor, _C.TensorBase)


def mutates(target: Any, kwargs: dict[str, Value]) -> bool:
    """Whether a call that returns no tensor may still have changed one."""
    if "out" in kwargs:
        return True
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    return name in ("setitem", "__setitem__") or (name.endswith("_") and not name.endswith("__"))


def leaf_call(
    vm: TorchMachine, function: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """The call as a node, if the function is a leaf."""
    if id(function) in _LEAVES:
        return vm.torch_call("call_function", function, list(args), kwargs)
    module = getattr(function, "__module__", None)
    if module == "torch._tensor" and args and isinstance(args[0], TensorValue):
        return method_call(vm, function.__name__, args, kwargs)
    return None


def method_call(vm: TorchMachine, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`args[0].name(*args[1:])`"""
    owner = args[0]
    if name in _READS_DATA:
        known = _READ_KNOWN.get(name)
        number = fakes.known_number(owner.fake) if isinstance(owner, TensorValue) else None
        if known is not None and number is not None and len(args) == 1:
            return ConstantValue(known(number))
        read = vm.data_read(name, args)
        if read is not None:
            return read
        raise GraphBreak(
            "PTC-B002",
            f"Tensor.{name}() reads the data of {owner.describe()} into Python",
            _HINT_ITEM if known is not None else _HINT_MEMORY,
        )
    if name in _METADATA_METHODS and name not in _READS_DATA:
        return metadata_method(vm, name, args, kwargs)
    handler = METHOD_HANDLERS.get(name)
    if handler is not None:
        result = handler(vm, *args, **kwargs)
        if result is not None:
            return result
    return vm.torch_call("call_method", name, list(args), kwargs)


def metadata_method(
    vm: TorchMachine, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    if name == "requires_grad_" and isinstance(args[0], TensorValue):
        wanted = [*args[1:], *kwargs.values()]
        flag = bool(wanted[0].constant()) if wanted else True
        if args[0].fake.requires_grad == flag:
            return args[0]
        if args[0].source is None or not vm.records_gradients:
            return _with_requires_grad(vm, args[0], flag)
    raise GraphBreak("PTC-B018", f"Tensor.{name}() cannot be captured")


def _with_requires_grad(vm: TorchMachine, tensor: TensorValue, flag: bool) -> Value:
    """A tensor that the program made, or one that a library is given, which no caller sees."""
    if not vm.takes_requires_grad(tensor):
        return tensor
    if not transforms.is_wrapped(tensor.fake) and tensor.fake.is_leaf:
        vm.journal.record(torch_state.require_grad_again, tensor.fake, not flag)
    vm.torch_call("call_method", "requires_grad_", [tensor, ConstantValue(flag)], {})
    return tensor


def _fallback(vm: Any, function: Any, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    """Torch's C functions, operators of torch.ops, and methods of tensors."""
    if isinstance(function, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return vm.torch_call("call_function", function, list(args), kwargs)
    if id(function) in _LEAVES:
        return vm.torch_call("call_function", function, list(args), kwargs)
    if getattr(function, "__module__", None) == "math":
        return _math_of_tensor(vm, function, args, kwargs)
    owner = getattr(function, "__objclass__", None)
    if owner in _TENSOR_BASES:
        name = function.__name__
        if args and isinstance(args[0], TensorValue):
            return method_call(vm, name, args, kwargs)
    return None


def _math_of_tensor(
    vm: Any, function: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A function of `math` reads the number of a tensor."""
    if not any(isinstance(arg, TensorValue) for arg in args):
        return None
    read = [arg.convert(vm, float) if isinstance(arg, TensorValue) else arg for arg in args]
    return vm.call_builtin(function, read, kwargs)


FALLBACKS.insert(0, _fallback)


# -- methods with a Python answer ---------------------------------------------------------------


def _size(vm: TorchMachine, tensor: TensorValue, dim: Value | None = None) -> Value:
    if dim is None or dim.cls is type(None):
        return vm.shape_value(tensor)
    index = vm.as_index(dim)
    if not -tensor.fake.dim() <= index < tensor.fake.dim():
        return vm.torch_call("call_method", "size", [tensor, dim], {})
    return vm.size_value(tensor, index % tensor.fake.dim())


def _stride(vm: TorchMachine, tensor: TensorValue, dim: Value | None = None) -> Value:
    vm.asks_layout(tensor)
    if dim is None:
        return TupleValue([vm.stride_value(tensor, i) for i in range(tensor.fake.dim())])
    return vm.stride_value(tensor, vm.as_index(dim))


def _numel(vm: TorchMachine, tensor: TensorValue) -> Value:
    total: Value = ConstantValue(1)
    for dim in range(tensor.fake.dim()):
        total = vm.binary("*", total, vm.size_value(tensor, dim))
    return total


def _dim(vm: TorchMachine, tensor: TensorValue) -> Value:
    return ConstantValue(tensor.fake.dim())


def _get_device(vm: TorchMachine, tensor: TensorValue) -> Value:
    return ConstantValue(tensor.fake.get_device())


def _len(vm: TorchMachine, tensor: TensorValue) -> Value:
    return tensor.length(vm)


def _iter(vm: TorchMachine, tensor: TensorValue) -> Value:
    return tensor.iterate(vm)


def _type(vm: TorchMachine, tensor: TensorValue, *args: Value, **kwargs: Value) -> Value | None:
    if not args and not kwargs:
        return ConstantValue(tensor.fake.type())
    return None


def _hash(vm: TorchMachine, tensor: TensorValue) -> Value:
    return vm.call(vm.wrap_fixed(id), [tensor])


def _as_function(function: Any) -> Any:
    """A method that does what a function with a handler does."""
    return lambda vm, *args, **kwargs: vm.call_builtin(function, list(args), kwargs)


METHOD_HANDLERS: dict[str, Any] = {
    "size": _size,
    "stride": _stride,
    "numel": _numel,
    "nelement": _numel,
    "dim": _dim,
    "ndimension": _dim,
    "get_device": _get_device,
    "__hash__": _hash,
    "__len__": _len,
    "__iter__": _iter,
    "type": _type,
    "inverse": _as_function(torch.inverse),
    "cholesky": _as_function(torch.cholesky),
    "cholesky_inverse": _as_function(torch.cholesky_inverse),
}


@builtin(torch.numel)
def _torch_numel(vm: TorchMachine, input: Value) -> Value:
    assert isinstance(input, TensorValue)
    return _numel(vm, input)


@builtin(torch.is_tensor)
def _is_tensor(vm: TorchMachine, obj: Value) -> Value:
    return ConstantValue(isinstance(obj, TensorValue))


SLICED_AS_THEMSELVES.add(torch.Size)


@builtin(torch.Size)
def _torch_size(vm: TorchMachine, sizes: Value | None = None) -> Value:
    return TupleValue([] if sizes is None else list(vm.unpack(sizes)), torch.Size)


@builtin(torch.Size.__add__)
def _size_add(vm: TorchMachine, self: Value, other: Value) -> Value:
    return TupleValue([*vm.unpack(self), *_added(vm, other)], torch.Size)


@builtin(torch.Size.__radd__)
def _size_radd(vm: TorchMachine, self: Value, other: Value) -> Value:
    return TupleValue([*_added(vm, other), *vm.unpack(self)], torch.Size)


def _added(vm: TorchMachine, other: Value) -> list[Value]:
    if not issubclass(other.cls, tuple):
        kind = other.cls.__name__
        raise vm.type_error(f"can only concatenate tuple (not {kind}) to torch.Size")
    return list(vm.unpack(other))


@builtin(torch.Size.__mul__, torch.Size.__rmul__)
def _size_repeat(vm: TorchMachine, self: Value, count: Value) -> Value:
    if not vm.has_index(count):
        kind = count.cls.__name__
        raise vm.type_error(f"can't multiply sequence by non-int of type '{kind}'")
    return TupleValue(list(vm.unpack(self)) * vm.as_index(count), torch.Size)


@builtin(torch.Size.numel)
def _size_numel(vm: TorchMachine, size: Value) -> Value:
    total: Value = ConstantValue(1)
    for part in vm.unpack(size):
        total = vm.binary("*", total, part)
    return total


@builtin(math.sqrt)
def _math_sqrt(vm: Any, value: Value) -> Value:
    if isinstance(value, SymbolicNumber):
        number = torch._sym_sqrt(value.number)  # type: ignore[attr-defined]
        return vm.number_value(
            number,
            lambda: vm.number_node(torch._sym_sqrt, [value], number),  # type: ignore[attr-defined]
        )
    if isinstance(value, TensorValue):
        value = value.convert(vm, float) or value
    return vm.evaluate(math.sqrt, value.constant())


def checked(target: Any, function: Any) -> Any:
    """`function`, which runs `target` on fake tensors, with the checks of eager that those lack."""
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    written = _WRITTEN_VIEWS.get(name)
    if written is None:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        given, view = written(*args, **kwargs)
        if given.shape != view.shape:
            raise RuntimeError(
                "expected src to have a size equal to the slice of self. "
                f"src size = {list(given.shape)}, slice size = {list(view.shape)}"
            )
        return function(*args, **kwargs)

    return call


def _written_slice(
    input: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1
) -> tuple[Any, Any]:
    return src, torch.ops.aten.slice.Tensor(input, dim, start, end, step)


def _written_row(input: Any, src: Any, dim: int, index: Any) -> tuple[Any, Any]:
    return src, input.select(dim, index)


def _written_diagonal(
    input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> tuple[Any, Any]:
    return src, input.diagonal(offset, dim1, dim2)


_WRITTEN_VIEWS: dict[str, Any] = {
    "slice_scatter": _written_slice,
    "select_scatter": _written_row,
    "diagonal_scatter": _written_diagonal,
}


pure(
    torch.finfo, torch.iinfo, torch.device, torch.promote_types, torch.can_cast,
)  # fmt: skip
