"""The host unit: tables for the C interface, and the header for users of a library.

Takes entries with their generated functions, gives the text of the unit with the tables and of
NAME.h. The mechanics (checks, sessions, weights) are in ptc_host.h: a unit of its own, the same for
every library and so compiled once a cache.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from ptc.codegen.control import ControlCode
from ptc.codegen.cpp_types import DL_CODES
from ptc.codegen.entry import Entry
from ptc.codegen.functions import identifier
from ptc.codegen.program_code import EntryCode
from ptc.codegen.statements import string_literal
from ptc.codegen.target import Target
from ptc.codegen.toolchain import RUNTIME_DIR
from ptc.loops.nodes import Buffer, DType

#: Names of element types in safetensors files.
SAFETENSORS_DTYPES: dict[DType, str] = {
    DType.F64: "F64",
    DType.F32: "F32",
    DType.F16: "F16",
    DType.BF16: "BF16",
    DType.I64: "I64",
    DType.I32: "I32",
    DType.I16: "I16",
    DType.I8: "I8",
    DType.U8: "U8",
    DType.BOOL: "BOOL",
    DType.C64: "C64",
    DType.C128: "C128",
}


@dataclass(frozen=True, slots=True)
class Weight:
    """A weight as the library finds it: by name, in the order of `ModelSpec.weights`."""

    name: str
    dtype: DType
    bytes: int
    shape: tuple[int, ...]
    is_written: bool = False
    is_kept: bool = True  # read by a run, not only to prepare others
    is_saved: bool = True  # in files of the model's weights
    aliases: tuple[str, ...] = ()  # other names there


@dataclass(frozen=True, slots=True)
class WeightFiles:
    """What files of the model's weights hold: names of `saved` tensors, and under which other names
    they may have one (tied weights are saved once)."""

    saved: Set[str]
    aliases: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Controls:
    """What the unit needs of programs with control flow.

    `codes` by entry number; `declarations` go before any of them. `states` are the first values of
    Python numbers that persist, as 64-bit patterns; `kept` are the kinds of what else persists.
    """

    codes: Mapping[int, ControlCode] = field(default_factory=dict[int, ControlCode])
    headers: Sequence[str] = ()
    declarations: Sequence[str] = ()
    states: Sequence[str] = ()
    kept: Sequence[str] = ()


def host_unit(
    name: str,
    entries: Sequence[Entry],
    public: int,
    codes: Sequence[EntryCode],
    weights: Sequence[Weight],
    declarations: Sequence[str],
    target: Target,
    *,
    weights_file: str | None,
    image: bool,
    controls: Controls,
) -> str:
    """The text of the unit. The first `public` entries are the callers', the others segments.
    `image`: the weights are in the library's memory, see `image_unit`."""
    symbol = identifier(name)
    lines = [
        f"// The model `{name}`: its entries, memory and C interface.",
        '#include "ptc_host_spec.h"',
        *[f'#include "{header}"' for header in controls.headers],
        "",
        f"extern const char {symbol}_manifest[];",
        *([f'extern "C" PTC_HIDDEN const char {_image(symbol)};'] if image else []),
        "",
        "namespace ptc {",
        "",
        *declarations,
        "",
    ]
    for number, (entry, code) in enumerate(zip(entries, codes, strict=True)):
        kind = "entry" if number < public else "segment"
        lines += [f"// --- {kind} {number}: {entry.name}, {code.kernels} kernels", ""]
        lines += [code.functions, *_entry_tables(entry, number, weights, controls.codes)]
        lines += [
            *_table("PreparedSpec", f"prepared{number}", [b.row() for b in code.prepared]),
            "",
        ]
    lines += controls.declarations
    for code in controls.codes.values():
        lines.append(code.functions)
    lines += _entry_specs(entries, codes, weights, controls.codes)
    lines += _weight_specs(weights)
    lines += [*_table("StateSpec", "state_specs", [f"{{{bits}}}" for bits in controls.states]), ""]
    lines += [*_table("uint8_t", "kept_kinds", list(controls.kept)), ""]
    lines += _feature_table(target)
    lines += [
        *_model_spec(
            name, (public, len(entries), len(weights)), weights_file, image, target, controls
        ),
        "",
        "}  // namespace ptc",
        "",
        f'extern "C" PTC_EXPORT const ptc_api* {symbol}_ptc_api(void);',
        f"const ptc_api* {symbol}_ptc_api(void) {{ return &ptc::api_table; }}",
        "",
    ]
    return "\n".join(lines)


def _image(symbol: str) -> str:
    return f"{symbol}_weights[], {symbol}_weights_end[]"


