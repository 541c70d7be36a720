"""Texts of what data decides: formatted, printed, logged, warned."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any

import pytest
import torch

from tests.capture.control.checking import check

# ruff: noqa: UP031, UP032 (ways of formatting are tested)

LOG = logging.getLogger("tests.control.text")
ROWS = [torch.tensor(row) for row in ([1.5, 2.25], [-3.0, 0.5], [0.0, 123456.0])]
Row = torch.Tensor


def percent(x: Row) -> Any:
    v = x[0].item()
    n = int(v)
    m = abs(n)
    print("%.2f|%5d|%-6d|%+d|%05d|%s|%r|%x|%%" % (v, n, n, n, n, v, v, m))
    print("%d %i %e %g %G %08.3f % d %#x" % (v, v, v, v, v, v, n, m))
    print("%s" % n, "%5s|%-5s|" % (n, n), "%s" % f"t{n}", "%(a)d %(b).1f" % {"a": n, "b": v})
    return x


def formats(x: Row) -> Any:
    v = x[0].item()
    n, b = int(v), v > 0
    print("{:.1f} {} {!r:>8} {:>{w}}".format(v, n, n, b, w=8), "{0:.1f}{a}{0}".format(v, a=n))
    print("{x[1]} {x[0]:.2f}".format(x=[v, n]), ", ".join([str(n), f"{v:.1f}", "z"]))
    print("-".join(str(i) for i in x.tolist()), f"{n!s:>8}|{f'{v:.2f}':<9}|{n!s:^7}|")
    print(str(n).rjust(5), "ab" + str(n) * 2, f"{n:>5}{n:<5}|{n:^7}|{v:+.1e}|{n:,}|{n:b}|{v:%}")
    print(f"{n=} {v=:.2f}", repr(f"a{n}"), [f"it's {n}"], (f"\n{n}",), {f"k{n}": f'"{n}"'})
    return x


def names(x: Row) -> Any:
    name = "pos" if x[0] > 0 else "neg"
    print(name, f"{name:>6}", "%s!" % name, "{}".format(name), "-".join([name, "b"]), name.upper())
    return len(name), name == "pos"


def printed(x: Row) -> Any:
    n, v = int(x[0]), x[1].item()
    print(x, [n, v], (n,), {"a": n, 2: [v]}, end="!\n", sep=" | ")
    print("to stderr", n, file=sys.stderr)
    print(x.sum(), x > 0, flush=True)
    print(f"{x}", f"{x[0]:.2f}", f"{x[0]}", str(x[0]), repr(x), [x[0].item() > 0, None, "s"])
    print()
    return x


def logged(x: Row) -> Any:
    v = x[0].item()
    n = int(v)
    LOG.info("value %d of %s: %.3f", n, "abc", v)
    LOG.debug("never %d", n)
    logging.warning("root %s", x.sum().item())
    LOG.log(logging.ERROR, f"n={n}")
    LOG.warning("plain %d")
    if n > 0:
        logging.getLogger().error("err %(a)d", {"a": n})
    return x


def warned(x: Row) -> Any:
    n = int(x[0])
    if n > 0:
        warnings.warn(f"bad {n}", stacklevel=1)
    warnings.warn("old %d" % n, DeprecationWarning, stacklevel=2)
    warnings.warn(RuntimeWarning(f"at run time {n}"), stacklevel=1)
    return x


@pytest.mark.parametrize("function", [percent, formats, names, printed, logged, warned])
def test_texts(function: Any) -> None:
    check(function, *ROWS)


def asked(x: Row) -> Any:
    v = x[0].item()
    n = int(v)
    line = f"{n}: {v:6.2f} HIGH"
    print(hex(n), oct(-n), bin(n), str(n).zfill(4), f"{v:.1f}".zfill(7), n is None)
    return "HIGH" in line, "LOW" in line, line.endswith("GH"), f"a{n}".startswith("a")


def test_texts_are_asked_what_numbers_cannot_change() -> None:
    check(asked, *ROWS)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: len(str(int(x[0]))),
        lambda x: x if "1" in f"{int(x[0])}" else x * 2,
        lambda x: list(f"{int(x[0])}"),
        lambda x: x if f"{int(x[0])}" < "3" else x * 2,
    ],
)
def test_texts_of_numbers_are_looked_into(function: Any) -> None:
    check(function, *ROWS)
