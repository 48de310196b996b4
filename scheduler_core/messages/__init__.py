"""Explains FailedScheduling messages without their cluster (docs/answers.md)."""
