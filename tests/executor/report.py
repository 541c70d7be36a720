"""How many sample rows the executor passes, by family.

python -m tests.executor.report [PART OF OPERATORS' NAMES] [FAMILY,FAMILY] [dynamic]
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

import torch

from ptc.executor.session import operators
from ptc.exporters.ptir.names import operator_name
from ptc.ops import registry
from tests.executor.rows import Row, all_rows, verdict


def family(row: Row) -> str:
    """The module of the operator's rule."""
    rule = registry.lowering(row.op)
    return getattr(rule, "__module__", "?").rpartition(".")[2]


def main(wanted: str = "", families: str = "", sizes: str = "") -> None:
    torch.set_num_threads(1)
    known = operators()
    rows, passed, missing = Counter[str](), Counter[str](), set[tuple[str, str]]()
    with tempfile.TemporaryDirectory() as folder:
        for row in all_rows(wanted):
            name = family(row)
            if families and name not in families.split(","):
                continue
            rows[name] += 1
            if operator_name(row.op) not in known:
                missing.add((name, operator_name(row.op)))
                continue
            problem = verdict(row, Path(folder) / "row.ptir", dynamic=sizes == "dynamic")
            passed[name] += problem is None
            if problem is not None:
                print(f"{name} {row.label}: {problem[:300]}", flush=True)
    for name in sorted(rows):
        lacking = " ".join(sorted(op for where, op in missing if where == name))
        print(f"{name:20} {passed[name]:5} of {rows[name]:5}  {lacking}")
    print(f"{'all':20} {passed.total():5} of {rows.total():5}")


if __name__ == "__main__":
    main(*sys.argv[1:])
