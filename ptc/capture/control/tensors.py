"""Tensors across blocks: which variable holds one, how a view is derived again from its base, and
the calls that read data into Python.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.fx

from ptc.capture.control import layouts
from ptc.capture.control.arithmetic import arithmetic
from ptc.capture.control.homes import storage
from ptc.capture.control.states import Restart
from ptc.capture.errors import GraphBreak
from ptc.capture.fakes import known_number
from ptc.capture.polyfills import data_tensors, torch_functions
from ptc.capture.values.base import Value
from ptc.capture.values.births import now
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import NumberKind, NumberVar, ReadItem, TensorVar
from ptc.graph.program import InputKind, ProgramInput
from ptc.graph.symbols import expression_of
from ptc.support.diagnostics import Location

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

WHOLLY = "wholly"  # of places where all tensors are kept apart
_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT)


# -- inputs ---------------------------------------------------------------------------------------


def declare(vm: ControlMachine, value: TensorValue) -> ProgramInput:
    """The program's input that a tensor from outside is."""
    known = vm.homes.inputs.get(value)
    if known is None:
        assert value.source is not None
        name = vm.builder._unique(vm.builder.path(value.source))
        live = value.live if value.kind in _WEIGHTS else None
        known = ProgramInput(name, value.kind, value.source.text(), live)
        vm.homes.inputs[value] = known
        if value.kind is InputKind.USER:
            vm.homes.variables[value] = TensorVar(name, value.fake)
        else:
            first = vm.state.first_variable(name, value)
            if first is not None:
                vm.homes.variables[value] = first
    return known


# -- nodes ----------------------------------------------------------------------------------------


def tensor_node(vm: ControlMachine, value: TensorValue) -> torch.fx.Node:
    """The node of a tensor in the open block."""
    require_current(vm, value)
    block = vm.writer.block
    own = value.known_node()
    if own is not None and own.graph is block.graph:
        return own
    value.require_no_level()
    known = block.nodes.get(value)
    if known is None:
        known = _imported(vm, value)
        # Reading a value may have ended the block
        vm.writer.block.nodes[value] = known
        vm.value_of_node[known] = value
    return known


def _imported(vm: ControlMachine, value: TensorValue) -> torch.fx.Node:
    own = value.known_node()
    if vm.homes.base(value) is not value and own is not None and value not in vm.homes.variables:
        return _copied(vm, own)
    described = declare(vm, value) if value.source is not None else None
    var = vm.homes.variables.get(value)
    if described is None or (var is not None and var.name != described.name):
        # A buffer that the program replaces is another tensor by its name
        var = var or tensor_variable(vm, value)
        described = ProgramInput(var.name, InputKind.USER, var.name)
    return vm.writer.block.add_input(described, value.fake)


def _copied(vm: ControlMachine, node: torch.fx.Node) -> torch.fx.Node:
    """A view made again in the open block by the calls that made it."""
    block = vm.writer.block
    known = block.copies.get(node)
    if known is not None:
        return known

    def argument(other: torch.fx.Node) -> torch.fx.Node:
        value = vm.value_of_node.get(other)
        if value is not None:
            return tensor_node(vm, value)
        return _copied(vm, other)

    args = torch.fx.map_arg(node.args, argument)
    kwargs = torch.fx.map_arg(node.kwargs, argument)
    block.facts = {**vm.builder.leaf_facts, **vm.facts.table}
    block.brought |= vm.writer.blocks[node.graph].known()
    made = block.add_call(
        node.op, node.target, args, kwargs, node.meta["val"], node.meta.get("stack", ())
    )
    block.copies[node] = made
    return made


def number_argument(vm: ControlMachine, number: Any) -> Any:
    """A symbolic number as an argument of a call. One that is a variable's value is an input of the
    block; sizes stand for themselves."""
    for symbol in expression_of(number).free_symbols:
        var = vm.symbol_variables.get(symbol)
        if var is not None:
            return _value_input(vm, var, number)
    return number


def _value_input(vm: ControlMachine, var: NumberVar, number: Any) -> torch.fx.Node:
    block = vm.writer.block
    known = block.numbers.get(var.name)
    if known is None:
        described = ProgramInput(var.name, InputKind.SCALAR, var.name)
        known = block.numbers[var.name] = block.add_input(described, number)
    return known


