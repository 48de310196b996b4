"""PrioritySort: sorts pods by priority, then by waiting time.

Upstream: pkg/scheduler/framework/plugins/queuesort.
"""

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk


class PrioritySort(fwk.QueueSortPlugin):
    name = "PrioritySort"

    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[int, float]:
        return (-pod.priority, timestamp)
