"""Backs up the whole database to one file and restores it, within and between SQLite and PostgreSQL
(docs/operations.md)."""
