"""Explains why a pod was placed or is pending: `explain` converts a recorded cycle to an Answer, `render` to text.

`explain_node` explains why a pod did not go to one node.
"""

from scheduler_core.explain.answer import Answer, NodeAnswer
from scheduler_core.explain.explain import explain
from scheduler_core.explain.node_answer import explain_node
from scheduler_core.explain.render import render

__all__ = ["Answer", "NodeAnswer", "explain", "explain_node", "render"]
