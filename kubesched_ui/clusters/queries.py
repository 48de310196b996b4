"""Queries about live clusters: all that pages and the API read and request.

Each function returns rows and values of what the follower and its analysis process stored. None contacts a cluster.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Count, F, Max, Min, Q, QuerySet, Sum
from django.db.models.functions import Now, TruncHour
from django.utils import timezone

from kubesched_ui.clusters import history as stored_history
from kubesched_ui.clusters import leases
from kubesched_ui.clusters.fork import fork as fork
from kubesched_ui.clusters.fork import open_decision as open_decision
from kubesched_ui.clusters.fork import save_decision as save_decision
from kubesched_ui.clusters.models import (
    ChangeBlock,
    Checkpoint,
    Cluster,
    Decision,
    DecisionQuerySet,
    HistoryGap,
    PendingPod,
    PendingPodQuerySet,
)
from kubesched_ui.clusters.safe_columns import safe_columns
from kubesched_ui.runs import config_resolution
from scheduler_core.cluster.formatting import count, listing
from scheduler_core.live.kinds import KINDS
from scheduler_core.releases import NEWEST, get_release
from scheduler_core.shadow import judgement

WATCH_S = 180  # seconds for which one look at a cluster keeps it followed
SILENT_S = 30  # seconds without a heartbeat after which the follower counts as stopped
LATE_S = leases.LOST_AFTER_S  # after which pages say so
MOST_CHANGES = 1000


class FollowerState(NamedTuple):
    """The state of the follower of a cluster. `working`: it has sent a heartbeat recently. `sentence`: for people."""

    state: str
    working: bool
    sentence: str


class KindState(NamedTuple):
    """A watched kind. `consequence`: what answers lack because of its state; empty if they lack nothing.
    `stale_since`: from when on its changes are unknown; None if they are known, or if it was never read."""

    kind: str
    state: str
    resource_version: int
    event_at: datetime | None
    message: str
    consequence: str
    stale_since: datetime | None = None

    @property
    def resource(self) -> str:
        """Its name in sentences, such as pods."""
        return KINDS[self.kind].resource if self.kind in KINDS else self.kind


class HistoryBounds(NamedTuple):
    """The bounds of the stored history. `first`, `last`: resourceVersions between which `state_at` answers; 0 if
    nothing is stored. `size`: stored bytes. `positions`: (resourceVersion, time, number of changes) of up to a few
    hundred positions from old to new, for a slider."""

    first: int
    last: int
    first_at: datetime | None
    last_at: datetime | None
    gaps: list[HistoryGap]
    positions: list[tuple[int, datetime, int]]
    changes: int
    size: int


class HourCount(NamedTuple):
    """Decisions of one hour by outcome, and messages by outcome."""

    hour: datetime
    outcomes: dict[str, int]
    messages: dict[str, int]


class ConfigurationChange(NamedTuple):
    """A change of the scheduler's configuration. `before`, `after`: the candidates by which it decided; "" if another
    configuration was found in the cluster or chosen."""

    at: datetime
    before: str
    after: str


class ReportCard(NamedTuple):
    """How our scheduler explains the decisions of the real one. `outcomes`: outcome -> number of bindings. `messages`:
    outcome -> number of messages. `configuration`: name of a candidate configuration -> likelihood. `lag_seconds`: from
    a decision to its check, at most, as of the last ones. `changes`: the changes of the configuration."""

    decisions: int
    explained: int
    outcomes: dict[str, int]
    message_count: int
    messages: dict[str, int]
    configuration: dict[str, float]
    hours: list[HourCount]
    lag_seconds: float = 0.0
    changes: list[ConfigurationChange] = []


def clusters() -> QuerySet[Cluster]:
    """Return the clusters that the viewer may see, without large columns."""
    return Cluster.objects.filter(configured=True).defer("view", "config", "chosen_config", "report")


def find(cluster_id: int) -> Cluster | None:
    """Return a cluster that the viewer may see, or None. Its view, which can be large, is read when it is used."""
    found: Cluster | None = Cluster.objects.defer("view").filter(pk=cluster_id).first()
    return found


def keep_watching(cluster: Cluster) -> None:
    """Extend the lease of an open page: the cluster is followed for at least WATCH_S more seconds."""
    until = Now() + timedelta(seconds=WATCH_S)
    Cluster.everything.filter(pk=cluster.pk).update(watched_until=until)


def wanted(cluster: Cluster) -> bool:
    """Return whether the cluster is to be followed now."""
    return cluster.always or (cluster.watched_until is not None and cluster.watched_until > timezone.now())


def follower(cluster: Cluster) -> FollowerState:
    """Return the state of a cluster's follower."""
    State = Cluster.State
    silent = timezone.now() - cluster.heartbeat_at if cluster.heartbeat_at is not None else None
    working = silent is not None and abs(silent) < timedelta(seconds=SILENT_S)
    if not cluster.configured:
        return FollowerState(cluster.state, False, "The settings of the server no longer name this cluster.")
    if not working and wanted(cluster):
        # A follower that ends on its own leaves a message and no heartbeat; the message of a killed one is outdated.
        text = cluster.message if silent is None else ""
        return FollowerState(State.CONNECTING, False, text or f"Starting to follow this cluster.{as_of(cluster)}")
    if not working:
        return FollowerState(State.STOPPED, False, f"Not followed now.{as_of(cluster)}")
    if silent is not None and silent > timedelta(seconds=LATE_S):
        text = f"Its follower has not reported since {stated(cluster.heartbeat_at)}.{as_of(cluster)}"
        return FollowerState(State.CONNECTING, True, text)
    if cluster.state == State.FOLLOWING:
        return FollowerState(cluster.state, True, _following(cluster))
    texts = {
        State.CONNECTING: "Connecting to the API server.",
        State.LISTING: "Reading the objects of the cluster.",
        State.FAILED: "The cluster cannot be followed.",
        State.STOPPED: "Not followed now.",
    }
    text = cluster.message or texts[State(cluster.state)]
    return FollowerState(cluster.state, True, f"{text}{as_of(cluster)}")


