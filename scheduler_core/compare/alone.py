"""The outcome of each pod if it is scheduled alone on the cluster as it is.

Other pending pods are absent, and pods that the run reschedules are on their nodes. A difference between two releases
is then the direct effect of the release; it does not follow from the placement of another pod.
"""

from collections.abc import Iterable
from dataclasses import replace

import msgspec

from scheduler_core.api.objects import Object, Pod
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.compare.inputs import Inputs, Outcome, Tick, outcome_of, simulation_of
from scheduler_core.simulation import Simulation


def outcomes_alone(inputs: Inputs, pods: Iterable[str], tick: Tick = lambda: None) -> dict[str, Outcome]:
    """Return the outcome of each of these pods in a single pass. Members of pod groups have none.

    Raises InputError for inputs that cannot be run.
    """
    objects = {key: _on_its_node(obj, inputs.bound) for key, obj in inputs.objects.items()}
    simulation = simulation_of(replace(inputs, objects=objects, pods=(), items=()))
    simulation.scheduler.batches = False
    pending = {pod.key: pod for pod in simulation.pending}
    found = {}
    for key in pods:
        pod = simulation.cluster.pods.get(key) or pending.get(key)
        if pod is not None and not (simulation.release.pod_groups and pod.pod.spec.scheduling_group):
            tick()
            found[key] = _outcome(simulation, pod)
    return found


def _on_its_node(obj: Object, bound: dict[str, str]) -> Object:
    """Return a pod on the node from which the run has taken it."""
    if not isinstance(obj, Pod) or obj.key not in bound:
        return obj
    return msgspec.structs.replace(obj, spec=msgspec.structs.replace(obj.spec, node_name=bound[obj.key]))


def _outcome(simulation: Simulation, pod: PodInfo) -> Outcome:
    """Run the scheduling cycle of a pod and revert its effects."""
    cluster, scheduler = simulation.cluster, simulation.scheduler
    node, nominated = pod.node, cluster.nominator.node_of(pod)
    if node:
        cluster.remove_pod(pod)
    framework, state, trace = scheduler.try_pod(pod)
    if trace.placed_on:
        scheduler.forget(framework, state, pod, trace.node)
    scheduler.next_start_index = 0
    if node:
        cluster.add_pod(pod, node)
    if nominated:
        cluster.nominator.nominate(pod, nominated)
    return outcome_of(trace, trace.result, trace.placed_on)
