"""Waits for the owners of scheduling gates."""

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.formatting import listing
from scheduler_core.live.neighbours import KUEUE
from scheduler_core.plugins.scheduling_gates import gate_owner
from scheduler_core.stations import kueue
from scheduler_core.stations.surroundings import Surroundings
from scheduler_core.stations.times import seconds
from scheduler_core.stations.waits import ADMISSION, Wait

VOLCANO_GATE = "scheduling.volcano.sh/queue-allocation-gate"
OWNERS = {**kueue.GATES, VOLCANO_GATE: "Volcano, once its queue has room"}


def wait_of(pod: Pod, around: Surroundings) -> Wait | None:
    """Return the wait of a pod with gates; None without gates."""
    gates = [gate.name for gate in pod.spec.scheduling_gates]
    if not gates or pod.spec.node_name:
        return None
    ours = [gate for gate in gates if gate.startswith(f"{KUEUE}/")]
    others = [gate for gate in gates if gate not in ours]
    found = kueue.wait_of(pod, around) if ours else None
    if found is None and f"{KUEUE}/topology" in ours:
        found = kueue.topology_wait(pod, around)
    if found is not None and found.cause == kueue.KUEUE_UNKNOWN and not found.writer:
        found.says, found.sentence = [found.sentence, *found.says], ""  # the scheduler's answer says more
    if found is None and ours:
        text = f"Its Workload is admitted, and gate {listing(ours)} is left, which Kueue removes."
        found = Wait(ADMISSION, text, cause=kueue.KUEUE_CAUSE)
    rest = [_remover(gate) for gate in others]
    if found is None:
        return Wait(ADMISSION, "", rest, since=seconds(pod.metadata.creation_timestamp))
    if others and found.sentence:
        found.sentence += f" Then gate{'s' if len(others) > 1 else ''} {listing(others)} must be removed as well."
    found.says = [*found.says, *rest]
    found.since = found.since or seconds(pod.metadata.creation_timestamp)
    return found


def _remover(gate: str) -> str:
    owner = OWNERS.get(gate, "")
    if not owner and (known := gate_owner(gate)):
        return f"gate {gate}: {known}"
    return f"gate {gate} is removed by {owner or 'the component that set it'}"
