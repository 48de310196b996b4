"""Explains why a pod was placed or is pending: `explain` converts a recorded cycle to an Answer, `render` to text."""

from scheduler_core.explain.answer import Answer
from scheduler_core.explain.explain import explain
from scheduler_core.explain.render import render

__all__ = ["Answer", "explain", "render"]