# -- variables ------------------------------------------------------------------------------------


def variable(vm: ControlMachine, value: TensorValue) -> TensorVar:
    """The variable of a tensor that was made for one."""
    return vm.homes.variables[value]


def tensor_home(vm: ControlMachine, value: TensorValue) -> TensorVar | None:
    return vm.homes.variables.get(value)


def tensor_variable(vm: ControlMachine, value: TensorValue, *, dense: bool = False) -> TensorVar:
    """A variable with the tensor: its own, or one with a copy. `dense`: in row-major order."""
    require_current(vm, value)
    ordered = not dense or row_major(vm, value.fake)
    if value.source is not None and vm.homes.base(value) is value:
        declare(vm, value)
    known = vm.homes.variables.get(value)
    if known is not None and ordered:
        return known
    own = value.known_node()
    if ordered and own is not None and value.source is None and vm.homes.base(value) is value:
        var = TensorVar(vm.writer.name("t"), value.fake)
        vm.homes.variables[value] = var
        vm.writer.blocks[own.graph].exports[var.name] = own
        if own.graph is vm.writer.block.graph:
            vm.writer.flush()
        return var
    if not ordered:
        layouts.lose(vm, layouts.STRIDES)
    if dense and not vm.same_size(value.fake.storage_offset(), 0):
        layouts.lose(vm, layouts.OFFSET)
    return _copy_variable(vm, value)


def _copy_variable(vm: ControlMachine, value: TensorValue) -> TensorVar:
    node = tensor_node(vm, value)
    block = vm.writer.block
    fake = vm.fakes.empty(value.fake.shape, value.fake.dtype, value.fake.device)
    made = block.add_call(
        "call_method", "clone", (node,), {"memory_format": torch.contiguous_format}, fake,
        vm.stack_locations(),
    )  # fmt: skip
    var = TensorVar(vm.writer.name("t"), fake)
    block.exports[var.name] = made
    vm.writer.flush()
    return var


def row_major(vm: ControlMachine, fake: torch.Tensor) -> bool:
    expected: Any = 1
    for size, step in reversed(list(zip(fake.shape, fake.stride(), strict=True))):
        if not vm.same_size(step, expected) and not vm.same_size(size, 1):
            return False
        expected = expected * size
    return True


def new_tensor(
    vm: ControlMachine, shape: Sequence[Any], dtype: torch.dtype, device: torch.device
) -> TensorValue:
    """A tensor that lives in a variable of its own."""
    fake = vm.fakes.empty(shape, dtype, device)
    value = TensorValue(fake, None)
    vm.remember(value)
    vm.homes.variables[value] = TensorVar(vm.writer.name("t"), fake)
    return value


def zeros(
    vm: ControlMachine, shape: Sequence[int], dtype: torch.dtype, device: torch.device
) -> TensorVar:
    """A variable with a new tensor."""
    fake = vm.fakes.empty(shape, dtype, device)
    block = vm.writer.block
    options = {"dtype": dtype, "device": device}
    made = block.add_call(
        "call_function", torch.zeros, (tuple(shape),), options, fake, vm.stack_locations()
    )
    var = TensorVar(vm.writer.name("t"), fake)
    block.exports[var.name] = made
    vm.writer.flush()
    return var


def may_share(vm: ControlMachine, result: TensorValue, sources: Sequence[TensorValue]) -> None:
    """Note that `result` is one of several tensors at run time, or a copy of a view."""
    homes = vm.homes
    mine = storage(result.fake)
    vm.journal.put(homes.results, mine, now())
    homes.merged[result] = [*homes.merged.get(result, ()), *sources]
    vm.note_merged_gradients(result, sources)
    for source in sources:
        its = storage(source.fake)
        if is_copied(vm, source):
            homes.copied[mine] = source.describe()
            homes.copied[its] = result.describe()
            homes.copies.setdefault(mine, set()).add(its)
        else:
            homes.names.setdefault(mine, set()).add(its)
        homes.shares.setdefault(mine, set()).add(its)
        homes.shares.setdefault(its, set()).add(mine)


