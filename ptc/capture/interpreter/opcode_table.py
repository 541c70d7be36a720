"""The table of opcode handlers: free functions registered with the Python versions they serve.

A handler takes (vm, frame, instruction) and returns true when the frame stops there (return,
yield).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

Handler = Callable[..., Any]
_HANDLERS: dict[str, Handler] = {}


def opcode(
    *names: str, since: tuple[int, int] = (3, 11), until: tuple[int, int] = (99, 0)
) -> Callable[[Handler], Handler]:
    """Register a handler for opcodes, for Python versions `since` <= version < `until`."""

    def register(handler: Handler) -> Handler:
        if since <= sys.version_info[:2] < until:
            for name in names:
                assert name not in _HANDLERS, name
                _HANDLERS[name] = handler
        return handler

    return register


def handler_for(name: str) -> Handler:
    return _HANDLERS.get(name, _unknown)


def _unknown(vm: Any, frame: Any, ins: Any) -> None:
    raise vm.graph_break("PTC-B006", f"bytecode instruction {ins.opname} is not supported")


def registered() -> frozenset[str]:
    return frozenset(_HANDLERS)
