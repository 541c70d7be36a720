"""Building: C++ sources to a shared library with the compiler found on this machine.

Takes `Sources` and a `Target`, gives the path of a library in the cache. Owns the search for a
compiler, its flags, parallel compilation, the cache keys and the wording of build failures. Must
not know what the sources compute.
"""

from __future__ import annotations

import errno
import hashlib
import importlib
import json
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from ptc.codegen.compilers import Compilers
from ptc.codegen.object_cache import ObjectCache
from ptc.codegen.sources import Sources, Unit
from ptc.codegen.target import FEATURE_MACROS, Target
from ptc.support import settings
from ptc.support.diagnostics import CompileError, InternalError

RUNTIME_DIR = Path(__file__).resolve().parent.parent / "runtime"

_COMMON_FLAGS = (
    "-std=c++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-ffp-contract=fast",
    "-fno-asynchronous-unwind-tables",
    "-fno-plt",
    "-g0",
    "-pipe",  # no files beside the build's folder
    "-Wno-psabi",
    "-Wno-unknown-warning-option",
    "-Wno-ignored-optimization-argument",
)
_LINK_FLAGS = ("-shared", "-Wl,--as-needed", "-Wl,-z,noexecstack", "-Wl,--no-undefined")
_SEARCH = ("g++", "clang++", "c++")
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_NO_COMPILER_HINT = "install g++ or clang++, or `pip install ptc[zig]`, or set PTC_CXX"


@dataclass(frozen=True, slots=True)
class Compiler:
    """A working compiler: how to call it and what it is (part of every cache key)."""

    command: tuple[str, ...]
    identity: str
    is_clang: bool


@dataclass(frozen=True, slots=True)
class BuildResult:
    """The library and how it came about."""

    library: Path
    compiled: int  # translation units compiled, not taken from the cache
    reused: int


def find_compiler() -> Compiler:
    """The compiler of the settings, else the first found. PTC-C001 when there is none."""
    return _find_compiler(settings.current().compiler)


@lru_cache(maxsize=8)
def _find_compiler(wanted: str | None) -> Compiler:
    if wanted is not None:
        try:
            command = tuple(shlex.split(wanted))
        except ValueError:  # a quote that is not closed
            command = ()
        compiler = _probe(command) if command and shutil.which(command[0]) else None
        if compiler is None:
            raise CompileError(
                "PTC-C001",
                f"the C++ compiler `{wanted}` (from PTC_CXX or CXX) cannot be run",
                hint=_NO_COMPILER_HINT,
            )
        return compiler
    for name in _SEARCH:
        if shutil.which(name) and (compiler := _probe((name,))):
            return compiler
    if (zig := _zig_command()) and (compiler := _probe(zig)):
        return compiler
    raise CompileError(
        "PTC-C001",
        f"no C++ compiler found, looked for {', '.join(_SEARCH)} and ziglang",
        hint=_NO_COMPILER_HINT,
    )


def _zig_command() -> tuple[str, ...] | None:
    try:
        package = importlib.import_module("ziglang")  # an optional extra
    except ImportError:
        return None
    binary = Path(str(package.__file__)).parent / "zig"
    return (str(binary), "c++") if binary.exists() else None


def _probe(command: Sequence[str]) -> Compiler | None:
    try:
        done = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0 or not done.stdout:
        return None
    return Compiler(tuple(command), done.stdout.strip(), "clang" in done.stdout.lower())


def resolve(target: Target) -> Target:
    """`target` with vector width and CPU features filled in; `native` asks the compiler once."""
    if target.isa != "native" or target.vector_bytes:
        return target
    macros = _native_macros(find_compiler(), cpu_model())
    wide = {"__AVX512F__", "__AVX512VL__", "__AVX512BW__", "__AVX512DQ__"} <= macros
    vector_bytes = 64 if wide else 32 if "__AVX__" in macros else 16
    features = tuple(name for macro, name in FEATURE_MACROS.items() if macro in macros)
    triple = "aarch64-linux-gnu" if "__aarch64__" in macros else "x86_64-linux-gnu"
    return replace(target, triple=triple, vector_bytes=vector_bytes, features=features)


def runs_here(target: Target) -> bool:
    """Whether this machine can run code for a resolved `target`."""
    here = resolve(Target())
    return target.triple == here.triple and set(target.features) <= set(here.features)


def _unusable(compiler: Compiler, why: str) -> CompileError:
    return CompileError(
        "PTC-C001",
        f"the C++ compiler `{' '.join(compiler.command)}` {why}",
        hint=_NO_COMPILER_HINT,
    )