def is_copied(vm: ControlMachine, source: TensorValue) -> bool:
    """Whether a variable for one of several tensors has a copy of this one."""
    homes = vm.homes
    return (
        homes.base(source) is not source
        or not row_major(vm, source.fake)
        or (source.source is not None and source not in homes.variables)
    )


def keep_apart(vm: ControlMachine, copies: Sequence[int], *, wholly: bool = False) -> None:
    """Start again with what these are copies of kept apart, where the states of arms met: each use
    of one then asks which it is; `wholly`: not only copies. Not in a function that calls itself,
    each call of which would have more of them."""
    codes = [frame.code for frame in vm.frames]
    if len(set(codes)) < len(codes):
        return
    sites = {vm.homes.sites[one] for one in copies if one in vm.homes.sites}
    if wholly:
        sites = {(WHOLLY, site) for site in sites}
    if vm.state.found.learn_apart(sites):
        raise Restart


# -- calls ----------------------------------------------------------------------------------------


def recorded_call(
    vm: ControlMachine, op: str, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A tensor call, in the open block. Notes what it writes to."""
    tensors = _tensors((*args, *kwargs.values()))
    versions = [version(value) for value in tensors]
    recorded = [value.fake.requires_grad for value in tensors]
    result = vm.plain_torch_call(op, target, args, kwargs)
    for value, before, had in zip(tensors, versions, recorded, strict=True):
        if version(value) != before:
            if value.fake.requires_grad and not had:
                vm.note_written_gradients(value)
            vm.note_computed_gradients(target, tensors, value)
            _written(vm, value)
    vm.note_computed_gradients(target, tensors, result)
    return result


def version(value: TensorValue) -> int:
    return 0 if value.fake.is_inference() else value.fake._version


def _tensors(values: Sequence[Value]) -> list[TensorValue]:
    found: list[TensorValue] = []
    for value in values:
        if isinstance(value, TensorValue):
            found.append(value)
        elif isinstance(getattr(value, "items", None), list):
            found += _tensors(value.items)  # type: ignore[attr-defined]
    return found


def _written(vm: ControlMachine, value: TensorValue) -> None:
    homes = vm.homes
    base = homes.base(value)
    vm.writer.block.writes = True
    vm.writer.effects += 1
    _declare_written(vm, base)
    key = storage(base.fake)
    partners = homes.shares.get(key)
    for one in partners or ():
        if one in homes.owner:
            _declare_written(vm, homes.owner[one])
    for one in (key, *(partners or ())):
        if one in homes.awaited:
            homes.awaited[one]()
    if partners is None:
        return
    if any(k in homes.copied for k in (key, *partners)) or homes.has_copies(key):
        for copy in _copies(vm, base):
            vm.journal.put(homes.stale, copy, (base.describe(), vm.stack_locations()))
    vm.journal.replace_dict(vm.items, {})  # what was read may be of the tensor by another name
    vm.writer.flush()


def _declare_written(vm: ControlMachine, base: TensorValue) -> None:
    """Note that a tensor is written to, or may be, if it is one that the program is given."""
    if base.source is None:
        return
    described = declare(vm, base)
    vm.homes.written[described.name] = None
    vm.state.found.written.add(described.name)
    vm.homes.variables.setdefault(base, TensorVar(described.name, base.fake))


def _copies(vm: ControlMachine, base: TensorValue) -> list[int]:
    """The storages that are copies of views of a tensor which is written to. Refuses where they
    could be used again unseen."""
    homes = vm.homes
    key = storage(base.fake)
    reached = {key}
    rest = [key]
    while rest:
        new = homes.shares.get(rest.pop(), set()) - reached
        reached |= new
        rest += new
    began = max((context.began for context in vm.loops if context.region), default=0)
    copies = [one for one in reached if one in homes.results]
    lasting = any(homes.results[one] < began for one in copies)
    listed = not vm.lists.pools().isdisjoint(reached)
    if key in homes.results or lasting or listed:
        keep_apart(vm, copies)
        raise _written_view(base.describe(), ())
    return copies


def _written_view(described: str, stack: tuple[Location, ...]) -> GraphBreak:
    stopped = GraphBreak(
        "PTC-B018",
        f"{described} is written to, and is a view of another tensor in one arm of a branch on "
        "data",
        "write to a copy (`.clone()`)",
    )
    stopped.stack = stack
    return stopped


def require_current(vm: ControlMachine, value: TensorValue) -> None:
    """Refuse the use of a copy of a view whose base was written to."""
    stale = vm.homes.stale.get(storage(value.fake))
    if stale is not None:
        keep_apart(vm, [storage(value.fake)])
        raise _written_view(*stale)


# -- data read into Python ------------------------------------------------------------------------


def read_item(vm: ControlMachine, value: TensorValue) -> Value:
    """`tensor.item()`"""
    require_current(vm, value)
    number = known_number(value.fake)
    if number is not None:
        return ConstantValue(number)
    if not vm.decide_value(value.fake.numel() == 1):
        count = value.fake.numel()
        raise vm.exception(
            RuntimeError, f"a Tensor with {count} elements cannot be converted to Scalar"
        )
    if value.fake.is_complex():
        raise GraphBreak(
            "PTC-B002", f"a complex number is read from {value.describe()}",
            "keep it a tensor, or read its parts: `x.real.item()`, `x.imag.item()`",
        )  # fmt: skip
    key = (value, version(vm.homes.base(value)))
    known = vm.items.get(key)
    if known is not None:
        return known
    kind = NumberKind.INT
    if value.fake.dtype is torch.bool:
        kind = NumberKind.BOOL
    elif value.fake.is_floating_point():
        kind = NumberKind.FLOAT
    target = NumberVar(vm.writer.name("n"), kind)
    vm.writer.add(ReadItem(target, tensor_variable(vm, value)))
    result = DataNumber(target)
    vm.journal.put(vm.items, key, result)
    return result


def data_read(vm: ControlMachine, name: str, args: list[Value]) -> Value | None:
    """A method of Tensor that gives Python data."""
    value = args[0]
    assert isinstance(value, TensorValue)
    if name in ("item", "__index__"):
        return read_item(vm, value)
    if name in ("__bool__", "is_nonzero"):
        return ConstantValue(vm.truth(value))
    if name in ("__int__", "__float__"):
        wanted = int if name == "__int__" else float
        item = read_item(vm, value)
        if item.cls is wanted:
            return item
        return (
            arithmetic(vm, wanted.__name__, [item])
            if isinstance(item, DataNumber)
            else ConstantValue(wanted(item.constant()))
        )
    if name == "tolist":
        return to_list(vm, value)
    return None


def to_list(vm: ControlMachine, value: TensorValue) -> Value:
    """`tensor.tolist()`"""
    if value.fake.dim() == 0:
        return read_item(vm, value)
    if isinstance(value.fake.shape[0], torch.SymInt):
        return vm.call(vm.wrap_fixed(data_tensors.rows), [value])
    rows = vm.call_method(value, "unbind", [ConstantValue(0)])
    items = getattr(rows, "items", None)
    if items is None:
        raise GraphBreak("PTC-B002", f"the data of {value.describe()} is read into a list")
    return ListValue([to_list(vm, row) for row in items])


def special_call(
    vm: ControlMachine, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """Calls that have another form where numbers come from data."""
    if target in (torch.tensor, torch.as_tensor) and len(args) == 1:
        return _tensor_of(vm, args[0], kwargs)
    if target == "fill_diagonal_" and not kwargs and _fills_a_diagonal(args):
        diagonal = vm.torch_call("call_method", "diagonal", [args[0]], {})
        vm.torch_call("call_method", "fill_", [diagonal, args[1]], {})
        return args[0]
    if target == "new_tensor" and len(args) == 2 and isinstance(args[0], TensorValue):
        like = {"dtype": ConstantValue(args[0].fake.dtype)}
        return _tensor_of(vm, args[1], {**like, **kwargs})
    if target in layouts.ASKING and isinstance(args[0], TensorValue):
        vm.asks_layout(args[0], layouts.ASKING[target])
        if target == "is_contiguous":
            return _is_contiguous(vm, args, kwargs)
    if target is torch.linspace:
        return _linspace(vm, args, kwargs)
    return None


def _is_contiguous(vm: ControlMachine, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    """In row-major order, of symbolic sizes: torch's fake tensors say no where they do not know."""
    value = args[0]
    assert isinstance(value, TensorValue)
    sizes = [vm.size_value(value, dim) for dim in range(value.fake.dim())]
    if kwargs or len(args) > 1 or all(size.is_constant() for size in sizes):
        return None
    strides = [vm.stride_value(value, dim) for dim in range(len(sizes))]
    pair = [vm.tuple([*sizes]), vm.tuple([*strides])]
    return vm.call(vm.wrap_fixed(torch_functions.in_row_major_order), pair)


def _linspace(vm: ControlMachine, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    """`torch.linspace` with a symbolic count."""
    given = dict(zip(("start", "end", "steps"), args, strict=False)) | kwargs
    dtype = given.get("dtype", ConstantValue(None)).constant() or torch.get_default_dtype()
    counted = isinstance(given.get("steps"), (SymbolicNumber, DataNumber))
    if not counted or not dtype.is_floating_point or given.keys() - _LINSPACE:
        return None
    if isinstance(given["start"], TensorValue) or isinstance(given["end"], TensorValue):
        return None
    parts = [given["start"], given["end"], given["steps"], ConstantValue(dtype)]
    parts.append(given.get("device", ConstantValue(None)))
    return vm.call(vm.wrap_fixed(torch_functions.linspace), parts)


_LINSPACE = frozenset({"start", "end", "steps", "dtype", "device"})


def _fills_a_diagonal(args: list[Value]) -> bool:
    """Whether the diagonal of a matrix gets a value, for which torch wants to know its steps."""
    given = len(args) == 2 and isinstance(args[0], TensorValue)
    shape = args[0].fake.shape if given else ()  # type: ignore[attr-defined]
    return len(shape) == 2


def _tensor_of(vm: ControlMachine, data: Value, kwargs: dict[str, Value]) -> Value | None:
    """`torch.tensor(data)` of numbers that data decides and tensors without dimensions, alone or in
    lists of lists; None where there are none."""
    leaves = _leaves(data)
    by_data = [leaf for leaf in leaves if isinstance(leaf, (DataNumber, TensorValue))]
    if not by_data or isinstance(data, TensorValue):
        return None
    if any(isinstance(leaf, TensorValue) and leaf.fake.dim() for leaf in leaves):
        return None
    options = {name: value for name, value in kwargs.items() if name != "requires_grad"}
    if "dtype" not in options or options["dtype"].cls is type(None):
        dtype = _dtype(leaves[0])
        for leaf in leaves[1:]:
            dtype = torch.promote_types(dtype, _dtype(leaf))
        options["dtype"] = ConstantValue(dtype)
    return _built(vm, data, options)


def _leaves(data: Value) -> list[Value]:
    if isinstance(data, (ListValue, TupleValue)):
        return [leaf for item in data.items for leaf in _leaves(item)]
    return [data]


def _dtype(leaf: Value) -> torch.dtype:
    if isinstance(leaf, TensorValue):
        return leaf.fake.dtype
    return dtype_of(leaf.cls)


def dtype_of(klass: type) -> torch.dtype:
    """Of numbers of a class."""
    return {int: torch.int64, bool: torch.bool}.get(klass, torch.get_default_dtype())


def _built(vm: ControlMachine, data: Value, options: dict[str, Value]) -> Value:
    if isinstance(data, (ListValue, TupleValue)):
        rows = ListValue([_built(vm, item, options) for item in data.items])
        return vm.torch_call("call_function", torch.stack, [rows], {})
    number = vm.read_item(data) if isinstance(data, TensorValue) else data
    size, dtype = vm.tuple([]), options["dtype"]
    if isinstance(number, DataNumber) and number.var.kind is NumberKind.INT:
        number = SymbolicNumber(vm.value_symbol(number.var), None)  # a value, and no size
    if not (isinstance(number, DataNumber) and _rounds(number, dtype)):
        return vm.torch_call("call_function", torch.full, [size, number], options)
    wide = {**options, "dtype": ConstantValue(torch.float64)}
    made = vm.torch_call("call_function", torch.full, [size, number], wide)
    return vm.torch_call("call_method", "to", [made, dtype], {})


def _rounds(number: Value, dtype: Value) -> bool:
    """Whether a number may be too great for the type, for which `torch.full` raises: as an element
    it is infinite."""
    return number.cls is float and dtype.constant() is torch.float32
