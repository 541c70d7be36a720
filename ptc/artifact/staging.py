"""The files of a library: generated, compiled, filled with weights, and landed together.

Goes in: compiled entries and a plan of what is wanted (platform, form, where weights lie). Comes
out: files in a staging folder, which land at once when all checks have passed. Must not know how
programs were made, nor compare anything.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch
from torch import nn

from ptc.artifact.describe import AnyCompiled, codegen_entry, describe, weights_info
from ptc.artifact.prepared import store_prepared
from ptc.artifact.sections import Placed, add_sections, append_content
from ptc.artifact.weights import WeightImage, write_image
from ptc.codegen import toolchain
from ptc.codegen.by_hand import emitted_files, usage
from ptc.codegen.entry import AnyEntry
from ptc.codegen.generate import Generated, with_manifest
from ptc.codegen.host import WeightFiles, image_unit
from ptc.codegen.sources import Unit
from ptc.codegen.target import Target
from ptc.codegen.versions import generate_for
from ptc.hosting.manifest import EntryInfo, Manifest, to_text
from ptc.hosting.seal import WEIGHTS_SECTION, seal
from ptc.support import settings
from ptc.support.diagnostics import CompileError
from ptc.support.landing import Content, is_folder, land

Form = Literal["shared", "static", "source"]

#: Larger ones do not fit the distances of code; those of a section are only mapped.
_IMAGE_BYTES = 1 << 30
_IMAGE = "weights.image"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is wanted. `target` need not be resolved; `beside`: weights in a file of their own;
    `saved`: names of what files of the model's weights have."""

    name: str
    target: Target
    form: Form = "shared"
    beside: bool = False
    jobs: int | None = None
    saved: Set[str] | None = None

    @property
    def weights_file(self) -> str | None:
        """Where weights lie beside the library."""
        return f"{self.name}.safetensors" if self.beside or self.form == "source" else None

    @property
    def in_memory(self) -> bool:
        """Whether weights are constants of the library's, as it finds no sections in its file."""
        sections = self.target.platform.has_sections and self.form == "shared"
        return self.weights_file is None and not sections


@dataclass(frozen=True, slots=True)
class Staged:
    """A library that is complete but not yet in its place.

    library  a shared library that can be checked: of a static one, and of sources, one of the same
             code; None where it was not built
    files    what lands, by name relative to the result; the result itself is called ""
    """

    target: Target
    library: Path | None
    files: Mapping[str, Content]
    manifest: Manifest
    symbol: str
    weights_bytes: int

    @property
    def infos(self) -> tuple[EntryInfo, ...]:
        return self.manifest.entries


@dataclass(frozen=True, slots=True)
class Landed:
    """Where the files are."""

    header: Path
    manifest: Path
    files: tuple[Path, ...]
    size: int


def output_path(output: str | Path | None, name: str, target: Target, form: Form) -> Path:
    """The library, or the folder of sources, that `output` asks for."""
    platform = target.platform
    pattern = {"shared": platform.library, "static": platform.archive, "source": "{}"}[form]
    default = pattern.format(name)
    if output is None:
        return Path(default)
    path = Path(output)
    if form == "source":
        return path
    return path / default if is_folder(output) or not path.suffix else path


def generate_library(compiled: Sequence[AnyCompiled], plan: Plan) -> Generated:
    """The sources. Raises CompileError PTC-C006 for a form that the target does not allow."""
    target = toolchain.resolve(plan.target)
    if plan.form == "source" and target.isa == "auto":
        raise CompileError(
            "PTC-C006",
            "sources for several processors cannot be built with one command",
            hint="give one of them, for example `--target x86_64-linux-gnu+avx2`",
        )
    entries: list[AnyEntry] = [codegen_entry(entry) for entry in compiled]
    files = None
    if plan.saved is not None:
        aliases = {i.name: i.aliases for entry in compiled for i in entry.inputs if i.aliases}
        files = WeightFiles(plan.saved, aliases)
    generated = generate_for(
        entries,
        name=plan.name,
        target=target,
        weights_file=plan.weights_file,
        image=plan.in_memory,
        files=files,
        alone=plan.form != "static",
    )
    text = usage(generated.sources.header, plan.name, target, plan.form)
    return replace(generated, sources=replace(generated.sources, header=text))


