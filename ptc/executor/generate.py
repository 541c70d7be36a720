"""Writes the executor's generated kernels: the rules of `ptc/ops`, lowered at canonical shapes.

    python -m ptc.executor.generate            # writes ptc/executor/operators/generated_*.cpp
    python -m ptc.executor.generate --check    # fails where they are not what the rules give

The files are part of the executor's sources: building it needs neither Python nor torch. A test
makes the check.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from ptc.executor.generate_pointwise import pointwise_files
from ptc.executor.generate_rows import row_files

FOLDER = Path(__file__).parent / "operators"


def all_files() -> Mapping[str, str]:
    """Name -> text of every generated file."""
    return {**pointwise_files(), **row_files()}


def stale_files() -> Mapping[str, str]:
    """Those that are not what the rules give."""
    return {
        name: text
        for name, text in all_files().items()
        if not (FOLDER / name).exists() or (FOLDER / name).read_text() != text
    }


def main() -> None:
    """Write the files, or compare."""
    stale = stale_files()
    if "--check" not in sys.argv:
        for name, text in stale.items():
            (FOLDER / name).write_text(text)
    elif stale:
        sys.exit(f"not what the rules give: {', '.join(stale)}")


if __name__ == "__main__":
    main()
