"""A columnar re-implementation of kube-scheduler.

This package does not import Django. Start reading at `cycle/schedule_one.py`.
"""
