"""`ptc run`: execute a library with NumPy alone, in a process that never imports torch."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from errno import ENOENT
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import numpy as np
import typer

from ptc.hosting.calls import EntryCalls
from ptc.hosting.dims import evaluate
from ptc.hosting.dtypes import Array, to_float32
from ptc.hosting.input_spec import InputSpec, parse_input
from ptc.hosting.input_values import ValueMaker
from ptc.hosting.manifest import TensorInfo
from ptc.opening import load
from ptc.support.diagnostics import CompileError
from ptc.support.dumps import write_atomically

from ..options import Debug, Inputs, Seed
from ..render import OUT, print_pairs, print_table, seconds_text, size_text

if TYPE_CHECKING:  # it loads torch
    from ptc.hosted.model import HostedEntry

_VALUES_SHOWN = 6
_TEXT_SHOWN = 60  # characters
#: Python types of outputs by their kind; lists are all others.
_TYPES: Mapping[str, tuple[type, ...]] = {
    "number": (bool, int, float), "text": (str,), "tensor": (np.ndarray,),
}  # fmt: skip


def run_command(
    library: Annotated[
        Path,
        typer.Argument(metavar="LIBRARY", help="A lib*.so or a package made by `ptc compile`."),
    ],
    inputs: Inputs = [],  # noqa: B006  # Typer copies defaults
    entry: Annotated[
        str | None, typer.Option("--entry", metavar="NAME", help="Which entry (default: first).")
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE.npz", help="Write the outputs there.")
    ] = None,
    weights: Annotated[
        Path | None, typer.Option("--weights", help="A .safetensors file to use instead.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Threads for kernels.")
    ] = None,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Run so often and time it.")] = 1,
    verify: Annotated[
        bool | None, typer.Option("--verify/--no-verify", help="Check the weights' hash first.")
    ] = None,
    seed: Seed = 0,
    debug: Debug = False,
) -> None:
    """Run a compiled model on inputs and print or save what it gives."""
    del debug
    if save is not None and save.suffix not in (".npz", ".npy"):
        raise CompileError(
            "PTC-U002",
            f"cannot save to {save}: its type is not known",
            hint="use a name that ends in .npz, or in .npy for a single output",
        )
    artifact = load(library, threads=threads, weights=weights, verify=verify)
    function = artifact.entry(entry)
    specs = tuple(map(parse_input, inputs))
    _require_entry(function, specs)
    artifact.seed(seed)
    positional, named = ValueMaker(seed=seed).arguments(specs)
    values = _spread(named, [info.name for info in function.info.inputs])
    _require_inputs(function, len(positional), values)
    times: list[float] = []
    outputs: dict[str, Any] = {}
    for _ in range(repeat):
        started = time.perf_counter()
        outputs = _run(artifact, function, positional, values)
        times.append(time.perf_counter() - started)
    _print_outputs(function, outputs)
    _print_times(artifact, times)
    if save is not None:
        _save(save, function.info.outputs, outputs)


def _run(
    artifact: Any,
    function: EntryCalls | HostedEntry,
    positional: Sequence[Any],
    values: Mapping[str, Any],
) -> dict[str, Any]:
    """The outputs by name; an exception of the model's own is a failure of the user's."""
    try:
        return function.run_named(positional, values)
    except Exception as error:
        if artifact.raised is not error:
            raise
        name = getattr(error, "type_name", type(error).__name__)
        raise CompileError("PTC-R024", f"the model raised {name}: {error}") from None


def _require_entry(function: EntryCalls | HostedEntry, specs: Sequence[InputSpec]) -> None:
    """An input for an entry that is not run is a mistake."""
    for spec in specs:
        if spec.entry not in (None, function.info.name):
            raise CompileError(
                "PTC-R015",
                f"`{spec.text}` is for the entry `{spec.entry}`, but `{function.info.name}` is run",
                hint=f"add `--entry {spec.entry}`",
            )


def _spread(named: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Containers by their parts: `state=(a, b)` gives the inputs `state[0]` and `state[1]`."""
    flat: dict[str, Any] = {}
    for name, value in named.items():
        if name not in names and isinstance(value, (list, tuple)):
            flat |= _spread({f"{name}[{i}]": item for i, item in enumerate(value)}, names)
        elif name not in names and isinstance(value, Mapping):
            flat |= _spread({f"{name}.{key}": item for key, item in value.items()}, names)
        else:
            flat[name] = value
    return flat


def _require_inputs(
    function: EntryCalls | HostedEntry, positional: int, named: Mapping[str, Any]
) -> None:
    """Say at once which inputs are missing, with an option that can be copied."""
    open_inputs = [info for info in function.info.inputs if info.name not in named]
    missing = open_inputs[positional:]
    if missing:
        options = " ".join(f"--input '{info.name}={_example(function, info)}'" for info in missing)
        names = ", ".join(f"`{info.name}`" for info in missing)
        raise CompileError(
            "PTC-R010", f"no value is given for {names}", hint=f"for random ones: {options}"
        )


