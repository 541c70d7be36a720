"""No vector access relies on alignment that memory may lack: of the stack, of callers' tensors.

The machine code is read, because a compiler is wrong about its own stack in few functions and a
wrong address may be aligned by luck. And entries run on stacks at every multiple of 16 bytes, which
is all that the platform promises.
"""

from __future__ import annotations

import ctypes
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from harness import Library, compile_entries
from test_samples import CASES, Case, compiled_program, verdict

from ptc.codegen.entry import Entry
from ptc.codegen.generate import generate
from ptc.codegen.target import parse_target
from ptc.codegen.toolchain import build, find_compiler, resolve

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="other processors have no moves that demand alignment"
)

TARGETS = ("native", "x86_64-linux-gnu+avx2", "x86_64-linux-gnu+avx512")
#: What keeps vectors in arrays, reads with strides or by index, or has a kernel of its own.
KINDS = re.compile(
    r"\.(lstm|gru|gather|take|scatter\w*|index\w*|masked_scatter|cum\w+|logcumsumexp|sort|topk"
    r"|max_pool2d_with_indices|avg_pool2d|convolution|bmm|mm|linear|sdpa|_softmax|native_layer_norm"
    r"|sum|argmax|max|any|var_mean|permute|flip|slice|as_strided|cat|where|_to_copy|bitwise_and"
    r"|embedding|upsample_bilinear2d|clone|add|pow|nextafter|searchsorted)\."
)
ROWS: dict[str, list[Case]] = {}
for case in CASES:
    if KINDS.search(f".{case.op}".replace(".aten", "")):
        ROWS.setdefault(str(case.op), []).append(case)
