"""Python functions for the bytecode tests: every statement and stack shape that user code can have.

Each case is (function, arguments, keyword arguments). Functions call `note` to leave a trace, so
that the order of effects is compared too. They are small: each is run once for each of its
instructions.
"""

from tests.capture.code.corpus.flow import for_else
from tests.capture.code.corpus.refused import REFUSED
from tests.capture.code.corpus.registry import CASES, TRACE, note
from tests.capture.code.corpus.scopes import Derived, long_function

__all__ = ["CASES", "REFUSED", "TRACE", "Derived", "for_else", "long_function", "note"]
