"""The timeline of a pod of a live cluster: what happened to it, from the stored changes and events."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from kubesched_ui.clusters.history import ADD, DELETE, MODIFY, ClusterChange, decode_changes
from kubesched_ui.clusters.models import ChangeBlock, Cluster, HistoryGap
from kubesched_ui.clusters.queries import stated
from kubesched_ui.presenters.pod_moments import PodMoment
from scheduler_core.api.text_checks import escaped, escaped_values
from scheduler_core.cluster.formatting import count

BLOCKS = 300  # newest blocks that are searched; each has some hundred changes, or those of ten seconds
STEPS = 100
GAPS = 20
MESSAGE = 600  # characters
DELETED = "deleted"


class PodChange(NamedTuple):
    """A change of a pod. `text`: what it changed, in words. `message`: the scheduler's, if it has one."""

    at: datetime
    resource_version: int
    text: str
    message: str = ""


class PodHistory(NamedTuple):
    """The newest changes of a pod, newest first. `since`: how far back the search went; None if nothing is stored.
    `created`: None if it is not known. `events`: those about the pod, in any order."""

    steps: list[PodChange]
    since: datetime | None
    created: datetime | None
    events: list[PodChange]


def changes_of(cluster: Cluster, key: str) -> PodHistory:
    """Return the changes of a pod, and events about it, in the newest BLOCKS blocks."""
    steps: list[PodChange] = []
    events: dict[str, list[ClusterChange]] = {}
    since = created = None
    rows = ChangeBlock.objects.filter(cluster=cluster).order_by("-number")
    for first_at, data in rows.values_list("first_at", "data")[:BLOCKS].iterator(chunk_size=50):
        since = first_at
        for change in reversed(decode_changes(data)):
            if change.kind == "Pod" and change.key == key:
                steps += step_of(change)
                created = created or creation_of(change)
            elif change.kind == "Event" and change.key.startswith(f"{key}."):
                events.setdefault(change.key, []).insert(0, change)
        if len(steps) >= STEPS:
            break
    reports = [report for changes in events.values() for report in report_of(changes, key)]
    return PodHistory(steps[:STEPS], since, created, reports)


def creation_of(change: ClusterChange) -> datetime | None:
    """Return when the pod was created, if the change says it."""
    text = ((change.value or {}).get("metadata") or {}).get("creationTimestamp")
    return parse_datetime(text) if isinstance(text, str) else None


def report_of(changes: Sequence[ClusterChange], key: str) -> list[PodChange]:
    """Return an event about the pod and how often it was repeated. `changes`: of the event, in order."""
    first, last = changes[0], changes[-1]
    value = escaped_values(first.value or {})
    about = value.get("involvedObject") or {}
    if first.type != ADD or about.get("kind") != "Pod" or f"{about.get('namespace')}/{about.get('name')}" != key:
        return []
    reporter = value.get("reportingComponent") or (value.get("source") or {}).get("component", "")
    message = f"{reporter}: {value.get('message', '')}" if reporter else value.get("message", "")
    if repeated := sum(change.type == MODIFY for change in changes):
        message += f" (repeated {count(repeated, 'time')} until {stated(at(last.time))})"
    return [PodChange(at(first.time), first.resource_version, value.get("reason", ""), message)]


def moments_of(cluster: Cluster, history: PodHistory) -> list[PodMoment]:
    """Return what is known of a pod in order: its creation, changes and events, and the gaps between them."""
    messages = {step.message for step in history.steps if step.message}
    events = [without_repetition(event, messages) for event in history.events]
    dated = [(step.at, 1, moment_of(cluster, step)) for step in (*history.steps, *events)]
    begin = history.created or (history.steps[-1].at if history.steps else history.since)
    if history.created is not None:
        dated.append((history.created, 0, PodMoment(stated(history.created), "Created")))
    gone = bool(history.steps) and history.steps[0].text == DELETED
    end = history.steps[0].at if gone else None
    gaps = HistoryGap.objects.filter(cluster=cluster, kind__in=("", "Pod"))
    if begin is not None:
        gaps = gaps.filter(Q(ended_at=None) | Q(ended_at__gte=begin))
    if end is not None:
        gaps = gaps.filter(began_at__lte=end)
    dated += [(gap.began_at, 2, gap_of(gap)) for gap in gaps.order_by("-began_at")[:GAPS]]
    return [moment for *_, moment in sorted(dated, key=lambda one: one[:2])]


def without_repetition(event: PodChange, messages: Collection[str]) -> PodChange:
    """Return an event without its message if that is already shown, as one of `messages`."""
    shown = max((message for message in messages if message in event.message), key=len, default="")
    return event._replace(message=event.message.replace(shown, "the same message", 1)) if shown else event


def moment_of(cluster: Cluster, step: PodChange) -> PodMoment:
    """Return a change, with a link to the cluster at its resourceVersion."""
    address = f"{reverse('cluster-history', args=[cluster.pk])}?at={step.resource_version}"
    what = f"{step.text[:1].upper()}{step.text[1:]}"
    message = step.message if len(step.message) <= MESSAGE else f"{step.message[:MESSAGE]} …"
    return PodMoment(stated(step.at), what, message, address=address, key=str(step.resource_version))


def gap_of(gap: HistoryGap) -> PodMoment:
    """Return a gap as a moment. Where the history begins, nothing was interrupted."""
    if not gap.after and not gap.kind:
        return PodMoment(stated(gap.began_at), escaped(gap.reason).rstrip("."), tone="gap")
    until = stated(gap.ended_at) if gap.ended_at else "now"
    what = f"The watch was interrupted from {stated(gap.began_at)} to {until}"
    return PodMoment(stated(gap.began_at), what, f"Changes may be missing. {escaped(gap.reason)}", tone="gap")


def step_of(change: ClusterChange) -> list[PodChange]:
    """Return a change in words; [] for one that says nothing about scheduling, such as a container's status."""
    words, message = words_of(change)
    return [PodChange(at(change.time), change.resource_version, "; ".join(words), message)] if words else []


def words_of(change: ClusterChange) -> tuple[list[str], str]:
    """Return the phrases of a change, and the message of the condition PodScheduled=False in it."""
    if change.type == DELETE:
        return [DELETED], ""
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
