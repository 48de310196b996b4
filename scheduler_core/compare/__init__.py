"""Comparison of two recordings: the differences between the runs and their effects. See docs/debugger.md."""
