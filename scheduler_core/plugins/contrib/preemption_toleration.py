"""PreemptionToleration: preemption from which annotations of a PriorityClass protect its pods.

Source: sigs.k8s.io/scheduler-plugins, pkg/preemptiontoleration.
"""

import re

from scheduler_core.api.objects import INT32_MAX, INT64_MAX, PriorityClass, timestamp
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins.default_preemption import DefaultPreemption
from scheduler_core.preemption import victims
from scheduler_core.preemption.victims import Budgets, Candidate, Fits

PREFIX = "preemption-toleration.scheduling.x-k8s.io/"
MINIMUM = f"{PREFIX}minimum-preemptable-priority"
SECONDS = f"{PREFIX}toleration-seconds"


def _number(text: str, most: int) -> int | None:
    """Return strconv.ParseInt of the text; None if it fails."""
    if not re.fullmatch(r"[+-]?[0-9]{1,40}", text, re.ASCII):
        return None
    number = int(text)
    return number if -most - 1 <= number <= most else None


class PreemptionToleration(DefaultPreemption):
    name = "PreemptionToleration"
    in_tree = False
    prefix = ""
    waits_for_victims_only = False
    evicts_lower_priority = False

    def select_victims(
        self, state: fwk.CycleState, pod: PodInfo, row: int, budgets: Budgets, fits: Fits
    ) -> Candidate | fwk.Status:
        """Return the candidate for a node. Pods of lower priority that tolerate the preemption stay."""
        node, now = self.cluster.nodes.names[row], self.cluster.now()
        evictable = []
        for other in self.cluster.nodes.pods_of(row):
            if other.priority >= pod.priority:
                continue
            name = other.pod.spec.priority_class_name
            found = self.cluster.priority_classes.get(name) if name else None
            if name and found is None:
                return fwk.error(f'priorityclass.scheduling.k8s.io "{name}" not found')
            if found is None or not tolerates(other, found, pod, now):
                evictable.append(other)
        if not evictable:
            return victims.old_no_victims(pod, node)
        return victims.select_victims(pod, node, row, evictable, budgets, fits)


def tolerates(victim: PodInfo, its_class: PriorityClass, preemptor: PodInfo, now: float) -> bool:
    """Return whether the annotations of the victim's class protect it. `now`: seconds since 1970.

    Source: ExemptedFromPreemption.
    """
    written = its_class.metadata.annotations
    minimum: int | None = its_class.value + 1
    if MINIMUM in written:
        minimum = _number(written[MINIMUM], INT32_MAX)
    seconds = _number(written.get(SECONDS, "0"), INT64_MAX)
    if minimum is None or seconds is None or preemptor.priority >= minimum:
        return False
    if seconds < 0:
        return True
    placed = next((one for one in victim.pod.status.conditions if one.type == "PodScheduled"), None)
    if placed is None or placed.status != "True":
        return True
    return timestamp(placed.last_transition_time or "") + seconds > now
