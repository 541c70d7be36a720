"""Python snippets, each run natively and captured with equal results and effects.

A snippet is a function of plain values; its cases are argument tuples. `EFFECT` arguments are
compared after the call too.
"""

# ruff: noqa: B904, B905, C416, C417, F821, RUF005, RUF012, UP031, UP032, UP033

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import itertools
import math
import operator
from typing import Any, NamedTuple

CASES: list[tuple[Any, tuple[Any, ...]]] = []


def case(*argument_lists: tuple[Any, ...]):
    """Register a snippet with the calls to compare."""

    def register(function: Any) -> Any:
        CASES.extend((function, args) for args in argument_lists)
        return function

    return register


# -- arithmetic and comparison ------------------------------------------------------------------


@case((7, 3), (-7, 2), (2.5, 0.5), (0, 1), (True, 2))
def arithmetic(a, b):
    return [a + b, a - b, a * b, a / b, a // b, a % b, a**2, -a, +a, divmod(a, b), abs(a)]


@case((6, 3), (255, 4))
def bits(a, b):
    x = a & b
    x |= a ^ b
    x <<= 2
    x >>= 1
    return x, ~a, a.bit_length()


@case((1, 2), (2.0, 2), ("a", "b"), ((1, 2), (1, 3)), ([1], [1]))
def comparisons(a, b):
    return a < b, a <= b, a == b, a != b, a > b, a >= b, a is b, a is not b


@case((5,), (15,), (25,))
def chained_comparison(x):
    return 10 < x < 20, not x, x and "yes", x or "no", 1 if x > 10 else 2


@case((3,), (0,))
def division_error(x):
    try:
        return 10 / x
    except ZeroDivisionError as error:
        return str(error), type(error).__name__


@case((5, "a"), (1.5, 2), ([1], 2), ({}, {}))
def type_errors(a, b):
    result = []
    for operation in (lambda: a + b, lambda: a < b, lambda: a[b], lambda: a(b), lambda: -a):
        try:
            result.append(operation())
        except Exception as error:
            result.append((type(error).__name__, str(error)))
    return result


# -- control flow -------------------------------------------------------------------------------


@case((0,), (1,), (7,), (30,))
def loops(n):
    total = 0
    for i in range(n):
        if i % 2:
            continue
        if i > 20:
            break
        total += i
    else:
        total += 1000
    while total > 5:
        total -= 3
    else:
        total = -total
    return total


@case(([1, 2, 3],), ([],))
def comprehension(xs):
    squares = [x * x for x in xs if x != 2]
    pairs = {(x, y) for x in xs for y in xs}
    table = {x: [y for y in range(x)] for x in xs}
    total = sum(x for x in xs)
    return squares, sorted(pairs), table, total, [*map(lambda v: v + len(xs), xs)]


@case((3,), (0,))
def closures(n):
    counter = 0

    def add(k=1):
        nonlocal counter
        counter += k
        return counter

    functions = [lambda i=i: i + counter for i in range(n)]
    add()
    add(k=5)
    return counter, [f() for f in functions]


@case((1,), (2,))
def nested_functions(n):
    def outer(a, *args, b=2, **kwargs):
        def inner(c):
            return a + b + c + sum(args) + sum(kwargs.values()) + n

        return inner

    return outer(1)(2), outer(1, 2, 3, b=4, z=5)(6)


@case((5,), (10,))
def recursion(n):
    def fib(k):
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    return fib(n)


@case((0,), (1,), (2,), (3,), (4,))
def exceptions(kind):
    log = []
    try:
        try:
            log.append("start")
            if kind == 1:
                raise ValueError("one", 1)
            if kind == 2:
                raise KeyError("two")
            if kind == 3:
                return log
            if kind == 4:
                [][1]
            log.append("fine")
        except ValueError as error:
            log.append(("value", error.args))
            raise RuntimeError("from value") from error
        else:
            log.append("else")
        finally:
            log.append("finally")
    except RuntimeError as error:
        log.append((str(error), type(error.__cause__).__name__, error.__suppress_context__))
    except (KeyError, IndexError) as error:
        log.append((str(error), repr(error), isinstance(error, LookupError)))
    return log


@case((0,), (1,))
def reraise(n):
    def fail():
        try:
            raise ValueError(n)
        except ValueError:
            if n:
                raise
            return "caught"

    try:
        return fail()
    except ValueError as error:
        return error.args, type(error.__context__).__name__


@case((3,))
def finally_in_loop(n):
    log = []
    for i in range(n):
        try:
            if i == 1:
                continue
            log.append(i)
        finally:
            log.append("f")
    return log


class Manager:
    def __init__(self, log, swallow):
        self.log = log
        self.swallow = swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, trace):
        self.log.append(("exit", kind.__name__ if kind else None, str(value)))
        return self.swallow


