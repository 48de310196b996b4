"""Priorities: score the feasible nodes from 0 to 10.

Each is implemented as a Score plugin: `score` is upstream's Map, `normalize` is its Reduce.
"""
