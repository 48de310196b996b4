"""Metrics of a cluster's state."""
