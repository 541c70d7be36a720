"""From IR kernels to functions: which way each kernel is generated.

Takes a kernel, gives the `Call`s that do its work. Loop nests go through `cpp`; contractions to the
runtime's kernels where `contractions` knows how, else they are expanded to loops; extern kernels to
the runtime's routines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ptc.codegen.attentions import attention_plan
from ptc.codegen.contractions import Options, Plan, gemm_plan
from ptc.codegen.convolutions import conv_plan
from ptc.codegen.cpp import KernelCode, kernel_code
from ptc.codegen.expand import expand_template
from ptc.codegen.externs import extern_code
from ptc.loops.nodes import (
    AnyKernel,
    Buffer,
    BufferKind,
    ExternKernel,
    Kernel,
    Program,
    TemplateKernel,
)


@dataclass(frozen=True, slots=True)
class Call:
    """One function to call, with the buffers and sizes its code names."""

    code: KernelCode
    label: str


@dataclass(slots=True)
class KernelCompiler:
    """Options of one library, and what generated kernels need beyond the program's own buffers.

    `lanes` are f32 lanes of a vector. With `live_weights` nothing may be derived from weights
    ahead of a run; `written` are weights that some entry writes. `packed` are buffers prepared
    once, with the code that fills each; `zones` lists the buffers that live during one contraction
    only.
    """

    lanes: int
    threads: bool = True
    live_weights: bool = False
    written: frozenset[str] = frozenset()
    packed: dict[str, KernelCode] = field(default_factory=dict[str, KernelCode])
    zones: list[list[Buffer]] = field(default_factory=list[list[Buffer]])
    contractions: int = 0

    def for_entry(self) -> KernelCompiler:
        """The same options, nothing prepared yet."""
        return KernelCompiler(self.lanes, self.threads, self.live_weights, self.written)

    def calls(self, kernel: AnyKernel, program: Program, *, ahead: bool = False) -> list[Call]:
        """The functions that do `kernel`'s work, in order. `ahead`: it runs once, ahead of a run
        and of the packing, so that packing for it would come too late."""
        if isinstance(kernel, ExternKernel):
            return [Call(extern_code(kernel, program), kernel.name)]
        if isinstance(kernel, TemplateKernel):
            return self._contraction(kernel, program, ahead)
        return [self._loops(kernel, program, program.buffers)]

    def _contraction(self, kernel: TemplateKernel, program: Program, ahead: bool) -> list[Call]:
        plan = contraction_plan(kernel, program, self._options(ahead))
        if plan is None:
            return [self._loops(expand_template(kernel), program, program.buffers)]
        self.packed.update(plan.packed)
        if plan.zone:
            self.zones.append(plan.zone)
        buffers = {**program.buffers, **{b.name: b for b in plan.zone}}
        before = [self._loops(k, program, buffers) for k in plan.before]
        return [*before, Call(plan.call, kernel.name)]

    def _options(self, ahead: bool) -> Options:
        constant: set[BufferKind] = set() if ahead else {BufferKind.LITERAL}
        if not self.live_weights and not ahead:
            constant |= {BufferKind.WEIGHT, BufferKind.PREPARED}
        self.contractions += 1
        return Options(self.lanes, frozenset(constant), self.written, f"zone{self.contractions}")

    def _loops(self, kernel: Kernel, program: Program, buffers: Mapping[str, Buffer]) -> Call:
        code = kernel_code(kernel, buffers, program.sizes, self.lanes, threads=self.threads)
        return Call(code, kernel.name)


def contraction_plan(kernel: TemplateKernel, program: Program, options: Options) -> Plan | None:
    """The runtime's kernel for a contraction, None if there is none for it."""
    if kernel.template == "gemm":
        return gemm_plan(kernel, program, options)
    if kernel.template.startswith("conv"):
        return conv_plan(kernel, program, options)
    if kernel.template == "attention":
        return attention_plan(kernel, program, options)
    return None
