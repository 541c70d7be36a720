"""Memory layout: channels innermost around convolutions, loops in the order of what they write.

Only strides and loop order change; indices stay logical. Convolutions ask for channels-last inputs
and results, the wish spreads through elementwise and pooling kernels, a model input that is not
channels-last gets one converting copy. Outputs keep the caller's strides: the last store converts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ptc.loops.index import FLOORDIV, MOD, Func, Index
from ptc.loops.nodes import (
    Buffer,
    BufferKind,
    ExternKernel,
    Kernel,
    Load,
    Loop,
    LoopKind,
    Origin,
    Program,
    Store,
    TemplateKernel,
)
from ptc.loops.walk import kernel_stores
from ptc.schedule.kernels import KernelGraph, nest_of, wrap

# Dimensions from outermost to innermost.
Order = tuple[int, ...]


def choose_layouts(program: Program) -> Program | None:
    """The program with layouts chosen; None if all stays as it is."""
    if any(isinstance(k, TemplateKernel) for k in program.kernels):
        new = _Layouts(program).run()
    else:
        new = program
    kernels = tuple(
        [reorder_loops(k, new.buffers) if isinstance(k, Kernel) else k for k in new.kernels]
    )
    if new is program and all(x is y for x, y in zip(kernels, program.kernels, strict=True)):
        return None
    return replace(new, kernels=kernels)


class _Layouts:
    def __init__(self, program: Program) -> None:
        self.graph = KernelGraph(program)
        self.orders: dict[str, Order] = {}
        self.channels: set[str] = set()  # buffers with the channel innermost
        self.fixed: set[str] = set()
        for position, kernel in self.graph.kernels.items():
            if isinstance(kernel, ExternKernel):
                self.fixed |= self.graph.touched(position)

    def run(self) -> Program:
        for position in self.graph.order():
            kernel = self.graph.kernels[position]
            if isinstance(kernel, TemplateKernel):
                if kernel.template.startswith("conv"):
                    self._seed(position, kernel)
                else:
                    self._seed_operands(kernel)
        while self.channels and self._spread():
            pass
        buffers = self.graph.buffers
        for name, order in self.orders.items():
            buffers[name] = replace(buffers[name], strides=strides_in(order, buffers[name].shape))
        program = self.graph.finish()
        return _convert_operands(program)

    def _free(self, name: str) -> bool:
        buffer = self.graph.buffers.get(name)
        return (
            buffer is not None
            and self.graph.is_private(name)
            and len(buffer.shape) >= 3
            and name not in self.orders
            and name not in self.fixed
        )

    def _seed(self, position: int, kernel: TemplateKernel) -> None:
        value = kernel.operands["x"].value
        if isinstance(value, Load) and self._free(value.buffer):
            self._innermost(value.buffer, value.index, "ch")
        for store in self.graph.stores[position]:
            if self._free(store.buffer):
                self._innermost(store.buffer, store.index, "o")

    def _innermost(self, name: str, index: Sequence[Index], var: str) -> bool:
        """Order the buffer so that the one dimension that `var` moves is last."""
        moved = [d for d, i in enumerate(index) if var in i.vars]
        if len(moved) != 1:
            return False
        rest = [d for d in range(len(index)) if d != moved[0]]
        self.orders[name] = (*rest, moved[0])
        self.channels.add(name)
        return True

    def _seed_operands(self, kernel: TemplateKernel) -> None:
        """Operands of products that would be addressed with divisions (heads side by side) get
        the order in which the product walks them."""
        ranges = self.graph.ranges(kernel)
        for operand in kernel.operands.values():
            value = operand.value
            if not isinstance(value, Load) or value.mask is not None:
                continue
            if not self._free(value.buffer):
                continue
            buffer = self.graph.buffers[value.buffer]
            if is_affine(ranges.simplify(address_of(value.index, buffer))):
                continue
            order = _walk_order(value.index, operand.vars)
            strides = strides_in(order, buffer.shape)
            address = address_of(value.index, replace(buffer, strides=strides))
            if is_affine(ranges.simplify(address)):
                self.orders[value.buffer] = order

    def _spread(self) -> bool:
        """One sweep over loop nests: what they write follows what they read, then the reverse."""
        changed = False
        for position in self.graph.order():
            kernel = self.graph.kernels[position]
            if isinstance(kernel, ExternKernel):
                continue
            stores = self.graph.stores[position]
            for store in stores:
                if self._free(store.buffer):
                    changed |= self._from_loads(position, store)
        for position in reversed(self.graph.order()):
            if not isinstance(self.graph.kernels[position], Kernel):
                continue
            for store in self.graph.stores[position]:
                order = self.orders.get(store.buffer)
                if order is not None and store.buffer in self.channels:
                    changed |= self._to_loads(position, store.index[order[-1]].variable)
        return changed

    def _from_loads(self, position: int, store: Store) -> bool:
        for name, loads in self.graph.loads[position].items():
            order = self.orders.get(name)
            if name not in self.channels or order is None or len(order) != len(store.index):
                continue
            for load in loads:
                for var in load.index[order[-1]].vars:
                    if self._innermost(store.buffer, store.index, var):
                        return True
        return False

    def _to_loads(self, position: int, var: str | None) -> bool:
        if var is None:
            return False
        changed = False
        for name, loads in self.graph.loads[position].items():
            if self._free(name):
                changed |= any(self._innermost(name, load.index, var) for load in loads)
        return changed


def is_affine(address: Index) -> bool:
    """Whether an address is a sum of products of variables, without division or remainder."""
    return all(isinstance(a, str) for monomial, _ in address.terms for a in monomial)


def _walk_order(index: Sequence[Index], variables: Sequence[str]) -> Order:
    """Dimensions in the order of the operand's variables, the higher digits of one first."""

    def key(dim: int) -> tuple[int, int, int]:
        places = [k for k, v in enumerate(variables) if v in index[dim].vars]
        if not places:
            return -1, 0, dim
        divisor = 0
        for monomial, _ in index[dim].terms:
            for atom in monomial:
                if not isinstance(atom, str):
                    divisor = max(divisor, _divisor(atom))
        return places[-1], -divisor, dim

    return tuple(sorted(range(len(index)), key=key))


