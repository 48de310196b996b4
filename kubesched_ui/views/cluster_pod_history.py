"""What happened to a pod of a live cluster, from the stored changes."""

from datetime import datetime
from typing import Any, NamedTuple

from django.utils import timezone

from kubesched_ui.clusters.history import ADD, DELETE, ClusterChange, decode_changes
from kubesched_ui.clusters.models import ChangeBlock, Cluster
from scheduler_core.api.text_checks import escaped_values

BLOCKS = 300  # newest blocks that are searched; each has some hundred changes, or those of ten seconds
STEPS = 100


class PodChange(NamedTuple):
    """A change of a pod. `text`: what it changed, in words. `message`: the scheduler's, if it has one."""

    at: datetime
    resource_version: int
    text: str
    message: str = ""


class PodHistory(NamedTuple):
    """The newest changes of a pod, newest first. `since`: how far back the search went; None if nothing is stored."""

    steps: list[PodChange]
    since: datetime | None


def changes_of(cluster: Cluster, key: str) -> PodHistory:
    """Return the changes of a pod in the newest BLOCKS blocks."""
    steps: list[PodChange] = []
    since = None
    rows = ChangeBlock.objects.filter(cluster=cluster).order_by("-number")
    for first_at, data in rows.values_list("first_at", "data")[:BLOCKS].iterator(chunk_size=50):
        since = first_at
        for change in reversed(decode_changes(data)):
            if change.kind == "Pod" and change.key == key:
                steps += step_of(change)
        if len(steps) >= STEPS:
            break
    return PodHistory(steps[:STEPS], since)


def step_of(change: ClusterChange) -> list[PodChange]:
    """Return a change in words; [] for one that says nothing about scheduling, such as a container's status."""
    words, message = words_of(change)
    return [PodChange(at(change.time), change.resource_version, "; ".join(words), message)] if words else []


def words_of(change: ClusterChange) -> tuple[list[str], str]:
    """Return the phrases of a change, and the message of the condition PodScheduled=False in it."""
    if change.type == DELETE:
        return ["deleted"], ""
    value = escaped_values(change.value or {})
    metadata, spec, status = (value.get(part) or {} for part in ("metadata", "spec", "status"))
    words = ["first known" if change.type == ADD else ""]
    words.append("being deleted" if metadata.get("deletionTimestamp") else "")
    words.append(f"bound to {spec['nodeName']}" if spec.get("nodeName") else "")
    if change.type != ADD and "schedulingGates" in spec:
        gates = ", ".join(gate.get("name", "") for gate in spec["schedulingGates"] or [])
        words.append(f"gates: {gates}" if gates else "no gates left")
    words.append(f"nominated to {status['nominatedNodeName']}" if status.get("nominatedNodeName") else "")
    words.append(f"phase {status['phase']}" if status.get("phase") and change.type != ADD else "")
    scheduled: dict[str, Any] = next(
        (one for one in status.get("conditions") or [] if one.get("type") == "PodScheduled"), {}
    )
    message = scheduled.get("message", "") if scheduled.get("status") == "False" else ""
    words.append(f"PodScheduled is False: {scheduled.get('reason', '')}" if message else "")
    return [word for word in words if word], message


def at(seconds: Any) -> datetime:
    """Return Unix seconds as a time."""
    return datetime.fromtimestamp(float(seconds), tz=timezone.get_default_timezone())
