"""Commands of `python -m scheduler_core`, and what they share."""
