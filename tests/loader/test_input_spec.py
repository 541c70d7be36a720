"""The grammar of --input and --dynamic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.hosting.dtypes import ELEMENT_TYPES
from ptc.hosting.input_spec import (
    DimSpec,
    FileSpec,
    MappingSpec,
    ScalarSpec,
    SequenceSpec,
    TensorSpec,
    parse_dynamic,
    parse_input,
)
from ptc.support.diagnostics import CompileError

F32, I64, BOOL = ELEMENT_TYPES["f32"], ELEMENT_TYPES["i64"], ELEMENT_TYPES["bool"]


@pytest.mark.parametrize(
    "text, path, value",
    [
        ("x=f32[1,3,224,224]", "x", TensorSpec(F32, (1, 3, 224, 224))),
        ("f32[1, 3]", None, TensorSpec(F32, (1, 3))),
        ("float32[2]", None, TensorSpec(F32, (2,))),
        ("f32[]", None, TensorSpec(F32, ())),
        ("x=f32[0,3]", "x", TensorSpec(F32, (0, 3))),
        ("ids=i64[1,128]<30000", "ids", TensorSpec(I64, (1, 128), 0, 30000)),
        ("ids = i64[8] >= 5 <= 9", "ids", TensorSpec(I64, (8,), 5, 10)),
        ("x=f32[3]>=-1<1.5", "x", TensorSpec(F32, (3,), -1, 1.5)),
        ("mask=bool[1,8]=1", "mask", TensorSpec(BOOL, (1, 8), fill=1)),
        # `f32[1]` could be read as element 1 of an input called f32.
        ("f32[1]=0", None, TensorSpec(F32, (1,), fill=0)),
        ("n=3", "n", ScalarSpec(3)),
        ("-2.5e-3", None, ScalarSpec(-2.5e-3)),
        ("flag=True", "flag", ScalarSpec(True)),
        ("mask=none", "mask", ScalarSpec(None)),
        ("mode='bilinear'", "mode", ScalarSpec("bilinear")),
        ("x=@data/x.npy", "x", FileSpec("data/x.npy")),
        ("x=@data/all.npz#image", "x", FileSpec("data/all.npz", "image")),
        ('x=@"odd, name.npy"', "x", FileSpec("odd, name.npy")),
        ("@inputs.npz", None, FileSpec("inputs.npz")),
        ("batch.ids=i64[2]<4", "batch.ids", TensorSpec(I64, (2,), 0, 4)),
        ("state[0]=f32[2]", "state[0]", TensorSpec(F32, (2,))),
        (
            "state=(f32[1], [2, @a.npy])",
            "state",
            SequenceSpec(
                (
                    TensorSpec(F32, (1,)),
                    SequenceSpec((ScalarSpec(2), FileSpec("a.npy")), is_tuple=False),
                ),
                is_tuple=True,
            ),
        ),
        (
            "batch={ids: i64[2]<9, 'odd key': 1}",
            "batch",
            MappingSpec((("ids", TensorSpec(I64, (2,), 0, 9)), ("odd key", ScalarSpec(1)))),
        ),
        ("[]", None, SequenceSpec((), is_tuple=False)),
    ],
)
def test_inputs(text: str, path: str | None, value: object) -> None:
    spec = parse_input(text)
    assert (spec.path, spec.value, spec.entry) == (path, value, None)


def test_input_of_an_entry() -> None:
    spec = parse_input("encode:x=f32[2]")
    assert (spec.entry, spec.path, spec.value) == ("encode", "x", TensorSpec(F32, (2,)))
    assert parse_input("encode:f32[2]").entry == "encode"


@pytest.mark.parametrize(
    "text, column, message",
    [
        ("x=f32[1,3,", 10, "expected a size"),
        ("x=f32[1,a]", 8, "a size must be a number, not `a`"),
        ("x=f32[1 3]", 8, "expected `]` or `,` after a size"),
        ("x=f99[1]", 2, "no element type `f99`"),
        ("x=abc", 2, "`abc` is not a value"),
        ("x=", 2, "a value is missing"),
        ("", 0, "a value is missing"),
        ("x=f32[1]<", 9, "expected a number that values stay below"),
        ("x=i64[1]<2.5", 9, "an i64 tensor cannot hold 2.5"),
        ("x=i64[1]>=5<5", 8, "the range is empty"),
        ("x=f32[1] f32[2]", 9, "did not expect `f32[2]`"),
        ("x='a", 2, "the closing quote is missing"),
        ("x=@", 3, "the name of a file is missing"),
        ("x=(f32[1]", 9, "expected `)`"),
        ("x={a f32[1]}", 5, "expected `:`"),
        ("x=f32", 5, "expected `[`"),
        ("x=f32[99999999999999999999]", 6, "too large for a size"),
        (f"x=f32[{'9' * 5000}]", 6, "too many digits"),
        (f"x=i64[1]<{'9' * 5000}", 9, "too many digits"),
        ("x=i64[1]<99999999999999999999", 9, "an i64 tensor cannot hold"),
        ("x=f32[1]<inf", 8, "the bounds of a range must be finite"),
        ("x=f32[\u0662]", 6, "expected a size"),
        (f"x={'(' * 3000}", 66, "nested more than 64 deep"),
    ],
)
def test_errors_point_at_the_character(text: str, column: int, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse_input(text)
    diagnostic = caught.value.diagnostic
    assert diagnostic.code == "PTC-L020"
    assert message in diagnostic.message
    assert diagnostic.notes[-1].index("^") - 2 == column
    assert diagnostic.hint


@pytest.mark.parametrize(
    "text, dims",
    [
        ("x:0=batch", [("x", 0, "batch", 1, None, None)]),
        ("x:0=batch[1..64]", [("x", 0, "batch", 1, 64, None)]),
        ("x:0=b[2..],1=s", [("x", 0, "b", 2, None, None), ("x", 1, "s", 1, None, None)]),
        ("encode:x:1=n", [("x", 1, "n", 1, None, "encode")]),
        ("batch.ids:1=n", [("batch.ids", 1, "n", 1, None, None)]),
    ],
)
def test_dynamic(text: str, dims: list[tuple[object, ...]]) -> None:
    ranged = [f"{fields[2]}[" in text for fields in dims]
    expected = tuple(
        DimSpec(*fields, text=text, ranged=known)  # type: ignore[misc]
        for fields, known in zip(dims, ranged, strict=True)
    )
    assert parse_dynamic(text) == expected


@pytest.mark.parametrize(
    "text, column",
    [
        ("x", 1),
        ("x:", 2),
        ("x:0", 3),
        ("x:0=", 4),
        ("x:0=b[5..2]", 6),
        ("x:0=b[1..99999999999999999999]", 9),
        ("0=b", 0),
    ],
)
def test_dynamic_errors(text: str, column: int) -> None:
    with pytest.raises(CompileError) as caught:
        parse_dynamic(text)
    assert caught.value.code == "PTC-L030"
    assert caught.value.diagnostic.notes[-1].index("^") - 2 == column


@given(st.text(alphabet="xf32i64[](){},=<>.:@'\"# -1a", max_size=14))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Neither another exception nor an endless loop, whatever is typed."""
    for parse in (parse_input, parse_dynamic):
        try:
            parse(text)
        except CompileError as error:
            assert error.diagnostic.notes
