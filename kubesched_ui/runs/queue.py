"""Order of waiting runs. Messages only wake workers; this module decides in the database which run is next.

Short and long runs wait in separate queues. In each queue, users take turns: the user with the fewest active runs is
first, then the one whose last run began the longest ago. Of one user's runs, the oldest is first. Low-priority runs
come last.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Min, Q
from django.utils import timezone

from kubesched_ui.models import Run, RunQuerySet, silent
from kubesched_ui.runs import estimate
from scheduler_core.api import duration

LOCK = 0x6B756265  # key of the PostgreSQL advisory lock during a claim
LATEST = 500  # maximum number of runs that are read to find when each user last began one
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
LATELY = timedelta(hours=1)

Person = tuple[str, int]


class Place(NamedTuple):
    """Position of a waiting run: number of active or waiting runs before it, and estimated seconds until it begins."""

    behind: int
    seconds: float


def person_of(run: Run) -> Person:
    """Return who takes a turn with this run: its owner, or its scenario if the owner is unknown."""
    return ("user", run.owner_id) if run.owner_id is not None else ("scenario", run.scenario_id)


def take(lane: str, token: str) -> Run | None:
    """Claim the next run of the queue for the worker `token`; return None if no run may begin."""
    if not _to_begin(lane).exists():
        return None
    with transaction.atomic():
        if connection.vendor == "postgresql":
            connection.cursor().execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        busy = _under_way(lane)
        for run in order(lane, busy):
            if lane == Run.Lane.LONG and busy[person_of(run)] >= settings.RUN_LONG_PER_PERSON:
                continue
            if taken := Run.everything.claim(run.pk, token):
                return taken
    return None


def order(lane: str, busy: Counter[Person] | None = None) -> Iterator[Run]:
    """Yield the waiting runs of a queue in order, assuming that no run ends. `busy`: number of active runs per user."""
    has = Counter(_under_way(lane) if busy is None else busy)
    began = _began(lane)
    waiting = _to_begin(lane).order_by("low", "pk").only(*COLUMNS)
    for low in (False, True):
        lines: dict[Person, deque[Run]] = {}
        for run in waiting:
            if run.low is low:
                lines.setdefault(person_of(run), deque()).append(run)
        turn = 0
        while lines:
            person = min(lines, key=lambda one: (has[one], began.get(one, (LONG_AGO, 0)), lines[one][0].pk))
            yield lines[person].popleft()
            turn += 1
            has[person] += 1
            began[person] = (timezone.now(), turn)
            if not lines[person]:
                del lines[person]


def place(run: Run) -> Place | None:
    """Return the position of a run; None if it is not waiting."""
    if run.state != Run.State.QUEUED:
        return None
    lane = run.lane or Run.Lane.LONG
    return _behind(lane, list(takewhile(lambda other: other.pk != run.pk, order(lane))))


def place_at_end(lane: str) -> Place:
    """Return the position of a new run at the end of the queue."""
    return _behind(lane, list(order(lane)))


def _behind(lane: str, before: list[Run]) -> Place:
    under_way = list(Run.everything.filter(_in(lane), ~silent(), state=Run.State.RUNNING).defer("node_names"))
    slots = settings.RUN_SHORT_SLOTS if lane == Run.Lane.SHORT else settings.RUN_LONG_SLOTS
    if len(under_way) + len(before) < slots:
        return Place(0, 0.0)
    seconds = sum(map(estimate.left, [*under_way, *before])) / slots
    return Place(len(under_way) + len(before), round(seconds, 1))


WIDE = 1.5  # mention the longest duration if it is this many times the probable one


def told(expected: estimate.Estimate) -> str:
    """Return the estimate that is shown before a run is started."""
    at = place_at_end(expected.lane)
    about = f"About {duration.span(round(expected.seconds))}" if expected.seconds >= 1 else "Less than a second"
    if expected.most >= max(2.0, WIDE * expected.seconds):
        about += f", up to {duration.span(round(expected.most))} if the machine is busy,"
    pods, nodes = count(expected.pods, "pod"), count(expected.nodes, "node")
    return f"{about} for {pods} on {nodes}" + (f"; {waits(at)}." if at.behind else ".")


def waits(at: Place) -> str:
    """Return a text such as `waits behind 2 runs, about 40 s`; "" for the next run."""
    if not at.behind:
        return ""
    return f"waits behind {count(at.behind, 'run')}, about {duration.span(max(1, round(at.seconds)))}"


def count(number: int, what: str) -> str:
    """Return a text such as `1 run` or `2,000 pods`."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def figures() -> dict[str, dict[str, float]]:
    """Return queue -> {waiting, running, oldest_s}, for metrics."""
    now, found = timezone.now(), {}
    for lane in Run.Lane.values:
        waiting = Run.everything.filter(_in(lane), state=Run.State.QUEUED)
        oldest = waiting.aggregate(oldest=Min("created_at"))["oldest"]
        found[lane] = {
            "waiting": waiting.count(),
            "running": Run.everything.filter(_in(lane), state=Run.State.RUNNING).count(),
            "oldest_s": max(0.0, (now - oldest).total_seconds()) if oldest else 0.0,
        }
    return found


COLUMNS = ("owner_id", "scenario_id", "low", "lane", "state", "estimate_s", "started_at", "created_at")


def _in(lane: str) -> Q:
    """Select a queue. Runs queued before queues existed count as long."""
    return Q(lane__in=[lane, ""] if lane == Run.Lane.LONG else [lane])


def _to_begin(lane: str) -> RunQuerySet:
    """Return the runs that a worker may claim."""
    return Run.everything.filter(_in(lane)).filter(Q(state=Run.State.QUEUED) | Q(silent(), state=Run.State.RUNNING))


def _under_way(lane: str) -> Counter[Person]:
    """Return the number of active runs per user."""
    rows = Run.everything.filter(_in(lane), ~silent(), state=Run.State.RUNNING).only("owner_id", "scenario_id")
    return Counter(map(person_of, rows))


def _began(lane: str) -> dict[Person, tuple[datetime, int]]:
    """Return when each user last began a run, for recent runs."""
    rows = Run.everything.filter(_in(lane), started_at__gte=timezone.now() - LATELY).order_by("-pk")
    found: dict[Person, tuple[datetime, int]] = {}
    for run in rows.only("owner_id", "scenario_id", "started_at")[:LATEST]:
        if run.started_at is not None:
            found[person_of(run)] = max(found.get(person_of(run), (LONG_AGO, 0)), (run.started_at, 0))
    return found
