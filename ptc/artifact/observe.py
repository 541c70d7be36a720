"""Runs a call and keeps all that can be seen of it: result, arguments, texts, exception.

The same for eager and for a library. Knows nothing of comparing.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import enum
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ptc.artifact.live_state import Session
from ptc.hosting import LoadedArtifact
from ptc.hosting.effects import UsersException
from ptc.support.diagnostics import CompileError

#: In warnings of torch's own kernels, which no program makes.
_FROM_WITHIN = "(Triggered internally at "
#: (channel, label, text)
Emitted = tuple[str, str, str]


@dataclass(slots=True)
class Observed:
    """`leaves`: the result's values by path; `arguments`: tensors of the arguments after the call;
    `texts`: what was written, one entry a channel, log record and warning; `raised`: class and
    message."""

    leaves: dict[str, Any] = field(default_factory=dict[str, Any])
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    texts: list[Emitted] = field(default_factory=list[Emitted])
    raised: tuple[str, str] | None = None
    error: Exception | None = None  # what eager raised, itself
    failure: str = ""  # the library's own, not the model's


def observe_eager(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    session: Session,
) -> Observed:
    """Call `function` on copies of the arguments. Its texts are kept from the outside."""
    observed = Observed()
    given = copy.deepcopy((args, dict(kwargs)))
    with session.call(), _captured(observed.texts), torch.no_grad():
        try:
            found = leaves(function(*given[0], **given[1]))
            # A result may be a tensor of the model, which gets its content back
            observed.leaves = pytree.tree_map_only(torch.Tensor, torch.clone, found)
        except Exception as error:
            observed.raised, observed.error = exception_text(error), error
    observed.arguments = leaves(given)
    return observed


def observe_library(
    artifact: LoadedArtifact, entry: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Observed:
    """Run an entry of a library on copies of the arguments."""
    observed = Observed()
    given = copy.deepcopy((args, dict(kwargs)))
    emitted: list[Emitted] = []
    artifact.on_emit(lambda *parts: emitted.append(parts))
    try:
        observed.leaves = leaves(artifact.entry(entry)(*given[0], **given[1]))
    except CompileError as error:
        observed.failure = f"{error.code}: {error.diagnostic.message}"
    except Exception as error:
        if artifact.raised is not error:
            raise
        observed.raised = exception_text(error)
    finally:
        artifact.on_emit(None)
    observed.texts = joined(emitted)
    observed.arguments = leaves(given)
    return observed


def exception_text(error: BaseException) -> tuple[str, str]:
    """Class and message of an exception, as a library tells them."""
    if isinstance(error, UsersException):
        return error.type_name, str(error)
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return module + kind.__qualname__, str(error)


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """The plain values and tensors in a nest of containers, by path."""
    if isinstance(value, Mapping):
        parts = [(f"[{key!r}]", item) for key, item in value.items()]
    elif isinstance(value, (list, tuple)):
        parts = [(f"[{number}]", item) for number, item in enumerate(value)]
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in dataclasses.fields(value)]
        parts = [(f"[{name!r}]", getattr(value, name)) for name in names]
    elif _is_object(value):
        parts = [(f"[{name!r}]", item) for name, item in vars(value).items()]
    else:
        return {path: value}
    found = {path + "()": len(parts)}
    for step, item in parts:
        found |= leaves(item, path + step)
    return found


def _is_object(value: Any) -> bool:
    """Whether it is an instance of a class of somebody's whose attributes are its content."""
    if isinstance(value, (torch.Tensor, torch.nn.Module, type, enum.Enum)) or callable(value):
        return False
    return hasattr(value, "__dict__")


@contextlib.contextmanager
def _captured(texts: list[Emitted]) -> Iterator[None]:
    """What Python code prints, logs and warns of goes to `texts`."""
    streams = {"stdout": _Stream("stdout", texts), "stderr": _Stream("stderr", texts)}
    handler = _Handler(texts)
    root = logging.getLogger()
    before = root.handlers[:]
    root.handlers[:] = [handler]
    found: list[Emitted] = []
    try:
        with (
            contextlib.redirect_stdout(streams["stdout"]),
            contextlib.redirect_stderr(streams["stderr"]),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            yield
        found = [
            ("warning", w.category.__name__, str(w.message))
            for w in caught
            if _FROM_WITHIN not in str(w.message)
        ]
    finally:
        root.handlers[:] = before
        texts[:] = joined([*texts, *found])


class _Stream(io.TextIOBase):
    def __init__(self, channel: str, texts: list[Emitted]) -> None:
        self._channel, self._texts = channel, texts

    def write(self, text: str, /) -> int:
        self._texts.append((self._channel, "", text))
        return len(text)


class _Handler(logging.Handler):
    def __init__(self, texts: list[Emitted]) -> None:
        super().__init__()
        self._texts = texts

    def emit(self, record: logging.LogRecord) -> None:
        label = f"{record.levelname}:{record.name}"
        self._texts.append(("log", label, record.getMessage()))


def joined(texts: list[Emitted]) -> list[Emitted]:
    """Streams as one text each, then log records that Python would show, then warnings."""
    result: list[Emitted] = []
    for channel in ("stdout", "stderr"):
        whole = "".join(text for kind, _, text in texts if kind == channel)
        result += [(channel, "", whole)] if whole else []
    result += [t for t in texts if t[0] == "log" and _is_shown(t[1])]
    return result + [t for t in texts if t[0] == "warning"]


def _is_shown(label: str) -> bool:
    level, _, name = label.partition(":")
    number = logging.getLevelNamesMapping().get(level, logging.INFO)
    logger = logging.getLogger(name if name != "root" else None)
    return logger.isEnabledFor(number)
