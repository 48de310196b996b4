"""Lessons: their figures and answers are computed from a run. docs/lessons.md describes the format."""
