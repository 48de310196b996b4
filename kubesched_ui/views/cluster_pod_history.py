"""The timeline of a pod of a live cluster: what happened to it, from the stored changes and events."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from kubesched_ui.clusters.history import ADD, DELETE, MODIFY, ClusterChange, decode_changes
from kubesched_ui.clusters.models import ChangeBlock, Cluster, HistoryGap, PendingPod
from kubesched_ui.clusters.queries import stated
from kubesched_ui.presenters.pod_moments import PodMoment
from scheduler_core.api.text_checks import escaped, escaped_values
from scheduler_core.cluster.formatting import count
from scheduler_core.framework.causes import GATED
from scheduler_core.pending_pods import pending_answer as causes
from scheduler_core.queue.scheduling_queue import LEFTOVER_PERIOD, leftover_seconds
from scheduler_core.releases import NEWEST, get_release

BLOCKS = 300  # newest blocks that are searched; each has some hundred changes, or those of ten seconds
STEPS = 100
GAPS = 20
MESSAGE = 600  # characters
SAME_ATTEMPT = timedelta(seconds=5)  # between the event and the condition of a failed attempt
DELETED = "deleted"
UNSEEN = (causes.OTHER_SCHEDULER, causes.NO_SCHEDULER)  # causes of pods of schedulers whose queue is not known
NOT_QUEUED = (GATED, causes.KUEUE, causes.BOUND, causes.DELETED, causes.NOT_PENDING)


class PodChange(NamedTuple):
    """A change of a pod, or an event about it. `text`: what it changed, in words. `message`: the scheduler's, if it has
    one. `last`: when an event was repeated last; None if it was not."""

    at: datetime
    resource_version: int
    text: str
    message: str = ""
    last: datetime | None = None


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
    repeated = sum(change.type == MODIFY for change in changes)
    if repeated:
        message += f" (repeated {count(repeated, 'time')} until {stated(at(last.time))})"
    until = at(last.time) if repeated else None
    return [PodChange(at(first.time), first.resource_version, value.get("reason", ""), message, until)]


def moments_of(cluster: Cluster, history: PodHistory, waiting: PendingPod | None) -> list[PodMoment]:
    """Return what is known of a pod in order: its creation, changes and events, the gaps between them, and its place in
    the queue if it waits there."""
    rejections = [step for step in history.steps if step.message]
    events = [without_repetition(event, rejections) for event in history.events if not repeats(event, rejections)]
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
    dated += [(gap.began_at, 2 if gap.after else 0, gap_of(gap)) for gap in gaps.order_by("-began_at")[:GAPS]]
    moments = [moment for *_, moment in sorted(dated, key=lambda one: one[:2])]
    return [*moments, *queued(cluster, waiting, last_attempt(history))] if waiting is not None else moments


def repeats(event: PodChange, steps: Iterable[PodChange]) -> bool:
    """Return whether a change of the pod says what an event says that was not repeated."""
    near = (step for step in steps if abs(step.at - event.at) < SAME_ATTEMPT)
    return event.last is None and any(step.message in event.message for step in near)


def without_repetition(event: PodChange, steps: Iterable[PodChange]) -> PodChange:
    """Return an event without its message if that is already shown, as the message of one of `steps`."""
    shown = max((step.message for step in steps if step.message in event.message), key=len, default="")
    return event._replace(message=event.message.replace(shown, "the same message", 1)) if shown else event


def last_attempt(history: PodHistory) -> datetime | None:
    """Return when a failed attempt of the pod was last reported; None if none is known."""
    conditions = [step.at for step in history.steps if step.message]
    events = [event.last or event.at for event in history.events if event.text == "FailedScheduling"]
    return max((*conditions, *events), default=None)


def queued(cluster: Cluster, waiting: PendingPod, tried: datetime | None) -> list[PodMoment]:
    """Return the place of a pending pod in the queue of its scheduler and when it is tried, as far as they are known;
    [] if it is in none.

    The order of PrioritySort is known between priorities alone: among equal ones, the time decides at which a pod
    entered the active queue. `tried`: its last reported attempt, after which the flush of unschedulable pods tries it.
    """
    scheduler = waiting.details.get("scheduler")
    if waiting.subject != "Pod" or not scheduler or waiting.cause in NOT_QUEUED:
        return []
    if waiting.cause in UNSEEN:
        why = "Its place in the queue and its next attempt are not known."
        return [PodMoment("now", f"Waits for {escaped(scheduler)}", why, key="now")]
    rows = PendingPod.objects.filter(cluster=cluster, subject="Pod", details__scheduler=scheduler)
    others = (
        rows.exclude(cause__in=(*NOT_QUEUED, *UNSEEN))
        .exclude(pk=waiting.pk)
        .values_list("details__priority", flat=True)
    )
    own = waiting.details.get("priority", 0)
    priorities = [priority or 0 for priority in others]
    before, equal = sum(one > own for one in priorities), sum(one == own for one in priorities)
    if not priorities:
        place = "No other pod waits there."
    else:
        have = "has" if before <= 1 else "have"
        place = f"{before or 'None'} of {count(len(priorities), 'other pod')} there {have} a higher priority."
        if equal:
            place += f" {equal:,} {'has' if equal == 1 else 'have'} its own: their order only the scheduler knows."
    release = get_release(cluster.used_release or NEWEST)
    if tried is None:
        estimate = "No attempt is reported yet: a scheduler usually makes the first one at once."
    else:
        latest = tried + timedelta(seconds=leftover_seconds(release) + LEFTOVER_PERIOD)
        by = f", at {stated(latest)} at the latest" if latest > timezone.now() else ""
        estimate = f"It is tried again after a change that may help it{by}."
    return [PodMoment("now", f"In the queue of {escaped(scheduler)}", f"{place} {estimate}", key="now")]


def moment_of(cluster: Cluster, step: PodChange) -> PodMoment:
    """Return a change, with a link to the cluster at its resourceVersion."""
    address = f"{reverse('cluster-history', args=[cluster.pk])}?at={step.resource_version}"
    what = f"{step.text[:1].upper()}{step.text[1:]}"
    message = step.message if len(step.message) <= MESSAGE else f"{step.message[:MESSAGE]} …"
    return PodMoment(stated(step.at), what, message, address=address, key=str(step.resource_version))


def gap_of(gap: HistoryGap) -> PodMoment:
    """Return a gap as a moment. Where the history begins, nothing was interrupted."""
    if not gap.after and not gap.kind:
        what = escaped(gap.reason).rstrip(".")
        return PodMoment(stated(gap.began_at), what, "What happened before is not known.", tone="gap")
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
