"""Comparison of ptc with its peers, side by side in one run."""
