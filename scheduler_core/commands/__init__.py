"""Commands of `python -m scheduler_core`, one file for each, and their shared input code."""
