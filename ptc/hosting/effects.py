"""What a model does besides giving a result: texts go where Python's own would, exceptions rise.

Owns the meaning of channels and of exceptions' names. Must not know libraries, NumPy or torch.
"""

from __future__ import annotations

import builtins
import logging
import sys
import warnings
from collections.abc import Callable

from ptc.support.diagnostics import InternalError

#: (channel, label, text): `stdout`, `stderr`, `log` (label `LEVEL:logger`) or `warning` (label: the
#: category).
Emit = Callable[[str, str, str], None]

#: What `Raise` items and libraries call `NotSupported`.
NOT_SUPPORTED = "ptc.NotSupported"

#: The numbers of the channels in the C interface.
CHANNELS = ("stdout", "stderr", "log", "warning")


class NotSupported(Exception):
    """A program came to what a compiled program cannot do, where Python would go on: a complex
    number, an int of more than 64 bits. The message says what."""


NotSupported.__module__ = "ptc"


class UsersException(Exception):
    """An exception that a model raised, whose class this process cannot make from its name."""

    def __init__(self, type_name: str, message: str) -> None:
        self.type_name = type_name
        super().__init__(message)


def emit_here(channel: str, label: str, text: str) -> None:
    """What the user's program would have done with the text in this process."""
    match channel:
        case "stdout":
            sys.stdout.write(text)
        case "stderr":
            sys.stderr.write(text)
        case "log":
            level, _, logger = label.partition(":")
            number = logging.getLevelNamesMapping().get(level, logging.INFO)
            logging.getLogger(logger or None).log(number, "%s", text)
        case "warning":
            category = getattr(builtins, label, UserWarning)
            warnings.warn(text, category, stacklevel=2)
        case _:
            raise InternalError("run", f"there is no channel `{channel}`")


def exception_of(type_name: str, message: str) -> BaseException:
    """An exception of the builtin class of that name which reads `message`, or a UsersException."""
    if type_name == NOT_SUPPORTED:
        return NotSupported(message)
    cls = getattr(builtins, type_name, None)
    if isinstance(cls, type) and issubclass(cls, BaseException):
        # KeyError shows the repr of what it is given
        argument = _Verbatim(message) if issubclass(cls, KeyError) else message
        try:
            made = cls(argument) if message else cls()
        except TypeError:  # its constructor wants more than a message
            return UsersException(type_name, message)
        if str(made) == message:
            return made
    return UsersException(type_name, message)


class _Verbatim(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
