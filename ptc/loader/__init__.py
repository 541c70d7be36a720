"""From a user's model file to a callable with entries, weights and example inputs."""

from ptc.loader.construct import parse_init
from ptc.loader.load import load
from ptc.loader.model import (
    Arguments,
    DynamicDim,
    DynamicSpec,
    EntryRequest,
    LoadedModel,
    LoadRequest,
)

__all__ = [
    "Arguments",
    "DynamicDim",
    "DynamicSpec",
    "EntryRequest",
    "LoadRequest",
    "LoadedModel",
    "load",
    "parse_init",
]
