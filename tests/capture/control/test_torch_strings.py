"""Strings that data decides: results, lists of them, loops that extend them, methods of str."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from ptc.capture.api import capture_program
from ptc.graph.control_printer import print_control
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import Together, check, run

ROWS = [
    torch.tensor(row)
    for row in ([1.5, 2.25, -3.0], [-3.0, 0.5, 7.0], [0.0, 12.0, 3.0], [5.0, 5.0, 5.0], [0.0] * 3)
]
Row = torch.Tensor


@dataclass
class Labelled:
    label: str
    value: torch.Tensor


def results(x: Row) -> Any:
    n = int(x.sum())
    label = "größer" if x[0] > 0 else f"kleiner {n}"
    return f"n={n}", {"label": label, "é": [f"{n:+d}€", "fixed"]}, Labelled(label + "!", x + 1)


def structures(x: Row) -> Any:
    if x[0] > 1:
        return f"{int(x[0])}"
    if x[0] < 0:
        return {"text": f"{int(x[0])}", "all": [str(x[1].item())]}
    return None


def appended(x: Row) -> Any:
    words: list[str] = []
    for v in x.tolist():
        words.append(f"p{int(v)}" if v > 0 else "nicht")
    return words, " ".join(words), "nicht" in words, len(words)


def in_loops(x: Row) -> Any:
    words: list[str] = []
    n = int(x.abs().sum())
    for i in range(n):
        words.append("it's" if i % 2 else f'"{i}" ü\n')
    print(words, f"{words}", len(words))
    words.reverse()
    k = n // 2
    return words, (words[k] if k < n else "none"), words[1:k], ", ".join(words)


def known_words(x: Row) -> Any:
    words: list[str] = []
    n = int(x.abs().sum())
    while n > 0:
        words.append("even" if n % 2 == 0 else "odd")
        n //= 2
    print(words)
    return words, "-".join(words), sorted(words)


def widened(x: Row) -> Any:
    words = ["a", "b"]
    n = int(x.abs().sum())
    while n > 0:
        words.append("c")
        if n == 5:
            words.append(f"{n}")
        n -= 1
    words += ["d"]
    return words


def grown(x: Row) -> Any:
    text, letters, digits = "", "", "0"
    n = int(x.abs().sum())
    while n:
        text = text + f"{n},"
        letters += chr(97 + n % 26) + "é"
        n = n // 3
    while len(digits) < 5:
        digits = f"{digits}{len(text)}"
    return text.rstrip(","), letters, digits, len(letters), bool(text)


def alternating(x: Row) -> Any:
    text = "s"
    n = int(x.abs().sum())
    for i in range(n):
        text += "ab" if i % 3 else "ö"
    return text


def characters(x: Row) -> Any:
    s = f"äöü{int(x.sum())}€"
    k = int(x[0].abs()) % len(s)
    total = 0
    for c in s:
        total += ord(c) % 7
    try:
        beyond = s[k + 5]
    except IndexError as error:
        beyond = str(error)
    return s[k], s[:k], s[k:], s[-k:], s[1:-1], s[::-1], s[-1], total, beyond, list(s), ["x", *s]


def compared(x: Row) -> Any:
    a, b = f"{int(x[0])}", f"{int(x[1])}"
    return a == b, a != b, a < b, a <= b, a > b, a >= b, a in b + "5", "1" in a, max(a, b), a + b


def methods(x: Row) -> Any:
    s = f"  État {int(x[0])} ß "
    t = s.strip()
    return (
        t, s.lstrip(), s.rstrip(), t.strip("É"), s.upper(), s.lower(), s.replace("t", "--"),
        s.replace("t", "", 1), t.startswith("É"), t.startswith(("x", "Ét")), t.endswith("ß"),
        t.find("a"), t.rfind("t"), t.count("t"), t.split(), t.split("t"), t.removeprefix("Ét"),
        t.removesuffix(" ß"), t.isalpha(), t[5:6].isdigit(), t * 2, 3 * t[:2],
    )  # fmt: skip


def widths(x: Row) -> Any:
    s = f"{int(x[0])}é"
    n = int(x[1].abs()) + 3
    print(f"{s:>8}|{s:*^9}|{s!r:<8}|{s:.1}|", "%6s|%-6s|%.1s" % (s, s, s))  # noqa: UP031
    return s.zfill(6), s.rjust(n, "*"), s.ljust(n) + "|", s.center(7), "ab".rjust(n, "ö"), f"{s!r}"


def numbers(x: Row) -> Any:
    s = f"{int(x[0])}{'x' if x[1] > 2 else ''}"
    try:
        whole = int(s)
    except ValueError as error:
        return -1, str(error), s.isdigit()
    try:
        real = float(f"{x[0].item():.2f}" + "é" * (whole // 5))
    except ValueError as error:
        return -2, str(error)
    return whole, real, int(" 12 "), float(s) + int(f"{whole}0")


def out_of_range(x: Row) -> Any:
    return f"{int(x[0])}"[int(x[1])]


def raised(x: Row) -> Any:
    words = [f"{int(v)}" for v in x.tolist()]
    text = ";".join(words)
    if x[0] > 1:
        raise ValueError(f"bad {text!r}")
    first, *rest = text
    print(first, rest)
    return int(text.split(";")[1]), int(words[0] + "y" * int(x[0] < 0))


def kept_as_it_was(x: Row) -> Any:
    x = x.clone()
    items = [1]
    for _ in range(int(x.abs().sum())):
        items.append(2)
    s, t, u = f"{x}", f"{items}", str(x[0])
    x.add_(1)
    items.append(3)
    print(s, t, u)
    return s, t, x


def choices(x: Row) -> Any:
    a = "one" if x[0] > 0 else "two"
    b = f"{int(x[0])}" if x[1] > 1 else a
    best = b
    for v in x.tolist():
        if v > 2:
            best = f"{a}-{int(v)}"
    return a, b, best, f"{a}{b}", {"one": 1}.get(b, 0)


def sorted_words(x: Row) -> Any:
    words: list[str] = []
    for i in range(int(x.abs().sum())):
        words.append(f"{i * 7 % 10}é")
    words.sort()
    return words, words.index("1é") if "1é" in words else -1


FUNCTIONS = [
    results, structures, appended, in_loops, known_words, widened, grown, alternating, characters,
    compared, methods, widths, numbers, out_of_range, raised, kept_as_it_was, choices, sorted_words,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_interpreted(function: Callable[..., Any]) -> None:
    check(function, *ROWS)


def everything(x: Row) -> Any:
    found = [results(x), appended(x), in_loops(x), known_words(x), grown(x), characters(x)]
    more = [counted(x), named(x), signs(x)]
    return *found, compared(x), methods(x), widths(x), numbers(x), kept_as_it_was(x), more


BUILT = (everything, structures, raised)
TOGETHER = Together.of(BUILT, *ROWS)


@pytest.mark.parametrize("function", BUILT, ids=lambda f: f.__name__)
def test_libraries(function: Callable[..., Any], tmp_path: Path) -> None:
    TOGETHER.check_library(function, tmp_path)


def test_the_printed_program_runs() -> None:
    program = capture_program(numbers, (ROWS[0],))
    namespace: dict[str, Any] = {}
    exec(print_control(program), namespace)
    assert namespace["forward"](ROWS[3]) == numbers(ROWS[3])


def _expanded(x: Row) -> str:
    return f"a\t{int(x[0])}".expandtabs()


def _stepped(x: Row) -> str:
    return f"a{int(x[0])}"[:: int(x[0])]


def _in_base(x: Row) -> int:
    return int(f"{int(x[0])}", 16)


@pytest.mark.parametrize(
    ("function", "code"), [(_expanded, "PTC-B004"), (_stepped, "PTC-B006"), (_in_base, "PTC-B004")]
)
def test_refusals_name_the_line(function: Callable[..., Any], code: str) -> None:
    with pytest.raises(CompileError) as refused:
        capture_program(function, (ROWS[0],))
    assert refused.value.diagnostic.code == code
    assert "hint: " in str(refused.value) and __file__ in str(refused.value)


def counted(x: Row) -> Any:
    counts: dict[int, int] = {}
    for k in x.int().tolist():
        counts[k] = counts.get(k, 0) + 1
    return counts


def named(x: Row) -> Any:
    seen: dict[str, Any] = {"fixed": 0.5}
    for v in x.tolist():
        seen[f"k{int(v)}é"] = v
    return {"all": seen, "n": len(seen)}, {int(x[0]): (x[1], f"{int(x[2])}")}


def signs(x: Row) -> Any:
    names: dict[int, str] = {}
    for v in x.int().tolist():
        names[v] = "pos" if v > 0 else "neg"
    return names if x[0] > -1 else {"none": names}


def uneven(x: Row) -> Any:
    return {int(x[0]): 1, int(x[1]): 2.5}


@pytest.mark.parametrize("function", [counted, named, signs, uneven])
def test_dictionaries_with_keys_that_data_decides(function: Callable[..., Any]) -> None:
    check(function, *ROWS)


def parts(x: torch.Tensor) -> Any:
    text = f"  a {int(x[0])}\t b\r\n{int(x[1])}, {x[2].item():.1f} \n"
    split = text.split(), text.split(None, 1), text.rsplit(None, 1), text.split(" ", 2)
    lines = text.splitlines(), text.splitlines(True), text.rsplit(" ", 2)
    found = text.partition(","), text.rpartition(" "), text.partition("q"), text.rpartition("q")
    stepped = text[::2], text[1:-1:3], text[-1:0:-3], "".join(reversed(text)), "-".join(text)
    return split, lines, found, stepped


def places(x: torch.Tensor) -> Any:
    text = f"v{int(x[0])},{int(x[1])}"
    found = text.find("-", 1), text.rfind("1", 0, -1), text.count("1", 2), text.index(",")
    ends = text.startswith("1", 1), text.startswith("", 99), text.endswith("1", 0, -2)
    failed: list[str] = []
    for call in (
        lambda: text.index("q"), lambda: text.rindex("2"), lambda: text.partition(""),
        lambda: text.split("", 1), lambda: text.rsplit(""),
    ):  # fmt: skip
        try:
            failed.append(str(call()))
        except ValueError as error:
            failed.append(str(error))
    return found, ends, failed


def cases(x: torch.Tensor) -> Any:
    text = f"hello wORLD {int(x[0])}x y{int(x[1])}"
    other = text.upper() if x[0] > 0 else text.title()
    asked = other.isupper(), other.islower(), other.istitle(), other.isascii()
    return text.title(), text.capitalize(), text.swapcase(), text.casefold(), asked


@pytest.mark.parametrize("program", [parts, places, cases])
def test_methods_made_of_others(program: Any) -> None:
    rows = ([1.0, -2, 3], [-1.0, 12, 0.5], [0.0, 111, -1])
    check(program, *map(torch.tensor, rows))


def test_case_of_other_scripts_is_not_guessed() -> None:
    def title(x: torch.Tensor) -> str:
        return chr(int(x[0])).title()

    check(title, torch.tensor([97]), torch.tensor([66]))
    with pytest.raises(AssertionError, match="not ASCII"):
        run(title, torch.tensor([97]), torch.tensor([0x1C6]))


def repeated_by_a_size(x: Row) -> Any:
    kept = x[x > 0]
    return "=" * len(kept), len(kept) * "ab", "x" * (len(kept) - 2)


def test_strings_are_repeated_as_often_as_a_size_says() -> None:
    check(repeated_by_a_size, *ROWS)


def test_what_capture_does_not_follow_is_no_type_error() -> None:
    def tuples(x: Row) -> Any:
        try:
            return (1, 2) * len(x[x > 0])
        except TypeError:
            return None

    with pytest.raises(CompileError):
        capture_program(tuples, (ROWS[0],))


def wrapped(x: torch.Tensor) -> Any:
    """A loop carries a known string that becomes one that data decides."""
    lines, current = [], ""
    for word in [f"{v:.1f}" for v in x.tolist() if v > 0]:
        if current and len(current) + 1 + len(word) > 6:
            lines.append(current)
            current = word
        else:
            current = f"{current} {word}".strip()
    return [*lines, current]


class Word:
    def __init__(self, text: str) -> None:
        self.text = text


_PIECES = ["", "a", "b", "c", "d", "e", "."]


def joined_pieces(x: torch.Tensor) -> Any:
    """Strings that are too many to be told apart."""
    words: list[Word] = []
    for v in x.tolist():
        piece = _PIECES[int(v)]
        if not words or v > 5:
            words.append(Word(piece))
        elif piece:
            words[-1].text += piece
    return [word.text.capitalize() for word in words], [word.text.rstrip(".") for word in words]


def test_strings_of_many_parts() -> None:
    check(wrapped, *map(torch.tensor, ([1.0, 2, -1, 3], [-1.0, -2, -3, -4], [1.0, 1, 1, 1])))
    rows = ([1.0, 2, 3, 0, 6, 4], [6.0, 6, 1, 1, 1, 1], [0.0, 1, 2, 3, 4, 5])
    check(joined_pieces, *map(torch.tensor, rows))


def a_string_or_none_or_a_list(x: torch.Tensor) -> Any:
    found: Any = ""
    for i, v in enumerate(x.tolist()):
        if v > 1:
            found = f"{found}{i}"
        elif v > 0:
            found = None
        elif found is None:
            found = ["a"]
        else:
            found = found + found if len(found) < 9 else found[1:]
    return found


def test_many_strings_among_other_values() -> None:
    rows = ([2.0, 2, 0.5, -1, -1, 2], [2.0, 2, -1, -1, 2, 2], [-1.0] * 6, [0.5, 2, 0.5, 2, 0.5, 2])
    check(a_string_or_none_or_a_list, *map(torch.tensor, rows))
