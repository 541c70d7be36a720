"""Programs of one file for another platform, built with the compiler that builds its libraries."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from ptc.codegen.object_cache import ObjectCache
from ptc.codegen.target import Target
from ptc.codegen.toolchain import (
    RUNTIME_DIR,
    compiler_for,
    digest_of,
    header_digests,
    link_driver,
    platform_flags,
    run_linker,
)
from ptc.support import settings


def build_program(source: Path, target: Target) -> Path:
    """The program of one C++ file with runtime headers, for another platform. Kept in the cache."""
    compiler = compiler_for(target)
    flags = (*platform_flags(target, compiler), "-std=c++17", "-O1", "-g0")
    text = source.read_text()
    key = digest_of("program", text, json.dumps([*compiler.command, *flags]), compiler.identity,
                  *header_digests(text))  # fmt: skip
    store = ObjectCache(settings.current().cache_dir / "objects")
    found = store.find(key, "")
    if found is None:
        with tempfile.TemporaryDirectory(prefix="ptc-build-") as name:
            output = Path(name) / source.stem
            command = [*link_driver(compiler), *flags, "-I", str(RUNTIME_DIR), str(source), "-o"]
            run_linker([*command, str(output), "-ldl"], Path(name))
            data = output.read_bytes()
        found = store.store(key, "", data)
        if found is None:
            found = Path(tempfile.mkdtemp(prefix="ptc-program-")) / source.stem
            found.write_bytes(data)
    found.chmod(0o755)
    return found
