"""Symbolic values: one class per kind. `base` has the protocol; modules named `torch_*` know
torch."""
