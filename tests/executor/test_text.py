"""The executor's reader and printer of texts: what is sound prints as it was, what is not is
refused with its line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ptc.executor.build import build
from ptc.executor.session import Model
from ptc.support.diagnostics import CompileError
from tests.executor.files import graph, package

SOUND = graph(
    '%0 : f32[s0, 2*s0 + 1, (s1 // 2)] = user "x"',
    '%1 : int{s1} = scalar "n\\u00e9\\ud83d\\ude00\\ud800"',
    '%2 : bf16[2] = parameter "w.\\"q\\"\\\\\\n"',
    '%3 : (f32[s0], i64[u0 + 1]) = aten::max.dim(%0, -1, False)  # "/a b.py":12 "x = y  # z"',
    "%4 : f32[s0] = prim::element(%3, 0)",
    "%5 : f32[min(s0, 3), max(s0, s1 - 4)] = aten::full([1, -1, s0 % 3], 1e-05, dtype(f32), None)",
    '%6 : none = a::b.c([], [[%1], [None, True]], inf, -inf, nan, 1.0, -0.0, 1e+16, "\\u007f~")',
    '%7 : bool = scalar::lt(%1, 3)  # "f.py":3 ""',
    '%8 : float = x::y(layout("strided"), memory_format("channels_last"), -s0, -2*s0, 5e-324)',
    "%9 : int = x::y(-9223372036854775808, 9223372036854775807, 0.1, 123456789.125, 1e+22)",
    'return %4 "scores"',
    'return %0 "same" alias 0',
    'return 2*s0 - 1 "count"',
    'write %0 0 "x"',
    dims=('dim s0 "batch" 2 64', 'dim s1 "n" -5 inf'),
)


def printed(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = folder / "text.ptir"
    path.write_bytes(package(text))
    command = [str(build().program), str(path), "--print"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_sound_text_prints_as_it_was(tmp_path: Path) -> None:
    done = printed(SOUND, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == SOUND.replace("\\u007f", "\x7f")


BAD = {
    "newer": ("ptir 3\n", "line 1: version 3"),
    "no end": (graph('return 1 "a"')[:-2], "the text ends too early"),
    "rest": (graph() + "x\n", "line 4: text after the end"),
    "repeated symbol": (graph(dims=('dim s "a" 1 2', 'dim s "b" 1 2')), "line 3: bad or repeated"),
    "empty range": (graph(dims=('dim s "a" 3 2',)), "line 2: empty range"),
    "order": (graph('%1 : f32[2] = user "x"'), "line 3: %1 is defined where %0"),
    "late input": (graph("%0 : int = a::b()", '%1 : f32[2] = user "x"'), "line 4: an input after"),
    "use before definition": (graph("%0 : int = a::b(%0)"), "line 3: %0 is used before"),
    "unknown symbol": (graph('%0 : f32[q] = user "x"'), "line 3: unknown symbol `q`"),
    "symbol in an argument": (graph("%0 : int = a::b(q)"), "line 3: unknown symbol `q`"),
    "unknown type": (graph('%0 : f33[2] = user "x"'), "line 3: unknown type `f33`"),
    "kind": (graph('%0 : f32[2] = guest "x"'), "line 3: `guest` is neither"),
    "named argument": (graph("%0 : int = a::b(x=1)"), "line 3"),
    "open string": (graph('%0 : f32[2] = user "x'), "line 3: a string without end"),
    "no ASCII": (graph('%0 : f32[2] = user "\u00e9"'), "line 3: a byte of 195"),
    "bad escape": (graph('%0 : f32[2] = user "\\q"'), "line 3: malformed string"),
    "deep list": (graph(f"%0 : int = a::b({'[' * 20}{']' * 20})"), "line 3: nested too deep"),
    "deep type": (graph(f"%0 : {'(' * 20}{')' * 20} = a::b()"), "line 3: nested too deep"),
    "deep size": (graph(f"%0 : int = a::b({'(' * 30}1{')' * 30})"), "line 3"),
    "long size": (graph(f"%0 : int = a::b({'+'.join('1' * 600)})"), "line 3: a size expression is"),
    "large int": (graph("%0 : int = a::b(9223372036854775808)"), "line 3: a number beyond"),
    "alias": (graph('return 1 "x" alias 0'), "line 3: there is no input 0"),
    "write": (graph('write 1 0 "x"'), "line 3: there is no input 0"),
    "many dimensions": (graph(f"%0 : f32[{', '.join('1' * 80)}] = a::b()"), "line 3: more than"),
    "tuple input": (graph('%0 : (int) = user "x"'), "line 3: an input cannot be a tuple"),
}


@pytest.mark.parametrize("name", BAD)
def test_unsound_text_is_refused(name: str) -> None:
    text, message = BAD[name]
    with pytest.raises(CompileError) as error:
        Model(package(text))
    assert error.value.diagnostic.code == "PTC-E010"
    assert message in error.value.diagnostic.message


def test_unknown_operator_is_refused_when_the_file_is_opened() -> None:
    with pytest.raises(CompileError) as error:
        Model(package(graph("%0 : int = aten::no_such_thing()")))
    assert error.value.diagnostic.code == "PTC-R042"
    assert "line 3: there is no operator `aten::no_such_thing`" in error.value.diagnostic.message
