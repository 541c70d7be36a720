"""What methods of str do with strings that data decides, in Python: made of those that are
operations of the program. Only ever traced.
"""

from __future__ import annotations

from typing import Any

_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def not_ascii(name: str) -> None:
    """The case of letters that are not ASCII is not this simple: a mark for the capture."""
    raise AssertionError("never runs")


# -- parts ----------------------------------------------------------------------------------------


def _require_separator(sep: Any) -> None:
    if not isinstance(sep, str):
        raise TypeError(f"must be str, not {type(sep).__name__}")
    if not sep:
        raise ValueError("empty separator")


def partition(text: Any, sep: Any) -> Any:
    _require_separator(sep)
    place = text.find(sep)
    if place < 0:
        return text, "", ""
    return text[:place], sep, text[place + len(sep) :]


def rpartition(text: Any, sep: Any) -> Any:
    _require_separator(sep)
    place = text.rfind(sep)
    if place < 0:
        return "", "", text
    return text[:place], sep, text[place + len(sep) :]


def split(text: Any, sep: Any, maxsplit: Any) -> Any:
    """`text.split(sep, maxsplit)`"""
    parts: list[Any] = []
    if sep is None:
        rest = text.lstrip()
        while rest and maxsplit != 0:
            end = _first_space(rest)
            parts.append(rest[:end])
            rest = rest[end:].lstrip()
            maxsplit -= 1
        if rest:
            parts.append(rest)
        return parts
    rest = text
    place = rest.find(sep)
    while place >= 0 and maxsplit != 0:
        parts.append(rest[:place])
        rest = rest[place + len(sep) :]
        place = rest.find(sep)
        maxsplit -= 1
    parts.append(rest)
    return parts


def rsplit(text: Any, sep: Any = None, maxsplit: Any = -1) -> Any:
    if sep is not None:
        _require_separator(sep)
    parts: list[Any] = []
    if sep is None:
        rest = text.rstrip()
        while rest and maxsplit != 0:
            start = _behind_last_space(rest)
            parts.append(rest[start:])
            rest = rest[:start].rstrip()
            maxsplit -= 1
        if rest:
            parts.append(rest)
    else:
        rest = text
        place = rest.rfind(sep)
        while place >= 0 and maxsplit != 0:
            parts.append(rest[place + len(sep) :])
            rest = rest[:place]
            place = rest.rfind(sep)
            maxsplit -= 1
        parts.append(rest)
    parts.reverse()
    return parts


def _first_space(text: Any) -> Any:
    for i, character in enumerate(text):
        if character.isspace():
            return i
    return len(text)


def _behind_last_space(text: Any) -> Any:
    behind = 0
    for i, character in enumerate(text):
        if character.isspace():
            behind = i + 1
    return behind


def splitlines(text: Any, keepends: Any = False) -> Any:
    lines: list[Any] = []
    start = 0
    skip = False
    for i, character in enumerate(text):
        if skip:
            skip = False
        elif character in _LINE_ENDS:
            skip = character == "\r" and text[i + 1 : i + 2] == "\n"
            behind = i + 2 if skip else i + 1
            lines.append(text[start:behind] if keepends else text[start:i])
            start = behind
    if start < len(text):
        lines.append(text[start:])
    return lines


def stepped(text: Any, start: Any, stop: Any, step: int) -> Any:
    """`text[start:stop:step]`"""
    count = len(text)
    if step > 0:
        first = 0 if start is None else _bound(start, 0, count)
        last = count if stop is None else _bound(stop, 0, count)
    else:
        first = count - 1 if start is None else _bound(start, -1, count)
        last = -1 if stop is None else _bound(stop, -1, count)
    # An index would have to be shown to be valid
    return "".join([text[i : i + 1] for i in range(first, last, step)])


def _bound(place: Any, least: int, count: Any) -> Any:
    """A bound of a slice, counted from the front."""
    if place < 0:
        return max(place + count, least)
    return min(place, count + least)


# -- finding --------------------------------------------------------------------------------------


def index(text: Any, part: Any, *limits: Any) -> Any:
    place = text.find(part, *limits)
    if place < 0:
        raise ValueError("substring not found")
    return place


def rindex(text: Any, part: Any, *limits: Any) -> Any:
    place = text.rfind(part, *limits)
    if place < 0:
        raise ValueError("substring not found")
    return place


def _limits(text: Any, start: Any, stop: Any) -> Any:
    """Where a search begins and ends. It begins behind the text where `start` does."""
    count = len(text)
    first = 0 if start is None else start
    last = count if stop is None else stop
    if first < 0:
        first = max(first + count, 0)
    last = max(last + count, 0) if last < 0 else min(last, count)
    return first, last


def find(text: Any, part: Any, start: Any, stop: Any = None) -> Any:
    first, last = _limits(text, start, stop)
    if first > last:
        return -1
    place = text[first:last].find(part)
    return place if place < 0 else place + first


def rfind(text: Any, part: Any, start: Any, stop: Any = None) -> Any:
    first, last = _limits(text, start, stop)
    if first > last:
        return -1
    place = text[first:last].rfind(part)
    return place if place < 0 else place + first


def count(text: Any, part: Any, start: Any, stop: Any = None) -> Any:
    first, last = _limits(text, start, stop)
    return 0 if first > last else text[first:last].count(part)


def startswith(text: Any, part: Any, start: Any, stop: Any = None) -> Any:
    first, last = _limits(text, start, stop)
    return False if first > last else text[first:last].startswith(part)


def endswith(text: Any, part: Any, start: Any, stop: Any = None) -> Any:
    first, last = _limits(text, start, stop)
    return False if first > last else text[first:last].endswith(part)


# -- case -----------------------------------------------------------------------------------------


def isascii(text: Any) -> bool:
    for character in text:  # noqa: SIM110
        if ord(character) > 127:
            return False
    return True


def _require_ascii(text: Any, name: str) -> None:
    if not isascii(text):
        not_ascii(name)


def isupper(text: Any) -> Any:
    _require_ascii(text, "isupper")
    return text == text.upper() and text != text.lower()


def islower(text: Any) -> Any:
    _require_ascii(text, "islower")
    return text == text.lower() and text != text.upper()


def capitalize(text: Any) -> Any:
    _require_ascii(text, "capitalize")
    return text[:1].upper() + text[1:].lower()


def title(text: Any) -> Any:
    _require_ascii(text, "title")
    made, inside = "", False
    for character in text:
        made += character.lower() if inside else character.upper()
        inside = character.isalpha()
    return made


def istitle(text: Any) -> Any:
    _require_ascii(text, "istitle")
    return text == title(text) and text.lower() != text.upper()


def swapcase(text: Any) -> Any:
    _require_ascii(text, "swapcase")
    made = ""
    for character in text:
        lower = character.lower()
        made += character.upper() if character == lower else lower
    return made


def casefold(text: Any) -> Any:
    _require_ascii(text, "casefold")
    return text.lower()