def _example(function: EntryCalls | HostedEntry, info: TensorInfo) -> str:
    """A specification of the right shape, symbolic sizes at the smallest that is usual."""
    sizes = {s.symbol: max(s.lower, min(2, s.upper or 2)) for s in function.info.sizes}
    shape = [evaluate(dim, sizes) for dim in info.shape]
    return f"{info.dtype}[{','.join(str(1 if size is None else size) for size in shape)}]"


def _print_outputs(function: EntryCalls | HostedEntry, outputs: Mapping[str, Any]) -> None:
    rows: list[tuple[str, str, str, str]] = []
    for info in _once(function.info.outputs, outputs):
        for name, value in _parts(info, outputs[info.name]):
            if isinstance(value, str):
                rows.append((name, "text", f"{len(value)} characters", _shortened(repr(value))))
                continue
            array = _readable(info, value)
            kind = f"{info.dtype}[{', '.join(map(str, array.shape))}]"
            if info.kind == "number":
                kind = type(value).__name__
            rows.append((name, kind, _range_text(array), _values_text(array)))
    print_table(["output", "type", "range", "first values"], rows)


def _once(infos: Sequence[TensorInfo], outputs: Mapping[str, Any]) -> list[TensorInfo]:
    """Each output's description once: where variants have outputs of one name, that of the kind
    which the value is."""
    found: dict[str, TensorInfo] = {}
    for info in infos:
        if info.name not in found or _is_of_kind(info.kind, outputs[info.name]):
            found[info.name] = info
    return list(found.values())


def _is_of_kind(kind: str, value: Any) -> bool:
    return type(value) in _TYPES.get(kind, (list,))


def _parts(info: TensorInfo, value: Any) -> list[tuple[str, Any]]:
    """An output as tensors with names: those of a list, nothing where it has no part in the
    result."""
    if value is None:
        return []
    if info.kind in ("list", "texts"):
        return [(f"{info.name}[{i}]", item) for i, item in enumerate(value)]
    if info.kind == "numbers" and not value:
        return [(info.name, np.empty(0, info.type.numpy))]
    return [(info.name, value)]


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT_SHOWN else text[:_TEXT_SHOWN] + "..."


def _readable(info: TensorInfo, value: Any) -> Array:
    """bf16 as float32, which NumPy can print and save everywhere."""
    array = np.asarray(value)
    return to_float32(array, info.type) if info.dtype == "bf16" else array


def _range_text(array: Array) -> str:
    if array.size == 0:
        return "empty"
    if np.iscomplexobj(array):
        return f"|.| <= {np.abs(array).max():.5g}"
    low, high = array.min(), array.max()
    return f"{low} .. {high}" if array.dtype.kind in "biu" else f"{low:.5g} .. {high:.5g}"


def _values_text(array: Array) -> str:
    first = array.reshape(-1)[:_VALUES_SHOWN]
    numbers = [f"{v:.5g}" if array.dtype.kind in "fc" else str(v) for v in first.tolist()]
    return " ".join(numbers) + (" ..." if array.size > _VALUES_SHOWN else "")


def _print_times(artifact: Any, times: Sequence[float]) -> None:
    if len(times) == 1:
        OUT.print(f"1 run in {seconds_text(times[0])}")
        return
    ordered = sorted(times)
    print_pairs(
        {
            "runs": str(len(times)),
            "first": seconds_text(times[0]),
            "median": seconds_text(ordered[len(ordered) // 2]),
            "fastest": seconds_text(ordered[0]),
            "working memory": size_text(artifact.peak_memory()),
        }
    )


def _save(path: Path, infos: Sequence[TensorInfo], outputs: Mapping[str, Any]) -> None:
    arrays = {
        name: _readable(info, value)
        for info in _once(infos, outputs)
        for name, value in _parts(info, outputs[info.name])
    }
    if path.suffix == ".npy" and len(arrays) != 1:
        raise CompileError(
            "PTC-U002",
            f"cannot save {len(arrays)} outputs in {path.name}: a .npy file holds one",
            hint=f"use {path.with_suffix('.npz').name}",
        )

    def write(stream: BinaryIO) -> None:
        if path.suffix == ".npy":
            np.save(stream, next(iter(arrays.values())))
        else:
            np.savez(stream, allow_pickle=False, **arrays)

    try:
        if not path.parent.is_dir():
            raise NotADirectoryError(ENOENT, f"there is no folder {path.parent}")
        write_atomically(path, write)
    except OSError as error:
        raise CompileError(
            "PTC-U002",
            f"cannot save to {path}: {error.strerror or error}",
            hint="choose another place with `--save`",
        ) from None
    OUT.print(f"saved {', '.join(arrays)} to {path}")
