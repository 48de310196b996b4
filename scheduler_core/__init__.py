"""The scheduler: a columnar re-implementation of kube-scheduler.

Nothing in here imports Django. A reader starts at `schedule_one.py`.
"""
