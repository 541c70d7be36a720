"""The memory plan: one arena, an offset for every temporary, reuse where lifetimes do not meet.

Static buffers are placed greedily, largest first, at the lowest offset that no live neighbour
occupies. Buffers of symbolic size share slots whose size is equal or provably larger, behind the
static part. All offsets are multiples of 64 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ptc.loops.bounds import Ranges
from ptc.loops.index import Index
from ptc.loops.nodes import (
    AnyKernel,
    Buffer,
    BufferKind,
    If,
    Kernel,
    Load,
    Loop,
    Program,
    Store,
)
from ptc.loops.walk import expressions, reads, walk_expr, writes
from ptc.schedule.kernels import nest_of
from ptc.schedule.layout import address_of

ALIGNMENT = 64


@dataclass(slots=True)
class Lifetime:
    """Positions of the first and last kernel that touch a buffer."""

    name: str
    start: int
    stop: int
    size: Index  # bytes, rounded up


def buffer_bytes(buffer: Buffer) -> Index:
    """Bytes from the first to the last element, rounded up to the alignment."""
    span = Index.const(1)
    for size, stride in zip(buffer.shape, buffer.strides, strict=True):
        span = span + (size - 1) * stride
    if any(d == 0 for d in buffer.shape):
        span = Index.const(0)
    return aligned(span * buffer.dtype.itemsize)


def aligned(size: Index) -> Index:
    """The next multiple of the alignment."""
    return (size + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT


def plan_memory(program: Program) -> Program:
    """The program with an offset for every TEMP buffer and the arena's size."""
    lifetimes = buffer_lifetimes(program)
    shared = _in_place(program, lifetimes)
    for name, host in shared.items():
        lifetimes[host].stop = max(lifetimes[host].stop, lifetimes[name].stop)
        del lifetimes[name]
    offsets: dict[str, Index] = {}
    fixed = [t for t in lifetimes.values() if t.size.constant is not None]
    end = _place_static(fixed, offsets)
    varying = [t for t in lifetimes.values() if t.size.constant is None]
    total = _place_symbolic(varying, Index.const(end), offsets, program)
    for name, host in shared.items():
        offsets[name] = offsets[host]
    buffers = {
        n: replace(b, offset=offsets[n]) if n in offsets else b for n, b in program.buffers.items()
    }
    return replace(program, buffers=buffers, arena=total)


def buffer_lifetimes(program: Program) -> dict[str, Lifetime]:
    """Lifetimes of all TEMP buffers that a kernel touches."""
    found: dict[str, Lifetime] = {}
    for position, kernel in enumerate(program.kernels):
        for name in reads(kernel) | writes(kernel):
            buffer = program.buffers.get(name)
            if buffer is None or buffer.kind is not BufferKind.TEMP:
                continue
            lifetime = found.get(name)
            if lifetime is None:
                found[name] = Lifetime(name, position, position, buffer_bytes(buffer))
            else:
                lifetime.stop = position
    return found


def _place_static(lifetimes: list[Lifetime], offsets: dict[str, Index]) -> int:
    placed: list[tuple[int, int, Lifetime]] = []
    end = 0
    for lifetime in sorted(lifetimes, key=lambda t: (-int(t.size), t.start, t.name)):
        size = int(lifetime.size)
        spot = 0
        for low, high, other in placed:
            if other.stop < lifetime.start or lifetime.stop < other.start:
                continue
            if spot + size <= low:
                break
            spot = max(spot, high)
        placed.append((spot, spot + size, lifetime))
        placed.sort(key=lambda entry: entry[:2])
        offsets[lifetime.name] = Index.const(spot)
        end = max(end, spot + size)
    return end


@dataclass(slots=True)
class _Slot:
    offset: Index
    size: Index
    free_after: int


def _place_symbolic(
    lifetimes: list[Lifetime], start: Index, offsets: dict[str, Index], program: Program
) -> Index:
    ranges = Ranges({}, {s.symbol: (s.lower, s.upper) for s in program.sizes})
    slots: list[_Slot] = []
    end = start
    for lifetime in sorted(lifetimes, key=lambda t: (t.start, t.name)):
        free = [s for s in slots if s.free_after < lifetime.start]
        slot = next((s for s in free if s.size == lifetime.size), None)
        if slot is None:
            slot = next((s for s in free if ranges.nonnegative(s.size - lifetime.size)), None)
        if slot is None:
            slot = _Slot(end, lifetime.size, 0)
            slots.append(slot)
            end = end + lifetime.size
        slot.free_after = lifetime.stop
        offsets[lifetime.name] = slot.offset
    return end


# --- in place -----------------------------------------------------------------------------------


def _in_place(program: Program, lifetimes: Mapping[str, Lifetime]) -> dict[str, str]:
    """Result -> operand whose memory it may take: an elementwise kernel reads each element of a
    dying operand just before it writes the result's element of the same address."""
    shared: dict[str, str] = {}
    hosts: dict[str, str] = {}
    taken: set[str] = set()
    for position, kernel in enumerate(program.kernels):
        born = [n for n in writes(kernel) if n in lifetimes and lifetimes[n].start == position]
        dying = [
            n
            for n in reads(kernel)
            if n in lifetimes and lifetimes[n].stop == position and lifetimes[n].start < position
        ]
        if not born or not dying or not isinstance(kernel, Kernel):
            continue
        for name in born:
            for operand in dying:
                if operand in taken or not _same_places(program, kernel, name, operand):
                    continue
                host = hosts.get(operand, operand)
                shared[name] = hosts[name] = host
                taken.add(operand)
                break
    return shared


def _same_places(program: Program, kernel: AnyKernel, result: str, operand: str) -> bool:
    """Whether every access of `operand` is where `result` is written."""
    if not isinstance(kernel, Kernel):
        return False
    target, source = program.buffers[result], program.buffers[operand]
    if target.dtype.itemsize != source.dtype.itemsize:
        return False
    if buffer_bytes(target) != buffer_bytes(source):
        return False
    inner = nest_of(kernel).inner
    # The store comes last: what is loaded may be loaded again for as long as it is in use.
    if not inner or not isinstance(inner[-1], Store) or inner[-1].buffer != result:
        return False
    store = inner[-1]
    place = address_of(store.index, target)
    for stmt in inner:
        if isinstance(stmt, Loop | If):
            return False
        if isinstance(stmt, Store) and stmt is not store and stmt.buffer in (operand, result):
            return False
        for expr in walk_expr(expressions(stmt)):
            if not isinstance(expr, Load) or expr.buffer != operand:
                continue
            if address_of(expr.index, source) != place:
                return False
    return True
