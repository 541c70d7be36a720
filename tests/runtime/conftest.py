"""Fixtures for the runtime's tests: one build folder a session, one run per target."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime import native

Builder = Callable[..., ctypes.CDLL]


@pytest.fixture(scope="session")
def build_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    return tmp_path_factory.mktemp("runtime")


@pytest.fixture(scope="session", params=native.targets())
def march(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def build(build_folder: Path, march: str) -> Builder:
    """build(source): the compiled library for the current target."""

    def compiled(source: str, *extra: str) -> ctypes.CDLL:
        return native.build(source, march, build_folder, extra)

    return compiled


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Large sources take long to build: with `-m slow` for the baseline target, and for sizes known
    at compile time on any but the machine's own. Kernels for any sizes run on both by default."""
    large = ("test_conv", "test_gemm")
    for item in items:
        spec = getattr(item, "callspec", None)
        if spec is None or item.path.stem not in large:
            continue
        march = spec.params.get("march")
        known = {"static", "convolutions"} & set(getattr(item, "fixturenames", ()))
        if march == "x86-64" or (march == "x86-64-v3" and known):
            item.add_marker(pytest.mark.slow)
