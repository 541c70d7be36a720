"""Set-up shared by all tests. Imports nothing heavy: bytecode tests run without torch."""

from __future__ import annotations

import gc
import os
import random
import sys
from collections.abc import Generator

import pytest
from hypothesis import settings

# The default run draws the same inputs every time: a failure there belongs to the change under
# test. HYPOTHESIS_PROFILE=explore and PTC_TEST_SEED=N look further.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
SEED = int(os.environ.get("PTC_TEST_SEED", "0"))


@pytest.fixture(autouse=True)
def _seeded() -> None:
    random.seed(SEED)
    for name, seed in (("numpy.random", "seed"), ("torch", "manual_seed")):
        module = sys.modules.get(name)
        if module is not None:
            getattr(module, seed)(SEED)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the golden files from what the code prints now",
    )
    parser.addoption(
        "--operator",
        default="",
        metavar="NAME",
        help="in tests/codegen/test_samples.py: only operators with NAME in theirs",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Objects are cached below .pytest_cache: tests neither read nor fill the user's cache."""
    if "PTC_CACHE_DIR" not in os.environ and getattr(config, "cache", None) is not None:
        os.environ["PTC_CACHE_DIR"] = str(config.cache.mkdir("ptc"))
    # Two threads a process keep several test processes on one small machine from thrashing.
    os.environ.setdefault("OMP_NUM_THREADS", "2")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests are kept to the end: passes over them find no garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))
