"""Why a pod landed where it did, or nowhere: `explain` makes an Answer of a recorded cycle, `render` makes it text."""

from scheduler_core.explain.answer import Answer
from scheduler_core.explain.explain import explain
from scheduler_core.explain.render import render

__all__ = ["Answer", "explain", "render"]
