"""Parts of the standard library, every function of which runs in step functions.

Private copies of the modules are used, so that nothing else in the process is touched.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import pytest

from ptc.capture.code import decode
from tests.capture.code import stepping

UNTOUCHED = {"__new__", "__init_subclass__", "__getattr__", "__class_getitem__"}


@pytest.fixture(autouse=True)
def deep_recursion() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    yield
    sys.setrecursionlimit(limit)


def stepping_copy(name: str, stepper: stepping.Stepper) -> ModuleType:
    """A copy of module `name` whose functions run in step functions."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    owners = [o for o in vars(module).values() if isinstance(o, type) and o.__module__ == name]
    for owner in (module, *owners):
        for attribute, value in list(vars(owner).items()):
            if isinstance(value, FunctionType) and attribute not in UNTOUCHED:
                setattr(owner, attribute, stepped(value, stepper))
    return module


def stepped(function: FunctionType, stepper: stepping.Stepper) -> Callable[..., Any]:
    if decode(function.__code__).refusal is not None:
        return function

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return stepping.run_stepwise(function, args, kwargs, stepper)

    return run


def use_fractions(fractions: Any) -> Iterator[object]:
    number = fractions.Fraction
    yield number("3/4") + number(1, 3) * number(2.5), round(number(7, 3), 2), number(3) ** -2
    yield float(number(1, 3)), number(9, 4) > 2, number("1e-3")
    for bad in (("x",), (1, 0)):
        try:
            number(*bad)
        except (ValueError, ZeroDivisionError) as error:
            yield repr(error)


def use_copy(copy: Any) -> Iterator[object]:
    shared = [1]
    made = copy.deepcopy({"a": [shared, {2: (3, shared)}], "b": {4, 5}})
    yield made, made["a"][0] is made["a"][1][2][1]


def use_configparser(configparser: Any) -> Iterator[object]:
    parser = configparser.ConfigParser()
    parser.read_string("[a]\nx=1\ny=%(x)s2\n[b]\nz: yes\n")
    yield parser.get("a", "y"), parser.getboolean("b", "z"), parser.sections()
    try:
        parser.get("a", "nope")
    except configparser.NoOptionError as error:
        yield str(error)


USES = {
    "fractions": use_fractions,
    "copy": use_copy,
    "configparser": use_configparser,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", USES)
def test_module(name: str) -> None:
    stepper = stepping.Stepper()
    plain = importlib.import_module(name)
    copied = stepping_copy(name, stepper)
    assert [*map(repr, USES[name](copied))] == [*map(repr, USES[name](plain))]
    assert stepper.steps > 100