@lru_cache(maxsize=8)
def _native_macros(compiler: Compiler, cpu: str) -> frozenset[str]:
    """Names of the macros predefined with -march=native. `cpu` only keys the cache."""
    done = subprocess.run(
        [*compiler.command, "-march=native", "-dM", "-E", "-x", "c++", "/dev/null"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode != 0:
        reason = done.stderr.strip().partition("\n")[0] or f"exit status {done.returncode}"
        raise _unusable(compiler, f"cannot say what it compiles for: {reason}")
    return frozenset(line.split()[1] for line in done.stdout.splitlines() if line)


@lru_cache(maxsize=1)
def cpu_model() -> str:
    """What distinguishes this machine's CPU: `-march=native` objects must not travel with a
    cache."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "unknown"
    wanted = ("model name", "flags", "Features", "CPU part")
    seen: dict[str, str] = {}
    for line in lines:
        key = line.partition(":")[0].strip()
        if key in wanted and key not in seen:
            seen[key] = line
    return "\n".join(seen.values())


# --- building -----------------------------------------------------------------------------------


def build(
    sources: Sources,
    target: Target,
    *,
    cache: Path | None = None,
    jobs: int | None = None,
    optimise: str = "-O2",
) -> BuildResult:
    """Compile and link. `cache` defaults to the settings' folder, `jobs` to the settings' number.

    Errors: PTC-C001 without a compiler, PTC-C003 when the disk is full or not writable; a source
    that does not compile is an InternalError that names a folder with the sources.
    """
    current = settings.current()
    compiler = find_compiler()
    target = resolve(target)
    store = ObjectCache((cache or current.cache_dir) / "objects")
    keys = [_unit_key(unit, target, compiler, optimise) for unit in sources.units]
    library_key = _digest("library", sources.name, *keys)
    if found := store.find(library_key, ".so"):
        return BuildResult(found, 0, len(keys))
    try:
        return _build(
            sources, target, compiler, store, keys, library_key, jobs or current.jobs, optimise
        )
    except OSError as error:
        raise _disk_error(error) from error


def _build(
    sources: Sources,
    target: Target,
    compiler: Compiler,
    store: ObjectCache,
    keys: Sequence[str],
    library_key: str,
    jobs: int,
    optimise: str,
) -> BuildResult:
    with tempfile.TemporaryDirectory(prefix="ptc-build-") as name:
        folder = Path(name)
        objects: dict[str, Path] = {}
        missing: list[tuple[Unit, str]] = []
        for unit, key in zip(sources.units, keys, strict=True):
            if found := store.find(key, ".o"):
                objects[key] = found
            elif key not in {k for _, k in missing}:
                missing.append((unit, key))
        missing.sort(key=lambda pair: -pair[0].cost)

        compilers = Compilers()

        def compile_one(pair: tuple[Unit, str]) -> tuple[str, Path]:
            unit, key = pair
            path = _compile_unit(unit, target, compiler, folder, optimise, compilers)
            return key, store.store(key, ".o", path.read_bytes()) or path

        objects.update(compilers.map(compile_one, missing, jobs))
        library = _link(sources, compiler, target, folder, [objects[key] for key in keys])
        data = library.read_bytes()
        cached = store.store(library_key, ".so", data)
        if cached is None:
            # Without a cache the library must outlive this folder.
            kept = Path(tempfile.mkdtemp(prefix="ptc-library-")) / f"lib{sources.name}.so"
            kept.write_bytes(data)
            cached = kept
        return BuildResult(cached, len(missing), len(keys) - len(missing))


def _compile_unit(
    unit: Unit,
    target: Target,
    compiler: Compiler,
    folder: Path,
    optimise: str,
    compilers: Compilers,
) -> Path:
    source = folder / unit.name
    source.write_text(unit.text)
    output = source.with_suffix(".o")
    flags = _unit_flags(unit, target, compiler, optimise)
    command = [*compiler.command, *flags, "-I", str(RUNTIME_DIR), "-c", str(source), "-o"]
    done = compilers.run([*command, str(output)])
    if done.returncode != 0:
        raise _failure("compiler", [*command, str(output)], done.stderr, folder)
    if not output.is_file():
        raise _unusable(compiler, "reports success but writes no object file")
    return output


def _link(
    sources: Sources, compiler: Compiler, target: Target, folder: Path, objects: Iterable[Path]
) -> Path:
    library = folder / f"lib{sources.name}.so"
    command = [
        *_link_driver(compiler),
        *_platform_flags(target, compiler),
        *_LINK_FLAGS,
        f"-Wl,-soname,lib{sources.name}.so",
        "-o",
        str(library),
        *[str(path) for path in objects],
        "-lm",
        *(("-lpthread",) if target.threads else ()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise _failure("linker", command, done.stderr, folder)
    return library


def _link_driver(compiler: Compiler) -> tuple[str, ...]:
    """The C driver of the same compiler: g++ would add libstdc++, for which nothing here has a
    use."""
    head, *rest = compiler.command
    if rest == ["c++"] and Path(head).name == "zig":
        return (head, "cc")
    name = Path(head).name
    for cxx, cc in (("clang++", "clang"), ("g++", "gcc"), ("c++", "cc")):
        if cxx in name:
            driver = str(Path(head).with_name(name.replace(cxx, cc)))
            if shutil.which(driver):
                return (driver, *rest, *(("-static-libgcc",) if cc != "clang" else ()))
    return (*compiler.command, "-nodefaultlibs", "-lc", "-lm", "-lgcc")


def _unit_flags(unit: Unit, target: Target, compiler: Compiler, optimise: str) -> tuple[str, ...]:
    if unit.baseline:
        # The host's code is not worth the optimiser's time.
        return ("-O1", *_COMMON_FLAGS, *_platform_flags(target, compiler))
    return (optimise, *_COMMON_FLAGS, *_target_flags(target, compiler))


def _target_flags(target: Target, compiler: Compiler) -> tuple[str, ...]:
    flags = target.flags
    if Path(compiler.command[0]).name == "zig":
        # zig knows the levels as CPUs, and spells them its own way.
        flags = tuple(f.replace("-march=x86-64-", "-mcpu=x86_64_") for f in flags)
    return (*_platform_flags(target, compiler), *flags)


def _platform_flags(target: Target, compiler: Compiler) -> tuple[str, ...]:
    """The platform, for compilers that build for several; others build for this machine only."""
    if target.isa == "native":
        return ()
    if Path(compiler.command[0]).name == "zig":
        return ("-target", target.triple)
    if not target.triple.startswith(platform.machine()):
        raise CompileError(
            "PTC-C005",
            f"the compiler `{' '.join(compiler.command)}` builds for {platform.machine()}, "
            f"not for {target.triple}",
            hint="`pip install ptc[zig]` and set PTC_CXX to its `zig c++`, or to a cross compiler",
        )
    return ("--target=" + target.triple,) if compiler.is_clang else ()


# --- keys ---------------------------------------------------------------------------------------


def _unit_key(unit: Unit, target: Target, compiler: Compiler, optimise: str) -> str:
    flags = _unit_flags(unit, target, compiler, optimise)
    machine = cpu_model() if "-march=native" in flags else ""
    return _digest(
        "object",
        _without_comments(unit.text),
        json.dumps([*compiler.command, *flags]),
        compiler.identity,
        machine,
        *header_digests(unit.text),
    )


def _without_comments(text: str) -> str:
    """Comment lines name the user's lines, which move while the code stays the same."""
    return "\n".join(x for x in text.split("\n") if not x.lstrip().startswith("//"))


def _digest(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.hexdigest()


def header_digests(text: str) -> list[str]:
    """`name digest` of every runtime header that `text` includes, directly or not."""
    pending = _INCLUDE.findall(text)
    seen: dict[str, str] = {}
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        path = RUNTIME_DIR / name
        if not path.exists():
            continue
        digest, included = _header(path, path.stat().st_mtime_ns)
        seen[name] = digest
        pending.extend(included)
    return [f"{name} {digest}" for name, digest in sorted(seen.items())]


@lru_cache(maxsize=256)
def _header(path: Path, modified: int) -> tuple[str, tuple[str, ...]]:
    text = path.read_text()
    return hashlib.sha256(text.encode()).hexdigest(), tuple(_INCLUDE.findall(text))


# --- failures -----------------------------------------------------------------------------------


def _failure(
    what: str, command: Sequence[str], stderr: str, folder: Path
) -> CompileError | InternalError:
    if "No space left on device" in stderr:
        return _disk_error(OSError(errno.ENOSPC, "No space left on device", str(folder)))
    kept = tempfile.mkdtemp(prefix="ptc-failed-")
    try:
        for path in folder.iterdir():
            if path.suffix in (".cpp", ".h"):
                shutil.copy(path, kept)
    except OSError as error:
        shutil.rmtree(kept, ignore_errors=True)
        return _disk_error(error)
    lines = [line for line in stderr.splitlines() if "error" in line or "undefined" in line]
    detail = "\n".join(lines[:6] or stderr.splitlines()[:6])
    return InternalError("codegen", f"the {what} refused generated code:\n{detail}\n"
                         f"command: {shlex.join(command)}", dump=kept)  # fmt: skip


def _disk_error(error: OSError) -> CompileError:
    where = error.filename or "the temporary folder"
    return CompileError(
        "PTC-C003",
        f"cannot write {where}: {error.strerror or error}",
        hint="free some space, or point PTC_CACHE_DIR and TMPDIR at another disk",
    )
