"""Rooms: a class at a lesson or a run. What is shown follows from rows here; docs/rooms.md tells the rules."""
