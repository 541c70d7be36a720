"""From IR kernels to functions: which way each kernel is generated.

Takes a kernel, gives the `Call`s that do its work. Loop nests go through `cpp`; contractions to the
runtime's kernels where `contractions` knows how, else they are expanded to loops; extern kernels to
the runtime's routines.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ptc.codegen.cpp import KernelCode, kernel_code
from ptc.codegen.expand import expand_template
from ptc.loops.nodes import AnyKernel, Buffer, ExternKernel, Kernel, Program, TemplateKernel
from ptc.support.diagnostics import InternalError


@dataclass(frozen=True, slots=True)
class Call:
    """One function to call, with the buffers and sizes its code names."""

    code: KernelCode
    label: str


@dataclass(slots=True)
class KernelCompiler:
    """Options of one library, and what generated kernels need beyond the program's own buffers.

    `lanes` are f32 lanes of a vector. With `live_weights` nothing may be derived from weights ahead of
    a run. `extra` are buffers prepared once by `packs`.
    """

    lanes: int
    threads: bool = True
    live_weights: bool = False
    extra: dict[str, Buffer] = field(default_factory=dict[str, Buffer])
    packs: list[Call] = field(default_factory=list[Call])

    def for_entry(self) -> KernelCompiler:
        """The same options, nothing prepared yet."""
        return KernelCompiler(self.lanes, self.threads, self.live_weights)

    def calls(self, kernel: AnyKernel, program: Program) -> list[Call]:
        """The functions that do `kernel`'s work, in order."""
        if isinstance(kernel, ExternKernel):
            raise InternalError("codegen", f"no routine called {kernel.function}")
        if isinstance(kernel, TemplateKernel):
            return [self._loops(expand_template(kernel), program)]
        return [self._loops(kernel, program)]

    def _loops(self, kernel: Kernel, program: Program) -> Call:
        code = kernel_code(
            kernel, program.buffers, program.sizes, self.lanes, threads=self.threads
        )
        return Call(code, kernel.name)
