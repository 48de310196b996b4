"""Experiments: questions about a scenario that many runs answer together (docs/experiments.md)."""
