"""`ptc doctor`: what of this machine ptc can use, each line tried out rather than assumed."""

from __future__ import annotations

import ctypes
import importlib.metadata
import platform
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ptc.support import settings
from ptc.support.diagnostics import CompileError, InternalError
from ptc.support.version import VERSION


@dataclass(frozen=True, slots=True)
class DoctorLine:
    """One finding. `status`: ok, warn (a feature is missing) or fail (nothing will compile)."""

    name: str
    status: str
    detail: str
    hint: str = ""


def run() -> list[DoctorLine]:
    """Every check, in the order of the report. Never raises: a check that fails says so."""
    return [line for check in _CHECKS for line in _guarded(check)]


def _guarded(check: Callable[[], Iterator[DoctorLine]]) -> Iterator[DoctorLine]:
    try:
        yield from check()
    except (CompileError, InternalError) as error:
        diagnostic = error.diagnostic
        yield DoctorLine(check.__name__.strip("_"), "fail", diagnostic.message, diagnostic.hint)
    except (OSError, subprocess.SubprocessError, ImportError) as error:
        yield DoctorLine(check.__name__.strip("_"), "fail", str(error))


def _versions() -> Iterator[DoctorLine]:
    yield DoctorLine("ptc", "ok", VERSION)
    supported = (3, 11) <= sys.version_info[:2] <= (3, 13)
    yield DoctorLine(
        "python",
        "ok" if supported else "fail",
        f"{platform.python_version()} ({platform.machine()}, {platform.system()})",
        "" if supported else "capture reads the bytecode of CPython 3.11, 3.12 and 3.13",
    )
    for package, need in (("torch", "fail"), ("numpy", "fail"), ("onnx", "warn"),
                          ("onnxruntime", "warn"), ("transformers", "info"),
                          ("triton", "info")):  # fmt: skip
        version = _package_version(package)
        if version is not None:
            yield DoctorLine(package, "ok", version)
        elif need != "info":
            yield DoctorLine(package, need, "not installed", f"pip install {package}")


def _package_version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _compiler() -> Iterator[DoctorLine]:
    from ptc.codegen import toolchain  # noqa: PLC0415 - a broken compiler layer is a finding here

    found = toolchain.find_compiler()
    with tempfile.TemporaryDirectory(prefix="ptc-doctor-") as folder:
        source = Path(folder) / "trial.cpp"
        library = Path(folder) / "trial.so"
        source.write_text('extern "C" int ptc_trial(int x) { return x + 1; }\n')
        subprocess.run(
            [*found.command, "-shared", "-fPIC", "-o", str(library), str(source)],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        works = ctypes.CDLL(str(library)).ptc_trial(41) == 42
    yield DoctorLine(
        "compiler",
        "ok" if works else "fail",
        f"{found.identity.splitlines()[0]} (trial build works)",
    )


def _gpu() -> Iterator[DoctorLine]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        yield DoctorLine("gpu", "warn", "no NVIDIA driver found", "CPU targets are not affected")
        return
    listed = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=30, check=False)
    names = listed.stdout.strip() or listed.stderr.strip()
    yield DoctorLine("gpu", "ok" if listed.returncode == 0 else "warn", names)


def _cache() -> Iterator[DoctorLine]:
    folder = settings.current().cache_dir
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / f".doctor-{uuid.uuid4().hex}"
    probe.write_bytes(b"ptc")
    probe.unlink()
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    free = shutil.disk_usage(folder).free
    low = free < 1 << 30
    yield DoctorLine(
        "cache",
        "warn" if low else "ok",
        f"{folder} ({size / 1e6:.1f} MB used, {free / 1e9:.1f} GB free)",
        "free some space, or set PTC_CACHE_DIR" if low else "",
    )


_CHECKS = (_versions, _compiler, _gpu, _cache)
