"""Suggested fixes: a search for changes, each verified by running the pod's cycle with them in the restored cluster.

Start with `search.py`. A `Step` (`steps.py`) removes one obstacle. The modules named after a topic offer the steps for
a plugin's rejection. `what_if.py` runs the cycle with the changes, and `trial.py` reverts them.
"""
