"""Diagnostics, settings, registries and dumps. Standard library only; never imports torch."""