@case((True, True), (True, False), (False, True))
def with_statement(swallow, fail):
    log = []
    try:
        with Manager(log, swallow) as first, Manager(log, swallow) as second:
            log.append(first is second)
            if fail:
                raise ValueError("inside")
    except ValueError:
        log.append("escaped")
    return log


@case((1,), ("text",), ([1, 2, 3],), ([1],), ({"kind": "a", "size": 3},), ((4, 5),), (None,))
def match_statement(value):
    match value:
        case 1 | 2:
            return "small"
        case str(text):
            return text.upper()
        case [first, *rest] if len(rest) > 1:
            return first, rest
        case [only]:
            return only
        case {"kind": kind, **others}:
            return kind, others
        case (a, b):
            return a + b
        case _:
            return "other"


@case((3,))
def walrus_and_delete(n):
    values = []
    while (n := n - 1) >= 0:
        values.append(n)
    x = 5
    del x
    try:
        x
    except UnboundLocalError as error:
        values.append(str(error))
    del values[0]
    return values


@case(([1, 2, 3, 4],), ((1, 2),))
def unpacking(xs):
    first, *middle, last = xs
    (a, b), c = (first, last), middle
    d, e = {"x": 1, "y": 2}
    merged = {**{"a": 1}, "b": 2, **{"a": 3}}
    return a, b, c, d, e, merged, [*xs, *middle], (*xs, 0), {*xs}


@case(([1],), ([1, 2, 3],))
def unpacking_errors(xs):
    result = []
    for code in (lambda: one_pair(xs), lambda: star_pair(xs), lambda: one_pair(5)):
        try:
            result.append(code())
        except (ValueError, TypeError) as error:
            result.append(str(error))
    return result


def one_pair(xs):
    a, b = xs
    return a, b


def star_pair(xs):
    a, b, *c = xs
    return a, b, c


@case((3, 2.5, "s"))
def formatting(a, b, c):
    width = 8
    return (
        f"{a} {b:.3f} {c!r:>{width}} {a + 1:03d}", "%s-%d-%.2f" % (c, a, b),
        "{0} {name}".format(a, name=c), str([a, b, c]), repr({"k": (a,)}), str(None), f"{a=}",
    )  # fmt: skip


@case(("hello world",), ("",))
def strings(s):
    return (
        s.upper(), s.split(), s.replace("l", "L"), s[::-1], s[1:4], "o" in s, len(s), s * 2,
        "-".join(ch for ch in s), s.startswith("he"), s.find("w"), [c for c in s], s.encode(),
    )  # fmt: skip


# -- calls --------------------------------------------------------------------------------------


def takes(a, /, b, *args, c=3, d, **kwargs):
    return a, b, args, c, d, kwargs


@case(((1, 2), {"d": 4}), ((1, 2, 3), {"d": 4, "e": 5}), ((1,), {"b": 1, "d": 2}), ((), {}),
      ((1, 2), {}), ((1, 2), {"b": 3, "d": 1}), ((1,), {"a": 1, "b": 2, "d": 3}))  # fmt: skip
def call_binding(args, kwargs):
    try:
        return takes(*args, **kwargs)
    except TypeError as error:
        return str(error)


def two_defaults(a, b=1, c=2):
    return a, b, c


@case(((),), ((1,),), ((1, 2, 3, 4),))
def call_errors(args):
    try:
        return two_defaults(*args)
    except TypeError as error:
        return str(error)


@case((4,))
def partials(n):
    add = functools.partial(takes, 1, d=n)
    return (
        add(2),
        add(2, 3, c=5),
        add.args,
        add.keywords,
        functools.reduce(operator.mul, range(1, n)),
    )


# -- containers ---------------------------------------------------------------------------------


@case(([3, 1, 2],))
def list_methods(xs):
    ys = list(xs)
    ys.append(9)
    ys.extend((7, 8))
    ys.insert(1, "i")
    ys.remove("i")
    last = ys.pop()
    first = ys.pop(0)
    ys.sort()
    ys.reverse()
    zs = ys.copy()
    zs.clear()
    ys[0:2] = [5, 5, 5]
    ys[-1] = 0
    del ys[1]
    return ys, zs, last, first, ys.index(5), ys.count(5), 5 in ys, ys + [1], ys * 2, xs[::2]


@case(([1, 2],))
def list_effects(xs):
    xs.append(3)
    xs[0] = "changed"
    other = xs
    other += [4]
    return len(xs), other is xs


