"""Scenarios: uploads become one, objects of one are edited, what is in one is listed. Reading files is in `ingest`."""
