"""The answer to "may these kernels be combined?": None for yes, or a Refusal that says why not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why `producer` and `consumer` stay apart; `access` is the conflicting access as text."""

    reason: str
    producer: str
    consumer: str
    access: str = ""

    def __str__(self) -> str:
        where = f" ({self.access})" if self.access else ""
        return f"{self.producer} -> {self.consumer}: {self.reason}{where}"
