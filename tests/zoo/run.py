"""How many models of the zoo compile and do what eager does, with the first error of the others.

Without options, all of them as libraries. Otherwise:
    --only nms          one, with the whole traceback
    --way interpreter   captured programs, without code generation
    --way compile       through ptc.compile(control_flow=True)
    --way breaks        through ptc.compile with graph breaks, graphs run by torch
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

from tests.zoo.attempts import PEERS, WAYS, Outcome
from tests.zoo.catalog import THEMES, cases, theme_cases
from tests.zoo.workers import outcomes


def main() -> int:
    options = _options()
    names = _names(options.only, options.theme)
    found = outcomes(
        names, options.way, jobs=options.jobs, seconds=options.timeout, report=_print_row
    )
    passed = sum(outcome.status == "ok" for outcome in found)
    if options.only or options.trace:
        for outcome in found:
            if outcome.trace:
                print(f"\n--- {outcome.name}\n{outcome.trace}")
    print(f"\n{passed} of {len(found)} as eager ({options.way})")
    kinds = Counter(_kind(outcome) for outcome in found if outcome.status != "ok")
    for kind, count in kinds.most_common():
        print(f"  {count:3}  {kind}")
    return 0 if passed == len(found) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ways = [way for way in WAYS if way not in PEERS]
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="one model")
    parser.add_argument("--theme", choices=THEMES, help="the models of one file")
    parser.add_argument("--way", choices=ways, default="library")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one model")
    parser.add_argument("--trace", action="store_true", help="the traceback of every failure")
    return parser.parse_args()


def _names(only: Sequence[str], theme: str | None) -> list[str]:
    known = cases()
    for name in only:
        if name not in known:
            raise SystemExit(f"no model is called {name}; there are: {', '.join(known)}")
    if only:
        return list(only)
    return list(known) if theme is None else [case.name for case in theme_cases(theme)]


def _print_row(outcome: Outcome) -> None:
    where = outcome.where.rpartition("/")[2]
    detail = outcome.detail.split("\n", 1)[0][:110]
    print(
        f"{outcome.name:26} {outcome.status:8} {outcome.seconds:5.1f} s  "
        f"{outcome.code:9} {where:22} {detail}".rstrip(),
        flush=True,
    )


def _kind(outcome: Outcome) -> str:
    return f"{outcome.status} {outcome.code}".strip()


if __name__ == "__main__":
    raise SystemExit(main())