class Staging:
    """A library on its way. The steps are called in their order."""

    def __init__(
        self, plan: Plan, compiled: Sequence[AnyCompiled], generated: Generated, folder: Path
    ) -> None:
        self.plan = plan
        self.target = toolchain.resolve(plan.target)
        self.folder = folder
        self.generated = generated
        self.compiled = compiled
        self.tensors = _weight_tensors(compiled)
        # Each version has a layout of its own, so that only libraries of one version store it.
        self.stored = (
            plan.weights_file is None
            and not plan.in_memory
            and self.target.isa != "auto"
            and toolchain.runs_here(self.target)
        )
        self.image: WeightImage | None = None
        self.sources = generated.sources
        self.manifest: Manifest | None = None
        self.built: Path | None = None
        self.library = folder / self.target.platform.library.format(plan.name)

    def write_weights(self) -> None:
        """Write what the library reads, where prepared weights are stored what it reads beside
        them, and describe it all."""
        name = self.plan.weights_file
        if self.generated.weights:
            names = [
                (w.name, w.dtype.value)
                for w in self.generated.weights
                if w.is_kept or not self.stored
            ]
            self.image = write_image(self.folder / (name or _IMAGE), names, self.tensors)
        if self.plan.in_memory and self.image is not None and self.image.bytes > _IMAGE_BYTES:
            raise CompileError(
                "PTC-C006",
                f"{self.image.bytes >> 20} MiB of weights do not fit into a library for "
                f"{self.target.triple}{' that is static' if self.plan.form == 'static' else ''}",
                hint="keep them beside it with --weights-file",
            )
        info = weights_info(self.image, name, self.compiled)
        if self.plan.in_memory:
            info = replace(info, storage="memory")
        hashes = {"weights": self.image.digest} if self.image else {}
        self.manifest = describe(
            self.plan.name, self.compiled, self.generated.kernels, self.target, info, hashes
        )
        self.sources = with_manifest(self.sources, self.plan.name, to_text(self.manifest))

    def build(self) -> None:
        """Compile and link. Sources that cannot be built here are left unchecked."""
        if self.plan.form == "shared" and not self.plan.in_memory:
            built = toolchain.build(self.sources, self.target, jobs=self.plan.jobs)
            self.built = built.library
            shutil.copyfile(built.library, self.library)
        elif self.plan.form == "source":
            if _can_build(self.target):
                toolchain.build_at(self.sources, self.target, self.library, jobs=self.plan.jobs)
        else:
            image = None
            if self.image is not None and self.plan.in_memory:
                unit = Unit(f"{self.sources.name}_weights.cpp", image_unit(self.plan.name, _IMAGE))
                image = replace(unit, baseline=True), self.image.path
            archive = self.folder / "archive" if self.plan.form == "static" else None
            toolchain.build_at(
                self.sources, self.target, self.library, image=image, archive=archive,
                jobs=self.plan.jobs,
            )  # fmt: skip

    def finish(self) -> Staged:
        """Add the weights to a library with sections, and say what lands."""
        assert self.manifest is not None
        size = self._add_weights()
        text = to_text(self.manifest)
        if self.plan.form == "shared" and self.target.platform.has_sections:
            seal(self.library)
        # The loader compares the two, also for the check that follows.
        (self.folder / f"{self.plan.name}.json").write_text(text)
        files: dict[str, Content] = {}
        if self.plan.weights_file is not None and self.image is not None:
            files[self.plan.weights_file] = self.image.path
        if self.plan.form == "source":
            files |= {n: t.encode() for n, t in emitted_files(self.sources).items()}
        else:
            files[""] = self.library if self.plan.form == "shared" else self.folder / "archive"
        files[f"{self.plan.name}.h"] = self.sources.header.encode()
        files[f"{self.plan.name}.json"] = text.encode()
        library = self.library if self.library.exists() else None
        return Staged(self.target, library, files, self.manifest, self.sources.name, size)

    def _add_weights(self) -> int:
        """Bytes of weights, wherever they are."""
        placed: list[Placed] = []
        if self.image is not None and not self.plan.in_memory and self.plan.weights_file is None:
            placed.append(append_content(self.library, WEIGHTS_SECTION, self.image.path))
            self.image.path.unlink()
        if self.stored and self.built is not None:
            given = [self.tensors[weight.name] for weight in self.generated.weights]
            threads = self.plan.jobs or settings.current().jobs
            prepared = store_prepared(
                self.built, self.sources.name, given, self.library, threads=threads
            )
            placed.extend([prepared] if prepared is not None else [])
        if placed:
            add_sections(self.library, placed)
            return sum(item.size for item in placed)
        return self.image.bytes if self.image is not None else 0


def _can_build(target: Target) -> bool:
    try:
        toolchain.compiler_for(target)
    except CompileError:
        return False
    return True


def land_library(staged: Staged, result: Path, name: str) -> Landed:
    """Put `result` in its place, and the files that belong to it beside it, or in it if it is a
    folder."""
    folder = result.parent if "" in staged.files else result
    contents = {folder / n if n else result: content for n, content in staged.files.items()}
    land(contents)
    size = result.stat().st_size if "" in staged.files else sum(p.stat().st_size for p in contents)
    return Landed(folder / f"{name}.h", folder / f"{name}.json", tuple(contents), size)


def saved_names(functions: Iterable[object]) -> frozenset[str] | None:
    """Parameters and persistent buffers of the modules that entries belong to; None where one
    belongs to none, so that nothing tells weights from constants."""
    names: set[str] = set()
    for function in functions:
        module = (
            function if isinstance(function, nn.Module) else getattr(function, "__self__", None)
        )
        if not isinstance(module, nn.Module):
            return None
        for path, part in module.named_modules(remove_duplicate=False):
            prefix = f"{path}." if path else ""
            passing: Set[str] = part._non_persistent_buffers_set  # pyright: ignore
            own = [name for name, _ in part.named_parameters(recurse=False)]
            own += [n for n, _ in part.named_buffers(recurse=False) if n not in passing]
            names.update(prefix + name for name in own)
    return frozenset(names)


def _weight_tensors(compiled: Sequence[AnyCompiled]) -> dict[str, torch.Tensor]:
    """The model's tensors by their names in the library. Raises ValueError where two differ."""
    found: dict[str, torch.Tensor] = {}
    for name, tensor in (pair for entry in compiled for pair in entry.tensors()):
        known = found.setdefault(name, tensor)
        if known is not tensor and not _is_equal(known, tensor):
            raise ValueError(f"two entries have different tensors called {name}")
    return found


def _is_equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have the same content, to the bit."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.data_ptr() == other.data_ptr() and one.stride() == other.stride():
        return True
    mine, its = (t.contiguous().flatten().view(torch.uint8) for t in (one, other))
    return mine.equal(its)
