"""Loading and running artifacts with NumPy alone. Never imports torch."""

from ptc.hosting.artifact import LoadedArtifact, LoadedEntry, load
from ptc.hosting.manifest import Manifest

__all__ = ["LoadedArtifact", "LoadedEntry", "Manifest", "load"]
