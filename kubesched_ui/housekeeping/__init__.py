"""Disk space, quotas and retention (docs/operations.md)."""
