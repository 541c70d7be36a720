"""ptc_tensor_text.h against torch: str() and format() of tensors of all types and shapes."""

from __future__ import annotations

import ctypes
import math
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._tensor_str import printoptions

from tests.runtime import native
from tests.runtime.views import CODES, View, rearranged

ROOM = 1 << 23
OUT = ctypes.create_string_buffer(ROOM)
FLOATS = [torch.float16, torch.float32, torch.float64, torch.bfloat16]


class Options(ctypes.Structure):
    """PrintOptions; the defaults are torch's."""

    _fields_ = (
        ("precision", ctypes.c_int),
        ("threshold", ctypes.c_double),
        ("edgeitems", ctypes.c_int64),
        ("linewidth", ctypes.c_int64),
        ("sci_mode", ctypes.c_int),
        ("default_code", ctypes.c_uint8),
        ("default_bits", ctypes.c_uint8),
    )

    @classmethod
    def of(cls, options: dict[str, Any]) -> Options:
        sci_mode = options.get("sci_mode")
        return cls(
            options.get("precision", 4),
            options.get("threshold", 1000),
            options.get("edgeitems", 3),
            options.get("linewidth", 80),
            -1 if sci_mode is None else int(sci_mode),
            *CODES[torch.get_default_dtype()],
        )


@pytest.fixture(scope="module")
def lib(build_folder: Path) -> ctypes.CDLL:
    built = native.build(native.text("tensor_text.cpp"), "native", build_folder)
    built.tensor_text.restype = built.size_text.restype = ctypes.c_long
    return built


def text_of(
    lib: ctypes.CDLL,
    tensor: torch.Tensor,
    options: dict[str, Any] | None = None,
    suffix: str | None = None,
    spec: str | None = None,
) -> str | None:
    view, chosen = View(tensor.detach()), Options.of(options or {})
    texts = [None if x is None else x.encode() for x in (suffix, spec)]
    length = lib.tensor_text(
        ctypes.byref(view), ctypes.byref(chosen), *texts, OUT, ctypes.c_long(ROOM)
    )
    assert length != -2
    return None if length < 0 else ctypes.string_at(OUT, length).decode()


def check(lib: ctypes.CDLL, tensor: torch.Tensor, **options: Any) -> None:
    with printoptions(**options):
        want = str(tensor)
    got = text_of(lib, tensor, options)
    assert got == want, f"{tensor.dtype} {tuple(tensor.shape)} {options}:\n{got}\nwant\n{want}"


def random_shape(rng: random.Random) -> list[int]:
    ndim = rng.choice((0, 1, 1, 2, 2, 3, 4, 5))
    largest = {0: 1, 1: 40, 2: 12, 3: 7, 4: 4, 5: 3}[ndim]
    shape = [rng.randint(1, largest) for _ in range(ndim)]
    if ndim and rng.random() < 0.05:
        shape[rng.randrange(ndim)] = 0
    if ndim and rng.random() < 0.15:  # large enough for a summary
        shape[rng.randrange(ndim)] = rng.randint(1001, 1400)
        shape = shape[:3]
    return shape


def random_floats(rng: random.Random, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
    values = torch.randn(shape, dtype=torch.float64)
    match rng.randrange(8):
        case 0:
            values = (values * 10 ** rng.randint(0, 6)).round()
        case 1:
            values = values * 10.0 ** rng.randint(-12, 12)
        case 2:
            values = torch.exp(values * rng.choice((1, 3, 10)))
        case 3:
            values = values.round(decimals=rng.randint(0, 3))
        case 4:
            values = torch.where(values > 0.5, torch.zeros(()), values)
        case 5:
            values = values * 10.0 ** rng.choice((-300, -100, 100, 300))
        case _:
            pass
    values = values.to(dtype)
    if rng.random() < 0.25:
        odd = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0])
        at = torch.randint(0, 5, shape)
        some = torch.rand(shape) < rng.choice((0.05, 0.5, 1.0))
        values = torch.where(some, odd[at].to(dtype), values)
    return values


def random_tensor(rng: random.Random, dtype: torch.dtype) -> torch.Tensor:
    shape = random_shape(rng)
    if dtype.is_complex:
        half = torch.float32 if dtype == torch.complex64 else torch.float64
        parts = [random_floats(rng, shape, half) for _ in range(2)]
        return torch.complex(*parts)
    if dtype.is_floating_point:
        return random_floats(rng, shape, dtype)
    if dtype == torch.bool:
        return torch.rand(shape) < rng.choice((0.0, 0.5, 1.0))
    info = torch.iinfo(dtype)
    bits = rng.randint(1, 63)
    low, high = max(info.min, -(2**bits)), min(info.max, 2**bits, 2**63 - 1)
    return torch.randint(low, high, shape).to(dtype)