#: A row of each, from the middle: the first ones are plain, the last ones empty.
CHOSEN = [rows[len(rows) // 2] for rows in ROWS.values()]
BATCHES = [CASES[i : i + 300] for i in range(0, len(CASES), 300)]


# --- reading machine code -------------------------------------------------------------------------

_FUNCTION = re.compile(r"[0-9a-f]+ <(.+)>:\n")
_REALIGN = re.compile(r"\band\s+\$0x(f+[0-9a-f]+),%rsp")
_ALIGNED = re.compile(r"\bvmov(?:aps|apd|dqa|dqa32|dqa64|ntps|ntpd|ntdq|ntdqa)\s+(.*%([yz])mm.*)")
_CONSTANT = re.compile(r"\(%rip\).*#\s*([0-9a-f]+)\b")


@dataclass(frozen=True)
class Move:
    """A move of 32 or 64 bytes that faults where its address is not a multiple of them."""

    function: str
    text: str
    size: int
    realigned: int  # what the function aligns its stack to; 16 when it does not

    @property
    def is_proven(self) -> bool:
        """A constant at an aligned address, or the function's own stack after alignment."""
        if constant := _CONSTANT.search(self.text):
            return int(constant.group(1), 16) % self.size == 0
        return self.realigned >= self.size


def aligned_moves(path: Path) -> Iterator[Move]:
    """The aligned vector moves from or to memory in `path`, but for the compiler's own library."""
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", str(path)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for block in re.split(r"\n\n+", listing):
        name = _FUNCTION.match(block)
        if name is None or name.group(1).startswith("compiler_rt"):
            continue
        masks = [2**64 - int(m.group(1), 16) for m in _REALIGN.finditer(block)]
        for found in _ALIGNED.finditer(block):
            if "(" in found.group(1):
                size = 64 if found.group(2) == "z" else 32
                yield Move(name.group(1), found.group(0), size, max(masks, default=16))


@pytest.fixture
def objdump() -> None:
    if shutil.which("objdump") is None:
        pytest.skip("needs objdump")


def check_library(cases: list[Case], target_name: str, *, dynamic: bool) -> None:
    target = resolve(parse_target(target_name))
    programs = [compiled_program(case, dynamic=dynamic, scheduled=True) for case in cases]
    entries = [Entry(f"e{n}", p) for n, p in enumerate(programs) if p is not None]
    sources = generate(entries, name="scan", target=target, live_weights=True).sources
    moves = list(aligned_moves(build(sources, target).library))
    # GCC is not relied upon (ptc_moves.h). Clang knows its stack; what it does to memory that it
    # reaches by pointer follows from the pointer's type.
    if find_compiler().is_clang:
        moves = [m for m in moves if re.search(r"%r[sb]p", m.text) and not m.is_proven]
    assert not moves, "\n".join(f"{m.function}: {m.text}" for m in moves[:20])


@pytest.mark.usefixtures("objdump")
@pytest.mark.parametrize(("target", "dynamic"), [(TARGETS[0], True), (TARGETS[1], False)])
def test_no_move_demands_alignment(target: str, dynamic: bool) -> None:
    check_library(CHOSEN, target, dynamic=dynamic)


@pytest.mark.slow
@pytest.mark.usefixtures("objdump")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("batch", range(len(BATCHES)))
def test_no_move_of_any_sample_demands_alignment(target: str, dynamic: bool, batch: int) -> None:
    check_library(BATCHES[batch], target, dynamic=dynamic)


ASSEMBLY = """
    .text
    .globl trusting, aligning, constant
trusting:
    lea -32(%rsp), %rax
    vmovaps %ymm0, (%rax)
    vmovdqa64 -64(%rsp), %zmm1
    vmovups %ymm0, (%rdi)
    vmovaps %ymm0, %ymm1
    vmovaps (%rdi), %xmm1
    ret
aligning:
    push %rbp
    mov %rsp, %rbp
    and $-32, %rsp
    vmovaps %ymm0, -32(%rsp)
    vmovaps %zmm0, -64(%rsp)
    leave
    ret
constant:
    vmovdqa table(%rip), %ymm0
    vmovdqa table+16(%rip), %ymm1
    ret
    .section .rodata
    .balign 64
table:
    .fill 64
"""


@pytest.mark.usefixtures("objdump")
def test_the_reader_finds_what_it_looks_for(tmp_path: Path) -> None:
    source, library = tmp_path / "moves.s", tmp_path / "moves.so"
    source.write_text(ASSEMBLY)
    command = [*find_compiler().command, "-shared", "-nostdlib", "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    found = [(m.function, m.size, m.is_proven) for m in aligned_moves(library)]
    assert found == [
        ("trusting", 32, False),
        ("trusting", 64, False),
        ("aligning", 32, True),
        ("aligning", 64, False),
        ("constant", 32, True),
        ("constant", 32, False),
    ]


# --- running on a given stack ---------------------------------------------------------------------

STACK = r"""
#include <stdint.h>
struct Call {
  int (*run)(void* session, uint32_t entry, void* const* pointers, const int64_t* sizes);
  void* session;
  void* const* pointers;
  const int64_t* sizes;
  uint32_t entry;
  int status;
};
static void perform(Call* c) { c->status = c->run(c->session, c->entry, c->pointers, c->sizes); }
// Calls on a stack that begins at `top`, a multiple of 16.
extern "C" __attribute__((noinline)) void call_on(char* top, Call* call) {
  void (*target)(Call*) = perform;
  __asm__ volatile(
      "movq %%rsp, %%rbx\n\tmovq %[top], %%rsp\n\tcall *%[target]\n\tmovq %%rbx, %%rsp"
      : "+D"(call), [target] "+r"(target), [top] "+r"(top)
      :
      : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1",
        "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15");
}
"""


class Call(ctypes.Structure):
    _fields_ = (
        ("run", ctypes.c_void_p),
        ("session", ctypes.c_void_p),
        ("pointers", ctypes.c_void_p),
        ("sizes", ctypes.c_void_p),
        ("entry", ctypes.c_uint32),
        ("status", ctypes.c_int),
    )


class OnStack:
    """`run_raw` of a library on a stack of its own that begins `offset` behind 64 bytes."""

    SIZE = 8 << 20

    def __init__(self, switch: ctypes.CDLL, library: Library, offset: int) -> None:
        self._switch = switch
        self._run = ctypes.cast(library.api.run_raw, ctypes.c_void_p)
        self._stack = ctypes.create_string_buffer(self.SIZE)
        top = ctypes.addressof(self._stack) + self.SIZE - 128
        self._top = top // 64 * 64 + offset

    def __call__(self, session: Any, entry: int, pointers: Any, sizes: Any) -> int:
        call = Call(
            self._run, session, ctypes.addressof(pointers), ctypes.addressof(sizes), entry, -1
        )
        self._switch.call_on(ctypes.c_void_p(self._top), ctypes.byref(call))
        return call.status


@pytest.fixture(scope="module")
def switch(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("stack")
    source, library = folder / "stack.cpp", folder / "stack.so"
    source.write_text(STACK)
    flags = ["-std=c++17", "-O1", "-fPIC", "-shared"]
    subprocess.run([*find_compiler().command, *flags, "-o", str(library), str(source)], check=True)
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize("dynamic", [pytest.param(False, marks=pytest.mark.slow), True])
def test_any_stack_will_do(switch: ctypes.CDLL, dynamic: bool) -> None:
    """Operands one element off a boundary (the harness sees to it), on each kind of stack."""
    programs = [(case, compiled_program(case, dynamic=dynamic, scheduled=True)) for case in CHOSEN]
    wanted = [(case, program) for case, program in programs if program is not None]
    library = compile_entries([Entry(f"e{n}", p) for n, (_, p) in enumerate(wanted)], name="scan")
    problems: list[str] = []
    for offset in (0, 16, 32, 48):
        invoke = OnStack(switch, library, offset)
        for n, (case, _) in enumerate(wanted):
            problem = verdict(library, f"e{n}", case, dynamic=dynamic, invoke=invoke)
            if problem is not None:
                problems.append(f"{case.label} at {offset}: {problem}")
    library.close()
    assert not problems, "\n".join(problems)
