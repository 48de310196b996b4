"""Runs: settings, creation, queue, execution, cancellation and recovery."""
