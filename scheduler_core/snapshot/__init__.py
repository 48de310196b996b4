"""Prepares snapshots for runs: applies API-server defaults and completes objects. The entry point is `prepare`."""
