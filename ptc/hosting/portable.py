"""What a `.ptir` file says of itself, read without torch: its manifest.

Takes a path, gives a `Manifest` as libraries have one. Text and weights are readers' business.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from ptc.hosting.manifest import Manifest, TargetInfo, entry_of
from ptc.support.diagnostics import CompileError

SUFFIX = ".ptir"
ENTRY = "manifest.json"
MAX_MANIFEST = 64 << 20
#: What stands in the place of a target: every host.
ANY = TargetInfo("any", "portable")


def is_portable(path: Path) -> bool:
    """Whether a file is called as the portable IR's are."""
    return path.suffix == SUFFIX


def portable_manifest(path: Path) -> Manifest:
    """The manifest of a file. Raises CompileError PTC-E010 for anything but a sound one."""
    try:
        data = json.loads(_text(path))
        if not isinstance(data, dict) or data.get("format") != "ptir":
            raise damaged(path, "the manifest is not one of the portable IR")
        entries = tuple(entry_of(entry) for entry in data["entries"])
        name, ptc, torch = (str(data.get(key, "")) for key in ("name", "ptc", "torch"))
    except FileNotFoundError as error:
        raise CompileError("PTC-E010", f"there is no file `{path}`") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise damaged(path, f"the manifest: {type(error).__name__} {error}") from error
    except (OSError, ValueError, EOFError, NotImplementedError, RecursionError) as error:
        raise damaged(path, str(error)) from error
    except zipfile.BadZipFile as error:
        raise damaged(path, str(error)) from error
    if len(entries) != 1:
        raise damaged(path, f"the manifest describes {len(entries)} entries")
    return Manifest(name, entries, ANY, ptc=ptc, torch=torch)


def _text(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        info = archive.NameToInfo.get(ENTRY)
        if info is None:
            raise damaged(path, f"it has no {ENTRY}")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size > MAX_MANIFEST:
            raise damaged(path, f"{ENTRY} is compressed, or larger than {MAX_MANIFEST >> 20} MiB")
        return archive.read(info)


def damaged(path: Path, reason: Any) -> CompileError:
    return CompileError("PTC-E010", f"`{path}` is not a readable .ptir file: {reason}")
