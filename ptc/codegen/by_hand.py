"""How people link and build what was made: lines of NAME.h that say so, and the files of sources.

Takes generated sources, gives text. Must not run anything.
"""

from __future__ import annotations

from ptc.codegen.sources import Sources
from ptc.codegen.target import Target
from ptc.codegen.toolchain import COMMON_FLAGS, ELF_FLAGS, LINK_FLAGS, RUNTIME_DIR, included_headers

_LINK = " * Link: "
_DLOPEN = " * or dlopen "


def usage(header: str, name: str, target: Target, form: str) -> str:
    """The text of NAME.h with the way to use this form of it on this platform."""
    lines: list[str] = []
    for line in header.splitlines():
        if line.startswith(_LINK):
            lines += [f" * {text}" for text in _instructions(name, target, form)]
        elif form != "static" or not line.startswith(_DLOPEN):
            library = target.platform.library.format(name)
            lines.append(line.replace(f"lib{name}.so", library) if _DLOPEN in line else line)
    return "\n".join(lines) + "\n"


def _instructions(name: str, target: Target, form: str) -> list[str]:
    library, system = target.platform.library.format(name), target.platform.system
    if form == "static":
        libraries = " -lm -lpthread" if system == "linux" else ""
        return [f"Link: cc app.c {target.platform.archive.format(name)}{libraries}"]
    lines: list[str] = []
    if form == "source":
        lines += ["Build the library, in this folder:", f"    {command(name, target)}"]
    match system:
        case "linux":
            link = f"cc app.c -L. -l{name} -Wl,-rpath,'$ORIGIN'"
        case "macos":
            link = f"cc app.c -L. -l{name} -Wl,-rpath,@loader_path"
        case _:
            link = f"cc app.c {library}"
    return [*lines, f"Link: {link}"]


def command(name: str, target: Target) -> str:
    """The one command that builds the sources, in their folder."""
    platform = target.platform
    compiler = {
        "linux": "g++" if target.isa == "native" else platform.cross_compiler,
        "windows": platform.cross_compiler,
        "macos": f"clang++ -target {platform.machine}-apple-macos11",
    }[platform.system]
    flags = [f for f in COMMON_FLAGS if platform.system != "windows" or f not in ELF_FLAGS]
    flags = [f for f in flags if not f.startswith(("-Wno-", "-g0", "-pipe"))]
    libraries = ["-lm", "-lpthread"] if platform.system == "linux" else []
    words = [
        compiler, "-O2", *flags, *target.flags, "-I.", *LINK_FLAGS[platform.system], "*.cpp", "-o",
        platform.library.format(name), *libraries,
    ]  # fmt: skip
    return " ".join(words)


def emitted_files(sources: Sources) -> dict[str, str]:
    """All that a compiler needs: units, and the runtime headers that they include."""
    files = {unit.name: unit.text for unit in sources.units}
    for unit in sources.units:
        for header in included_headers(unit.text):
            files[header] = (RUNTIME_DIR / header).read_text()
    return files
