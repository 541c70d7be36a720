"""Lists, dictionaries, sets, iterators and generators."""

# ruff: noqa: B905, C416, RUF005

from __future__ import annotations

import collections
import itertools
import math
import operator

from tests.capture.snippets.registry import case

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


@case(([3, 1, 2],))
def results_of_methods_that_change(xs):
    queue = collections.deque(xs)
    given = (xs.extend([4]), xs.append(5), xs.insert(0, 0), queue.extend([6]), queue.append(7))
    held = xs
    held += (8,)
    return given, held is xs, xs, list(queue)


@case(([1, 2, 3],))
def bounded_deques(xs):
    queue = collections.deque(xs, maxlen=3)
    sums = queue + collections.deque([4, 5])
    twice = queue * 2
    sums.append(6)
    queue *= 2
    return (
        [*sums],
        sums.maxlen,
        [*twice],
        twice.maxlen,
        [*queue],
        queue.index(2),
        2 * queue == twice,
    )


@case(([1, 2],))
def errors_of_deques(xs):
    queue = collections.deque(xs, maxlen=2)
    texts = []
    for attempt in (
        lambda: queue.remove(5),
        lambda: queue.index(5),
        lambda: queue.insert(0, 5),
        lambda: queue[5],
        lambda: queue["a"],
        lambda: queue[0:1],
        lambda: operator.setitem(queue, -3, 0),
        lambda: operator.setitem(queue, "a", 0),
        lambda: operator.delitem(queue, 2),
        lambda: operator.delitem(queue, slice(0, 1)),
        lambda: queue * 1.5,
        lambda: xs.remove(5),
        lambda: xs.index(5),
        lambda: tuple(xs).index(5),
    ):
        try:
            attempt()
        except (ValueError, IndexError, TypeError) as error:
            texts.append(f"{type(error).__name__}: {error}")
    return texts, list(queue)


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
