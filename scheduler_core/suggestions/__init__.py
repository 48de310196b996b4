"""What keeps pending pods from nodes, and suggested fixes: changes that dry cycles of all pods of a workload verify.

Start with `answers.py` and `fixes.py`. A `TemplateEdit` edits the pods; the modules named after a topic offer edits
for a plugin's rejection. `what_if.py` and `placing.py` run cycles with the changes, and `trial.py` reverts them.
"""
