"""Clusters with one planted cause for which the pods of a workload have no node: `causes.planted(name, seed)`."""
