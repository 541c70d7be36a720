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
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from ptc.codegen.compilers import Compilers
from ptc.codegen.object_cache import ObjectCache
from ptc.codegen.sources import Sources, Unit
from ptc.codegen.target import FEATURE_MACROS, Platform, Target
from ptc.support import settings
from ptc.support.diagnostics import CompileError, InternalError

RUNTIME_DIR = Path(__file__).resolve().parent.parent / "runtime"

#: How every unit is compiled.
COMMON_FLAGS = (
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
#: Flags that say how code gets into shared libraries of ELF.
ELF_FLAGS = ("-fPIC", "-fno-plt", "-fvisibility=hidden")
LINK_FLAGS = {
    "linux": ("-shared", "-Wl,--as-needed", "-Wl,-z,noexecstack", "-Wl,--no-undefined"),
    "windows": ("-shared",),
    "macos": ("-shared",),
}
_SEARCH = ("g++", "clang++", "c++")
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_NO_COMPILER_HINT = "install g++ or clang++, or `pip install ptc[zig]`, or set PTC_CXX"


@dataclass(frozen=True, slots=True)
class Compiler:
    """A working compiler: how to call it and what it is (part of every cache key)."""

    command: tuple[str, ...]
    identity: str
    is_clang: bool

    @property
    def is_zig(self) -> bool:
        return Path(self.command[0]).name in ("zig", "zig.exe")


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


def compiler_for(target: Target) -> Compiler:
    """A compiler that builds for a resolved `target`.

    The one that `find_compiler` gives if it can, else a cross compiler by its usual name, else zig.
    PTC-C005 where there is none, or where the settings name one that cannot.
    """
    if target.isa == "native":
        return find_compiler()
    wanted = settings.current().compiler
    found = find_compiler()
    if _builds_for(found, target.platform):
        return found
    cross = target.platform.cross_compiler
    if wanted is None and cross and shutil.which(cross) and (compiler := _probe((cross,))):
        return compiler
    if wanted is None and (zig := _zig_command()) and (compiler := _probe(zig)):
        return compiler
    builds = f"builds for {_machine_of(found)}"
    raise CompileError(
        "PTC-C005",
        f"the compiler `{' '.join(found.command)}` {builds}, not for {target.triple}",
        hint="`pip install ptc[zig]`, "
        + (f"install `{cross}`, " if cross else "")
        + ("or unset PTC_CXX" if wanted is not None else "or set PTC_CXX to a cross compiler"),
    )


def _builds_for(compiler: Compiler, platform: Platform) -> bool:
    if compiler.is_zig:
        return True
    parts = _machine_of(compiler).split("-")  # x86_64-linux-gnu, x86_64-pc-linux-gnu
    if parts[0].replace("arm64", "aarch64") != platform.machine:
        return False
    match platform.system:
        case "linux":
            # Some have no word for glibc: x86_64-redhat-linux.
            libc = "musl" if parts[-1].startswith("musl") else "gnu"
            return "linux" in parts and libc == platform.triple.split("-")[2]
        case "windows":
            return "mingw32" in parts or "windows" in parts
        case _:
            return parts[-1].startswith("darwin")


@lru_cache(maxsize=8)
def _machine_of(compiler: Compiler) -> str:
    """The triple that the compiler builds for by itself."""
    command = [*compiler.command, "-dumpmachine"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip() or "an unknown machine"


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

    Errors: PTC-C001 without a compiler, PTC-C003 when the disk is full or not writable, PTC-C005
    without a compiler for the target; a source that does not compile is an InternalError that names
    a folder with the sources.
    """
    job = _Job(sources, resolve(target), cache, jobs, optimise)
    library_key = digest_of("library", sources.name, *job.keys)
    suffix = Path(job.target.platform.library).suffix
    if found := job.store.find(library_key, suffix):
        return BuildResult(found, 0, len(job.keys))
    with job.folder() as folder:
        objects, compiled = job.objects(folder)
        library = folder / job.target.platform.library.format(sources.name)
        job.link(objects, library, folder)
        data = library.read_bytes()
        cached = job.store.store(library_key, suffix, data)
        if cached is None:
            # Without a cache the library must outlive this folder.
            cached = Path(tempfile.mkdtemp(prefix="ptc-library-")) / library.name
            cached.write_bytes(data)
        return BuildResult(cached, compiled, len(job.keys) - compiled)


def build_at(
    sources: Sources,
    target: Target,
    library: Path,
    *,
    image: tuple[Unit, Path] | None = None,
    archive: Path | None = None,
    jobs: int | None = None,
) -> None:
    """Compile and link to `library`; with `archive`, the same objects as a static one too.

    `image` is a unit that includes a file of that name. What contains it is not kept in the cache:
    it is as large as the model. Errors as for `build`.
    """
    job = _Job(sources, resolve(target), None, jobs, "-O2")
    with job.folder() as folder:
        objects, _ = job.objects(folder)
        if image is not None:
            unit, path = image
            os.symlink(path.resolve(), folder / path.name)
            objects.append(job.compile(unit, folder, Compilers(), in_folder=True))
        job.link(objects, library, folder)
        if archive is not None:
            job.archive(objects, archive, folder)


class _Job:
    """One build: its sources, compiler and keys."""

    def __init__(
        self, sources: Sources, target: Target, cache: Path | None, jobs: int | None, optimise: str
    ) -> None:
        current = settings.current()
        self.sources = sources
        self.target = target
        self.compiler = compiler_for(target)
        self.store = ObjectCache((cache or current.cache_dir) / "objects")
        self.jobs = jobs or current.jobs
        self.optimise = optimise
        self.keys = [_unit_key(unit, target, self.compiler, optimise) for unit in sources.units]

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A folder for the build; what the disk refuses is told as PTC-C003."""
        try:
            with tempfile.TemporaryDirectory(prefix="ptc-build-") as name:
                yield Path(name)
        except OSError as error:
            raise _disk_error(error) from error

    def objects(self, folder: Path) -> tuple[list[Path], int]:
        """The object file of every unit, and how many were compiled."""
        objects: dict[str, Path] = {}
        missing: list[tuple[Unit, str]] = []
        for unit, key in zip(self.sources.units, self.keys, strict=True):
            if found := self.store.find(key, ".o"):
                objects[key] = found
            elif key not in {k for _, k in missing}:
                missing.append((unit, key))
        missing.sort(key=lambda pair: -pair[0].cost)
        compilers = Compilers()

        def compile_one(pair: tuple[Unit, str]) -> tuple[str, Path]:
            unit, key = pair
            path = self.compile(unit, folder, compilers)
            return key, self.store.store(key, ".o", path.read_bytes()) or path

        objects.update(compilers.map(compile_one, missing, self.jobs))
        return [objects[key] for key in self.keys], len(missing)

    def compile(
        self, unit: Unit, folder: Path, compilers: Compilers, *, in_folder: bool = False
    ) -> Path:
        """The object file of one unit; `in_folder`: compiled there, where files lie that it
        names."""
        return _compile_unit(
            unit, self.target, self.compiler, folder, self.optimise, compilers, in_folder=in_folder
        )

    def link(self, objects: Sequence[Path], library: Path, folder: Path) -> None:
        """Link `objects` to the shared library `library`."""
        platform = self.target.platform
        command = [
            *link_driver(self.compiler),
            *platform_flags(self.target, self.compiler),
            *LINK_FLAGS[platform.system],
            *_name_flags(platform, platform.library.format(self.sources.name)),
            "-o",
            str(library),
            *[str(path) for path in objects],
            *(("-lm",) if platform.system == "linux" else ()),
            *(("-lpthread",) if self.target.threads and platform.system == "linux" else ()),
        ]
        run_linker(command, folder)

    def archive(self, objects: Sequence[Path], archive: Path, folder: Path) -> None:
        """Put `objects` into the static library `archive`, under names of their own."""
        members: list[str] = []
        for number, path in enumerate(objects):
            member = folder / f"{self.sources.name}_{number}.o"
            shutil.copyfile(path, member)
            members.append(str(member))
        run_linker([*_archiver(self.compiler), "rcs", str(archive), *members], folder)


def run_linker(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise _failure("linker", command, done.stderr, folder)


def _name_flags(platform: Platform, name: str) -> tuple[str, ...]:
    """By which name programs that link with the library ask for it."""
    match platform.system:
        case "linux":
            return (f"-Wl,-soname,{name}",)
        case "macos":
            return (f"-Wl,-install_name,@rpath/{name}",)
        case _:
            return ()


def _archiver(compiler: Compiler) -> tuple[str, ...]:
    """What makes archives of this compiler's objects."""
    head, *_ = compiler.command
    name = Path(head).name
    if name == "zig":
        return (head, "ar")
    beside = str(Path(head).with_name(name.replace("g++", "ar"))) if "g++" in name else ""
    if beside and shutil.which(beside):
        return (beside,)
    if found := shutil.which("ar"):
        return (found,)
    raise _unusable(compiler, "has no `ar` beside it, which makes static libraries")


def _compile_unit(
    unit: Unit,
    target: Target,
    compiler: Compiler,
    folder: Path,
    optimise: str,
    compilers: Compilers,
    *,
    in_folder: bool = False,
) -> Path:
    source = folder / unit.name
    source.write_text(unit.text)
    output = source.with_suffix(".o")
    flags = _unit_flags(unit, target, compiler, optimise)
    command = [*compiler.command, *flags, "-I", str(RUNTIME_DIR), "-c", str(source), "-o"]
    done = compilers.run([*command, str(output)], folder if in_folder else None)
    if done.returncode != 0:
        raise _failure("compiler", [*command, str(output)], done.stderr, folder)
    if not output.is_file():
        raise _unusable(compiler, "reports success but writes no object file")
    return output


def link_driver(compiler: Compiler) -> tuple[str, ...]:
    """The C driver of the same compiler: g++ would add libstdc++, for which nothing here has a
    use."""
    head, *rest = compiler.command
    if compiler.is_zig:
        return (head, "cc")
    name = Path(head).name
    for cxx, cc in (("clang++", "clang"), ("g++", "gcc"), ("c++", "cc")):
        if cxx in name:
            driver = str(Path(head).with_name(name.replace(cxx, cc)))
            if shutil.which(driver):
                return (driver, *rest, *(("-static-libgcc",) if cc != "clang" else ()))
    return (*compiler.command, "-nodefaultlibs", "-lc", "-lm", "-lgcc")


def _unit_flags(unit: Unit, target: Target, compiler: Compiler, optimise: str) -> tuple[str, ...]:
    common = [*COMMON_FLAGS, *platform_flags(target, compiler)]
    if target.platform.system == "windows":
        common = [flag for flag in common if flag not in ELF_FLAGS]
    common += [f"-D{define}" for define in unit.defines]
    if unit.baseline:
        # The host's code is not worth the optimiser's time.
        return ("-O1", *common)
    at = target if unit.isa is None else target.at_level(unit.isa)
    return (optimise, *common, *_isa_flags(at, compiler))


def _isa_flags(target: Target, compiler: Compiler) -> tuple[str, ...]:
    if not compiler.is_zig:
        return target.flags
    # zig knows the levels as CPUs, and spells them its own way.
    return tuple(f.replace("-march=x86-64-", "-mcpu=x86_64_") for f in target.flags)


def platform_flags(target: Target, compiler: Compiler) -> tuple[str, ...]:
    """The platform, for compilers that build for several."""
    if compiler.is_zig:
        # Without this its checks of undefined behaviour call a runtime that is not linked.
        checks = ("-fno-sanitize=undefined",)
        return checks if target.isa == "native" else ("-target", target.triple, *checks)
    if target.isa == "native" or not compiler.is_clang:
        return ()
    return ("--target=" + target.triple,)


# --- keys ---------------------------------------------------------------------------------------


def _unit_key(unit: Unit, target: Target, compiler: Compiler, optimise: str) -> str:
    flags = _unit_flags(unit, target, compiler, optimise)
    machine = cpu_model() if "-march=native" in flags else ""
    return digest_of(
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


def digest_of(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.hexdigest()


def included_headers(text: str) -> list[str]:
    """Names of every runtime header that `text` includes, directly or not."""
    return [line.partition(" ")[0] for line in header_digests(text)]


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
