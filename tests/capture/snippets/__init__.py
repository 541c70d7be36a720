"""Python snippets, each run natively and captured with equal results and effects."""

from tests.capture.snippets import classes, containers, language
from tests.capture.snippets.registry import CASES

# Imported for what they register
_MODULES = (language, containers, classes)

__all__ = ["CASES"]
