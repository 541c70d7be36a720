"""Building the executor: the library `libptc_exec.so` and the program `ptc-exec`.

Compiles the C++ files of this folder with the compiler that the toolchain finds, into the object
cache; a second call gives what the first one made. Knows nothing of programs. No torch.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ptc.codegen.compilers import Compilers
from ptc.codegen.object_cache import ObjectCache, without_digest
from ptc.codegen.target import Target
from ptc.codegen.toolchain import RUNTIME_DIR, Compiler, cpu_model, find_compiler, resolve
from ptc.support import settings
from ptc.support.diagnostics import InternalError
from ptc.support.dumps import write_atomically

SOURCE_DIR = Path(__file__).resolve().parent
#: What a host's program includes.
HEADERS = (SOURCE_DIR / "ptc_exec.h", RUNTIME_DIR / "ptc_abi.h")

_FLAGS = (
    "-std=c++17",
    "-O2",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-ffp-contract=fast",  # ptc_math.h relies on it
    "-fno-plt",
    "-g0",
    "-pipe",
    "-Wno-psabi",
)
_LINK_FLAGS = (
    "-static-libstdc++",
    "-static-libgcc",
    "-Wl,--as-needed",
    "-Wl,--gc-sections",
    "-Wl,-z,noexecstack",
    "-Wl,--exclude-libs,ALL",
    "-Wl,-s",
)
#: What the library shows: templates of the standard library would meet those of other libraries.
_EXPORTS = "{ global: ptc_exec_*; local: *; };\n"
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_MAIN = "main.cpp"


@dataclass(frozen=True, slots=True)
class Executor:
    """The two files that a build makes."""

    library: Path
    program: Path


def sources() -> tuple[Path, ...]:
    """The C++ files of the executor."""
    return tuple(sorted((*SOURCE_DIR.glob("*.cpp"), *SOURCE_DIR.glob("operators/*.cpp"))))


def build(target: Target | None = None, *, sanitize: bool = False) -> Executor:
    """Library and program for `target` (default: this machine), from the cache where nothing has
    changed. `sanitize`: with AddressSanitizer and UBSan, for tests.

    Raises CompileError PTC-C001 without a compiler.
    """
    compiler = find_compiler()
    resolved = resolve(target or Target())
    flags = (*_FLAGS, *resolved.flags, *(_SANITIZERS if sanitize else ()))
    current = settings.current()
    store = ObjectCache(current.cache_dir / "executor")
    machine = cpu_model() if resolved.isa == "native" else ""
    keys = {
        path: _key(path, (*compiler.command, *flags), compiler.identity, machine)
        for path in sources()
    }
    linking = (*keys.values(), *_LINK_FLAGS, _EXPORTS)
    whole = hashlib.sha256("".join(linking).encode()).hexdigest()
    found = _find(store, whole)
    if found is None:
        with _one_at_a_time(store.folder):
            work = _Work(compiler, flags, store, sanitize)
            found = _find(store, whole) or work.run(keys, whole, current.jobs)
    _make_executable(found.program)
    return found


def _find(store: ObjectCache, key: str) -> Executor | None:
    library, program = store.find(key, ".so"), store.find(key, ".bin")
    return None if library is None or program is None else Executor(library, program)


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Processes that want the same build wait for the first. A cache that cannot be written has no
    lock, either."""
    with ExitStack() as stack:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context((folder / "lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


_SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g1")


@dataclass(frozen=True, slots=True)
class _Work:
    compiler: Compiler
    flags: tuple[str, ...]
    store: ObjectCache
    sanitize: bool

    def run(self, keys: dict[Path, str], whole: str, jobs: int) -> Executor:
        with tempfile.TemporaryDirectory(prefix="ptc-executor-") as name:
            folder, compilers = Path(name), Compilers()
            order = sorted(keys, key=lambda path: -path.stat().st_size)
            objects = dict(
                zip(
                    order,
                    compilers.map(
                        lambda path: self._object(path, keys[path], folder, compilers), order, jobs
                    ),
                    strict=True,
                )
            )
            shared = [objects[path] for path in sorted(keys) if path.name != _MAIN]
            main = [objects[path] for path in sorted(keys) if path.name == _MAIN]
            library, program = folder / "libptc_exec.so", folder / "ptc-exec"
            exports = folder / "exports"
            exports.write_text(_EXPORTS)
            named = f"-Wl,-soname,{library.name},--version-script={exports}"
            self._link(library, ["-shared", named, *map(str, shared)])
            self._link(program, ["-pie", *map(str, (*shared, *main))])
            return Executor(self._keep(library, whole, ".so"), self._keep(program, whole, ".bin"))

    def _object(self, path: Path, key: str, folder: Path, compilers: Compilers) -> Path:
        if found := self.store.find(key, ".o"):
            return found
        output = folder / f"{path.parent.name}-{path.stem}.o"
        command = [
            *self.compiler.command,
            *self.flags,
            *("-I", str(SOURCE_DIR), "-I", str(RUNTIME_DIR)),
            *("-c", str(path), "-o", str(output)),
        ]
        done = compilers.run(command)
        if done.returncode != 0:
            raise _failure(f"cannot compile {path.name}", done.stderr)
        return self.store.store(key, ".o", output.read_bytes()) or output

    def _link(self, output: Path, what: Sequence[str]) -> None:
        flags = ("-fsanitize=address,undefined",) if self.sanitize else _LINK_FLAGS
        command = [*self.compiler.command, *what, *flags, "-o", str(output), "-lm", "-lpthread"]
        done = Compilers().run(command)
        if done.returncode != 0:
            raise _failure(f"cannot link {output.name}", done.stderr)

    def _keep(self, path: Path, key: str, suffix: str) -> Path:
        kept = self.store.store(key, suffix, path.read_bytes())
        if kept is not None:
            return kept
        # Without a cache the file must outlive this build's folder.
        copy = Path(tempfile.mkdtemp(prefix="ptc-executor-")) / path.name
        shutil.copy(path, copy)
        return copy


def write_executor(executor: Executor, folder: Path) -> tuple[Path, ...]:
    """Program, library and headers as files of `folder`, for a host without ptc."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / "ptc-exec", folder / "libptc_exec.so"]
    for source, target in zip((executor.program, executor.library), written, strict=True):
        write_atomically(target, without_digest(source.read_bytes()))
    written[0].chmod(0o755)
    for header in HEADERS:
        write_atomically(folder / header.name, header.read_bytes())
        written.append(folder / header.name)
    return tuple(written)


def build_fuzzer(folder: Path) -> Path:
    """The program that fuzzes the loader by `fuzz/loader.cpp`, in `folder`: with clang's libFuzzer,
    AddressSanitizer and UBSan, without kernels. For tests: nothing is cached."""
    sanitizers = ["-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined"]
    compilers = Compilers()

    def compile_one(path: Path) -> Path:
        made = folder / f"{path.parent.name}-{path.stem}.o"
        command = ["clang++", *_FLAGS, *sanitizers, "-O1", "-g1"]
        include = ["-I", str(SOURCE_DIR), "-I", str(RUNTIME_DIR)]
        done = compilers.run([*command, *include, "-c", str(path), "-o", str(made)])
        if done.returncode != 0:
            raise _failure(f"cannot compile {path.name}", done.stderr)
        return made

    own = [path for path in SOURCE_DIR.glob("*.cpp") if path.name != _MAIN]
    wanted = [*own, *SOURCE_DIR.glob("fuzz/*.cpp")]
    objects = compilers.map(compile_one, sorted(wanted), settings.current().jobs)
    output = folder / "fuzz-loader"
    done = compilers.run(["clang++", *sanitizers, *map(str, objects), "-o", str(output), "-lm"])
    if done.returncode != 0:
        raise _failure(f"cannot link {output.name}", done.stderr)
    return output


def _make_executable(path: Path) -> None:
    mode = path.stat().st_mode
    if not mode & 0o100:
        path.chmod(mode | 0o555)


def _failure(what: str, stderr: str) -> InternalError:
    lines = [line for line in stderr.splitlines() if "error" in line or "undefined" in line]
    return InternalError("executor", f"{what}:\n" + "\n".join(lines[:8] or stderr.splitlines()[:8]))


# --- keys ---------------------------------------------------------------------------------------


def _key(path: Path, command: Sequence[str], identity: str, machine: str) -> str:
    """A digest of all that decides the object: the file, what it includes, the compiler."""
    digest = hashlib.sha256()
    for part in (*command, identity, machine, *_contents(path)):
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def _contents(path: Path) -> list[str]:
    """The text of a file and digests of every header that it includes, directly or not."""
    seen: set[Path] = set()
    pending = [path]
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        pending.extend(_included(current, current.stat().st_mtime_ns))
    return [_digest(item, item.stat().st_mtime_ns) for item in sorted(seen)]


@lru_cache(maxsize=1024)
def _digest(path: Path, modified: int) -> str:
    return f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"


@lru_cache(maxsize=1024)
def _included(path: Path, modified: int) -> tuple[Path, ...]:
    found: list[Path] = []
    for name in _INCLUDE.findall(path.read_text()):
        for folder in (path.parent, SOURCE_DIR, RUNTIME_DIR):
            if (folder / name).is_file():
                found.append((folder / name).resolve())
                break
    return tuple(found)