def _following(cluster: Cluster) -> str:
    """Return the sentence about a cluster whose follower works: "Up to date." only if all kinds are."""
    found = kinds(cluster)
    if stale := _stale_text(found):
        return f"Not up to date: {stale}. {cluster.message}".strip()
    if cluster.message:
        return cluster.message
    missing = [one.resource for one in found if one.consequence]
    return f"Up to date, without {_named(missing)}, which cannot be read." if missing else "Up to date."


def _stale_text(found: Iterable[KindState]) -> str:
    """Return which kinds are outdated and since when; "" for none."""
    stale = [one for one in found if one.stale_since]
    if not stale:
        return ""
    since = min(one.stale_since for one in stale if one.stale_since)
    return f"changes of {_named([one.resource for one in stale])} since {stated(since)} are unknown"


def _named(resources: list[str]) -> str:
    order = [kind.resource for kind in KINDS.values()]
    first = sorted(resources, key=lambda one: order.index(one) if one in order else len(order))[:3]
    return listing([*first, count(len(resources) - 3, "more kind")] if len(resources) > 3 else first)


def stated(at: datetime | None) -> str:
    """Return a time for a sentence, in the time zone of pages."""
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S}" if at else "an unknown time"


def as_of(cluster: Cluster) -> str:
    """Return until when the stored state is complete, as a further sentence; "" if nothing is stored."""
    times = [health["event_at"] for health in cluster.health.values() if health.get("event_at")]
    last = datetime.fromtimestamp(max(times), tz=UTC) if times else cluster.changed_at
    if not cluster.counts or last is None:
        return ""
    return f" What you see is the state of {stated(last)}."