def _divisor(atom: Func) -> int:
    """What a digit divides its variable by: `v // c` and `(v // c) % e` give c, `v % e` gives 0."""
    if atom.kind == FLOORDIV:
        return atom.b.constant or 1 << 30
    if atom.kind == MOD:
        inner = [a for m, _ in atom.a.terms for a in m if not isinstance(a, str)]
        return max([_divisor(a) for a in inner], default=0)
    return 0


def strides_in(order: Order, shape: Sequence[Index]) -> tuple[Index, ...]:
    """Dense strides with the dimensions in memory in the given order."""
    strides = [Index.const(1)] * len(shape)
    step = Index.const(1)
    for dim in reversed(order):
        strides[dim] = step
        step = step * shape[dim]
    return tuple(strides)


# --- operands -----------------------------------------------------------------------------------


def _convert_operands(program: Program) -> Program:
    """Copies for operands that a template could not stream: images with channels apart, and
    addresses that a layout made irregular."""
    graph = KernelGraph(program)
    copies: dict[tuple[str, str], str] = {}
    inserted: dict[int, list[Kernel]] = {}
    for position in graph.order():
        kernel = graph.kernels[position]
        if not isinstance(kernel, TemplateKernel):
            continue
        for name, operand in kernel.operands.items():
            value = operand.value
            if not isinstance(value, Load) or value.mask is not None:
                continue
            channel = "ch" if name == "x" and kernel.template.startswith("conv") else ""
            if not _needs_copy(graph, kernel, value, channel):
                continue
            kernel = _redirect(graph, kernel, name, value, channel, copies, inserted, position)
        if kernel is not graph.kernels[position]:
            graph.replace(position, kernel)
    if not inserted:
        return program
    kernels = [k for p in graph.order() for k in (*inserted.get(p, ()), graph.kernels[p])]
    return replace(program, buffers=graph.buffers, kernels=tuple(kernels))


def _needs_copy(graph: KernelGraph, kernel: TemplateKernel, load: Load, channel: str) -> bool:
    buffer = graph.buffers[load.buffer]
    address = graph.ranges(kernel).simplify(address_of(load.index, buffer))
    if not is_affine(address):
        # Divisions that were there before are the rule's own; a layout may have added some.
        plain = strides_in(tuple(range(len(buffer.shape))), buffer.shape)
        before = address_of(load.index, replace(buffer, strides=plain))
        return is_affine(graph.ranges(kernel).simplify(before))
    if channel and buffer.kind in (BufferKind.INPUT, BufferKind.WEIGHT, BufferKind.OUTPUT):
        step = address.coefficient(channel)
        return channel in address.vars and step is not None and step != 1
    return False


