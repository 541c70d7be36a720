"""Writes the executor's generated kernels: the rules of `ptc/ops`, lowered and turned into C++ at canonical shapes.

    python -m ptc.executor.generate            # writes ptc/executor/operators/generated_*.cpp
    python -m ptc.executor.generate --check    # fails where they are not what the rules give

The files are part of the executor's sources: building it needs neither Python nor torch. A test runs the check.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ptc.codegen.cpp import NAME, kernel_code
from ptc.codegen.cpp_types import ELEMENT
from ptc.loops.nodes import BufferKind, Program, Size
from ptc.ops.protocol import TensorValue
from ptc.schedule.context import Context
from ptc.schedule.passes import schedule

FOLDER = Path(__file__).parent / "operators"
#: f32 lanes of the vectors in the text. A machine with shorter ones splits them, one with longer ones uses half.
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
    """The text of `int NAME(Run*, void* const* a, const int64_t* s)` for what `ctx` holds; None where a result is an
    input. `a`: results, then inputs; `s`: sizes. Several kernels run one after the other."""
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
    codes = [kernel_code(k, program.buffers, program.sizes, LANES, threads=False) for k in program.kernels]
    given = (*program.outputs, *inputs)
    memory = [b for b in dict.fromkeys(b for code in codes for b in code.buffers) if b not in given]
    places = {name: at for at, name in enumerate((*given, *memory))}
    bodies: list[str] = []
    for code in codes:
        head = _HEAD.search(code.text)
        assert head is not None
        values = [f"a[{places[b]}]" for b in code.buffers] + [f"s[{sizes.index(s)}]" for s in code.sizes]
        bodies.append(_with_parameters(code.text, head, values, code.status))
    if len(bodies) == 1 and not memory:
        return bodies[0]
    helpers = [body.replace(NAME, f"{NAME}_{number}") for number, body in enumerate(bodies)]
    main = [f"int {NAME}(Run* run, void* const* a, const int64_t* s) {{"]
    for name in memory:
        buffer = program.buffers[name]
        count = "*".join([f"s[{sizes.index(str(d))}]" if d.constant is None else str(d.constant) for d in buffer.shape])
        main += [
            f"  Scratch<{ELEMENT[buffer.dtype]}> {name}({count or 1});",
            f"  if (!{name}.data) return STATUS_MEMORY;",
        ]
    held = [*[f"a[{n}]" for n in range(len(given))], *[f"{name}.data" for name in memory]]
    main.append(f"  void* const all[] = {{{', '.join(held)}}};")
    main += [f"  if (const int status = {NAME}_{n}(run, all, s)) return status;" for n in range(len(bodies))]
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


def all_files() -> Mapping[str, str]:
    """Name -> text of every generated file."""
    from ptc.executor.generate_pointwise import pointwise_files
    from ptc.executor.generate_rows import row_files

    return {**pointwise_files(), **row_files()}


def main() -> int:
    """Write the files, or compare."""
    FOLDER.mkdir(exist_ok=True)
    stale = []
    for name, text in all_files().items():
        path = FOLDER / name
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            path.write_text(text)
    if "--check" in sys.argv and stale:
        print(f"not what the rules give: {', '.join(stale)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
