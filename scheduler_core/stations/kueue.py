"""Waits for Kueue: why the Workload of a pod or of a job is not admitted, in the words of its conditions.

Source: sigs.k8s.io/kueue, apis/kueue/v1beta2/workload_types.go, pkg/controller/core, pkg/scheduler (flavorassigner).
"""

import re
from bisect import bisect_left
from collections.abc import Iterator

from scheduler_core.api.objects import Object, Pod, PodCondition
from scheduler_core.cluster.formatting import count, listing
from scheduler_core.live.neighbours import (
    KUEUE,
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    FlavorResource,
    KueueWorkload,
    LocalQueue,
    ProvisioningRequest,
    ResourceFlavor,
    ResourceGroup,
)
from scheduler_core.stations.provisioning_requests import state_of
from scheduler_core.stations.surroundings import Surroundings, condition_in
from scheduler_core.stations.times import clock, seconds
from scheduler_core.stations.waits import ADMISSION, MOST_READ, Wait, quoted

GATES = {
    f"{KUEUE}/admission": "Kueue, once it admits the pod's Workload",
    f"{KUEUE}/topology": "Kueue, once it has chosen the pod's topology domain",
    f"{KUEUE}/elastic-job": "Kueue, once it admits the pod's Workload slice",
}
"""Gate -> who removes it, and when."""
QUEUE_LABEL = f"{KUEUE}/queue-name"
KUEUE_CAUSE = "kueue"
KUEUE_UNKNOWN = "kueue-unknown"  # no Workload is known
READY, REJECTED, RETRY = "Ready", "Rejected", "Retry"
PROVISIONING = f"{KUEUE}/provisioning-request"

_UNUSED = re.compile(r"insufficient unused quota for (\S+) in flavor (\S+), (\S+) more needed")
_NEVER = re.compile(
    r"insufficient quota for (\S+) in flavor (\S+), previously considered podsets requests \((\S+?)\)"
    r" \+ current podset request \((\S+?)\) > maximum capacity \((\S+?)\)"
)
_TOPOLOGY = re.compile(r'topology "([^"]+)" (?:allows to fit only (\d+) out of|doesn\'t allow to fit any of) (\d+) pod')
_EXCLUDED = re.compile(r"Total nodes: .*", re.S)
_UNFIT = re.compile(r"flavor (\S+) doesn't match node affinity")
_UID = re.compile(r"workload \(UID: (?!UNKNOWN)([^,)]+)")
_PREEMPTION = re.compile(r"Pending the preemption of (\d+) workload")


def is_managed(obj: Object) -> bool:
    """Whether a job or pod is in a queue of Kueue."""
    return QUEUE_LABEL in obj.metadata.labels


def wait_of(obj: Object, around: Surroundings) -> Wait | None:
    """Return why Kueue does not admit a pod or a job; None if it has admitted it.

    Without a Workload, the sentence says that none is known.
    """
    workload = around.kueue_workload(obj)
    if workload is None:
        return _without_workload(obj, around)
    conditions = workload.status.conditions
    finished, admitted = condition_in(conditions, "Finished"), condition_in(conditions, "Admitted")
    reserved = condition_in(conditions, "QuotaReserved")
    if _true(finished) or (_true(admitted) and _true(reserved)):
        return None
    if not workload.spec.active:
        return _deactivated(workload, around)
    if _true(reserved):
        return _unchecked(workload, around, admitted)
    return _without_quota(workload, obj, around, reserved)


def topology_wait(obj: Object, around: Surroundings) -> Wait:
    """Return the wait of an admitted pod for the domain that Kueue chooses for it."""
    workload = around.kueue_workload(obj)
    where = f" Its Workload {workload.name} is admitted." if workload is not None else ""
    text = f"Kueue has not chosen the topology domain of the pod: its gate {KUEUE}/topology is left.{where}"
    return Wait(ADMISSION, text, cause=KUEUE_CAUSE)


def _true(condition: PodCondition | None) -> bool:
    return condition is not None and condition.status == "True"


def _without_workload(obj: Object, around: Surroundings) -> Wait:
    queue = obj.metadata.labels.get(QUEUE_LABEL, "")
    in_queue = f" in LocalQueue {queue}" if queue else ""
    kind = "Pod" if isinstance(obj, Pod) else ""
    event = around.events.last(kind, obj, ("ErrWorkloadCompose",)) if kind else None
    if event is not None:
        text = f"Kueue has not made a Workload{in_queue} for it: {quoted(event.message)}."
        return Wait(ADMISSION, text, [], event.reporter, seconds(event.time), KUEUE_UNKNOWN)
    text = f"It is held for Kueue{in_queue}, and no Workload of it is known here."
    return Wait(ADMISSION, text, _queue_problems(obj.namespace, queue, around), "", 0.0, KUEUE_UNKNOWN)