def limits(cluster: Cluster) -> list[str]:
    """Return sentences about what all answers of a cluster lack now, because it is not read, or not all of it."""
    state = follower(cluster)
    stale = state.state != Cluster.State.FOLLOWING or any(one.stale_since for one in kinds(cluster))
    return [state.sentence] if cluster.counts and stale else []


def kinds(cluster: Cluster) -> list[KindState]:
    """Return the watched kinds with their health: first those with a consequence, the most important of them first."""
    order = list(KINDS)
    found = []
    for kind, health in cluster.health.items():
        times = [
            datetime.fromtimestamp(health[name], tz=timezone.get_default_timezone()) if health.get(name) else None
            for name in ("event_at", "stale_since")
        ]
        consequences = [health.get("consequence", "")]
        if times[1]:
            consequences.append(f"Changes since {stated(times[1])} are unknown.")
        found.append(
            KindState(
                kind,
                health.get("state", ""),
                health.get("resource_version", 0),
                times[0],
                health.get("message", ""),
                " ".join(filter(None, consequences)),
                times[1],
            )
        )
    return sorted(
        found, key=lambda one: (not one.consequence, order.index(one.kind) if one.kind in order else len(order))
    )


def columns_now(cluster: Cluster) -> dict[str, Any] | None:
    """Return the cluster now in the format of `/api/scenarios/{id}/map`; None if nothing is stored yet."""
    view: dict[str, Any] | None = Cluster.everything.filter(pk=cluster.pk).values_list("view", flat=True).first()
    return view if view and "orphans" in view else None  # earlier versions stored less; the follower stores it again


def pending_pods(
    cluster: Cluster, text: str = "", category: str = "", cause: str = "", namespace: str = ""
) -> PendingPodQuerySet:
    """Return the pending pods, those that wait longest first."""
    return PendingPod.objects.filter(cluster=cluster).matching(text, category, cause, namespace).defer("ladder")


def pending_pod(cluster: Cluster, key: str) -> PendingPod | None:
    """Return a pending pod by namespace/name, or None if no pod with that key is pending."""
    return PendingPod.objects.filter(cluster=cluster, key=key).first()


def causes(cluster: Cluster) -> list[tuple[str, str, int]]:
    """Return (category, cause, number of pending pods), most frequent first."""
    rows = PendingPod.objects.filter(cluster=cluster).order_by().values_list("category", "cause")
    return sorted(rows.annotate(Count("pk")), key=lambda row: (-row[2], row[0], row[1]))


def choose(cluster: Cluster, release: str, config: str) -> None:
    """Choose a release and a configuration for answers and decisions; an empty text uses what was found. Raises
    InputError if the release or the configuration cannot be used."""
    used = get_release(release or cluster.release or NEWEST).name
    config_resolution.check(config, used, "leave_out")
    changes = {"chosen_release": used if release else "", "chosen_config": config}
    Cluster.everything.filter(pk=cluster.pk).update(**changes, version=F("version") + 1)


# ---- history


def history(cluster: Cluster, most: int = 300) -> HistoryBounds:
    """Return the bounds of the stored history, its gaps, and at most `most` positions."""
    blocks = ChangeBlock.objects.filter(cluster=cluster)
    checkpoints = Checkpoint.objects.filter(cluster=cluster, complete=True)
    totals = blocks.aggregate(first_at=Min("first_at"), last_at=Max("last_at"), n=Sum("count"), size=Sum("size"))
    first, last = stored_history.bounds(cluster)
    size = (totals["size"] or 0) + (checkpoints.aggregate(size=Sum("size"))["size"] or 0)
    oldest, newest = checkpoints.order_by("block").first(), checkpoints.order_by("block").last()
    return HistoryBounds(
        first,
        last,
        totals["first_at"] or (oldest.at if oldest else None),
        totals["last_at"] or (newest.at if newest else None),
        list(HistoryGap.objects.filter(cluster=cluster)),
        _positions(blocks.filter(last_version__gte=first), most),
        totals["n"] or 0,
        size,
    )


