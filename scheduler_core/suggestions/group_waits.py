"""Pods that wait for the other pods of their group."""

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.formatting import count
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.summary import reason_text
from scheduler_core.plugins.contrib.coscheduling import POD_GROUP, Coscheduling
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.placing import Placing

MOST = 200  # members that are tried together


def why_group_waits(simulation: Simulation, pod: PodInfo, trace: CycleTrace) -> str:
    """Return why the pod waits for its group: too few members exist or fit; "" if no group keeps it.

    `trace`: the pod's own cycle.
    """
    held = trace.preenqueue or trace.prefilter
    key = group_of(pod)
    if held is not None and key and held.plugin in ("GangScheduling", "Coscheduling"):
        if _wanted(simulation, pod, key) is None:
            return f"Its group {key} does not exist."
        return _too_few(simulation, pod, key) or f"Its group {key} waits: {reason_text(held)}."
    if held is None and trace.placed_on and (pod.group or _asks_permit(simulation, pod)):
        return _too_few(simulation, pod, key) or _together(simulation, pod, key)
    return ""


def _too_few(simulation: Simulation, pod: PodInfo, key: str) -> str:
    """Return how many pods the group needs if fewer exist."""
    there, wanted = len(_members(simulation, key)), _wanted(simulation, pod, key) or 1
    if there >= wanted:
        return ""
    return f"Its group {key} needs {count(wanted, 'pod')}, and {there:,} exist{'s' * (there == 1)}."


def _asks_permit(simulation: Simulation, pod: PodInfo) -> bool:
    """Return whether Coscheduling holds the pod in Permit until enough pods of its group have a node."""
    framework = simulation.scheduler.profiles.get(pod.pod.spec.scheduler_name)
    return framework is not None and any(plugin.name == Coscheduling.name for plugin in framework.permit)


def _members(simulation: Simulation, key: str) -> list[PodInfo]:
    everyone = [*simulation.cluster.pods.values(), *simulation.pending]
    found = {pod.key: pod for pod in everyone if group_of(pod) == key}
    return list(found.values())


def _wanted(simulation: Simulation, pod: PodInfo, key: str) -> int | None:
    """Return how many members the group needs; None if it does not exist."""
    if not pod.group:
        found = simulation.cluster.pod_groups.get(key)
        return found.spec.min_member if found is not None else None
    group = simulation.cluster.scheduling_groups.get(key)
    if group is None:
        return None
    gang = group.spec.scheduling_policy.gang
    return gang.min_count if gang is not None else 1


def _together(simulation: Simulation, pod: PodInfo, key: str) -> str:
    """Return how many members of a gang fit, one after the other, if these are too few."""
    members, wanted = _members(simulation, key), _wanted(simulation, pod, key) or 1
    waiting = sorted((one for one in members if not one.node), key=lambda one: (one is not pod, one.key))[:MOST]
    fitting = sum(bool(one.node) for one in members) + len(Placing(simulation, MOST).place((), waiting))
    if fitting >= wanted:
        return ""
    return f"Its gang {key} needs {count(wanted, 'pod')} at once, and only {fitting:,} fit{'s' * (fitting == 1)}."


def group_of(pod: PodInfo) -> str:
    """Return namespace/name of the pod's group of either kind; "" for none."""
    return pod.group or Coscheduling.group_of(pod)


def may_have_group(pod: Pod) -> bool:
    """Return whether the pod may belong to a group."""
    labels = pod.metadata.labels
    return pod.spec.scheduling_group is not None or bool(labels.get(POD_GROUP))
