"""`ptc verify`: compare an artifact with the model that it was made of."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ptc.loader import load
from ptc.verifying import OutputRow, VerifyReport, dynamic_texts, require_equal, verify

from ..model import blaming, load_request
from ..options import AsJson, Debug, Dtype, Dynamic, Entries, Init, Inputs, Seed, Weights
from ..render import ERR, OUT, error_text, print_notes, print_table

Artifact = Annotated[
    Path,
    typer.Argument(metavar="ARTIFACT", help="What `ptc compile` or `ptc export` wrote."),
]
Against = Annotated[
    str,
    typer.Option("--against", metavar="FILE[:NAME]", help="The model, as for `ptc compile`."),
]


def verify_command(
    artifact: Artifact,
    against: Against,
    inputs: Inputs = [],  # noqa: B006  # Typer copies defaults
    dynamic: Dynamic = [],  # noqa: B006
    entries: Entries = [],  # noqa: B006
    init: Init = None,
    weights: Weights = None,
    dtype: Dtype = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Run an artifact and eager on the same inputs, given and drawn, and compare all outputs."""
    del debug
    request = load_request(
        against, inputs=inputs, dynamic=dynamic or dynamic_texts(artifact, entries), init=init,
        weights=weights, dtype=dtype, entries=entries, seed=seed,
    )  # fmt: skip
    model = load(request)
    print_notes(model.notes)
    with ERR.status(f"comparing {artifact}"), blaming(model):
        report = verify(artifact, model.entries)
    print_notes(report.notes)
    if as_json:
        rows = [asdict(row) for row in report.rows]
        OUT.print_json(json.dumps({"passed": report.passed, "outputs": rows}))
    else:
        _print_rows(report)
    require_equal(report)


def _print_rows(report: VerifyReport) -> None:
    if not report.rows:
        OUT.print("nothing to compare: no output holds numbers")
        return
    print_table(["entry", "output", "error", "limit", "sets", ""], list(map(_row, report.rows)))


def _row(row: OutputRow) -> tuple[str, ...]:
    limit = "" if row.limit is None else f"{row.limit:.1e}"
    verdict = "equal" if row.passed else f"DIFFERS {row.reason}".strip()
    return row.entry, row.output, error_text(row.error), limit, str(row.sets), verdict
