"""Importing the user's file once, as Python would if it were imported by name.

The file's folder is on the path, a file inside a package is imported as that package's module (so
that relative imports work), `sys.argv` holds the file's name alone (so that `argparse` at import
sees its defaults), and `__name__` is not `__main__`.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from ptc.loader.target import Target
from ptc.loader.tracebacks import syntax_error, user_error
from ptc.support.diagnostics import CompileError

_ARGPARSE_HINT = (
    'parse arguments under `if __name__ == "__main__":`, or give every argument a default'
)


def import_target(target: Target) -> ModuleType:
    """The module of `target`. All that goes wrong in the user's code is a CompileError."""
    if target.file is not None:
        return _import_file(target.file)
    assert target.module is not None
    _search_first(Path.cwd())
    with _own_errors(target.text, target.module):
        return importlib.import_module(target.module)


@contextmanager
def script_arguments(name: str) -> Iterator[None]:
    """`sys.argv` as a script would see it that was started without arguments."""
    saved = sys.argv
    sys.argv = [name]
    try:
        yield
    finally:
        sys.argv = saved


def _import_file(file: Path) -> ModuleType:
    root, name = _module_name(file)
    for module in list(sys.modules.values()):
        if _is_file_of(module, file):
            return module
    _search_first(root)
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    with _own_errors(str(file), name):
        if "." in name:
            return importlib.import_module(name)
        return _execute(file, name)


def _module_name(file: Path) -> tuple[Path, str]:
    """(folder to search, dotted name). Folders with an `__init__.py` are packages."""
    parts = [] if file.stem == "__init__" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").exists() and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    if len(parts) > 1 or file.stem == "__init__":
        name = ".".join(parts)
        # Another distribution's package of this name would be imported in the file's place.
        spec = _find_spec(parts[0], folder)
        if spec is None or _spec_folder(spec) == (folder / parts[0]).resolve():
            return folder, name
    return file.parent, _free_name(file)


def _find_spec(name: str, folder: Path) -> importlib.machinery.ModuleSpec | None:
    if name in sys.modules:
        return sys.modules[name].__spec__
    _search_first(folder)
    return importlib.util.find_spec(name)


def _spec_folder(spec: importlib.machinery.ModuleSpec) -> Path | None:
    return Path(spec.origin).resolve().parent if spec.origin else None


def _free_name(file: Path) -> str:
    """The file's own name, so that a sibling importing it by name gets the same module; another
    name where a library owns that one (a model file called `llama.py` is fine, `types.py` is
    not)."""
    stem = file.stem
    if not stem.isidentifier() or stem in sys.modules or stem in sys.stdlib_module_names:
        return f"ptc_model_{''.join(c if c.isalnum() else '_' for c in stem)}"
    return stem


def _execute(file: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _is_file_of(module: ModuleType | None, file: Path) -> bool:
    if module is None or getattr(module, "__name__", "") == "__main__":
        return False
    own = getattr(module, "__file__", None)
    return isinstance(own, str) and own.endswith(file.name) and Path(own).resolve() == file


def _search_first(folder: Path) -> None:
    """Put `folder` first on the path. It stays there: the model may import more when it runs."""
    text = str(folder)
    if text in sys.path:
        sys.path.remove(text)
    sys.path.insert(0, text)


@contextmanager
def _own_errors(shown: str, name: str) -> Iterator[None]:
    """What importing raises, in the user's terms."""
    try:
        with script_arguments(shown):
            yield
    except (CompileError, KeyboardInterrupt):
        raise
    except SystemExit as error:
        raise CompileError(
            "PTC-L006",
            f"importing {shown} ended the program with status {error.code}",
            hint=_ARGPARSE_HINT,
        ) from error
    except SyntaxError as error:
        raise syntax_error("PTC-L004", error, shown) from error
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name == missing or name.startswith(missing + "."):
            raise CompileError(
                "PTC-L003",
                f"there is no module `{missing}`",
                hint="run the command in the folder that holds the package, or install it",
            ) from error
        raise user_error(
            "PTC-L007",
            f"importing {shown}",
            error,
            hint=f"install the package that provides `{missing}` into this environment",
        ) from error
    except BaseException as error:  # the file may raise classes of its own
        raise user_error("PTC-L005", f"importing {shown}", error) from error
