"""Loads every opcode handler and table that needs no torch."""

from __future__ import annotations

from ptc.capture.builtins_table import core, iteration, library, mappings, sequences
from ptc.capture.interpreter import ops_data, ops_flow, ops_match
from ptc.capture.interpreter.wrapping import trust_package

trust_package("ptc")

__all__ = [
    "core",
    "iteration",
    "library",
    "mappings",
    "ops_data",
    "ops_flow",
    "ops_match",
    "sequences",
]
