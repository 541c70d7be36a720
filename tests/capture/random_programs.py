"""Makes random Python functions from a seed: over ints, lists, dicts, strings and closures."""

from __future__ import annotations

import random

_BINARY = ("+", "-", "*", "//", "%", "&", "|", "^")
_COMPARE = ("<", "<=", "==", "!=", ">", ">=")


class ProgramMaker:
    """Writes one function `program(a, b, xs, table)`. Names `a`, `b`, `c` are ints, `xs` a list of
    ints, `table` a dict from ints, `log` a list of anything."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.loops = 0

    def make(self) -> str:
        self.line(0, "def program(a, b, xs, table):")
        self.line(1, "log = []")
        self.line(1, "c = 1")
        self.line(1, "def helper(v, k=2, *rest, **more):")
        self.line(2, "nonlocal c")
        self.line(2, f"c += {self.random.randint(0, 3)}")
        self.line(2, f"return {self.expression(2, ('v', 'k', 'c'))} + len(rest) + len(more)")
        self.block(1, 6)
        self.line(1, "return a, b, c, xs, table, log")
        return "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    # -- expressions ---------------------------------------------------------------------------

    def expression(self, size: int, names: tuple[str, ...] = ("a", "b", "c")) -> str:
        """An int expression that may raise ZeroDivisionError, IndexError or KeyError."""
        if size <= 0:
            return self.pick(*names, str(self.random.randint(-3, 9)))
        inner = [self.expression(size - 1, names) for _ in range(2)]
        forms = [
            f"({inner[0]} {self.pick(*_BINARY)} {inner[1]})",
            f"({inner[0]} if {inner[1]} {self.pick(*_COMPARE)} {self.expression(0, names)} else 1)",
            f"abs({inner[0]})",
            f"max({inner[0]}, {inner[1]})",
            f"(-{inner[0]})",
        ]
        if names == ("a", "b", "c"):
            forms += [
                f"xs[{inner[0]} % 4]",
                f"table.get({inner[0]} % 5, {inner[1]})",
                f"table[{inner[0]} % 7]",
                f"len([v for v in xs if v {self.pick(*_COMPARE)} {inner[0]}])",
                f"sum(v * 2 for v in xs[:{self.random.randint(0, 3)}])",
                f"helper({inner[0]})",
                f"helper({inner[0]}, {inner[1]}, 1, q=2)",
                f"helper(*xs[:2], **{{'z': {inner[1]}}})",
                f"int(f'{{{self.pick('a', 'b')}}}')",
                f"(lambda v, w={inner[1]}: v - w)({inner[0]})",
                f"(sorted(xs, key=lambda v: v % 3)[0] if xs else {inner[0]})",
                f"dict(zip(xs, range(9))).get({inner[0]}, 0)",
            ]
        return self.pick(*forms)

    def condition(self) -> str:
        left, right = self.expression(1), self.expression(1)
        test = f"{left} {self.pick(*_COMPARE)} {right}"
        return self.pick(
            test, f"not {test}", f"{test} and a % 2", f"xs or {test}", f"{left} in xs", "b is c"
        )

    # -- statements ----------------------------------------------------------------------------

    def block(self, depth: int, budget: int) -> None:
        for _ in range(self.random.randint(1, max(1, budget))):
            self.statement(depth, budget - 1)

    def statement(self, depth: int, budget: int) -> None:
        forms = [self.assign, self.assign, self.change]
        if budget > 0 and depth < 5:
            forms += [self.branch, self.loop, self.attempt, self.generator]
        self.random.choice(forms)(depth, budget)

    def assign(self, depth: int, budget: int) -> None:
        target = self.pick("a", "b", "c")
        op = self.pick("=", "+=", "-=", "*=")
        self.line(depth, f"{target} {op} {self.expression(2)} % 1000")

    def change(self, depth: int, budget: int) -> None:
        value = self.expression(1)
        self.line(
            depth,
            self.pick(
                f"xs.append({value})",
                f"xs[{value} % 3] = a",
                f"table[{value} % 5] = b",
                f"log.append(({value}, 'x'))",
                f"log += [{value}, c]",
                f"table.setdefault({value} % 6, a)",
                "xs.pop()",
                "xs = xs[::-1]",
                "a, b = b, a",
                f"a, *rest = [{value}, b, c]; log.append(rest)",
                "del table[a % 5]",
                f"log.append({{**table, 'n': {value}}})",
                f"xs = [*xs[:3], {value}]",
                f"log.append('{{}}-{{:>4}}'.format({value}, b))",
            ),
        )

    def branch(self, depth: int, budget: int) -> None:
        self.line(depth, f"if {self.condition()}:")
        self.block(depth + 1, budget // 2)
        if self.random.random() < 0.5:
            self.line(depth, "else:")
            self.block(depth + 1, budget // 2)

    def loop(self, depth: int, budget: int) -> None:
        self.loops += 1
        name = f"i{self.loops}"
        head = self.pick(
            f"for {name} in range({self.random.randint(0, 4)}):",
            f"for {name}, v in enumerate(xs[:3]):",
            f"for {name} in list(table):",
            f"for {name}, v in zip(xs[:3], 'abc'):",
        )
        self.line(depth, head)
        self.block(depth + 1, budget // 2)
        if self.random.random() < 0.4:
            self.line(depth + 1, f"if {self.condition()}:")
            self.line(depth + 2, self.pick("break", "continue"))
        self.line(depth + 1, f"c += {name} % 7")
        if self.random.random() < 0.3:
            self.line(depth, "else:")
            self.block(depth + 1, 1)

    def attempt(self, depth: int, budget: int) -> None:
        self.line(depth, "try:")
        self.block(depth + 1, budget // 2)
        if self.random.random() < 0.3:
            self.line(depth + 1, f"raise ValueError({self.expression(1)})")
        kinds = self.pick("ZeroDivisionError", "(IndexError, KeyError)", "ValueError", "Exception")
        self.line(depth, f"except {kinds} as error:")
        self.line(depth + 1, "log.append((type(error).__name__, str(error)))")
        self.block(depth + 1, 1)
        if self.random.random() < 0.4:
            self.line(depth, "finally:")
            self.block(depth + 1, 1)

    def generator(self, depth: int, budget: int) -> None:
        name = f"gen{len(self.lines)}"
        self.line(depth, f"def {name}(n):")
        self.line(depth + 1, "for k in range(n):")
        self.line(depth + 2, f"got = yield k * {self.expression(0)}")
        self.line(depth + 1, "return n")
        self.line(
            depth,
            self.pick(
                f"log.append(list({name}(3)))",
                f"a += sum({name}(2))",
                f"for v in {name}(3): c += v % 5",
                f"log.append([*map(helper, {name}(2))])",
            ),
        )
