"""What the user is told while `ptc.compile` works: one warning a fact, with its diagnostic."""

from __future__ import annotations

import warnings

from ptc.dispatch.config import STATISTICS
from ptc.support.diagnostics import Diagnostic


class CompileNotice(UserWarning):
    """A path that does not run compiled code, or not the code one might expect."""


def notify(diagnostic: Diagnostic, *, once: bool = True) -> None:
    """Warn with the diagnostic's text; the same text once a process unless `once` is false."""
    if once and diagnostic in STATISTICS.diagnostics:
        return
    STATISTICS.diagnostics.append(diagnostic)
    warnings.warn(diagnostic.render(), CompileNotice, stacklevel=3)
