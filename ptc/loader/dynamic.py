"""`--dynamic` against the example call: every dimension exists, fits its range and agrees with its
namesakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ptc.hosting.input_spec import DimSpec
from ptc.loader.arguments import named_tensors
from ptc.loader.model import Arguments, DynamicDim, DynamicSpec
from ptc.support.diagnostics import CompileError


def dynamic_spec(
    function: Callable[..., Any], arguments: Arguments, dims: Sequence[DimSpec]
) -> DynamicSpec | None:
    """The dimensions by input, None if there are none."""
    tensors = named_tensors(function, arguments)
    spec: dict[str, dict[int, DynamicDim]] = {}
    by_name: dict[str, tuple[DynamicDim, int, DimSpec]] = {}
    for dim in dims:
        size = _size(tensors, dim)
        wanted = DynamicDim(dim.name, dim.lower, dim.upper)
        known, known_size, first = by_name.setdefault(dim.name, (wanted, size, dim))
        if size != known_size:
            raise CompileError(
                "PTC-L032",
                f"`{dim.name}` names dimensions of different sizes: {known_size} in "
                f"`{first.path}` and {size} in `{dim.path}`",
                hint="give them different names",
            )
        if dim.path in spec and dim.dim in spec[dim.path]:
            raise CompileError(
                "PTC-L031",
                f"dimension {dim.dim} of `{dim.path}` is named twice",
                hint="give it one name",
            )
        spec.setdefault(dim.path, {})[dim.dim] = wanted
        if dim.ranged:
            # A use without a range says nothing of sizes: it does not narrow what others say.
            ranged = _both(known, wanted, dim) if first.ranged else wanted
            by_name[dim.name] = (ranged, size, dim if not first.ranged else first)
    # A range given with one use of a name holds for all of them.
    return {
        path: {number: by_name[d.name][0] for number, d in named.items()}
        for path, named in spec.items()
    } or None


def _size(tensors: Mapping[str, Any], dim: DimSpec) -> int:
    tensor = tensors.get(dim.path)
    if tensor is None:
        names = ", ".join(tensors) or "none"
        raise CompileError(
            "PTC-L031",
            f"`--dynamic {dim.text}`: there is no tensor input `{dim.path}`",
            hint=f"tensor inputs: {names}",
        )
    if dim.dim >= tensor.ndim:
        raise CompileError(
            "PTC-L031",
            f"`--dynamic {dim.text}`: `{dim.path}` has {tensor.ndim} dimensions, "
            f"so there is no dimension {dim.dim}",
            hint="dimensions count from 0",
        )
    size = tensor.shape[dim.dim]
    if dim.lower == dim.upper:
        raise CompileError(
            "PTC-L032",
            f"`--dynamic {dim.text}`: the range holds one size, {dim.lower}",
            hint="leave `--dynamic` out for a dimension of one size, or give it a wider range",
        )
    if size < dim.lower or (dim.upper is not None and size > dim.upper):
        upper = "" if dim.upper is None else dim.upper
        raise CompileError(
            "PTC-L032",
            f"`--dynamic {dim.text}`: the example's size {size} is not in [{dim.lower}..{upper}]",
            hint="give an example input whose size lies in the range",
        )
    return size


def _both(one: DynamicDim, other: DynamicDim, dim: DimSpec) -> DynamicDim:
    """The range that satisfies both uses of a name."""
    lower = max(one.lower, other.lower)
    uppers = [d.upper for d in (one, other) if d.upper is not None]
    upper = min(uppers) if uppers else None
    if upper is not None and lower > upper:
        raise CompileError("PTC-L032", f"the ranges given for `{dim.name}` have no size in common")
    return DynamicDim(one.name, lower, upper)