def _model_spec(
    name: str,
    counts: tuple[int, int, int],
    weights_file: str | None,
    image: bool,
    target: Target,
    controls: Controls,
) -> list[str]:
    """The table that names all others. `counts`: of public entries, of all, of weights."""
    public, entries, weights = counts
    symbol = identifier(name)
    file = "nullptr" if weights_file is None else string_literal(weights_file)
    ends = f"{symbol}_weights, {symbol}_weights_end" if image else "nullptr, nullptr"
    return [
        "const ModelSpec model_spec = {",
        f"    {string_literal(name)}, {identifier(name)}_manifest, {public}, {entries}, "
        "entry_specs,",
        f"    {weights}, {'weight_specs' if weights else 'nullptr'}, {file}, {ends},",
        f"    {string_literal(target.isa)}, needed_features,",
        f"    {len(controls.states)}, {'state_specs' if controls.states else 'nullptr'}, "
        f"{'free_control_memory' if controls.codes else 'nullptr'},",
        f"    {len(controls.kept)}, {'kept_kinds' if controls.kept else 'nullptr'},",
        "};",
    ]


def _tensor_spec(buffer: Buffer, name: str, is_written: bool = False) -> str:
    code, bits = DL_CODES[buffer.dtype]
    size = buffer.dtype.itemsize
    written = ", true" if is_written else ""
    return f"{{{string_literal(name)}, {code}, {bits}, {len(buffer.shape)}, {size}{written}}}"


def _table(kind: str, name: str, rows: Sequence[str]) -> list[str]:
    """A constant array; C++ has none of length zero, so an empty one is left out."""
    if not rows:
        return []
    return [f"static const {kind} {name}[] = {{", *[f"    {row}," for row in rows], "};"]


def _entry_tables(
    entry: Entry, number: int, weights: Sequence[Weight], controls: Mapping[int, ControlCode]
) -> list[str]:
    written = {back.buffer for back in entry.write_backs}
    if number in controls:
        written |= controls[number].written
    inputs = [_tensor_spec(b, b.name, b.name in written) for b in entry.arguments]
    outputs = [_tensor_spec(b, entry.display_name(i)) for i, b in enumerate(entry.output_buffers())]
    if number in controls:
        outputs = controls[number].outputs
    sizes: list[str] = []
    for size, source in zip(entry.program.sizes, entry.size_sources(), strict=True):
        upper = -1 if size.upper is None else size.upper
        label = string_literal(size.name or size.symbol)
        sizes.append(f"{{{label}, {size.lower}, {upper}, {source.input}, {source.dim}}}")
    return [
        *_table("TensorSpec", f"inputs{number}", inputs),
        *_table("TensorSpec", f"outputs{number}", outputs),
        *_table("SizeSpec", f"sizes{number}", sizes),
        *_table("WriteBackSpec", f"write_backs{number}", _write_backs(entry, weights)),
    ]


def _write_backs(entry: Entry, weights: Sequence[Weight]) -> list[str]:
    inputs = [b.name for b in entry.arguments]
    table = [w.name for w in weights]
    rows: list[str] = []
    for back in entry.write_backs:
        if back.buffer in inputs:
            rows.append(f"{{{back.output}, {inputs.index(back.buffer)}, -1}}")
        elif back.buffer in table:
            rows.append(f"{{{back.output}, -1, {table.index(back.buffer)}}}")
    return rows


def _entry_specs(
    entries: Sequence[Entry],
    codes: Sequence[EntryCode],
    weights: Sequence[Weight],
    controls: Mapping[int, ControlCode],
) -> list[str]:
    rows: list[str] = []
    for n, (entry, code) in enumerate(zip(entries, codes, strict=True)):
        outputs = len(entry.program.outputs)
        own = len(controls[n].outputs) if n in controls else outputs - len(entry.write_backs)
        # Live weights are the caller's: only `run_raw` runs such an entry, which writes none back.
        backs = len(_write_backs(entry, weights))
        counts = [len(entry.arguments), own, outputs, len(entry.program.sizes), backs]
        counts.append(code.raw_inputs)
        tables = [
            f"inputs{n}" if counts[0] else "nullptr",
            f"outputs{n}" if outputs or own else "nullptr",
            f"sizes{n}" if counts[3] else "nullptr",
            f"write_backs{n}" if backs else "nullptr",
        ]
        control = f"control{n}" if n in controls else "nullptr"
        prepare = f"prepare{n}" if code.has_prepare else "nullptr"
        prepared = f"prepared{n}" if code.prepared else "nullptr"
        rows.append(
            f"{{{string_literal(entry.name)}, {', '.join(map(str, counts))}, {', '.join(tables)}, "
            f"shapes{n}, arena_bytes{n}, body{n}, {len(code.prepared)}, {prepared}, "
            f"{code.prepare_arena_bytes}, {prepare}, {control}}}"
        )
    return [*_table("EntrySpec", "entry_specs", rows), ""]


