"""What a library computes from its weights alone, computed once and stored in it.

The library itself writes to the end of its own staged file, through a shared mapping: packed
weights of any size go through the page cache and take no memory of this process. Loading then maps
them, and processes share their pages. Must not know what is computed.
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Sequence
from pathlib import Path

import torch

from ptc.artifact.sections import PAGE, Placed, align_end
from ptc.hosting.abi import OpenOptions, Status, load_api
from ptc.hosting.seal import DIGEST_OFFSET, PREPARED_HEAD, PREPARED_SECTION, hash_range
from ptc.support.diagnostics import InternalError

_MESSAGE_BYTES = 1024


def store_prepared(
    built: Path, name: str, weights: Sequence[torch.Tensor], staged: Path, *, threads: int
) -> Placed | None:
    """Append the prepared weights to `staged`, a copy of the library `built`; None if it has none.

    name     of the model, as in its C functions
    weights  every weight in the order of the library's table
    Raises OSError when the disk refuses.
    """
    with staged.open("r+b") as stream:
        start = align_end(stream, PAGE)
    dense = [weight.detach().cpu().contiguous() for weight in weights]
    pointers = (ctypes.c_void_p * max(1, len(dense)))(*(weight.data_ptr() for weight in dense))
    options = OpenOptions(
        ctypes.sizeof(OpenOptions), threads, None,
        ctypes.cast(pointers, ctypes.POINTER(ctypes.c_void_p)), str(staged).encode(),
    )  # fmt: skip
    _handle, api = load_api(built, name)
    model, message = ctypes.c_void_p(), ctypes.create_string_buffer(_MESSAGE_BYTES)
    status = api.open(ctypes.byref(options), ctypes.byref(model), message, _MESSAGE_BYTES)
    if status == Status.IO:
        raise OSError(errno.EIO, message.value.decode(errors="replace").rpartition(": ")[2])
    if status != Status.OK:
        raise InternalError("prepare", message.value.decode(errors="replace"))
    api.close(model)
    size = staged.stat().st_size - start
    if not size:
        return None
    digest = hash_range(staged, start + PREPARED_HEAD, size - PREPARED_HEAD)
    with staged.open("r+b") as stream:
        stream.seek(start + DIGEST_OFFSET)
        stream.write(bytes.fromhex(digest))
    return Placed(PREPARED_SECTION, start, size)
