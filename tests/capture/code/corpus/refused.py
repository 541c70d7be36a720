"""Functions that have no resume functions, by the reason."""

from __future__ import annotations


def generator(n):
    yield from range(n)


async def coroutine(n):
    return n


async def asynchronous_generator(n):
    yield n


REFUSED = {
    "generator": generator,
    "coroutine": coroutine,
    "asynchronous generator": asynchronous_generator,
}
