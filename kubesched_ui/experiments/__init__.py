"""Experiments: many computations about scenarios, distributed to workers, with one answer (docs/experiments.md)."""