def _weight_specs(weights: Sequence[Weight]) -> list[str]:
    rows: list[str] = []
    tables: list[str] = []
    for number, weight in enumerate(weights):
        if weight.aliases:
            names = [string_literal(json.dumps(name)) for name in weight.aliases]
            tables += _table("char* const", f"aliases{number}", [*names, "nullptr"])
        dtype = SAFETENSORS_DTYPES.get(weight.dtype, weight.dtype.value)
        key = string_literal(json.dumps(weight.name))
        flags = [str(flag).lower() for flag in (weight.is_written, weight.is_kept, weight.is_saved)]
        dims = ", ".join(map(str, weight.shape[:8]))
        aliases = f"aliases{number}" if weight.aliases else "nullptr"
        fields = (key, aliases, string_literal(dtype), weight.bytes, *flags, len(weight.shape))
        rows.append(f"{{{', '.join(map(str, fields))}, {{{dims}}}}}")
    return [*tables, *_table("WeightSpec", "weight_specs", rows), ""]


def _feature_table(target: Target) -> list[str]:
    """What `open` looks for before any vector code runs."""
    names = [string_literal(feature) for feature in target.features]
    return [*_table("char* const", "needed_features", [*names, "nullptr"]), ""]


def mechanics_unit() -> str:
    """The unit that drives the tables. It names no library."""
    lines = [
        "// Models, sessions, runs and the pool of threads.",
        "#define PTC_THREADS_IMPLEMENTATION",
        '#include "ptc_host.h"',
        "",
    ]
    return "\n".join(lines)


def image_unit(name: str, image: str) -> str:
    """The unit that takes the file `image`, a plain name in the compiler's folder, into the
    library's memory, for systems and archives whose code finds no sections in files."""
    return _IMAGE.replace("FILE", image).replace("SYMBOL", f"{identifier(name)}_weights")


_IMAGE = """\
// The weights: a safetensors file, as constants.
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define NAME(x) TEXT(__USER_LABEL_PREFIX__) x
#if defined(__APPLE__)
#define PLACE ".section __TEXT,__const\\n"
#define HIDE(x) ".private_extern " NAME(x) "\\n"
#elif defined(_WIN32)
#define PLACE ".section .rdata,\\"dr\\"\\n"
#define HIDE(x)
#else
#define PLACE ".section .rodata\\n"
#define HIDE(x) ".hidden " NAME(x) "\\n"
#endif
__asm__(PLACE ".globl " NAME("SYMBOL") "\\n" HIDE("SYMBOL")            //
        ".globl " NAME("SYMBOL_end") "\\n" HIDE("SYMBOL_end")          //
        ".balign 64\\n" NAME("SYMBOL") ":\\n.incbin \\"FILE\\"\\n"   //
        NAME("SYMBOL_end") ":\\n.byte 0\\n.text\\n");
"""


def manifest_unit(name: str, manifest: str) -> str:
    """The unit that holds the manifest's text."""
    symbol = identifier(name)
    pieces = [manifest[i : i + 80] for i in range(0, len(manifest), 80)] or [""]
    lines = [
        f'extern __attribute__((visibility("hidden"))) const char {symbol}_manifest[];',
        f"const char {symbol}_manifest[] =",
        *[f"    {string_literal(piece)}" for piece in pieces],
        "    ;",
        "",
    ]
    return "\n".join(lines)


# --- the header ---------------------------------------------------------------------------------


def user_header(
    name: str,
    entries: Sequence[Entry],
    *,
    weights_file: str | None,
    results: Mapping[int, Sequence[tuple[str, str]]],
) -> str:
    """NAME.h: the C interface and one typed wrapper an entry; needs no other file. `results`: names
    and descriptions of what programs with control flow give, by entry number."""
    symbol = identifier(name)
    guard = f"{symbol.upper()}_H"
    abi = (RUNTIME_DIR / "ptc_abi.h").read_text()
    beside = f" Keep {weights_file} beside the library." if weights_file else ""
    lines = [
        f"/* {name}: a compiled model.",
        " *",
        f" * Link: cc app.c -L. -l{name} -Wl,-rpath,'$ORIGIN'",
        f" * or dlopen lib{name}.so and look up {symbol}_ptc_api.{beside}",
        " *",
        " *   ptc_model *model; ptc_session *session; char message[256];",
        f" *   if ({symbol}_open(NULL, &model, message, sizeof message)) ...",
        f" *   {symbol}_session_new(model, &session);",
        f" *   if ({symbol}_{identifier(entries[0].name)}(session, ...)) "
        f"puts({symbol}_last_error(session));",
        f" *   {symbol}_session_free(session); {symbol}_close(model);",
        " */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        abi.rstrip(),
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"const ptc_api *{symbol}_ptc_api(void);",
        "",
        _WRAPPERS.replace("NAME_", f"{symbol}_"),
    ]
    for number, entry in enumerate(entries):
        lines += _entry_wrapper(symbol, number, entry, results.get(number))
    lines += ["#ifdef __cplusplus", "}", "#endif", f"#endif /* {guard} */", ""]
    return "\n".join(lines)


