"""A kernel of loops as a C++ function with the one signature that the executor calls.

`GeneratedKernel` of operators/generated.h: pointers to results and arguments, and sizes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ptc.codegen.cpp import NAME, kernel_code
from ptc.codegen.cpp_types import ELEMENT
from ptc.loops.nodes import BufferKind, Kernel, Program, Size
from ptc.ops.protocol import TensorValue
from ptc.schedule.context import Context
from ptc.schedule.passes import schedule
from ptc.support.diagnostics import InternalError

#: f32 lanes of the vectors in the text. Machines with shorter ones split them.
LANES = 8
_HEAD = re.compile(rf"^PTC_HIDDEN (void|int) {NAME}\(Run\* run, (.*?)\) \{{$", re.MULTILINE)


@dataclass
class Library:
    """Functions of one file, equal ones once."""

    name: str
    functions: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, text: str, name: str) -> str:
        """The name of a function with this text."""
        known = self.functions.get(text)
        if known is None:
            self.functions[text] = known = name
        return known

    def source(self) -> str:
        """The file."""
        lines = [
            "// Written by ptc/executor/generate.py from the rules of ptc/ops.",
            '#include "generated.h"',
            '#include "ptc_math.h"',
            "",
            "namespace ptc {",
            "",
        ]
        for text, name in self.functions.items():
            lines.append(text.replace(NAME, name))
        return "\n".join([*lines, "}  // namespace ptc", ""])

    def declarations(self) -> list[str]:
        """For the file with the table."""
        return [f"GeneratedKernel {name};" for name in self.functions.values()]


def function_of(
    ctx: Context, results: Sequence[TensorValue], inputs: Sequence[str], sizes: Sequence[str]
) -> str | None:
    """The text of `int NAME(Run*, void* const* a, const int64_t* s)` for what `ctx` holds; None
    where a result is an input. `a`: results, then inputs; `s`: sizes. Several kernels run one
    after the other, with memory of their own for what they hand on."""
    if any(r.buffer in inputs for r in results):
        return None
    for result in results:
        ctx.buffers[result.buffer] = replace(ctx.buffers[result.buffer], kind=BufferKind.OUTPUT)
    program = Program(
        name="kernel",
        sizes=tuple([Size(s, s, 0, None) for s in sizes]),
        buffers=ctx.buffers,
        inputs=tuple(inputs),
        outputs=tuple([r.buffer for r in results]),
        kernels=tuple(ctx.kernels),
    )
    program = schedule(program)
    loops = [kernel for kernel in program.kernels if isinstance(kernel, Kernel)]
    if len(loops) != len(program.kernels):
        raise InternalError("generate", "a rule with more than loops needs a kernel by hand")
    codes = [kernel_code(k, program.buffers, program.sizes, LANES, threads=False) for k in loops]
    given = (*program.outputs, *inputs)
    memory = [b for b in dict.fromkeys(b for code in codes for b in code.buffers) if b not in given]
    places = {name: at for at, name in enumerate((*given, *memory))}
    bodies: list[str] = []
    for code in codes:
        head = _HEAD.search(code.text)
        assert head is not None
        values = [f"a[{places[b]}]" for b in code.buffers] + [
            f"s[{sizes.index(s)}]" for s in code.sizes
        ]
        bodies.append(_with_parameters(code.text, head, values, code.status))
    if len(bodies) == 1 and not memory:
        return bodies[0]
    helpers = [body.replace(NAME, f"{NAME}_{number}") for number, body in enumerate(bodies)]
    main = [f"int {NAME}(Run* run, void* const* a, const int64_t* s) {{"]
    for name in memory:
        buffer = program.buffers[name]
        count = "*".join(
            [
                f"s[{sizes.index(str(d))}]" if d.constant is None else str(d.constant)
                for d in buffer.shape
            ]
        )
        main += [
            f"  Scratch<{ELEMENT[buffer.dtype]}> {name}({count or 1});",
            f"  if (!{name}.data) return STATUS_MEMORY;",
        ]
    held = [*[f"a[{n}]" for n in range(len(given))], *[f"{name}.data" for name in memory]]
    main.append(f"  void* const all[] = {{{', '.join(held)}}};")
    main += [
        f"  if (const int status = {NAME}_{n}(run, all, s)) return status;"
        for n in range(len(bodies))
    ]
    return "\n".join(["static " + helper for helper in helpers] + [*main, "  return 0;", "}", ""])


def _with_parameters(text: str, head: re.Match[str], values: Sequence[str], status: bool) -> str:
    """The function with the uniform parameters, which it unpacks."""
    lines = [f"int {NAME}(Run* run, void* const* a, const int64_t* s) {{"]
    for parameter, value in zip(head[2].split(", ") if head[2] else [], values, strict=True):
        kind, _, name = parameter.rpartition(" ")
        lines.append(f"  {kind} const {name} = ({kind}){value};")
    lines.append("  (void)run, (void)a, (void)s;")
    text = text[: head.start()] + "\n".join(lines) + text[head.end() :]
    return text if status else text.removesuffix("}\n") + "  return 0;\n}\n"
