"""Priorities: which of the nodes left is best, from 0 to 10. In form each is a Score plugin: its Map is `score`, its
Reduce is `normalize`."""
