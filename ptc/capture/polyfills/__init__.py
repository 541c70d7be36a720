"""Library functions written in Python for the interpreter to trace, and what each stands for."""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
import operator
import sys
import types
from typing import Any

from ptc.capture.polyfills import functions, ordered

TABLE: list[tuple[Any, types.FunctionType]] = [
    (itertools.chain, functions.chain),
    (itertools.chain.__dict__["from_iterable"], functions.chain_from_iterable),
    (itertools.islice, functions.islice),
    (itertools.product, functions.product),
    (itertools.repeat, functions.repeat),
    (itertools.count, functions.count),
    (itertools.cycle, functions.cycle),
    (itertools.accumulate, functions.accumulate),
    (itertools.combinations, functions.combinations),
    (itertools.combinations_with_replacement, functions.combinations_with_replacement),
    (itertools.permutations, functions.permutations),
    (itertools.starmap, functions.starmap),
    (itertools.takewhile, functions.takewhile),
    (itertools.dropwhile, functions.dropwhile),
    (itertools.filterfalse, functions.filterfalse),
    (itertools.pairwise, functions.pairwise),
    (itertools.zip_longest, functions.zip_longest),
    (itertools.compress, functions.compress),
    (itertools.groupby, functions.groupby),
    (itertools.tee, functions.tee),
    (heapq.heappush, ordered.heappush),
    (heapq.heappop, ordered.heappop),
    (heapq.heapify, ordered.heapify),
    (heapq.heapreplace, ordered.heapreplace),
    (heapq.heappushpop, ordered.heappushpop),
    (bisect.bisect_right, ordered.bisect_right),
    (bisect.bisect_left, ordered.bisect_left),
    (bisect.insort_right, ordered.insort_right),
    (bisect.insort_left, ordered.insort_left),
    (heapq.nlargest, functions.nlargest),
    (heapq.nsmallest, functions.nsmallest),
    (functools.reduce, functions.reduce),
    (operator.attrgetter, functions.attrgetter),
    (operator.itemgetter, functions.itemgetter),
    (operator.methodcaller, functions.methodcaller),
    (collections._count_elements, functions.count_elements),  # type: ignore[attr-defined]
]
if sys.version_info >= (3, 12):
    TABLE.append((itertools.batched, functions.batched))

decided_by_data = functions.decided_by_data
said, require_silence = functions.said, functions.require_silence

__all__ = ["TABLE", "decided_by_data", "require_silence", "said"]
