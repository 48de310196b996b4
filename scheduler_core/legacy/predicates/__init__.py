"""Predicates: find the feasible nodes. Each is implemented as a Filter plugin; `registry.py` lists them in order."""
