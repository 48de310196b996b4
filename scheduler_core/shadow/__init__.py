"""Checks the decisions of a real scheduler: decides each pod on the same state and classifies the difference."""
