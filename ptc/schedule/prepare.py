"""What depends on weights alone is computed once: prepare kernels and PREPARED buffers.

Only under `freeze`. `move_to_prepare` splits the program; `fold_scales` moves a factor that depends
on the output channel alone (a folded batch norm) from a template's epilogue into its weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ptc.loops import build as b
from ptc.loops.index import Index, product
from ptc.loops.nodes import (
    AnyKernel,
    Apply,
    Buffer,
    BufferKind,
    Expr,
    ExternKernel,
    Kernel,
    Load,
    Loop,
    LoopKind,
    Operand,
    Program,
    Ref,
    Store,
    TemplateKernel,
)
from ptc.loops.templates import TEMPLATES
from ptc.loops.walk import (
    Rewriter,
    expressions,
    index_variables,
    reads,
    walk_expr,
    walk_statements,
    writes,
)
from ptc.schedule.inline import FREE, Producer, producer_of
from ptc.schedule.kernels import KernelGraph, may_fail, wrap

_CONSTANT = (BufferKind.WEIGHT, BufferKind.LITERAL, BufferKind.PREPARED)
# Results of nothing but constants (masks, tables) are stored up to this size.
MAX_TABLE_BYTES = 16 << 20
# The operand that holds weights, and the variable of its output channel.
_WEIGHT_OPERAND = {
    "gemm": ("b", "n"),
    "conv1d": ("w", "o"),
    "conv2d": ("w", "o"),
    "conv3d": ("w", "o"),
}


def move_costly(program: Program) -> Program | None:
    """Move weight-only kernels that are worth a buffer; cheap elementwise ones wait for fusion."""
    graph = KernelGraph(program)
    positions = {id(k): p for p, k in graph.kernels.items()}

    def costly(kernel: AnyKernel) -> bool:
        producer = producer_of(graph, positions[id(kernel)])
        if not isinstance(producer, Producer):
            return True
        return producer.cost > FREE or producer.full_loads > 1

    return _move(program, costly)


def move_to_prepare(program: Program) -> Program | None:
    """Move every kernel that depends on weights alone to the prepare kernels."""
    return _move(program, lambda kernel: True)


def _move(program: Program, wanted: Callable[[AnyKernel], bool]) -> Program | None:
    """Move wanted kernels whose operands are all constant, in order, so that chains move whole."""
    writers: dict[str, list[AnyKernel]] = {}
    for kernel in program.kernels:
        for name in writes(kernel):
            writers.setdefault(name, []).append(kernel)
    constant = {n for n, buffer in program.buffers.items() if buffer.kind in _CONSTANT}
    constant -= program.written
    sizes = frozenset([size.symbol for size in program.sizes])
    moved: dict[int, AnyKernel] = {}
    for kernel in program.kernels:
        local = {x.name for x in kernel.locals} if isinstance(kernel, Kernel) else set[str]()
        results = writes(kernel) - local
        if not (reads(kernel) - local) <= constant | results or may_fail(kernel):
            continue
        if not all(_storable(program.buffers[n], kernel) for n in results):
            continue
        if isinstance(kernel, ExternKernel) or not wanted(kernel):
            continue
        # Sizes are known in a run only, even where they are but numbers in an expression.
        if not sizes.isdisjoint(index_variables(kernel)):
            continue
        moved[id(kernel)] = kernel
        for name in results:
            if all(id(w) in moved for w in writers[name]):
                constant.add(name)
    # A buffer that a kernel left behind also writes cannot be prepared: undo until none is left.
    while True:
        shared = {n for n, ws in writers.items() if 0 < sum(id(w) in moved for w in ws) < len(ws)}
        spoiled = {k for k, v in moved.items() if writes(v) & shared}
        if not spoiled:
            break
        lost = {n for k in spoiled for n in writes(moved[k])}
        for key in spoiled:
            del moved[key]
        for key, kernel in list(moved.items()):
            if reads(kernel) & lost:
                del moved[key]
    if not moved:
        return None
    buffers = dict(program.buffers)
    for kernel in moved.values():
        for name in writes(kernel):
            if name in buffers:
                buffers[name] = replace(buffers[name], kind=BufferKind.PREPARED)
    kernels = tuple([k for k in program.kernels if id(k) not in moved])
    prepare = (*program.prepare, *moved.values())
    return replace(program, buffers=buffers, kernels=kernels, prepare=prepare)


def _storable(buffer: Buffer, kernel: AnyKernel) -> bool:
    if buffer.kind is not BufferKind.TEMP:
        return False
    size = product(buffer.shape).constant
    if size is None:
        return False
    return bool(reads(kernel)) or size * buffer.dtype.itemsize <= MAX_TABLE_BYTES


# --- factors into weights -----------------------------------------------------------------------


def fold_scales(program: Program) -> Program | None:
    """Templates whose epilogue multiplies the result by a constant of the output channel alone:
    the weight takes the factor."""
    buffers = dict(program.buffers)
    prepare = list(program.prepare)
    kernels: list[AnyKernel] = []
    changed = False
    for kernel in program.kernels:
        new = None
        if isinstance(kernel, TemplateKernel) and reads(kernel).isdisjoint(program.written):
            new = _fold(kernel, buffers, prepare)
        changed = changed or new is not None
        kernels.append(new or kernel)
    if not changed:
        return None
    return replace(program, buffers=buffers, kernels=tuple(kernels), prepare=tuple(prepare))


def _fold(
    kernel: TemplateKernel, buffers: dict[str, Buffer], prepare: list[AnyKernel]
) -> TemplateKernel | None:
    if kernel.template not in _WEIGHT_OPERAND or not kernel.dtype.is_float:
        return None
    key, channel = _WEIGHT_OPERAND[kernel.template]
    weight = kernel.operands[key].value
    if not isinstance(weight, Load) or weight.mask is not None or weight.dtype is not kernel.dtype:
        return None
    source = buffers[weight.buffer]
    if source.kind not in _CONSTANT or any(d.constant is None for d in source.shape):
        return None
    product_node = _scaled_result(kernel)
    if product_node is None:
        return None
    factor = product_node.args[1] if _is_acc(product_node.args[0]) else product_node.args[0]
    if not _channel_only(factor, channel, buffers):
        return None
    name = _fresh(f"{kernel.name}_weight", buffers)
    formal = TEMPLATES[kernel.template].operands[key]
    variables = tuple([v for v in formal if kernel.extents[v] != 1])
    shape = tuple([kernel.extents[v] for v in variables])
    if any(size.constant is None for size in shape):
        return None
    strides = tuple([product(shape[d + 1 :]) for d in range(len(shape))])
    buffers[name] = Buffer(name, kernel.dtype, shape, strides, BufferKind.PREPARED)
    index = tuple([Index.var(v) for v in variables])
    loops = [Loop(v, kernel.extents[v], LoopKind.PARALLEL, ()) for v in variables]
    store = Store(name, index, b.mul(weight, factor))
    prepare.append(Kernel(name, wrap(loops, (store,)), (), kernel.origins))
    operands = dict(kernel.operands)
    operands[key] = Operand(formal, Load(name, index, kernel.dtype))
    epilogue = _Unscale(product_node).body(kernel.epilogue)
    return replace(kernel, operands=operands, epilogue=epilogue)


def _is_acc(expr: Expr) -> bool:
    return isinstance(expr, Ref) and expr.name == "acc"


def _scaled_result(kernel: TemplateKernel) -> Apply | None:
    """The product `acc * x` if that is the only use of the result."""
    found: Apply | None = None
    for expr in walk_expr([e for s in walk_statements(kernel.epilogue) for e in expressions(s)]):
        if not isinstance(expr, Apply) or not any(_is_acc(a) for a in expr.args):
            continue
        if expr.op != "mul" or found is not None:
            return None
        found = expr
    bare = any(_is_acc(e) for s in walk_statements(kernel.epilogue) for e in expressions(s))
    return None if bare else found


def _channel_only(factor: Expr, channel: str, buffers: dict[str, Buffer]) -> bool:
    for expr in walk_expr((factor,)):
        if isinstance(expr, Ref):
            return False
        if isinstance(expr, Load):
            if buffers[expr.buffer].kind not in _CONSTANT:
                return False
            if not all(i.vars <= {channel} for i in expr.index):
                return False
    return any(isinstance(e, Load) for e in walk_expr((factor,)))


class _Unscale(Rewriter):
    """Replaces the product by the bare result."""

    def __init__(self, target: Apply) -> None:
        super().__init__()
        self._target = target

    def expr(self, expr: Expr) -> Expr:
        if expr is self._target:
            return Ref("acc", expr.dtype)
        return super().expr(expr)


def _fresh(hint: str, buffers: dict[str, Buffer]) -> str:
    name, number = hint, 1
    while name in buffers:
        name, number = f"{hint}_{number}", number + 1
    return name
