"""QOSSort: sorts pods by priority, then by quality of service, then by waiting time.

Source: sigs.k8s.io/scheduler-plugins, pkg/qos.
"""

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.qos import qos_class
from scheduler_core.framework import interface as fwk

ORDER = ("Guaranteed", "Burstable", "BestEffort")


class QOSSort(fwk.QueueSortPlugin):
    name = "QOSSort"
    in_tree = False

    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[int, int, float]:
        return -pod.priority, ORDER.index(qos_class(pod.pod)), timestamp
