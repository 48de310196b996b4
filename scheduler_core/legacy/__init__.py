"""Kubernetes 1.16 as it was: predicates and priorities instead of a framework's plugins.

Columns, traces and the dry run are those of the framework; what differs lies here. `generic_scheduler.py` is where to
start.
"""