def _queue(workload: KueueWorkload, around: Surroundings) -> tuple[LocalQueue | None, str, ClusterQueue | None]:
    """Return the LocalQueue, the name of the ClusterQueue and the ClusterQueue; None and "" for what is unknown."""
    local = around.store.get("LocalQueue", f"{workload.namespace}/{workload.spec.queue_name}")
    local = local if isinstance(local, LocalQueue) else None
    name = workload.status.admission.cluster_queue if workload.status.admission is not None else ""
    name = name or (local.spec.cluster_queue if local is not None else "")
    queue = around.store.get("ClusterQueue", name)
    return local, name, queue if isinstance(queue, ClusterQueue) else None


def _queue_problems(namespace: str, local_name: str, around: Surroundings) -> list[str]:
    """Return what keeps the queues of a workload from admitting anything."""
    found = []
    local = around.store.get("LocalQueue", f"{namespace}/{local_name}")
    if not isinstance(local, LocalQueue):
        return []
    if local.spec.stop_policy not in ("", "None"):
        found.append(f"LocalQueue {local_name} is stopped (stopPolicy {local.spec.stop_policy})")
    name = local.spec.cluster_queue
    queue = around.store.get("ClusterQueue", name)
    if not isinstance(queue, ClusterQueue):
        if around.store.objects("ClusterQueue"):
            found.append(f"ClusterQueue {name} does not exist")
        return found
    if queue.spec.stop_policy not in ("", "None"):
        found.append(f"ClusterQueue {name} is stopped (stopPolicy {queue.spec.stop_policy})")
    active = condition_in(queue.status.conditions, "Active")
    if active is not None and active.status == "False":
        found.append(f"ClusterQueue {name} is not active: {active.reason}: {quoted(active.message)}")
    return found


def _subject(workload: KueueWorkload, cluster_queue: str) -> str:
    queue = f" (LocalQueue {workload.spec.queue_name})" if workload.spec.queue_name else ""
    where = (
        f" in ClusterQueue {cluster_queue}{queue}" if cluster_queue else f" in LocalQueue {workload.spec.queue_name}"
    )
    return f"Kueue does not admit Workload {workload.name}{where if cluster_queue or queue else ''}"


def _deactivated(workload: KueueWorkload, around: Surroundings) -> Wait:
    _, name, _ = _queue(workload, around)
    evicted = condition_in(workload.status.conditions, "Evicted")
    says = [f"{evicted.reason}: {quoted(evicted.message)}"] if evicted is not None and _true(evicted) else []
    since = seconds(evicted.last_transition_time or "") if evicted is not None else 0.0
    text = f"{_subject(workload, name)}: it is deactivated (spec.active is false), until a person sets it to true."
    return Wait(ADMISSION, text, says, "kueue-workload-controller", since, KUEUE_CAUSE)


def _unchecked(workload: KueueWorkload, around: Surroundings, admitted: PodCondition | None) -> Wait:
    """Return the wait of a Workload that has its quota, for its admission checks."""
    _, name, _ = _queue(workload, around)
    since = seconds((admitted.last_transition_time if admitted is not None else "") or "")
    missing = [check for check in workload.status.admission_checks if check.state != READY]
    if not missing:
        reason = quoted(admitted.message) if admitted is not None else "its checks are not known"
        kind = f"{admitted.reason}: " if admitted is not None and admitted.reason else ""
        text = f"{_subject(workload, name)}, although its quota is reserved: {kind}{reason}."
        return Wait(ADMISSION, text, [], "kueue-workload-controller", since, KUEUE_CAUSE)
    names = listing([f"{check.name} is {check.state or 'Pending'}" for check in missing])
    text = f"{_subject(workload, name)}: its quota is reserved, and admission check {names}."
    says = [f"{check.name}: {quoted(check.message)}" for check in missing if check.message]
    for check in missing:
        owner = around.store.get("AdmissionCheck", check.name)
        if isinstance(owner, AdmissionCheck):
            says.append(f"{owner.spec.controller_name} decides about {check.name}")
            active = condition_in(owner.status.conditions, "Active")
            if active is not None and active.status == "False":
                says.append(f"AdmissionCheck {check.name} is not active: {quoted(active.message)}")
        says += _provisioning(workload, check.name, around)
    since = max(since, *(seconds(check.last_transition_time or "") for check in missing))
    return Wait(ADMISSION, text, says, "kueue-workload-controller", since, KUEUE_CAUSE)


