"""Hosted packages: a model with its Python source, for what no library can hold."""
