"""Torch's compiler of TorchScript: a module with attributes by dotted names and one method.

The only module that uses `torch.jit`, and its private names. Takes text and tensors, gives files;
tells of an error of torch's on which of the user's lines it is.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import json
import math
import re
import typing
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ptc.exporters.torchscript import library, number_library, text_library
from ptc.exporters.torchscript.writer import Writer
from ptc.support.diagnostics import CompileError, InternalError

#: What a module raises that raises.
JitError: type[Exception] = torch.jit.Error
#: Namespaces of operators that torch has without any other library.
_OWN = frozenset({"aten", "prim", "prims", "quantized", "cuda"})
_TYPES: Mapping[str, Any] = {
    "Any": Any, "Tensor": Tensor, **{n: getattr(typing, n) for n in ("List", "Dict", "Optional")}
}  # fmt: skip
_NAMES = {
    **_TYPES, "torch": torch, "math": math, "warnings": warnings, "library": library,
    "numbers_of_python": number_library, "texts": text_library,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attribute:
    """What a module holds: `path` is dotted. A tensor is a parameter or a buffer; anything else is
    a value of the type written in `type`."""

    path: str
    value: Any
    type: str = ""


@contextmanager
def quiet() -> Iterator[None]:
    """Torch says at each call that TorchScript is deprecated, which who asks for it knows."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".*torch\.jit.*", category=DeprecationWarning)
        warnings.filterwarnings("ignore", message=r".*TorchScript.*")
        yield


class _Holder(nn.Module):
    """A module that only holds others, parameters and buffers."""


def compile_method(writer: Writer, header: str, attributes: list[Attribute], name: str) -> Any:
    """The module with the method that `writer` has the body of. Raises CompileError PTC-E031 where
    torch does not take the text."""
    root = type(_module_name(name), (_Holder,), {"__module__": "__ptc__"})()
    for attribute in attributes:
        _place(root, attribute)
    for literal, value in writer.literals.items():
        root.register_buffer(literal, _own_memory(value), persistent=True)
    text = "\n".join([header, *writer.lines, ""])
    names = {**_NAMES, **{n: _exception(kind) for n, kind in writer.exceptions.items()}}
    with quiet():
        script: Any = torch.jit.script(root.eval())
        try:
            script._c._define(script._concrete_type, text, names.get)
        except RuntimeError as error:
            raise _refused(str(error), writer, text) from error
    _require_stock(script)
    return script


#: The file inside the file that says what ptc called things.
_ABOUT = "ptc.json"


def save(script: Any, path: Path, about: Mapping[str, Any]) -> None:
    with quiet():
        torch.jit.save(script, str(path), _extra_files={_ABOUT: json.dumps(about)})


def load(path: Path) -> tuple[Any, dict[str, Any]]:
    """The module in a file, and what `save` was told about it."""
    extra = {_ABOUT: ""}
    with quiet():
        script = torch.jit.load(str(path), map_location="cpu", _extra_files=extra)
    return script.eval(), json.loads(extra[_ABOUT])


def holder_of(root: Any, path: str) -> tuple[Any, str]:
    """The module that has an attribute, and the attribute's own name."""
    *owners, last = path.split(".")
    for name in owners:
        root = getattr(root, name)
    return root, last


def _place(root: nn.Module, attribute: Attribute) -> None:
    *owners, last = attribute.path.split(".")
    for name in owners:
        if name not in root._modules:
            root.add_module(name, _Holder())
        inner = root._modules[name]
        assert inner is not None
        root = inner
    value = attribute.value
    if isinstance(value, nn.Parameter):
        root.register_parameter(last, nn.Parameter(_own_memory(value), requires_grad=False))
    elif isinstance(value, Tensor):
        root.register_buffer(last, _own_memory(value))
    else:
        typed = eval(attribute.type, dict(_TYPES))  # a type that `structures` wrote
        setattr(root, last, torch.jit.Attribute(value, typed))


def _own_memory(value: Tensor) -> Tensor:
    """The tensor, without the rest of a larger memory that it is a part of."""
    value = value.detach()
    whole = value.untyped_storage().nbytes()
    return value if whole <= value.numel() * value.element_size() else value.clone()


def _module_name(name: str) -> str:
    text = re.sub(r"\W", "_", name, flags=re.ASCII) or "model"
    return text if not text[0].isdigit() else f"m_{text}"


def _exception(type_name: str) -> type[Exception]:
    """A class that TorchScript calls `type_name`."""
    module, _, name = type_name.rpartition(".")
    return type(name, (Exception,), {"__module__": module or "builtins", "__qualname__": name})


def _refused(message: str, writer: Writer, text: str) -> CompileError:
    found = re.findall(r'File "<string>", line (\d+)', message)
    location = None
    first = message.strip().splitlines()[0] if message.strip() else "it gave no reason"
    if found:
        # The excerpt ends below the place, which a row of ~ marks
        line = int(found[-1]) - 1
        excerpt = message.split('File "<string>", line')[-1].splitlines()[1:]
        marked = next((n for n, row in enumerate(excerpt) if "~~~" in row), len(excerpt)) - 1
        location = next(
            (writer.places[n] for n in range(line + marked, -1, -1) if n in writer.places), None
        )
    return CompileError(
        "PTC-E031",
        f"TorchScript does not take the program: {first}",
        location=location,
        hint="compute it outside the exported model",
        notes=tuple(row for row in message.strip().splitlines()[1:12]),
    )


def _require_stock(script: Any) -> None:
    """The file has to load where only torch is."""
    for node in script.inlined_graph.findAllNodes("prim::PythonOp"):
        raise InternalError("export", f"a call into Python is in the file: {node}")
    for kind in set(re.findall(r"= (\w+)::\w+", str(script.inlined_graph))) - _OWN:
        raise InternalError("export", f"the file has operators of {kind}, which torch lacks")