def _provisioning(workload: KueueWorkload, check: str, around: Surroundings) -> Iterator[str]:
    """Yield the state of the newest ProvisioningRequest of a check. Its name ends with the number of the attempt."""
    prefix = f"{workload.name}-{check}-"
    found = [
        one
        for one in around.store.objects("ProvisioningRequest")
        if isinstance(one, ProvisioningRequest)
        and one.namespace == workload.namespace
        and one.name.startswith(prefix)
        and one.name[len(prefix) :].isdecimal()
    ]
    if found:
        yield state_of(max(found, key=lambda one: (len(one.name), one.name)))


def _without_quota(workload: KueueWorkload, obj: Object, around: Surroundings, reserved: PodCondition | None) -> Wait:
    local, name, queue = _queue(workload, around)
    problems = _queue_problems(workload.namespace, workload.spec.queue_name, around)
    says: list[str] = []
    writer, since = "kueue-admission", seconds((reserved.last_transition_time if reserved is not None else "") or "")
    if reserved is not None and reserved.message:
        text = _of_message(reserved, workload, obj, around)
        says.append(f"QuotaReserved is False: {reserved.reason}: {quoted(reserved.message)}")
    elif problems:
        text, writer = "", ""
    elif local is None and workload.spec.queue_name and around.store.objects("LocalQueue"):
        text, writer = f"LocalQueue {workload.spec.queue_name} does not exist", ""
    else:
        text, writer = "it has not decided about it yet", ""
    if problems and reserved is not None and reserved.reason not in ("Inadmissible", "Suspended", "Misconfigured"):
        says, text = [*problems, *says], "; ".join([*problems, text])
    elif problems:
        text = "; ".join(filter(None, (text, *(one for one in problems if one not in text))))
    for check in workload.status.admission_checks:
        if check.state in (RETRY, REJECTED) and check.name not in text:
            text = "; ".join(filter(None, (text, f"admission check {check.name} is {check.state}")))
            says += [f"{check.name}: {quoted(check.message)}"] if check.message else []
    history = _history(workload, around)
    message = reserved.message[:MOST_READ] if reserved is not None else ""
    if queue is not None:
        says += _use(message, queue, around)
    says += _flavors(message, around)
    says += _ahead(workload, name, around)
    sentence = f"{_subject(workload, name)}: {text or '; '.join(problems)}.{history}"
    return Wait(ADMISSION, sentence, says, writer, since, KUEUE_CAUSE)


def _of_message(reserved: PodCondition, workload: KueueWorkload, obj: Object, around: Surroundings) -> str:
    """Return what the condition QuotaReserved says, as a clause; its own words if it has another form."""
    message, parts = reserved.message[:MOST_READ], []
    for resource, flavor, missing in _UNUSED.findall(message):
        parts.append(f"{missing} more {resource} of flavor {flavor} must become free")
    for resource, flavor, before, request, most in _NEVER.findall(message):
        others = f" and {before} for its other pod sets" if before != "0" else ""
        parts.append(
            f"it requests {request} {resource} of flavor {flavor}{others}, and the maximum of the quota is {most}:"
            " it is never admitted as it is"
        )
    for topology, fits, of in _TOPOLOGY.findall(message):
        level = _level(workload, obj)
        within = f" within one {level}" if level else ""
        parts.append(f"topology {topology} has room for {fits or 0} of its {of} pods{within}")
    rest = _EXCLUDED.sub("", message.replace("assign flavors", ""))
    for pattern in (_UNUSED, _NEVER, _TOPOLOGY):
        rest = pattern.sub("", rest)
    if not parts or "flavor" in rest or "topology" in rest or "resource" in rest:
        return quoted(message)
    if found := _PREEMPTION.search(message):
        parts.append(f"{count(int(found[1]), 'workload')} that it preempts must end")
    return "; ".join(dict.fromkeys(parts))


def _level(workload: KueueWorkload, obj: Object) -> str:
    """Return the label whose value all pods of the workload must share; "" if it is not known."""
    for name in ("required", "preferred"):
        if found := obj.metadata.annotations.get(f"{KUEUE}/podset-{name}-topology"):
            return found
        for pod_set in workload.spec.pod_sets:
            if pod_set.topology_request is not None and getattr(pod_set.topology_request, name):
                return str(getattr(pod_set.topology_request, name))
    return ""