def address_of(index: Sequence[Index], buffer: Buffer) -> Index:
    """The element offset of an access."""
    total = Index.const(0)
    for i, stride in zip(index, buffer.strides, strict=True):
        total = total + i * stride
    return total


def _redirect(
    graph: KernelGraph,
    kernel: TemplateKernel,
    name: str,
    load: Load,
    channel: str,
    copies: dict[tuple[str, str], str],
    inserted: dict[int, list[Kernel]],
    position: int,
) -> TemplateKernel:
    """Read the operand from a copy with the wanted layout, made once for each source."""
    key = (load.buffer, channel)
    source = graph.buffers[load.buffer]
    copy = copies.get(key)
    if copy is None:
        copy = f"{load.buffer}_channels_last" if channel else f"{load.buffer}_rows"
        copies[key] = copy
        order = tuple(range(len(source.shape)))
        if channel:
            dim = next(d for d, i in enumerate(load.index) if channel in i.vars)
            order = (*[d for d in order if d != dim], dim)
        strides = strides_in(order, source.shape)
        graph.buffers[copy] = replace(
            source, name=copy, strides=strides, kind=BufferKind.TEMP, data=None
        )
        inserted.setdefault(position, []).append(
            _copy_kernel(source, graph.buffers[copy], order, kernel.origins[:1])
        )
    operands = dict(kernel.operands)
    moved = Load(copy, load.index, load.dtype, load.mask, load.other)
    operands[name] = replace(operands[name], value=moved)
    return replace(kernel, operands=operands)


def _copy_kernel(
    source: Buffer, target: Buffer, order: Order, origins: tuple[Origin, ...]
) -> Kernel:
    names = {d: f"i{k}" for k, d in enumerate(d for d in order if source.shape[d] != 1)}
    index = tuple(
        [Index.var(names[d]) if d in names else Index.const(0) for d in range(len(order))]
    )
    loops = [Loop(names[d], source.shape[d], LoopKind.PARALLEL, ()) for d in order if d in names]
    store = Store(target.name, index, Load(source.name, index, source.dtype))
    return Kernel(target.name, wrap(loops, (store,)), (), origins)


# --- loop order ---------------------------------------------------------------------------------


def reorder_loops(kernel: Kernel, buffers: Mapping[str, Buffer]) -> Kernel:
    """The outer parallel loops in the order in which the kernel's main store walks memory."""
    nest = nest_of(kernel)
    if len(nest.loops) < 2:
        return kernel
    local = {b.name for b in kernel.locals}
    store = _main_store(kernel, local)
    if store is None:
        return kernel
    buffer = buffers[store.buffer]
    order = memory_order(buffer)
    variables = nest.vars
    place = {v: _place(v, store, order, k) for k, v in enumerate(variables)}
    if any(variables[k] in loop.extent.vars for k in range(len(variables)) for loop in nest.loops):
        return kernel
    wanted = sorted(nest.loops, key=lambda loop: place[loop.var])
    if [w.var for w in wanted] == list(variables):
        return kernel
    return replace(kernel, body=wrap(wanted, nest.inner))


def _main_store(kernel: Kernel, local: set[str]) -> Store | None:
    stores = [s for s in kernel_stores(kernel) if s.buffer not in local]
    return stores[-1] if stores else None


def _place(var: str, store: Store, order: Order, original: int) -> tuple[int, int]:
    for place, dim in enumerate(order):
        if var in store.index[dim].vars:
            return place, original
    return -1, original


def memory_order(buffer: Buffer) -> Order:
    """Dimensions from the largest stride to the smallest; ties and unknowns as they stand."""
    dims = list(range(len(buffer.shape)))
    if all(s.constant is not None for s in buffer.strides):
        dims.sort(key=lambda d: -int(buffer.strides[d]))
        return tuple(dims)
    # Symbolic: a stride that is a multiple of another one is the larger.
    dims.sort(key=lambda d: -sum(_multiple(buffer.strides[d], s) for s in buffer.strides))
    return tuple(dims)


def _multiple(x: Index, y: Index) -> bool:
    return x != y and x % y == 0
