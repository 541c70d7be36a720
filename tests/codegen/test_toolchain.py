"""Finding a compiler, building, the object cache, and what users see when these fail."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ptc.codegen import toolchain
from ptc.codegen.object_cache import ObjectCache
from ptc.codegen.sources import Sources, Unit
from ptc.codegen.target import Target, parse_target
from ptc.support import settings
from ptc.support.diagnostics import CompileError, InternalError

ANSWER = 'extern "C" __attribute__((visibility("default"))) int answer(void) { return %d; }\n'


TARGETS = (
    "x86_64-linux-gnu", "x86_64-linux-musl", "aarch64-linux-gnu", "x86_64-windows-gnu",
    "aarch64-macos",
)  # fmt: skip


def sources(value: int = 42, units: int = 1) -> Sources:
    extra = tuple(
        Unit(f"u{i}.cpp", f"int unused{i}(int x) {{ return x + {i}; }}\n") for i in range(1, units)
    )
    return Sources("tiny", (Unit("u0.cpp", ANSWER % value), *extra))


def answer(path: Path) -> int:
    import ctypes

    return ctypes.CDLL(str(path)).answer()


def test_builds_and_caches(tmp_path: Path) -> None:
    first = toolchain.build(sources(units=3), Target(), cache=tmp_path)
    assert (answer(first.library), first.compiled, first.reused) == (42, 3, 0)
    again = toolchain.build(sources(units=3), Target(), cache=tmp_path)
    assert (again.library, again.compiled, again.reused) == (first.library, 0, 3)
    changed = toolchain.build(sources(43, units=3), Target(), cache=tmp_path)
    assert (answer(changed.library), changed.compiled, changed.reused) == (43, 1, 2)


def test_flags_are_part_of_the_key(tmp_path: Path) -> None:
    toolchain.build(sources(), Target(), cache=tmp_path)
    other = toolchain.build(sources(), parse_target("x86_64-linux-gnu+avx2"), cache=tmp_path)
    assert other.compiled == 1


def test_headers_are_part_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = tmp_path / "runtime"
    headers.mkdir()
    (headers / "a.h").write_text('#include "b.h"\n')
    (headers / "b.h").write_text("#define N 1\n")
    monkeypatch.setattr(toolchain, "RUNTIME_DIR", headers)
    text = '#include "a.h"\n' + ANSWER.replace("%d", "N")
    built = toolchain.build(Sources("tiny", (Unit("u.cpp", text),)), Target(), cache=tmp_path)
    assert answer(built.library) == 1
    (headers / "b.h").write_text("#define N 2\n")
    os.utime(headers / "b.h", ns=(time.time_ns(), time.time_ns() + 10))
    built = toolchain.build(Sources("tiny", (Unit("u.cpp", text),)), Target(), cache=tmp_path)
    assert answer(built.library) == 2


def test_damaged_entries_are_not_used(tmp_path: Path) -> None:
    built = toolchain.build(sources(), Target(), cache=tmp_path)
    built.library.write_bytes(b"")
    assert answer(toolchain.build(sources(), Target(), cache=tmp_path).library) == 42
    for spoil in (lambda data: data[:-1], lambda data: data[:900] + b"\xff" + data[901:]):
        for path in [*tmp_path.rglob("*.o"), *tmp_path.rglob("*.so")]:
            content = path.read_bytes()
            path.unlink()  # a library that this process has loaded keeps its bytes
            path.write_bytes(spoil(content))
        again = toolchain.build(sources(), Target(), cache=tmp_path)
        assert again.compiled == 1 and answer(again.library) == 42


def test_concurrent_builds(tmp_path: Path) -> None:
    def build(_: int) -> Path:
        return toolchain.build(sources(), Target(), cache=tmp_path).library

    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(build, range(8)))
    assert {answer(p) for p in paths} == {42}
    assert not list(tmp_path.rglob(".*.*")), "temporary files left"


def test_unwritable_cache_still_builds(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert answer(toolchain.build(sources(), Target(), cache=blocked).library) == 42


def test_cache_is_bounded(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path, limit=2500)
    for number in range(4):
        path = cache.store(f"{number}" * 8, ".o", bytes(968))
        assert path is not None
        os.utime(path, (number, number))
    cache.find("0" * 8, ".o")  # the oldest becomes the newest
    assert cache.trim() == 2000
    assert cache.find("0" * 8, ".o") and cache.find("3" * 8, ".o")
    assert not cache.find("1" * 8, ".o")


def test_no_compiler() -> None:
    with settings.overridden(compiler="/nowhere/g++"), pytest.raises(CompileError) as error:
        toolchain.find_compiler()
    assert error.value.code == "PTC-C001"
    assert "`/nowhere/g++` (from PTC_CXX or CXX) cannot be run" in str(error.value)
    assert "PTC_CXX" in error.value.diagnostic.hint


def test_no_compiler_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain, "_zig_command", lambda: None)
    toolchain._find_compiler.cache_clear()
    try:
        with (
            settings.overridden(compiler=None),
            pytest.raises(CompileError, match="no C\\+\\+ compiler"),
        ):
            toolchain.find_compiler()
    finally:
        toolchain._find_compiler.cache_clear()


def test_compiler_with_arguments(tmp_path: Path) -> None:
    with settings.overridden(compiler="g++ -DUNUSED=1"):
        assert answer(toolchain.build(sources(), Target(), cache=tmp_path).library) == 42


def test_bad_source_is_our_fault(tmp_path: Path) -> None:
    bad = Sources("tiny", (Unit("u.cpp", "int f( { return nonsense; }\n"),))
    with pytest.raises(InternalError) as error:
        toolchain.build(bad, Target(), cache=tmp_path)
    message = str(error.value)
    assert "stage codegen" in message and "error:" in message
    dump = message.split("(dump: ")[1].split(")")[0]
    assert (Path(dump) / "u.cpp").read_text() == bad.units[0].text


def test_undefined_symbols_are_found(tmp_path: Path) -> None:
    bad = Sources("tiny", (Unit("u.cpp", "int missing(int); int f() { return missing(1); }\n"),))
    with pytest.raises(InternalError, match="undefined"):
        toolchain.build(bad, Target(), cache=tmp_path)


def test_full_disk(tmp_path: Path) -> None:
    """A wrapper that fails as compilers do on a full disk."""
    wrapper = tmp_path / "g++"
    wrapper.write_text(
        f"#!{sys.executable}\n"
        "import sys, subprocess\n"
        "if '-c' in sys.argv:\n"
        "    sys.exit('fatal error: error writing to /tmp/x.s: No space left on device')\n"
        "sys.exit(subprocess.call(['/usr/bin/g++', *sys.argv[1:]]))\n"
    )
    wrapper.chmod(0o755)
    with settings.overridden(compiler=str(wrapper)), pytest.raises(CompileError) as error:
        toolchain.build(sources(), Target(), cache=tmp_path)
    assert error.value.code == "PTC-C003"
    assert "No space left on device" in str(error.value)


@pytest.mark.parametrize(
    "text", ["riscv64", "x86_64-linux-gnu+neon", "aarch64-linux-gnu+avx2", "+"]
)
def test_unknown_targets(text: str) -> None:
    with pytest.raises(CompileError) as error:
        parse_target(text)
    assert error.value.code == "PTC-C002"


def test_targets() -> None:
    assert parse_target("x86_64-linux-gnu+avx512").lanes == 16
    assert parse_target("x86_64-linux-gnu").features == ()
    assert str(parse_target("aarch64-linux-gnu")) == "aarch64-linux-gnu+neon"
    native = toolchain.resolve(parse_target("native"))
    assert native.lanes in (4, 8, 16) and str(native) == "native"


def test_readelf_is_lean(tmp_path: Path) -> None:
    built = toolchain.build(sources(), Target(), cache=tmp_path)
    text = subprocess.run(
        ["readelf", "-dW", built.library], capture_output=True, text=True, check=True
    )
    assert "libstdc++" not in text.stdout and "libgcc" not in text.stdout


@pytest.mark.slow
@pytest.mark.parametrize("target", ["aarch64-linux-gnu", "x86_64-linux-musl+avx2"])
def test_other_platforms_with_zig(tmp_path: Path, target: str) -> None:
    ziglang = pytest.importorskip("ziglang")
    command = f"{Path(ziglang.__file__).parent / 'zig'} c++"
    with settings.overridden(compiler=command):
        built = toolchain.build(sources(), parse_target(target), cache=tmp_path)
    text = subprocess.run(["file", built.library], capture_output=True, text=True, check=True)
    assert target.split("-")[0].replace("_", "-") in text.stdout


@pytest.mark.parametrize(
    "machine, target",
    [
        ("x86_64-linux-gnu", "x86_64-linux-gnu"),
        ("x86_64-pc-linux-gnu", "x86_64-linux-gnu"),
        ("x86_64-redhat-linux", "x86_64-linux-gnu"),
        ("x86_64-alpine-linux-musl", "x86_64-linux-musl"),
        ("aarch64-linux-gnu", "aarch64-linux-gnu"),
        ("x86_64-w64-mingw32", "x86_64-windows-gnu"),
        ("arm64-apple-darwin23.1.0", "aarch64-macos"),
        ("aarch64-apple-darwin23", "aarch64-macos"),
    ],
)
def test_what_a_compiler_builds_for(
    monkeypatch: pytest.MonkeyPatch, machine: str, target: str
) -> None:
    monkeypatch.setattr(toolchain, "_machine_of", lambda compiler: machine)
    compiler = toolchain.Compiler(("c++",), "a compiler", False)
    platforms = {t: parse_target(t).platform for t in TARGETS}
    found = [t for t, platform in platforms.items() if toolchain._builds_for(compiler, platform)]
    assert found == [target]


def test_another_platform_without_a_compiler_for_it(tmp_path: Path) -> None:
    with settings.overridden(compiler="g++"), pytest.raises(CompileError) as error:
        toolchain.build(sources(), parse_target("aarch64-linux-gnu"), cache=tmp_path)
    assert error.value.code == "PTC-C005"
