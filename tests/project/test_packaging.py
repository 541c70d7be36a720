"""pyproject.toml names every package and file that must be installed."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def packages_on_disk(folder: str, name: str) -> set[str]:
    return {
        ".".join((name, *init.parent.relative_to(ROOT / folder).parts))
        for init in (ROOT / folder).rglob("__init__.py")
    }


def test_package_list_matches_the_folders() -> None:
    listed = PROJECT["tool"]["setuptools"]["packages"]
    assert listed == sorted(listed) and len(set(listed)) == len(listed)
    assert set(listed) == packages_on_disk("ptc", "ptc") | packages_on_disk("cli", "ptc_cli")


def test_every_folder_with_python_is_a_package() -> None:
    folders = {p.parent for top in ("ptc", "cli") for p in (ROOT / top).rglob("*.py")}
    assert not [str(f) for f in folders if not (f / "__init__.py").exists()]


def test_runtime_sources_are_package_data() -> None:
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["ptc.runtime"]
    folder = ROOT / "ptc" / "runtime"
    covered = {p for pattern in patterns for p in folder.glob(pattern)}
    sources = {
        p
        for p in folder.rglob("*")
        if p.is_file()
        and not p.name.startswith(".")
        and p.suffix not in {".py", ".pyc", ".o", ".so", ".md"}
    }
    assert sources <= covered, sorted(str(p) for p in sources - covered)


def test_command_is_installed_under_its_own_name() -> None:
    assert PROJECT["project"]["scripts"] == {"ptc": "ptc_cli.main:app_main"}
    assert PROJECT["tool"]["setuptools"]["package-dir"]["ptc_cli"] == "cli"
