"""ptc_threads.h: every element once, errors of use, fork, cancellation, nesting."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from tests.runtime import native
from tests.runtime.native import long

SOURCE = native.text("threads.cpp")


@pytest.fixture(scope="module")
def lib(build_folder: Path) -> ctypes.CDLL:
    lib = native.build(SOURCE, "native", build_folder)
    lib.open_pool.restype = ctypes.c_void_p
    return lib


def run(lib: ctypes.CDLL, pool: ctypes.c_void_p, n: int, grain: int) -> np.ndarray:
    visits, workers = np.zeros(max(n, 1), np.int32), np.full(max(n, 1), -1, np.int32)
    smallest = ctypes.c_int(-1)
    lib.split(pool, long(n), long(grain), visits.ctypes, workers.ctypes, ctypes.byref(smallest))
    assert smallest.value == -1, "a block below the grain"
    assert (visits[:n] == 1).all()
    assert n == 0 or workers[:n].max() < lib.size(pool)
    return workers


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_element_once(lib: ctypes.CDLL, threads: int) -> None:
    pool = ctypes.c_void_p(lib.open_pool(threads))
    for n in (0, 1, 2, 7, 64, 1000):
        for grain in (1, 3, 100):
            run(lib, pool, n, grain)
    lib.close_pool(pool)


def test_no_pool_and_one_thread_stay_on_the_caller(lib: ctypes.CDLL) -> None:
    before = threading.active_count(), len(os.listdir("/proc/self/task"))
    pool = ctypes.c_void_p(lib.open_pool(1))
    assert (run(lib, pool, 100, 1)[:100] == 0).all()
    assert (run(lib, ctypes.c_void_p(None), 100, 1)[:100] == 0).all()
    assert (threading.active_count(), len(os.listdir("/proc/self/task"))) == before
    lib.close_pool(pool)


def test_threads_start_late_and_end_with_the_pool(lib: ctypes.CDLL) -> None:
    before = len(os.listdir("/proc/self/task"))
    pool = ctypes.c_void_p(lib.open_pool(3))
    assert len(os.listdir("/proc/self/task")) == before
    run(lib, pool, 100, 1)
    assert len(os.listdir("/proc/self/task")) == before + 2
    lib.close_pool(pool)
    assert len(os.listdir("/proc/self/task")) == before


def test_many_short_calls(lib: ctypes.CDLL) -> None:
    pool = ctypes.c_void_p(lib.open_pool(3))
    for i in range(500):
        run(lib, pool, 3 + i % 40, 1)
    lib.close_pool(pool)


def test_nested_calls_run_on_their_worker(lib: ctypes.CDLL) -> None:
    pool = ctypes.c_void_p(lib.open_pool(3))
    visits = np.zeros(40 * 40, np.int32)
    lib.nested(pool, long(40), visits.ctypes)
    assert (visits == 1).all()
    lib.close_pool(pool)


def test_several_callers_take_turns(lib: ctypes.CDLL) -> None:
    pool = ctypes.c_void_p(lib.open_pool(3))
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(50):
                run(lib, pool, 200, 1)
        except BaseException as error:
            failures.append(error)

    callers = [threading.Thread(target=work) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    lib.close_pool(pool)
    assert not failures


def test_cancel_skips_what_has_not_begun(lib: ctypes.CDLL) -> None:
    pool = ctypes.c_void_p(lib.open_pool(2))
    visits = np.zeros(10000, np.int32)
    lib.stop_early(pool, long(10000), visits.ctypes)
    assert 0 < visits.sum() < 10000
    lib.resume(pool)
    run(lib, pool, 1000, 1)
    lib.close_pool(pool)


def test_a_forked_child_has_threads_of_its_own(lib: ctypes.CDLL) -> None:
    pool = ctypes.c_void_p(lib.open_pool(3))
    run(lib, pool, 1000, 1)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run(lib, pool, 1000, 1)
            lib.close_pool(pool)
            code = 0
        finally:
            os._exit(code)
    for _ in range(200):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        threading.Event().wait(0.05)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child hung")
    assert os.waitstatus_to_exitcode(status) == 0
    run(lib, pool, 1000, 1)
    lib.close_pool(pool)
