"""The layers of docs/architecture.md hold, function-level imports included."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TORCH_FREE = ["hosting", "support", "loops"]
HEAVY = ("torch", "transformers", "onnx", "onnxruntime", "triton")


def python_files(*folders: str) -> list[Path]:
    return sorted(p for folder in folders for p in (ROOT / folder).rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


@cache
def nodes_of(path: Path, kinds: tuple[type[ast.stmt], ...]) -> list[ast.stmt]:
    """The statements of these kinds, at any depth."""
    return [node for node in ast.walk(parsed(path)) if isinstance(node, kinds)]


def imported_modules(path: Path) -> Iterator[tuple[int, str]]:
    """(line, module) of every import in the file, at any depth."""
    for node in nodes_of(path, (ast.Import, ast.ImportFrom)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module


def test_imports_run_downwards_only() -> None:
    pytest.importorskip("importlinter")
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    result = subprocess.run(
        [*command, "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_part_has_a_layer() -> None:
    """A new folder in ptc/ that no layer names would escape the contract."""
    layers = (ROOT / "pyproject.toml").read_text().split("layers = [", 1)[1].split("]", 1)[0]
    parts = {
        p.stem
        for p in (ROOT / "ptc").iterdir()
        if (p.suffix == ".py" and p.stem != "__init__") or (p / "__init__.py").exists()
    }
    # ptc/runtime holds C++ only; its __init__ makes it a package so that its files are installed.
    missing = {part for part in parts - {"runtime"} if f"ptc.{part}" not in layers}
    assert not missing, f"no layer in pyproject.toml for: {sorted(missing)}"


def test_no_layer_goes_through_the_public_names() -> None:
    """`import ptc` inside ptc/ would reach any layer from any other. Measuring is what users do."""
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in python_files("ptc", "cli")
        if path.parent.name != "bench"
        for line, module in imported_modules(path)
        if module == "ptc" and not _imports_submodules(path, line)
    ]
    assert not found, found


def _imports_submodules(path: Path, line: int) -> bool:
    """Whether the import at `line` is `from ptc import <module>`."""
    node = next(n for n in nodes_of(path, (ast.Import, ast.ImportFrom)) if n.lineno == line)
    folder = ROOT / "ptc"
    return isinstance(node, ast.ImportFrom) and all(
        (folder / a.name).is_dir() or (folder / f"{a.name}.py").is_file() for a in node.names
    )


def test_runtime_holds_no_python() -> None:
    assert [p.name for p in python_files("ptc/runtime")] == ["__init__.py"]


@pytest.mark.parametrize("part", TORCH_FREE)
def test_part_never_imports_torch(part: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in python_files(f"ptc/{part}")
        for line, module in imported_modules(path)
        if module.split(".")[0] in HEAVY
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("module", ["ptc", "ptc.hosting", "ptc.executor.session", "cli.main"])
def test_import_does_not_load_torch(module: str) -> None:
    code = f"import sys, {module}; print([m for m in {HEAVY!r} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_capture_is_tested_without_torch() -> None:
    """CI runs the tests of capture that are not named test_torch_* where torch is not installed."""
    command = ["-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "-p", "no:xdist"]
    where = ["-o", "addopts=", "tests/capture", "--ignore-glob=*/test_torch_*"]
    code = (
        f"import sys, runpy; sys.modules.update(dict.fromkeys({HEAVY!r}));"
        f"sys.argv = {['pytest', *command[2:], *where]!r};"
        "runpy.run_module('pytest', run_name='__main__')"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]


def test_product_does_not_use_peers() -> None:
    """Capture, lowering and code generation are ptc's own; peers belong in tests and ptc/bench."""
    peers = ("torch._dynamo", "torch._inductor")
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in python_files("ptc", "cli")
        if "bench" not in path.relative_to(ROOT).parts
        for line, module in imported_modules(path)
        if module.startswith(peers)
    ]
    assert not found, "\n".join(found)


#: Beside settings: the model of `os.environ` for captured code, which sees what its
#: user's code sees.
READ_THE_ENVIRONMENT = {"ptc/support/settings.py", "ptc/capture/builtins_table/library.py"}


LONGEST_FILE, LONGEST_FUNCTION = 600, 60


def lines_of(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_files_and_functions_are_short() -> None:
    """Tables at the top of a module do not count."""
    found: list[str] = []
    for path in python_files("ptc", "cli"):
        tables = [s for s in parsed(path).body if isinstance(s, ast.Assign | ast.AnnAssign)]
        count = len(path.read_text().splitlines()) - sum(map(lines_of, tables))
        if count > LONGEST_FILE:
            found.append(f"{path.relative_to(ROOT)}: {count} lines")
        found += [
            f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {lines_of(node)} lines"
            for node in nodes_of(path, (ast.FunctionDef, ast.AsyncFunctionDef))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and lines_of(node) > LONGEST_FUNCTION
        ]
    assert not found, "\n".join(found)


def test_only_settings_reads_the_environment() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in python_files("ptc", "cli")
        if "os.environ" in path.read_text() or "os.getenv" in path.read_text()
    }
    assert found <= READ_THE_ENVIRONMENT
