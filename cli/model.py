"""From the shared options to a loaded model. Imports torch; only commands that need a model do."""

from __future__ import annotations

from pathlib import Path

from ptc.loader import LoadedModel, LoadRequest, load, parse_init


def load_model(
    target: str,
    *,
    inputs: list[str],
    dynamic: list[str],
    init: str | None,
    weights: Path | None,
    dtype: str | None,
    entries: list[str],
    seed: int,
) -> LoadedModel:
    """Load the user's model as the options say."""
    return load(
        LoadRequest(
            target=target,
            init=parse_init(init) if init is not None else None,
            inputs=tuple(inputs),
            dynamic=tuple(dynamic),
            weights=weights,
            dtype=dtype,
            entries=tuple(entries),
            seed=seed,
        )
    )
