"""Waits for cluster-autoscaler: the node group that grows for a pod, or why none does.

Source: kubernetes/autoscaler, cluster-autoscaler/processors/status, cluster-autoscaler/clusterstate (1.36.1).
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from scheduler_core.api.objects import Pod
from scheduler_core.cluster.formatting import count, listing
from scheduler_core.config.document import read_documents
from scheduler_core.errors import InputError
from scheduler_core.live.neighbours import AUTOSCALER_STATUS, AutoscalerStatus
from scheduler_core.live.objects import Event
from scheduler_core.stations import provisioning_requests
from scheduler_core.stations.autoscaler_answer import AutoscalerAnswer
from scheduler_core.stations.surroundings import Surroundings
from scheduler_core.stations.times import seconds
from scheduler_core.stations.waits import AUTOSCALER_REFUSED, MOST_READ, NODE_COMING, Wait, quoted

WRITER = "cluster-autoscaler"
PROMISE, REFUSAL = "TriggeredScaleUp", "NotTriggerScaleUp"
FAILURES = ("FailedToScaleUpGroup", "ScaleUpTimedOut")
MAX_SIZE, BACKOFF = "max node group size reached", "in backoff after failed scale-up"
_OF_CLUSTER = "max total nodes in cluster reached"
_NOT_OF_THE_POD = (
    *("exceeded quota", "max cluster", "not ready", "not all pods would fit", "expansion options filtered out"),
    "scale-up execution failed",
)
_TIME = re.compile(r"time: (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.\d+)? \+0000 UTC")
_GROUP = re.compile(r"\{(\S+) (\d+)->(\d+) \(max: (\d+)\)\}")
_REASON = re.compile(r"(\d+) (.+)")


class AutoscaledGroup(NamedTuple):
    """A node group as the ConfigMap describes it. `error`: of its last failed scale-up, "" if it is not held back."""

    name: str
    target: int
    registered: int
    ready: int
    most: int
    error: str
    backoff: bool


def answer_about(pod: Pod, around: Surroundings) -> AutoscalerAnswer | None:
    """Return the last answer of cluster-autoscaler about a pod; None without one, or if its nodes are there."""
    if (consumes := provisioning_requests.answer_about(pod, around)) is not None:
        return consumes
    event = around.events.last("Pod", pod, (PROMISE, REFUSAL), WRITER)
    if event is None:
        return None
    if event.reason == REFUSAL:
        return AutoscalerAnswer(False, _refused(pod, event, around))
    groups = _GROUP.findall(event.message[:MOST_READ])
    given_up = _given_up(event, groups, around)
    if given_up is not None:
        return AutoscalerAnswer(False, given_up)
    wait_for_nodes = _promised(event, groups, around)
    return AutoscalerAnswer(True, wait_for_nodes) if wait_for_nodes is not None else None


def _given_up(event: Event, groups: list[tuple[str, str, str, str]], around: Surroundings) -> Wait | None:
    """Return the wait after a promise if each of its node groups has failed to grow since, or is held back."""
    known = {group.name: group for group in node_groups(around)}
    promised = seconds(event.time)
    failures, is_new = (
        [one for one in _failures(around) if seconds(one.time) >= promised],
        _published(around) >= promised,
    )
    parts, says, since = list[str](), list[str](), promised
    for name, *_ in groups:
        of_group = re.compile(rf"group {re.escape(name)}(?:[:\s]|$)")
        failed = next((one for one in reversed(failures) if of_group.search(one.message)), None)
        group = known.get(name)
        error = group.error or "it is held back" if group is not None and group.backoff and is_new else ""
        if failed is None and not error:
            return None
        if failed is not None:
            says.append(f"{failed.reason}: {quoted(failed.message)}")
            since = seconds(failed.time)
        parts.append(f"{name}: {error or quoted(failed.message if failed is not None else '')}")
    if not parts:
        return None
    text = f"cluster-autoscaler could not grow node group {listing(parts)}."
    says = says or [f"{event.reason}: {quoted(event.message)}"]
    return Wait(AUTOSCALER_REFUSED, text, says, WRITER, since, AUTOSCALER_REFUSED, leads=True)


def _failures(around: Surroundings) -> list[Event]:
    status = around.store.get("ConfigMap", AUTOSCALER_STATUS)
    if status is None:
        return around.events.named("ConfigMap", AUTOSCALER_STATUS, FAILURES, WRITER)
    return around.events.about("ConfigMap", status, FAILURES, WRITER)


def _promised(event: Event, groups: list[tuple[str, str, str, str]], around: Surroundings) -> Wait | None:
    known = {group.name: group for group in node_groups(around)}
    if groups and all(_arrived(known.get(name), int(to)) for name, _, to, _ in groups):
        return None
    says = [f"{event.reason}: {quoted(event.message)}"]
    for name, _, _, _ in groups:
        if (group := known.get(name)) is not None:
            says.append(
                f"node group {name}: {group.registered} of {count(group.target)} registered, {group.ready} ready"
            )
    what = listing([f"{name} from {before} to {to} nodes (max: {most})" for name, before, to, most in groups])
    text = (
        f"cluster-autoscaler grows node group {what} for it" if what else f"cluster-autoscaler: {quoted(event.message)}"
    )
    return Wait(
        NODE_COMING, f"{text}; no node of that has become ready yet.", says, WRITER, seconds(event.time), NODE_COMING
    )


def _arrived(group: AutoscaledGroup | None, wanted: int) -> bool:
    return group is not None and group.ready >= wanted


def _refused(pod: Pod, event: Event, around: Surroundings) -> Wait:
    _, _, listed = event.message[:MOST_READ].partition(": ")
    reasons = [(int(found[1]), found[2]) if (found := _REASON.fullmatch(one)) else (0, one) for one in _split(listed)]
    groups = node_groups(around)
    parts, says, others = [], list[str](), 0
    for number, reason in reasons:
        if reason == MAX_SIZE:
            full = [f"{one.name} ({one.most})" for one in groups if one.most and one.target >= one.most]
            full = full or _full_once(pod, around)
            parts.append(f"{_counted(number, full)} at the maximum size{f': {listing(full)}' if full else ''}")
            says.append(f"{number} {reason}")
        elif reason == BACKOFF:
            held = [one for one in groups if one.backoff]
            names = [f"{one.name}: {one.error}" if one.error else one.name for one in held]
            more = f": {'; '.join(names)}" if names else ""
            parts.append(f"{_counted(number, names)} held back after a failed scale-up{more}")
            says.append(f"{number} {reason}")
        elif reason == _OF_CLUSTER or reason.startswith(_NOT_OF_THE_POD):
            parts.append(reason)
        else:
            others += number
    if others and parts:
        parts.append(f"{count(others, 'other node group')} would not fit it")
    elif not parts:
        parts = [quoted(listed) or "it gives no reason"]
    if held_events := [one for one in _failures(around) if any(reason == BACKOFF for _, reason in reasons)]:
        says.append(quoted(held_events[-1].message))
    text = f"cluster-autoscaler adds no node for it: {'; '.join(parts)}."
    return Wait(AUTOSCALER_REFUSED, text, says, WRITER, seconds(event.time), AUTOSCALER_REFUSED, leads=True)


def _split(listed: str) -> list[str]:
    """Return the reasons of a refusal. A reason can contain a comma: the next one begins with a number."""
    return [one.strip() for one in re.split(r", (?=\d+ )", listed) if one.strip()]


def _counted(number: int, names: list[str]) -> str:
    number = number or len(names) or 1
    return f"{count(number, 'node group')} {'is' if number == 1 else 'are'}"


def _full_once(pod: Pod, around: Surroundings) -> list[str]:
    """Return the groups that an earlier promise to the pod brought to their maximum."""
    events = around.events.about("Pod", pod, (PROMISE,), WRITER)
    found = [group for event in events for group in _GROUP.findall(event.message)]
    return list(dict.fromkeys(f"{name} ({most})" for name, _, to, most in found if to == most))


def node_groups(around: Surroundings) -> list[AutoscaledGroup]:
    """Return the node groups that cluster-autoscaler publishes; [] if nothing readable is known.

    Until 1.29 the ConfigMap had text that is not YAML.
    """
    status = around.store.get("ConfigMap", AUTOSCALER_STATUS)
    if not isinstance(status, AutoscalerStatus):
        return []
    if around.node_groups is None or around.node_groups[0] is not status:
        around.node_groups = status, list(_read(status.data.status))
    return list(around.node_groups[1])


def _published(around: Surroundings) -> float:
    """Return the Unix seconds at which cluster-autoscaler published its state; 0 if it is not known."""
    status = around.store.get("ConfigMap", AUTOSCALER_STATUS)
    found = _TIME.match(status.data.status) if isinstance(status, AutoscalerStatus) else None
    return seconds(f"{found[1]}T{found[2]}Z") if found is not None else 0.0


def _read(text: str) -> Iterator[AutoscaledGroup]:
    try:
        documents = read_documents(text, "ConfigMap cluster-autoscaler-status")
    except InputError:
        return
    found = _part(documents[0] if documents else None, "nodeGroups")
    for group in found if isinstance(found, list) else ():
        name = _part(group, "name")
        if not isinstance(name, str):
            continue
        health, counts = _part(group, "health"), _part(group, "health", "nodeCounts", "registered")
        info = _part(group, "scaleUp", "backoffInfo")
        texts = [str(one) for key in ("errorCode", "errorMessage") if (one := _part(info, key))]
        target, most = _number(_part(health, "cloudProviderTarget")), _number(_part(health, "maxSize"))
        registered, ready = _number(_part(counts, "total")), _number(_part(counts, "ready"))
        backoff = _part(group, "scaleUp", "status") == "Backoff"
        yield AutoscaledGroup(name, target, registered, ready, most, quoted(": ".join(texts)), backoff)


def _part(value: Any, *path: str) -> Any:
    """Return a part of a document, None if it is not there."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
