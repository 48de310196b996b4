"""The scheduler of Kubernetes 1.16: predicates and priorities instead of plugins of the scheduling framework.

Columns, traces and the dry run are those of the framework; this package contains the differences. Start with
`generic_scheduler.py`.
"""