def _positions(blocks: QuerySet[ChangeBlock], most: int) -> list[tuple[int, datetime, int]]:
    """Return (resourceVersion, time, changes since the previous position) of evenly chosen blocks."""
    bounds = blocks.aggregate(first=Min("number"), last=Max("number"))
    if bounds["first"] is None:
        return []
    step = max(1, -(-(bounds["last"] - bounds["first"] + 1) // most))
    found: list[tuple[int, datetime, int]] = []
    changes = 0
    for number, version, at, size in blocks.order_by("number").values_list(
        "number", "last_version", "last_at", "count"
    ):
        changes += size
        if (bounds["last"] - number) % step == 0:
            found.append((max(version, found[-1][0] if found else 0), at, changes))
            changes = 0
    return found


def state_at(cluster: Cluster, resource_version: int) -> list[Any]:
    """Return the objects of the cluster at a resourceVersion as typed structs. Takes seconds for a large cluster: call
    it in a worker (offload/). Raises InputError if that part of the history is not stored."""
    return list(stored_history.checked_state_at(cluster, resource_version).every())


def columns_at(cluster: Cluster, resource_version: int) -> dict[str, Any]:
    """Return the cluster at a resourceVersion in the format of `/api/scenarios/{id}/map`. Raises as `state_at`."""
    return safe_columns(state_at(cluster, resource_version))


def gap_at(cluster: Cluster, resource_version: int) -> HistoryGap | None:
    """Return a gap of the history that contains the resourceVersion, or None."""
    rows = HistoryGap.objects.filter(cluster=cluster, after__lt=resource_version)
    return rows.filter(Q(until=None) | Q(until__gt=resource_version)).first()


def changes(cluster: Cluster, after: int, until: int, most: int = MOST_CHANGES) -> list[stored_history.ClusterChange]:
    """Return the stored changes after one resourceVersion up to another."""
    return stored_history.changes_between(cluster, after, until, min(most, MOST_CHANGES))


# ---- the real scheduler


def decisions(cluster: Cluster, text: str = "", outcome: str = "", message_outcome: str = "") -> DecisionQuerySet:
    """Return the checked decisions and messages, newest first."""
    return Decision.objects.filter(cluster=cluster).matching(text, outcome, message_outcome)


def report_card(cluster: Cluster) -> ReportCard:
    """Return how our scheduler explains the stored decisions of the real one."""
    rows = Decision.objects.filter(cluster=cluster).order_by()
    outcomes: Counter[str] = Counter()
    messages: Counter[str] = Counter()
    hours: dict[datetime, HourCount] = {}
    grouped = rows.annotate(hour=TruncHour("at")).values_list("hour", "outcome", "message_outcome")
    for hour, outcome, message_outcome, number in grouped.annotate(Count("pk")):
        line = hours.setdefault(hour, HourCount(hour, {}, {}))
        if outcome:
            outcomes[outcome] += number
            line.outcomes[outcome] = line.outcomes.get(outcome, 0) + number
        if message_outcome:
            messages[message_outcome] += number
            line.messages[message_outcome] = line.messages.get(message_outcome, 0) + number
    total = sum(outcomes.values())
    assert {*outcomes} <= {*judgement.OUTCOMES}, "each binding is in one of the outcomes that are shown"
    return ReportCard(
        total,
        total - outcomes[judgement.UNEXPLAINED],
        {name: outcomes[name] for name in judgement.OUTCOMES if outcomes[name]},
        sum(messages.values()),
        {name: messages[name] for name in judgement.MESSAGE_OUTCOMES if messages[name]},
        cluster.report.get("configuration", {}),
        [hours[hour] for hour in sorted(hours)],
        cluster.report.get("lag_seconds", 0.0),
        [
            ConfigurationChange(datetime.fromtimestamp(one["time"], UTC), one["before"], one["after"])
            for one in cluster.report.get("configuration_changes", [])
        ],
    )
