"""Why a program that data decides is refused, and what to write instead: messages of PTC-B002, B003
and B004 name the cause and give a remedy."""

from __future__ import annotations

import datetime
import math
import zlib
from typing import Any

import numpy as np
import pytest
import torch

from ptc.capture.api import capture_program
from ptc.support.diagnostics import CompileError

X = torch.tensor([2.0, 3.0, 1.0])


def function_in_c(x: torch.Tensor) -> Any:
    return x * zlib.crc32(b"key")


def function_in_c_on_a_number(x: torch.Tensor) -> Any:
    return x * math.gamma(x.sum().item())


def method_in_c_on_a_string(x: torch.Tensor) -> Any:
    return x * len(str(x.sum().item()).expandtabs())


def numpy_on_a_number(x: torch.Tensor) -> Any:
    return x * np.tanh(x.sum().item())


def memory_for_numpy(x: torch.Tensor) -> Any:
    return x if x.sum() > 0 else torch.from_numpy(x.numpy() + 1)


def number_as_a_base(x: torch.Tensor) -> Any:
    return x * int("10", int(x[0]))


def width_of_a_format(x: torch.Tensor) -> Any:
    return x * len(f"{int(x[0]):>{int(x[1])}}")


def complex_number(x: torch.Tensor) -> Any:
    return x * x.sum().to(torch.complex64).item().real


def hash_of_an_object(x: torch.Tensor) -> Any:
    return x * hash(type("Key", (), {}) if x is None else object())


def date(x: torch.Tensor) -> Any:
    return x * datetime.date.today().day


def time_of_day(x: torch.Tensor) -> Any:
    return x * datetime.datetime.now(datetime.UTC).second


@pytest.mark.parametrize(
    ("function", "code", "cause", "remedy"),
    [
        (function_in_c, "PTC-B004", "zlib.crc32 is called: it is not written in Python", "before"),
        (function_in_c_on_a_number, "PTC-B004", "of type float that data decides", "torch func"),
        (method_in_c_on_a_string, "PTC-B004", "str.expandtabs is called with a", "Python"),
        (numpy_on_a_number, "PTC-B004", "numpy.tanh is called with a number", "torch functions"),
        (memory_for_numpy, "PTC-B002", "Tensor.numpy() reads the data", "torch's functions"),
        (number_as_a_base, "PTC-B002", "not a number of type int that data", "if n == 2"),
        (width_of_a_format, "PTC-B002", "data decides a format", "width"),
        (complex_number, "PTC-B002", "a complex number is read", "x.real.item()"),
        (hash_of_an_object, "PTC-B002", "the hash of", "a key of your own"),
        (date, "PTC-B003", "the clock is read", "as an argument"),
        (time_of_day, "PTC-B003", "the clock is read", "as an argument"),
    ],
)
def test_cause_and_remedy(function: Any, code: str, cause: str, remedy: str) -> None:
    with pytest.raises(CompileError) as refused:
        capture_program(function, (X.clone(),))
    found = refused.value.diagnostic
    assert found.code == code
    assert cause in found.message and remedy in found.hint
    assert found.location is not None and found.location.text.startswith("return")