_WRAPPERS = """\
static inline ptc_status NAME_open(const ptc_open_options *options, ptc_model **model,
                                   char *message, size_t capacity) {
  return NAME_ptc_api()->open(options, model, message, capacity);
}
static inline void NAME_close(ptc_model *model) { NAME_ptc_api()->close(model); }
static inline ptc_status NAME_session_new(ptc_model *model, ptc_session **session) {
  return NAME_ptc_api()->session_new(model, session);
}
static inline void NAME_session_free(ptc_session *session) {
  NAME_ptc_api()->session_free(session);
}
static inline const char *NAME_last_error(const ptc_session *session) {
  return NAME_ptc_api()->last_error(session);
}
static inline const char *NAME_exception_type(const ptc_session *session) {
  return NAME_ptc_api()->exception_type(session);
}
static inline void NAME_set_emit(ptc_session *session, ptc_emit emit, void *user) {
  NAME_ptc_api()->set_emit(session, emit, user);
}
static inline ptc_status NAME_reset(ptc_session *session) { return NAME_ptc_api()->reset(session); }
static inline ptc_status NAME_seed(ptc_session *session, uint64_t seed) {
  return NAME_ptc_api()->seed(session, seed);
}
static inline ptc_status NAME_update_weights(ptc_model *model, const char *path, char *message,
                                             size_t capacity) {
  return NAME_ptc_api()->update_weights(model, path, message, capacity);
}
static inline void NAME_release(ptc_session *session, DLTensor *output) {
  NAME_ptc_api()->release(session, output);
}
"""


def _described(buffer: Buffer, name: str, labels: dict[str, str]) -> str:
    dims: list[str] = []
    for extent in buffer.shape:
        text = labels.get(str(extent), str(extent))
        dims.append(text.replace("*/", "* /"))
    return f"{name.replace('*/', '')}: {buffer.dtype.value}[{', '.join(dims)}]"


def _entry_wrapper(
    symbol: str, number: int, entry: Entry, given: Sequence[tuple[str, str]] | None
) -> list[str]:
    labels = {s.symbol: s.name or s.symbol for s in entry.program.sizes}
    if given is None:
        buffers = entry.output_buffers()[: len(entry.program.outputs) - len(entry.write_backs)]
        shown = [(entry.display_name(i), b) for i, b in enumerate(buffers)]
        given = [(name, _described(b, name, labels)) for name, b in shown]
    outputs = [name for name, _ in given]
    names = _parameter_names(
        [b.name for b in entry.arguments] + [f"out_{name}" for name in outputs]
    )
    count = len(entry.arguments)
    taken = [_described(b, b.name, labels) for b in entry.arguments]
    parameters = "".join(f", DLTensor *{n}" for n in names)
    inputs = f"inputs[] = {{{', '.join(names[:count])}}}" if count else "*inputs = NULL"
    result = f"outputs[] = {{{', '.join(names[count:])}}}" if outputs else "*outputs = NULL"
    input_type = "DLTensor *" if count else "DLTensor **"
    output_type = "DLTensor *" if outputs else "DLTensor **"
    return [
        f"/* {entry.name}({', '.join(taken)})",
        f" * -> {', '.join(text for _, text in given) or 'nothing'} */",
        f"static inline ptc_status {symbol}_{identifier(entry.name)}("
        f"ptc_session *session{parameters}) {{",
        f"  {input_type}{inputs};".replace("DLTensor ***", "DLTensor **"),
        f"  {output_type}{result};".replace("DLTensor ***", "DLTensor **"),
        f"  return {symbol}_ptc_api()->run(session, {number}, inputs, {count}, outputs, "
        f"{len(outputs)});",
        "}",
        "",
    ]


def _parameter_names(names: Sequence[str]) -> list[str]:
    result: list[str] = []
    for name in names:
        text = identifier(name)
        text = f"x_{text}" if text[0].isdigit() or text in _C_KEYWORDS else text
        while text in result:
            text += "_"
        result.append(text)
    return result


_KEYWORD_TEXT = """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while session inputs outputs class new delete this template typename
    namespace using operator private public protected virtual friend try catch throw bool true false
"""
_C_KEYWORDS = frozenset(_KEYWORD_TEXT.split())
