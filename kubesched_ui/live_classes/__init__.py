"""Live classes: a teacher shows a lesson or a run to students.

Their state is in database rows; see docs/live-classes.md.
"""
