"""Prepares snapshots for runs: reads them, applies API-server defaults and completes them. The entry point is
`prepare`."""
