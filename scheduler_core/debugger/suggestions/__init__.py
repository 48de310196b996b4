"""Suggested fixes: changes for a workload, each verified by dry cycles of its pods in the restored cluster.

Start with `fixes.py`. A `TemplateEdit` edits the pods; the modules named after a topic offer edits for a plugin's
rejection. `what_if.py` and `placing.py` run cycles with the changes, and `trial.py` reverts them.
"""
