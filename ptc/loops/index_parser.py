"""Reads the text of an index expression back."""

from __future__ import annotations

import re

from ptc.loops.index import MAX, MIN, Index, apply_func, floordiv, remainder

_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_][A-Za-z_0-9.]*)|(//|[-+*%(),]))")


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        position = 0
        text = text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise ValueError(f"bad index expression {text!r} at column {position}")
            self.tokens.append(match.group().strip())
            position = match.end()
        self.text = text
        self.position = 0

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        token = self.peek()
        if not token or (expected and token != expected):
            raise ValueError(
                f"bad index expression {self.text!r}: expected {expected or 'more'}, found "
                f"{token or 'the end'}"
            )
        self.position += 1
        return token

    def sum(self) -> Index:
        value = self.term()
        while self.peek() in ("+", "-"):
            value = value + self.term() if self.take() == "+" else value - self.term()
        return value

    def term(self) -> Index:
        value = self.factor()
        while self.peek() in ("*", "//", "%"):
            sign = self.take()
            right = self.factor()
            if sign == "*":
                value = value * right
            else:
                value = floordiv(value, right) if sign == "//" else remainder(value, right)
        return value

    def factor(self) -> Index:
        token = self.take()
        if token == "-":
            return -self.factor()
        if token == "(":
            value = self.sum()
            self.take(")")
            return value
        if token.isdigit():
            return Index.const(int(token))
        if token in (MIN, MAX) and self.peek() == "(":
            self.take("(")
            left = self.sum()
            self.take(",")
            right = self.sum()
            self.take(")")
            return apply_func(token, left, right)
        if token[0].isalpha() or token[0] == "_":
            return Index.var(token)
        raise ValueError(f"bad index expression {self.text!r}: unexpected {token!r}")


def parse_index(text: str) -> Index:
    """Read what `str(index)` wrote. Raises ValueError on bad text."""
    parser = _Parser(text)
    value = parser.sum()
    if parser.peek():
        raise ValueError(f"bad index expression {text!r}: unexpected {parser.peek()!r}")
    return value
