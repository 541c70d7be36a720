"""The programs with control flow of one library: their numbers, their common state, their code.

Takes the library's entries, gives what the host unit includes. Knows no statements.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import torch

from ptc.codegen.characters import table
from ptc.codegen.control import control_code
from ptc.codegen.control_items import SegmentCode
from ptc.codegen.control_names import var_type
from ptc.codegen.control_texts import tables_of
from ptc.codegen.cpp_types import DL_CODES
from ptc.codegen.entry import AnyEntry, ControlEntry
from ptc.codegen.host import Controls
from ptc.graph.control import (
    DataSized,
    Emit,
    ListItem,
    MakeText,
    NumberKind,
    Raise,
    StateNumber,
    StateReference,
    TextItem,
    walk,
)
from ptc.graph.set_tables import TABLE_OPERATIONS
from ptc.ops.dtypes import from_torch


def control_codes(entries: Sequence[AnyEntry], weights: Sequence[str]) -> Controls:
    """The code of all programs with control flow. Segments are the library's programs behind its
    entries, in the entries' order."""
    states = state_numbers(entries)
    kept = kept_references(entries)
    places = {path: number for number, path in enumerate(states)}
    places |= {path: number for number, path in enumerate(kept)}
    table = {name: number for number, name in enumerate(weights)}
    following = len(entries)
    codes = {}
    for number, entry in enumerate(entries):
        if not isinstance(entry, ControlEntry):
            continue
        segments = {}
        for segment in entry.segments:
            segments[id(segment.item)] = SegmentCode(following, segment.entry, segment.shared)
            following += 1
        codes[number] = control_code(entry, number, segments, table, places)
    headers, declarations = _headers(entries)
    first = [_bits(s) for s in states.values()]
    return Controls(codes, headers, declarations, first, [_kept_kind(r) for r in kept.values()])


def _headers(entries: Sequence[AnyEntry]) -> tuple[list[str], list[str]]:
    """What the code includes, and what it declares once."""
    programs = [entry.program for entry in entries if isinstance(entry, ControlEntry)]
    items = [item for program in programs for item in walk(program.body)]
    kinds = set(map(type, items))
    headers: list[str] = []
    declarations: list[str] = []
    if programs:
        headers.append("ptc_control_run.h")
    if any(isinstance(item, ListItem) and item.op == "find" for item in items):
        headers.append("ptc_control_keys.h")
    if kinds & {Emit, Raise, MakeText, TextItem}:
        headers += ["ptc_control_text.h", "ptc_control_texts.h"]
        code, bits = DL_CODES[from_torch(torch.get_default_dtype())]
        options = f"{{4, 1000, 3, 80, -1, {code}, {bits}}}"
        declarations += [f"static const PrintOptions print_options = {options};", ""]
    for name in sorted({name for program in programs for name in tables_of(program.body)}):
        declarations += [*table(name), ""]
    if any(isinstance(item, ListItem) and item.op in TABLE_OPERATIONS for item in items):
        headers.append("ptc_control_set.h")
    if DataSized in kinds:
        headers.append("ptc_control_sized.h")
    return headers, declarations


def state_numbers(entries: Sequence[AnyEntry]) -> dict[str, StateNumber]:
    """The Python numbers that persist, by path, in the order of the session's table."""
    found: dict[str, StateNumber] = {}
    for entry in entries:
        if isinstance(entry, ControlEntry):
            for state in entry.program.state:
                found.setdefault(state.path, state)
    return found


def kept_references(entries: Sequence[AnyEntry]) -> dict[str, StateReference]:
    """What else persists, by path, in the order of the session's slots."""
    found: dict[str, StateReference] = {}
    for entry in entries:
        if isinstance(entry, ControlEntry):
            for reference in entry.program.references:
                found.setdefault(reference.path, reference)
    return found


def _kept_kind(reference: StateReference) -> str:
    name, around = var_type(reference.variable), 0
    while name.startswith("List<List<"):
        name, around = name.removeprefix("List<").removesuffix(">"), around + 1
    kind = _KEPT_KINDS.get(name, "KEPT_NUMBERS")
    return f"{kind} + {around} * KEPT_IN_LIST" if around else kind


_KEPT_KINDS = {
    "Tensor": "KEPT_TENSOR",
    "String": "KEPT_STRING",
    "List<Tensor>": "KEPT_TENSORS",
    "List<String>": "KEPT_STRINGS",
}


def _bits(state: StateNumber) -> str:
    """The first value's bytes as an int64."""
    match state.variable.kind:
        case NumberKind.FLOAT:
            data = struct.pack("<d", float(state.initial))
        case NumberKind.INT:
            data = struct.pack("<q", int(state.initial))
        case NumberKind.BOOL:
            data = struct.pack("<q", int(bool(state.initial)))
    value = struct.unpack("<q", data)[0]
    return "INT64_MIN" if value == -(1 << 63) else str(value)
