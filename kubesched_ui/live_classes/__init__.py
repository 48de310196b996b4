"""Rooms: a class at a lesson or a run. What is shown follows from rows here; docs/live-classes.md tells the rules."""
