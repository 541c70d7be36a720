"""Pluggable backends of ptc.compile."""
