"""Writing artifacts: the library, its header, its manifest and its weights."""
