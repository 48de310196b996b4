"""The commands of `python -m scheduler_core`, a file each, and what they read."""
