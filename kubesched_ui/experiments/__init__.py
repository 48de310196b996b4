"""Experiments: stored documents, cells and their distribution to workers (docs/experiments.md)."""
