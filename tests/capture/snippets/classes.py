"""Classes, attributes, globals and what decorators make of functions."""

# ruff: noqa: B904, RUF012, UP033

from __future__ import annotations

import dataclasses
import enum
import functools
import math
from typing import NamedTuple

from tests.capture.snippets.registry import case

# -- classes ------------------------------------------------------------------------------------


class Base:
    kind = "base"
    shared: list[int] = []

    def __init__(self, x):
        self.x = x

    @property
    def double(self):
        return self.x * 2

    @double.setter
    def double(self, value):
        self.x = value // 2

    @classmethod
    def make(cls, x):
        return cls(x)

    @staticmethod
    def helper(a):
        return a + 1

    def method(self, y):
        return self.x + y

    def __add__(self, other):
        return type(self)(self.x + (other.x if isinstance(other, Base) else other))

    __radd__ = __add__

    def __eq__(self, other):
        return isinstance(other, Base) and self.x == other.x

    def __lt__(self, other):
        return self.x < other.x

    def __getitem__(self, key):
        return (self.x, key)

    def __len__(self):
        return self.x

    def __call__(self, *args, **kwargs):
        return args, kwargs

    def __contains__(self, item):
        return item == self.x

    def __iter__(self):
        yield from range(self.x)

    def __repr__(self):
        return f"Base({self.x})"


class Derived(Base):
    kind = "derived"

    def __init__(self, x, y=0):
        super().__init__(x)
        self.y = y

    def method(self, y):
        return super().method(y) * 10

    @classmethod
    def make(cls, x):
        return super().make(x + 1)

    def __getattr__(self, name):
        if name.startswith("dyn_"):
            return name[4:]
        raise AttributeError(name)


@case((3,), (0,))
def class_instances(n):
    a, b = Base(n), Derived.make(n)
    b.double = 20
    result = [
        a.double, b.x, b.kind, a.kind, b.method(1), Base.helper(4), (a + b).x, (1 + a).x, (a + 1).x,
        a == Base(n), a != b, a < b, a[5], len(a), bool(a), a(1, k=2), n in a, list(a), repr(a),
        str(b), isinstance(b, Base), type(b).__name__, b.dyn_foo, hasattr(b, "nope"),
        getattr(b, "nope", None), b.__class__ is Derived, sorted([b, a])[0].x, max(a, b).x,
        vars(b), Derived.__mro__[1].__name__, b.__dict__["y"], a.method.__name__,
    ]  # fmt: skip
    del b.y
    result.append(hasattr(b, "y"))
    return result


@dataclasses.dataclass
class Point:
    x: int
    y: int = 2
    tags: list = dataclasses.field(default_factory=list[int])

    def norm(self):
        return math.hypot(self.x, self.y)


@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    a: int
    b: str = "b"


class Pair(NamedTuple):
    left: int
    right: int = 5

    def total(self):
        return self.left + self.right


class Color(enum.Enum):
    RED = 1
    BLUE = 2

    @property
    def pretty(self):
        return self.name.title()


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 10


@case((3,))
def dataclass_and_friends(n):
    p = Point(n, tags=[1])
    bare = Point(n).tags
    q = dataclasses.replace(p, y=4)
    pair = Pair(n)
    f = Frozen(1)
    try:
        f.a = 2  # type: ignore[misc]
        frozen = "no"
    except dataclasses.FrozenInstanceError:
        frozen = "yes"
    return (
        p.x, p.y, p.norm(), q.y, p == Point(3, 2, [1]), [fd.name for fd in dataclasses.fields(p)],
        pair, pair.left, pair.total(), pair._replace(left=9), pair._asdict(), f < Frozen(2), frozen,
        Color.RED.value, Color.BLUE.name, Color.RED is Color(1), Color["RED"].pretty,
        [c.name for c in Color], Level.HIGH > Level.LOW, Level.HIGH + 1, {Color.RED: 1}[Color.RED],
        {Frozen(1): "hash"}[Frozen(1)], isinstance(pair, tuple), repr(p), repr(pair),
        bare,
    )  # fmt: skip


class Table(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value


class Stack(list):
    def push(self, value):
        self.append(value)
        return self

    def __getitem__(self, index):
        return ("stack", super().__getitem__(index))


@case((2,))
def builtin_subclasses(n):
    t = Table(a=1)
    t.b = n
    s = Stack([1]).push(n)
    return t.a, t.b, sorted(t), s[1], len(s), isinstance(s, list), hasattr(t, "zzz"), list(s)


class Holder:
    def __init__(self):
        self.value = 1
        self.items = []


@case((Holder(), 5))
def attribute_effects(holder, n):
    holder.value = n
    holder.items.append(n)
    holder.created = [n, holder.value]
    return holder.value


GLOBAL_COUNT = 0


@case((3,))
def global_effects(n):
    global GLOBAL_COUNT
    before = GLOBAL_COUNT
    GLOBAL_COUNT = before + n
    return GLOBAL_COUNT - before


@functools.lru_cache(maxsize=None)
def cached(n):
    return n * 2


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return ("wrapped", function(*args, **kwargs))

    return wrapper


@decorated
def plain(a, b=1):
    return a + b


@case((4,))
def decorators(n):
    @decorated
    def inner(x):
        return x + n

    return plain(n), plain(n, b=2), inner(1), inner.__name__, cached(n), plain.__wrapped__(1)


@case((1,))
def import_inside(n):
    import math as m
    from collections import OrderedDict as Ordered

    return m.floor(n + 0.5), list(Ordered(a=n))


@case((5,))
def raises_out(n):
    return {}[n]


@case(([1, 2, 3],))
def slices(xs):
    s = slice(1, None)
    return xs[s], s.start, s.stop, slice(None, 2).indices(10), xs[-2:], xs[:1] + xs[1:]


@case((3,))
def assertions(n):
    try:
        assert n < 2, f"too big {n}"
    except AssertionError as error:
        return str(error)
    return None


@case((1,), (0,))
def exception_context(n):
    try:
        try:
            1 // n
        except ZeroDivisionError:
            raise KeyError("second")
    except KeyError as error:
        return type(error.__context__).__name__
    return "fine"
