"""Scenario editor back end: parses, validates, previews and edits the YAML text of a scenario."""
