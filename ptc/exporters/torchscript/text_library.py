"""Functions of TorchScript on strings of ASCII, with Python's results. See `library`."""

# ruff: noqa: UP006, UP035

from typing import List

from ptc.exporters.torchscript.number_library import float_text, overflow


def padded(text: str, fill: str, align: str, width: int) -> str:
    """A text in its field. `=` puts the filling between sign and digits."""
    if len(text) >= width:
        return text
    if align == "<":
        return text.ljust(width, fill)
    if align == ">":
        return text.rjust(width, fill)
    if align == "^":
        left = (width - len(text)) // 2
        return text.rjust(len(text) + left, fill).ljust(width, fill)
    start = 1 if text.startswith("-") or text.startswith("+") or text.startswith(" ") else 0
    return text[:start] + text[start:].rjust(width - start, fill)


def signed(text: str, sign: str) -> str:
    """A number's text with `sign` before it, if it has none."""
    return text if text.startswith("-") else sign + text


def in_base(value: int, base: int, digits: str) -> str:
    """The text of an int in another base."""
    found = ""
    rest = value
    while rest != 0:
        digit = rest % base
        if value < 0 and digit > 0:
            digit -= base
        found = digits[digit if digit >= 0 else -digit] + found
        rest = (rest - digit) // base
    if len(found) == 0:
        found = "0"
    return "-" + found if value < 0 else found


def quoted(text: str) -> str:
    """`repr(text)`."""
    mark = '"' if "'" in text and '"' not in text else "'"
    found = ""
    for c in text:
        code = ord(c)
        if c == mark or c == "\\":
            found = found + "\\" + c
        elif c == "\n":
            found = found + "\\n"
        elif c == "\t":
            found = found + "\\t"
        elif c == "\r":
            found = found + "\\r"
        elif code < 32 or code == 127:
            found = found + "\\x" + "0123456789abcdef"[code // 16] + "0123456789abcdef"[code % 16]
        else:
            found = found + c
    return mark + found + mark


def list_of_ints(values: List[int]) -> str:
    return "[" + ", ".join([str(value) for value in values]) + "]"


def list_of_bools(values: List[bool]) -> str:
    return "[" + ", ".join([str(value) for value in values]) + "]"


def list_of_floats(values: List[float]) -> str:
    return "[" + ", ".join([float_text(value) for value in values]) + "]"


def list_of_texts(values: List[str]) -> str:
    return "[" + ", ".join([quoted(value) for value in values]) + "]"


def repeated(text: str, count: int) -> str:
    found = ""
    for _ in range(count):
        found = found + text
    return found


def character(code: int) -> str:
    if code > 127:
        overflow("chr, of which TorchScript has 7")
    return chr(code)


def without_prefix(text: str, part: str) -> str:
    return text[len(part) :] if text.startswith(part) else text


def without_suffix(text: str, part: str) -> str:
    return text[: len(text) - len(part)] if len(part) > 0 and text.endswith(part) else text


def lines_of(text: str) -> str:
    """Print the whole lines of a text; the rest is for the next one."""
    end = text.rfind("\n")
    if end < 0:
        return text
    print(text[:end])  # noqa: T201
    return text[end + 1 :]
