"""What a library is built for: platform, instruction set, vector width, threads.

Takes the user's words (`native`, `x86_64-linux-gnu+avx2`), gives a frozen `Target` with the
compiler flags and the CPU features that `open` must find. Must not know of programs or compilers'
whereabouts; what `native` means on this machine is told by `toolchain`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    "__F16C__": "f16c",
    "__POPCNT__": "popcnt",
    "__LZCNT__": "lzcnt",
    "__MOVBE__": "movbe",
}

#: Versions of the kernels in a library for several processors, the widest last.
_VERSIONS = ("baseline", "avx2", "avx512")


@dataclass(frozen=True, slots=True)
class Platform:
    """A system that libraries are built for.

    library, archive   names of their files, `{}` for the model's
    cross_compiler     how Debian and others call a compiler for it; "" where there is none
    has_sections       whether a library finds sections in its own file: weights are appended to it
    """

    triple: str
    machine: str
    library: str
    archive: str
    cross_compiler: str
    has_sections: bool

    @property
    def system(self) -> str:
        """`linux`, `windows` or `macos`."""
        return self.triple.split("-")[1]


_PLATFORMS: dict[str, Platform] = {
    triple: Platform(triple, triple.split("-")[0], *facts)
    for triple, facts in {
        "x86_64-linux-gnu": ("lib{}.so", "lib{}.a", "x86_64-linux-gnu-g++", True),
        "x86_64-linux-musl": ("lib{}.so", "lib{}.a", "x86_64-linux-musl-g++", True),
        "aarch64-linux-gnu": ("lib{}.so", "lib{}.a", "aarch64-linux-gnu-g++", True),
        "aarch64-linux-musl": ("lib{}.so", "lib{}.a", "aarch64-linux-musl-g++", True),
        "x86_64-windows-gnu": ("{}.dll", "lib{}.a", "x86_64-w64-mingw32-g++", False),
        "aarch64-macos": ("lib{}.dylib", "lib{}.a", "", False),
        "x86_64-macos": ("lib{}.dylib", "lib{}.a", "", False),
    }.items()
}


@dataclass(frozen=True, slots=True)
class Target:
    """A build target. `isa` is `native`, a level of `_LEVELS`, or `auto`: several of them in one
    library, which chooses when it is loaded.

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
    def platform(self) -> Platform:
        return _PLATFORMS[self.triple]

    @property
    def versions(self) -> tuple[Target, ...]:
        """What the library holds code for: this target, or each level of `auto`."""
        if self.isa != "auto":
            return (self,)
        return tuple(self.at_level(level) for level in _VERSIONS)

    def at_level(self, level: str) -> Target:
        """The same platform with the instruction set `level`."""
        _, vector_bytes, features = _LEVELS[level]
        return replace(self, isa=level, vector_bytes=vector_bytes, features=features)

    @property
    def flags(self) -> tuple[str, ...]:
        """Compiler flags that select the instruction set."""
        if self.isa == "native":
            wide = ("-mprefer-vector-width=512",) if self.vector_bytes == 64 else ()
            return ("-march=native", *wide)
        return _LEVELS["baseline" if self.isa == "auto" else self.isa][0]

    def __str__(self) -> str:
        return "native" if self.isa == "native" else f"{self.triple}+{self.isa}"


def parse_target(text: str, *, threads: bool = True) -> Target:
    """`native`, `cpu` (the same), or `TRIPLE[+LEVEL]`. Anything else is a CompileError."""
    if text in ("native", "cpu"):
        return Target(threads=threads)
    triple, _, level = text.partition("+")
    if triple not in _PLATFORMS:
        raise CompileError(
            "PTC-C002",
            f"unknown target `{text}`",
            hint=f"use `native`, or one of {', '.join(_PLATFORMS)}; x86_64 with `+avx2`, "
            "`+avx512`, or `+auto` for all of them in one library",
        )
    arm = triple.startswith("aarch64")
    level = level or ("neon" if arm else "baseline")
    known = ("neon",) if arm else (*_VERSIONS, "auto")
    if level not in known:
        raise CompileError(
            "PTC-C002",
            f"unknown instruction set `{level}` for {triple}, expected one of: {', '.join(known)}",
            hint=f"for example `{triple}+{'neon' if arm else 'avx2'}`",
        )
    target = Target(triple, level, threads)
    if level == "auto":
        return replace(target, vector_bytes=16)  # what runs before a version is chosen
    return target.at_level(level)