@pytest.mark.parametrize("dtype", CODES, ids=str)
def test_as_torch(lib: ctypes.CDLL, dtype: torch.dtype) -> None:
    rng = random.Random(str(dtype))
    for _ in range(200 if dtype in FLOATS else 120):
        tensor = random_tensor(rng, dtype)
        simple = dtype in (torch.uint16, torch.uint32, torch.uint64)
        check(lib, tensor if simple else rearranged(rng, tensor))


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64, torch.bool, torch.complex64], ids=str)
def test_print_options(lib: ctypes.CDLL, dtype: torch.dtype) -> None:
    rng = random.Random(str(dtype) + "options")
    for _ in range(150):
        check(
            lib,
            random_tensor(rng, dtype),
            precision=rng.choice((0, 1, 2, 4, 8, 20)),
            threshold=rng.choice((0, 5, 100, 1000, math.inf)),
            edgeitems=rng.choice((0, 1, 2, 3, 5)),
            linewidth=rng.choice((5, 20, 60, 80, 120, 500)),
            sci_mode=rng.choice((None, None, True, False)),
        )


def test_borders_of_the_layouts(lib: ctypes.CDLL) -> None:
    borders = [
        *(
            [1.0, 1000.0],
            [1.0, 1000.5],
            [1.0, 1001.0],
            [0.5, 500.0],
            [0.5, 500.5],
            [1e8],
            [1e8 + 8],
        ),
        *(
            [1e8, 99999999.0],
            [1e8 + 8],
            [1e-4],
            [0.0001, 0.05],
            [9.999e-5],
            [0.0],
            [-0.0],
            [math.nan],
        ),
        *([math.inf], [-math.inf, math.nan], [1.0, math.nan], [1.5, math.inf], [1e-45], [3.4e38]),
        *([0.99996, 1.0], [9.99996], [99.99999], [999.99999, 1.5], [-1.0, 2.0], [1e10, math.inf]),
        *([1e100, 1e99], [1e-100, 1.0], [0.5, 1.5, 2.5, -0.5], [123456.0], [16777216.0, 1.0]),
    ]
    for values in borders:
        for dtype in FLOATS:
            tensor = torch.tensor(values, dtype=torch.float64).to(dtype)
            check(lib, tensor)
            check(lib, tensor[0])
            check(lib, tensor.repeat(30))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (0, 0, 0), (1000,), (1001,), (7, 143)])
def test_sizes_at_the_borders(lib: ctypes.CDLL, shape: tuple[int, ...]) -> None:
    for dtype in CODES:
        if dtype not in (torch.uint16, torch.uint32, torch.uint64):
            check(lib, torch.ones(shape, dtype=dtype))


def test_where_suffixes_go(lib: ctypes.CDLL) -> None:
    """A type and a size behind last lines of every length."""
    for count in range(1, 60):
        for dtype in (torch.int32, torch.float16):
            check(lib, torch.arange(count).to(dtype))
            check(lib, torch.arange(count).to(dtype), edgeitems=0, threshold=20)


def test_what_autograd_adds(lib: ctypes.CDLL) -> None:
    for count in range(1, 20):
        leaf = torch.arange(float(count), dtype=torch.float64, requires_grad=True)
        assert text_of(lib, leaf, suffix="requires_grad=True") == str(leaf)
        result = leaf + 1
        assert text_of(lib, result, suffix="grad_fn=<AddBackward0>") == str(result)


def test_default_type_is_not_told(lib: ctypes.CDLL) -> None:
    before = torch.get_default_dtype()
    try:
        for default in (torch.float64, torch.float16, torch.bfloat16):
            torch.set_default_dtype(default)
            for dtype in CODES:
                check(lib, torch.ones(2, dtype=dtype))
                check(lib, torch.ones(0, dtype=dtype))
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize("dtype", CODES, ids=str)
def test_format_as_a_number(lib: ctypes.CDLL, dtype: torch.dtype) -> None:
    rng = random.Random(str(dtype) + "format")
    specs = ["", ".3f", "10", "<8", "+.2e", ",", "08.3g", "d", "x", "z.1f", "%", "b", "s", "é^12"]
    for _ in range(15):
        tensor = random_tensor(rng, dtype).reshape(-1)[:1]
        if not tensor.numel():
            continue
        for spec in specs:
            scalar = tensor[0]
            try:
                want = None if dtype.is_complex else format(scalar, spec)
            except (ValueError, OverflowError):
                want = None
            assert text_of(lib, scalar, spec=spec) == want, (scalar, spec)
        assert text_of(lib, tensor, spec="") == format(tensor)
        assert text_of(lib, tensor, spec=".3f") is None
    if dtype == torch.uint64:
        large = torch.tensor(2**64 - 5, dtype=dtype)
        assert [text_of(lib, large, spec=x) for x in ("", ",", "x", ".4e")] == [
            *(
                "18446744073709551611",
                "18,446,744,073,709,551,611",
                "fffffffffffffffb",
                "1.8447e+19",
            )
        ]


def test_size(lib: ctypes.CDLL) -> None:
    for shape in ((), (3,), (2, 3), (0, 1, 4)):
        view = View(torch.zeros(shape))
        length = lib.size_text(ctypes.byref(view), OUT, ctypes.c_long(ROOM))
        assert ctypes.string_at(OUT, length).decode() == str(torch.Size(shape))
