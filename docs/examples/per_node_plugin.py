"""RackLimit: at most two pods of an application on a node; fuller racks are better. One node at a time."""

from scheduler_core.framework.per_node import PerNode, per_node

MOST = 2


@per_node
class RackLimit(PerNode):
    name = "RackLimit"

    def filter_node(self, state, pod, node):
        app = pod.labels.get("app")
        same = sum(other.labels.get("app") == app for other in node.pods)
        return f"node(s) run {MOST} pods of this application" if app and same >= MOST else None

    def score_node(self, state, pod, node):
        return min(100, 10 * len(node.pods)) if "rack" in node.labels else 0
