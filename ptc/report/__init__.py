"""Explanations for people: inspection of every stage, the state of the installation."""
