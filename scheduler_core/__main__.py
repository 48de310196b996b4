"""python -m scheduler_core: the commands."""
