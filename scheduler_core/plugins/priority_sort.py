"""PrioritySort: sorts pods by priority, then by waiting time.

Upstream: pkg/scheduler/framework/plugins/queuesort.
"""

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import QueueSortPlugin


class PrioritySort(QueueSortPlugin):
    name = "PrioritySort"

    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[int, float]:
        return (-pod.priority, timestamp)
