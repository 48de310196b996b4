"""Everything in one file, and back: on SQLite and PostgreSQL, from either to either (docs/operations.md)."""
