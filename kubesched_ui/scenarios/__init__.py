"""Scenarios: creation from uploads, edits of their objects, and lists of their contents. `ingest` reads the files."""
