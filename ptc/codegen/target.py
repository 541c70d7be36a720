"""What a library is built for: platform, instruction set, vector width, threads.

Takes the user's words (`native`, `x86_64-linux-gnu+avx2`), gives a frozen `Target` with the
compiler flags and the CPU features that `open` must find. Must not know of programs or compilers'
whereabouts; what `native` means on this machine is told by `toolchain`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ptc.support.diagnostics import CompileError

# x86-64-v3 as compilers define it.
_V3 = ("sse4.2", "popcnt", "avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe")
#: Instruction sets by name: flags, bytes of a vector register, features checked when opening.
_LEVELS: dict[str, tuple[tuple[str, ...], int, tuple[str, ...]]] = {
    "baseline": ((), 16, ()),
    "avx2": (("-march=x86-64-v3",), 32, _V3),
    "avx512": (
        ("-march=x86-64-v4", "-mprefer-vector-width=512"),
        64,
        (*_V3, "avx512f", "avx512vl", "avx512bw", "avx512dq", "avx512cd"),
    ),
    "neon": ((), 16, ()),
}

#: Predefined macro of the compiler -> name that the runtime's CPU check knows (ptc_host_cpu.h).
FEATURE_MACROS: dict[str, str] = {
    "__SSE3__": "sse3",
    "__SSSE3__": "ssse3",
    "__SSE4_1__": "sse4.1",
    "__SSE4_2__": "sse4.2",
    "__AVX__": "avx",
    "__AVX2__": "avx2",
    "__FMA__": "fma",
    "__BMI__": "bmi",
    "__BMI2__": "bmi2",
    "__AVX512F__": "avx512f",
    "__AVX512VL__": "avx512vl",
    "__AVX512BW__": "avx512bw",
    "__AVX512DQ__": "avx512dq",
    "__AVX512CD__": "avx512cd",
    "__AVX512IFMA__": "avx512ifma",
    "__AVX512VBMI__": "avx512vbmi",
    "__AVX512VBMI2__": "avx512vbmi2",
    "__AVX512VNNI__": "avx512vnni",
    "__AVX512BITALG__": "avx512bitalg",
    "__AVX512VPOPCNTDQ__": "avx512vpopcntdq",
    "__GFNI__": "gfni",
    "__VPCLMULQDQ__": "vpclmulqdq",
    "__VAES__": "vaes",
    "__AVX512BF16__": "avx512bf16",
    "__POPCNT__": "popcnt",
    "__LZCNT__": "lzcnt",
    "__MOVBE__": "movbe",
}

_TRIPLE = re.compile(r"(x86_64|aarch64)-linux-(gnu|musl)")


@dataclass(frozen=True, slots=True)
class Target:
    """A build target. `isa` is `native` or a level of `_LEVELS`.

    `vector_bytes` is the width generated code is laid out for and `features` what `ptc_open`
    checks; both are filled by `parse` for named levels and by `toolchain.resolve` for `native`.
    """

    triple: str = "x86_64-linux-gnu"
    isa: str = "native"
    threads: bool = True
    vector_bytes: int = 0
    features: tuple[str, ...] = ()

    @property
    def lanes(self) -> int:
        """f32 lanes of a vector register: PTC_VLEN of the runtime headers."""
        if not self.vector_bytes:
            raise ValueError("target is not resolved: see toolchain.resolve")
        return self.vector_bytes // 4

    @property
    def flags(self) -> tuple[str, ...]:
        """Compiler flags that select the instruction set."""
        if self.isa == "native":
            wide = ("-mprefer-vector-width=512",) if self.vector_bytes == 64 else ()
            return ("-march=native", *wide)
        return _LEVELS[self.isa][0]

    def __str__(self) -> str:
        return "native" if self.isa == "native" else f"{self.triple}+{self.isa}"


def parse_target(text: str, *, threads: bool = True) -> Target:
    """`native`, `cpu` (the same), or `TRIPLE[+LEVEL]`. Anything else is a CompileError."""
    if text in ("native", "cpu"):
        return Target(threads=threads)
    triple, _, level = text.partition("+")
    if _TRIPLE.fullmatch(triple) is None:
        raise CompileError(
            "PTC-C002",
            f"unknown target `{text}`",
            hint="use `native`, or for example `x86_64-linux-gnu+avx2` or `aarch64-linux-gnu`",
        )
    arm = triple.startswith("aarch64")
    level = level or ("neon" if arm else "baseline")
    if level not in _LEVELS or arm != (level == "neon"):
        known = "neon" if arm else ", ".join(name for name in _LEVELS if name != "neon")
        raise CompileError(
            "PTC-C002",
            f"unknown instruction set `{level}` for {triple}, expected one of: {known}",
            hint=f"for example `{triple}+{'neon' if arm else 'avx2'}`",
        )
    _, vector_bytes, features = _LEVELS[level]
    return Target(triple, level, threads, vector_bytes, features)
