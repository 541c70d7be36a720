"""Every difference between the bytecodes of CPython 3.11, 3.12 and 3.13, in one place.

Handlers of opcodes ask here what a flag bit means and which order a call's operands have, instead of
testing `sys.version_info`. Knows opcode names and numbers only, no code objects.
"""

from __future__ import annotations