@case(({"a": 1, "b": 2},))
def dict_methods(d):
    e = dict(d, c=3)
    e.setdefault("z", []).append(1)
    e.update({"a": 5}, b=7)
    popped = e.pop("c"), e.pop("missing", None)
    items = [(k, v) for k, v in e.items()]
    del e["b"]
    return (
        e,
        popped,
        items,
        list(e),
        e.get("q"),
        e.get("a"),
        "a" in e,
        e | {"n": 1},
        len(e),
        dict(zip("ab", range(2))),
        {k: v for k, v in sorted(e.items(), key=lambda kv: str(kv[0]))},
    )


@case(({"a": 1, "b": [1]},))
def dict_effects(d):
    d["new"] = 5
    d["b"].append(2)
    d["a"] += 1
    return sorted(d)


@case(({"a": 1},))
def dict_errors(d):
    result = []
    for code in (lambda: d["q"], lambda: d.pop("q"), lambda: {}.popitem(), lambda: d[[]]):
        try:
            result.append(code())
        except Exception as error:
            result.append((type(error).__name__, str(error)))
    return result


@case(([1, 2, 3], [2, 3, 4]))
def sets(a, b):
    x, y = set(a), set(b)
    x.add(10)
    x.discard(99)
    return (
        sorted(x | y), sorted(x & y), sorted(x - y), sorted(x ^ y), x <= y, 2 in x, len(x),
        frozenset(a) == frozenset(a), {1, 2} < {1, 2, 3}, sorted(x.union(b, [77])),
        x.issubset([1, 2, 3, 10]), {frozenset([1]): 2}[frozenset([1])],
    )  # fmt: skip


@case((5,))
def collections_types(n):
    ordered = collections.OrderedDict((("a", 1), ("b", 2)))
    ordered.move_to_end("a")
    default = collections.defaultdict(list)
    default["x"].append(n)
    counter = collections.Counter("abracadabra")
    queue = collections.deque([1, 2, 3], maxlen=3)
    queue.append(4)
    queue.appendleft(0)
    return (
        list(ordered.items()),
        dict(default),
        counter["a"],
        counter["q"],
        list(queue),
        queue[0],
        counter.most_common(2),
    )


@case(([5, 3, 9],), (["b", "a"],))
def builtin_functions(xs):
    return (
        sorted(xs), sorted(xs, reverse=True), max(xs), min(xs), list(reversed(xs)),
        list(enumerate(xs, 1)), list(zip(xs, range(9))), any(xs), all(xs), len(xs),
        list(map(str, xs)), list(filter(None, [0, *xs])), list(range(2, 10, 3)), iter(xs) is xs,
        isinstance(xs, (list, tuple)), isinstance(1, int | str), type(xs) is list, callable(len),
        max(1, 2), min(xs, key=lambda v: str(v)), next(iter(xs)), next(iter([]), "none"), tuple(xs),
        round(2.567, 2), int("12"), float("1.5"), bool(xs), str(xs), hash("a") == hash("a"),
        getattr(xs, "nothing", 7), hasattr(xs, "append"), issubclass(bool, int),
    )  # fmt: skip


@case(([1, 2, 3, 4],))
def iterator_tools(xs):
    return (
        list(itertools.chain(xs, "ab")), list(itertools.islice(xs, 1, None, 2)),
        list(itertools.product(xs[:2], "xy")), list(itertools.accumulate(xs)),
        list(itertools.combinations(xs, 2)), list(itertools.chain.from_iterable([xs, xs])),
        list(itertools.zip_longest(xs, [1])), list(itertools.takewhile(lambda v: v < 3, xs)),
        list(itertools.repeat(1, 3)), [k for k, g in itertools.groupby([1, 1, 2])],
        operator.itemgetter(1)(xs), operator.attrgetter("real")(5), math.sqrt(16), math.prod(xs),
    )  # fmt: skip


@case(([1, 2, 3],))
def iterators_share_state(xs):
    it = iter(xs)
    first = next(it)
    rest = list(it)
    pairs = list(zip(*[iter(range(6))] * 2))
    try:
        next(it)
    except StopIteration:
        rest.append("stop")
    return first, rest, pairs


# -- generators ---------------------------------------------------------------------------------


@case((4,), (0,))
def generators(n):
    log = []

    def count(k):
        try:
            for i in range(k):
                got = yield i
                if got is not None:
                    log.append(got)
            return "done"
        finally:
            log.append("closed")

    def delegate(k):
        result = yield from count(k)
        log.append(result)
        yield "last"

    values = list(delegate(n))
    gen = count(5)
    first = next(gen)
    second = gen.send("hello")
    gen.close()
    lazy = (x * x for x in range(n))
    return values, first, second, log, sum(lazy), sum(lazy)


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
    tags: list = dataclasses.field(default_factory=list)

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
