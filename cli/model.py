"""From the shared options to a loaded model. Imports torch; only commands that need a model do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ptc.exporters.ptir.request import portable_model
from ptc.hosting.portable import is_portable
from ptc.loader import LoadedModel, LoadRequest, load, parse_init
from ptc.loader.probe import eager_error, other_methods
from ptc.support.diagnostics import CompileError

_CAPTURE = "PTC-B"
_RAISES = "PTC-B010"


def load_request(
    target: str,
    *,
    inputs: list[str],
    dynamic: list[str],
    init: str | None,
    weights: Path | None,
    dtype: str | None,
    entries: list[str],
    seed: int,
) -> LoadRequest:
    """What the options ask of the loader."""
    return LoadRequest(
        target=target,
        init=parse_init(init) if init is not None else None,
        inputs=tuple(inputs),
        dynamic=tuple(dynamic),
        weights=weights,
        dtype=dtype,
        entries=tuple(entries),
        seed=seed,
    )


def load_model(request: LoadRequest) -> LoadedModel:
    """The model in a Python file, or in a file of the portable IR."""
    path = Path(request.target)
    if not is_portable(path):
        return load(request)
    given = {
        "dynamic": request.dynamic, "init": request.init, "weights": request.weights,
        "dtype": request.dtype, "entry": request.entries,
    }  # fmt: skip
    for name, value in given.items():
        if value:
            raise CompileError("PTC-E012", f"--{name} is for models in Python, not for {path.name}")
    return portable_model(path, request.inputs, request.seed)


@contextmanager
def blaming(model: LoadedModel) -> Iterator[None]:
    """Failures inside, in the user's terms: a model that plain Python cannot run either shows its
    own error, and what capture refuses is joined by the methods that could be compiled instead."""
    try:
        yield
    except CompileError as error:
        if error.code == _RAISES:
            _raise_own_error(model, error)
        methods = other_methods(model.module) if model.module is not None else []
        if not error.code.startswith(_CAPTURE) or not methods:
            raise
        diagnostic = error.diagnostic
        note = (
            f"if another method is the one to compile: {', '.join(f'--entry {m}' for m in methods)}"
        )
        raise CompileError(
            diagnostic.code,
            diagnostic.message,
            location=diagnostic.location,
            hint=diagnostic.hint,
            notes=(*diagnostic.notes, note),
        ) from error
    except Exception as error:
        _raise_own_error(model, error)
        raise


def _raise_own_error(model: LoadedModel, error: Exception) -> None:
    for entry in model.entries:
        own = eager_error(entry)
        if own is not None:
            raise own from error