def _history(workload: KueueWorkload, around: Surroundings) -> str:
    """Return why the Workload was evicted, and whether it is held back, as further sentences."""
    evicted = condition_in(workload.status.conditions, "Evicted")
    if evicted is None or not _true(evicted):
        return ""
    at = seconds(evicted.last_transition_time or "")
    when = f" at {clock(at)}" if at else ""
    if evicted.reason == "Preempted":
        uid = _UID.search(evicted.message)
        known = (one for one in around.store.objects(f"Workload.{KUEUE}") if uid and one.metadata.uid == uid[1])
        preemptor = next((one.name for one in known), f"with UID {uid[1]}" if uid else "")
        text = f" It was preempted{f' by Workload {preemptor}' if preemptor else ''}{when}."
    else:
        text = f" It was evicted{when}: {evicted.reason}: {quoted(evicted.message)}."
    requeued, state = condition_in(workload.status.conditions, "Requeued"), workload.status.requeue_state
    if requeued is not None and requeued.status == "False":
        until = f" until {clock(seconds(state.requeue_at))}" if state is not None and state.requeue_at else ""
        text += f" It is held back{until}: {quoted(requeued.message) or requeued.reason}."
    return text


def _use(message: str, queue: ClusterQueue, around: Surroundings) -> Iterator[str]:
    """Yield how much of the quotas that a message names is reserved."""
    wanted = {(resource, flavor) for resource, flavor, *_ in _UNUSED.findall(message) + _NEVER.findall(message)}
    reserved = {(one.name, flavor.name): one for flavor in queue.status.flavors_reservation for one in flavor.resources}
    cohort = queue.spec.cohort_name or queue.spec.cohort
    known = around.store.get("Cohort", cohort)
    shared = _quotas(known.spec.resource_groups) if isinstance(known, Cohort) else {}
    for key, quota in _quotas(queue.spec.resource_groups).items():
        if key not in wanted:
            continue
        used = reserved.get(key)
        total = f"{used.total} of " if used is not None else ""
        text = f"{queue.name}: {total}{quota.nominal_quota} {key[0]} of flavor {key[1]}"
        text += " are reserved" if used is not None else " are its quota"
        if used is not None and str(used.borrowed) != "0":
            text += f", {used.borrowed} of them borrowed"
        if cohort:
            limit = f" up to {quota.borrowing_limit}" if quota.borrowing_limit is not None else ""
            text += f"; it may borrow{limit} from cohort {cohort}"
            text += f", which has {shared[key].nominal_quota} of its own" if key in shared else ""
        yield text


def _quotas(groups: list[ResourceGroup]) -> dict[tuple[str, str], FlavorResource]:
    """Return (resource, flavor) -> quota."""
    return {(one.name, flavor.name): one for group in groups for flavor in group.flavors for one in flavor.resources}


def _flavors(message: str, around: Surroundings) -> Iterator[str]:
    """Yield for which nodes the flavors are that do not match."""
    for name in dict.fromkeys(_UNFIT.findall(message)):
        flavor = around.store.get("ResourceFlavor", name)
        if isinstance(flavor, ResourceFlavor):
            labels = [f"{key}={value}" for key, value in sorted(flavor.spec.node_labels.items())]
            taints = [f"taint {taint.key}={taint.value}:{taint.effect}" for taint in flavor.spec.node_taints]
            yield f"flavor {name} is for nodes with {listing([*labels, *taints]) or 'any labels'}"


def _ahead(workload: KueueWorkload, cluster_queue: str, around: Surroundings) -> Iterator[str]:
    """Yield the Workload's place among those of its ClusterQueue that have no quota."""
    if around.kueue_queues is None:
        around.kueue_queues = {}
        for one in around.store.objects(f"Workload.{KUEUE}"):
            if isinstance(one, KueueWorkload) and one.spec.active and not _has_quota(one):
                around.kueue_queues.setdefault(_queue(one, around)[1], []).append(_rank(one))
        for ranks in around.kueue_queues.values():
            ranks.sort()
    ahead = bisect_left(around.kueue_queues.get(cluster_queue, []), _rank(workload)) if cluster_queue else 0
    if ahead:
        yield f"{count(ahead, 'Workload')} of ClusterQueue {cluster_queue} {'is' if ahead == 1 else 'are'} ahead of it"


def _has_quota(workload: KueueWorkload) -> bool:
    conditions = workload.status.conditions
    return _true(condition_in(conditions, "QuotaReserved")) or _true(condition_in(conditions, "Finished"))


def _rank(workload: KueueWorkload) -> tuple[int, float, str]:
    """Return the place in a ClusterQueue: higher priority first, then older."""
    return -(workload.spec.priority or 0), seconds(workload.metadata.creation_timestamp), workload.key
