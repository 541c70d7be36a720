"""What functions of Python and torch raise in the versions that run here."""

from __future__ import annotations

from typing import Any


def raised(function: Any, *args: Any, **kwargs: Any) -> tuple[type[Exception], str]:
    """What a call raises."""
    try:
        function(*args, **kwargs)
    except Exception as error:  # of the class and with the text of this version of torch
        return type(error), str(error)
    raise AssertionError(function)
