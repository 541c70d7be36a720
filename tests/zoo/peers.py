"""How many models of the zoo torch's own exporters take, with eager's results on all inputs.

python -m tests.zoo.peers [--jobs N]
"""

from __future__ import annotations

import argparse

from tests.zoo.attempts import PEERS
from tests.zoo.catalog import cases
from tests.zoo.workers import outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--timeout", type=float, default=90.0, help="seconds for one model")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    options = parser.parse_args()
    names = options.only or list(cases())
    found = {way: outcomes(names, way, jobs=options.jobs, seconds=options.timeout) for way in PEERS}
    print(f"{'':26} " + " ".join(f"{way:17}" for way in PEERS))
    for i, name in enumerate(names):
        row = [_word(found[way][i].status) for way in PEERS]
        print(f"{name:26} " + " ".join(f"{word:17}" for word in row).rstrip())
    for way in PEERS:
        passed = sum(outcome.status == "ok" for outcome in found[way])
        wrong = sum(outcome.status == "wrong" for outcome in found[way])
        print(f"{way}: {passed} of {len(names)} as eager, {wrong} with other results")


def _word(status: str) -> str:
    return {"ok": "yes", "wrong": "other results", "failed": "refused"}.get(status, status)


if __name__ == "__main__":
    main()
