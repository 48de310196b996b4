"""Predicates: which nodes could take the pod. In form each is a Filter plugin; `registry.py` has them in order."""
