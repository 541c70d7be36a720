"""A library with code for several processors; code that is linked beside code of another model.

Takes what `generate` makes for one instruction set. Versions live side by side because each has a
namespace of its own, which macros give to the same text; a small unit chooses one when the library
is first asked for its interface. Must not know what is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ptc.codegen.entry import AnyEntry
from ptc.codegen.functions import identifier
from ptc.codegen.generate import Generated, generate
from ptc.codegen.host import WeightFiles
from ptc.codegen.sources import Sources, Unit
from ptc.codegen.statements import string_literal
from ptc.codegen.target import Target


def generate_for(
    entries: Sequence[AnyEntry],
    *,
    name: str,
    target: Target,
    weights_file: str | None,
    image: bool,
    files: WeightFiles | None = None,
    alone: bool = True,
) -> Generated:
    """`generate` for each version that the resolved `target` has, in one set of sources.

    `alone`: the library is linked by itself; else its names are kept apart from those of other
    models in the same program. Weights and kernels are those of the first version: versions differ
    in their vectors only.
    """
    symbol = identifier(name)
    made = [
        (
            at,
            generate(
                entries, name=name, target=at, weights_file=weights_file, image=image, files=files
            ),
        )
        for at in target.versions
    ]
    first = made[0][1]
    if len(made) == 1:
        if alone:
            return first
        apart = tuple(_in_namespace(unit, f"ptc_{symbol}") for unit in first.sources.units)
        return replace(first, sources=replace(first.sources, units=apart))
    units: dict[str, Unit] = {}
    for at, generated in made:
        for unit in generated.sources.units:
            if unit.name == _manifest(symbol):  # one text for all
                units[unit.name] = unit
            else:
                versioned = _version(unit, symbol, at)
                units[versioned.name] = versioned
    chooser = Unit(f"{symbol}_versions.cpp", _chooser(symbol, target.versions), True, 50.0)
    sources = Sources(first.sources.name, (*units.values(), chooser), first.sources.header)
    return replace(first, sources=sources)


def _manifest(symbol: str) -> str:
    return f"{symbol}_manifest.cpp"


def _in_namespace(unit: Unit, namespace: str, *defines: str) -> Unit:
    """The unit with `namespace` in place of `ptc`, and its global structs named after it."""
    names = (f"ptc={namespace}", *(f"{s}={namespace}_{s}" for s in ("ptc_model", "ptc_session")))
    return replace(unit, defines=(*unit.defines, *names, *defines))


def _version(unit: Unit, symbol: str, at: Target) -> Unit:
    stem, _, suffix = unit.name.rpartition(".")
    hidden = ("PTC_EXPORT=PTC_HIDDEN", f"{symbol}_ptc_api={_getter(symbol, at)}")
    versioned = _in_namespace(unit, f"ptc_{symbol}_{at.isa}", *hidden)
    return replace(versioned, name=f"{stem}_{at.isa}.{suffix}", isa=at.isa)


def _getter(symbol: str, at: Target) -> str:
    return f"{symbol}_{at.isa}_ptc_api"


def _chooser(symbol: str, versions: Sequence[Target]) -> str:
    """The unit that picks the widest version that this processor can run."""
    lines = [
        "// Which version of the kernels runs: the widest that this processor has, or the one that",
        "// the environment variable PTC_CPU_LEVEL names. What needs more than the processor has",
        "// does not open.",
        "#include <stdlib.h>",
        "#include <string.h>",
        "",
        '#include "ptc_host_cpu.h"',
        '#include "ptc_host_spec.h"',
        "",
    ]
    lines += [
        f'extern "C" PTC_HIDDEN const ptc_api* {_getter(symbol, at)}(void);' for at in versions
    ]
    lines += ["", "namespace {", "", "struct Version {", "  const char* name;"]
    lines += ["  const char* const* features;", "  const ptc_api* (*api)(void);", "};", ""]
    for at in versions:
        names = ", ".join([*(string_literal(feature) for feature in at.features), "nullptr"])
        lines.append(f"const char* const {at.isa}_features[] = {{{names}}};")
    lines += ["const Version versions[] = {"]
    lines += [f'    {{"{at.isa}", {at.isa}_features, {_getter(symbol, at)}}},' for at in versions]
    lines += ["};", _CHOICE.replace("SYMBOL", symbol)]
    return "\n".join(lines)


_CHOICE = """\

const ptc_api* choose() {
  const char* const wanted = getenv("PTC_CPU_LEVEL");
  const Version* best = versions;
  for (const Version& version : versions) {
    if (wanted && strcmp(wanted, version.name) == 0) return version.api();
    const char* const* feature = version.features;
    while (*feature && ptc::cpu_has(*feature)) ++feature;
    if (!*feature) best = &version;
  }
  return best->api();
}

}  // namespace

extern "C" PTC_EXPORT const ptc_api* SYMBOL_ptc_api(void);
const ptc_api* SYMBOL_ptc_api(void) {
  static const ptc_api* chosen = nullptr;
  const ptc_api* known = __atomic_load_n(&chosen, __ATOMIC_ACQUIRE);
  if (known) return known;
  known = choose();
  __atomic_store_n(&chosen, known, __ATOMIC_RELEASE);
  return known;
}
"""
