"""Backup of the whole database to one file, and its restoration, within and between SQLite and PostgreSQL
(docs/operations.md)."""
