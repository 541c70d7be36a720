"""Calls of an entry with the original call's arguments, in terms of a run on flat inputs.

Takes what the manifest says of an entry. What runs is the subclass's business: a library, or an
interpreter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ptc.hosting.binding import Binder
from ptc.hosting.dims import shape_text
from ptc.hosting.manifest import EntryInfo, TensorInfo
from ptc.hosting.structure import builder
from ptc.hosting.tensors import is_torch_tensor
from ptc.support.diagnostics import CompileError

_PYTHON_NUMBERS = {"i64": "int", "f64": "float", "bool": "bool"}


class EntryCalls:
    """An entry as a function. `run_variant` is what a subclass gives."""

    def __init__(self, info: EntryInfo) -> None:
        self.info = info
        self._names = {size.symbol: size.name for size in info.sizes}
        names = [tensor.name for tensor in info.inputs]
        self._binder = Binder(info.arguments, names, info.name) if info.arguments else None
        self._build = builder(info.result) if info.result else tuple
        self._variants = [builder(variant) for variant in info.variants]

    def run_variant(self, values: Sequence[Any], *, as_torch: bool) -> tuple[list[Any], int]:
        """The flat outputs for flat inputs, and which variant of the result they are."""
        raise NotImplementedError

    def require_count(self, values: Sequence[Any]) -> None:
        """Raise CompileError PTC-R010 unless there is a value for each input."""
        infos = self.info.inputs
        if len(values) != len(infos):
            raise CompileError(
                "PTC-R010",
                f"`{self.info.name}` takes {len(infos)} inputs, {len(values)} were given",
                hint=f"inputs: {', '.join(i.name for i in infos)}",
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self.flat(args, kwargs)
        as_torch = any(is_torch_tensor(value) for value in values)
        if not self._variants:
            return self._build(self.run(values, as_torch=as_torch))
        outputs, variant = self.run_variant(values, as_torch=as_torch)
        return self._variants[variant](outputs)

    def flat(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """A call's inputs in the manifest's order. Raises CompileError PTC-R010, PTC-R014."""
        if self._binder is not None:
            return self._binder.bind(args, kwargs)
        if kwargs:
            raise CompileError("PTC-R010", f"`{self.info.name}` takes its inputs by position")
        return list(args)

    def __str__(self) -> str:
        inputs = ", ".join(f"{t.name}: {self.text(t)}" for t in self.info.inputs)
        outputs = ", ".join(self.text(t) for t in self.info.outputs)
        return f"{self.info.name}({inputs}) -> {outputs}"

    def text(self, tensor: TensorInfo) -> str:
        """`f32[batch, 10]`, `int`, `list of f32[3]`."""
        text = f"{tensor.dtype}{shape_text(tensor.shape, self._names)}"
        number = _PYTHON_NUMBERS.get(tensor.dtype, tensor.dtype)
        kinds = {"number": number, "numbers": f"list of {number}", "list": f"list of {text}",
                 "text": "text", "texts": "list of text"}  # fmt: skip
        return kinds.get(tensor.kind, text)

    def run(self, values: Sequence[Any], *, as_torch: bool = False) -> list[Any]:
        """Run on flat inputs in the manifest's order; gives flat outputs in its order."""
        return self.run_variant(values, as_torch=as_torch)[0]

    def run_named(self, positional: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Run on inputs given by the manifest's names, the rest by position; outputs by name."""
        names = [info.name for info in self.info.inputs]
        unknown = [name for name in named if name not in names]
        if unknown:
            raise CompileError(
                "PTC-R010",
                f"there is no input `{unknown[0]}`",
                hint=f"inputs: {', '.join(names)}" if names else "the model takes no inputs",
            )
        open_names = [name for name in names if name not in named]
        if len(positional) > len(open_names):
            raise CompileError(
                "PTC-R010",
                f"{len(named) + len(positional)} inputs were given, expected {len(names)}",
            )
        given = {**named, **dict(zip(open_names, positional, strict=False))}
        missing = [info for info in self.info.inputs if info.name not in given]
        if missing:
            raise CompileError(
                "PTC-R010",
                f"the input `{missing[0].name}` is missing",
                hint=f"it is {self.text(missing[0])}",
            )
        outputs = self.run([given[name] for name in names])
        # Variants of a result may have outputs of one name; at most one of them has a value.
        found: dict[str, Any] = {}
        for info, value in zip(self.info.outputs, outputs, strict=True):
            if value is not None or info.name not in found:
                found[info.name] = value
        return found
