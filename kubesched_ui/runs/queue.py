"""Order of waiting runs. Messages only wake workers; this module decides in the database which run is next.

Short and long runs wait in separate queues. In each queue, users take turns (work/turns.py). Low-priority runs come
last.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from itertools import takewhile
from math import inf
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs import estimate
from kubesched_ui.runtime.advisory_lock import lock_until_commit
from kubesched_ui.work.models import silent
from kubesched_ui.work.turns import UserKey, in_turns, user_key
from scheduler_core.api import duration
from scheduler_core.cluster.formatting import count

RECENT = timedelta(hours=1)
RECENT_RUNS = 500  # maximum number of runs that are read to find when each user last started one


class QueuePosition(NamedTuple):
    """Position of a waiting run: number of active or waiting runs before it, and estimated seconds until it begins.

    `limit`: the number of long runs that its user may have at once, if the run waits for those of the same user; else
    0.
    """

    behind: int
    seconds: float
    limit: int = 0


def claim_next(lane: str, token: str) -> Run | None:
    """Claim the next run of the queue for the worker `token`; return None if no run may begin."""
    if not Run.everything.filter(_in_queue(lane)).claimable().exists():
        return None
    with transaction.atomic():
        lock_until_commit("queues of runs")
        for run in queue_order(lane, settings.RUN_LONG_PER_PERSON if lane == Run.Lane.LONG else inf):
            if taken := Run.everything.claim(run.pk, token):
                return taken
    return None


def queue_order(lane: str, most: float = inf) -> Iterator[Run]:
    """Yield the waiting runs of a queue in order, assuming that no run ends, without those of users with `most` active
    ones."""
    rows = Run.everything.filter(_in_queue(lane))
    begun = rows.order_by("-started_at").values_list("owner_id", "scenario_id", "started_at", named=True)
    active = Counter(map(user_key, begun.filter(~silent(), state=Run.State.RUNNING)))
    lately = begun.filter(started_at__gte=timezone.now() - RECENT)[:RECENT_RUNS]
    began = {user_key(row): row.started_at for row in reversed(lately)}
    waiting = rows.claimable().order_by("low", "pk").only(*COLUMNS)
    return in_turns(waiting, user_key, active, began, most, lambda run: run.low)


def queue_position(run: Run) -> QueuePosition | None:
    """Return the position of a run; None if it is not waiting."""
    if run.state != Run.State.QUEUED:
        return None
    lane = run.lane or Run.Lane.LONG
    return _behind(lane, list(takewhile(lambda other: other.pk != run.pk, queue_order(lane))), user_key(run))


def _behind(lane: str, before: list[Run], user: UserKey) -> QueuePosition:
    """Return the position of a run of `user` behind the active runs of a queue and the waiting ones in `before`."""
    active = list(
        Run.everything.filter(_in_queue(lane), ~silent(), state=Run.State.RUNNING).defer("node_names", "remaining")
    )
    slots = settings.RUN_SHORT_SLOTS if lane == Run.Lane.SHORT else settings.RUN_LONG_SLOTS
    position = QueuePosition(0, 0.0)
    if len(active) + len(before) >= slots:
        seconds = sum(map(estimate.left, [*active, *before])) / slots
        position = QueuePosition(len(active) + len(before), round(seconds, 1))
    own, limit = [run for run in (*active, *before) if user_key(run) == user], settings.RUN_LONG_PER_PERSON
    if lane == Run.Lane.LONG and len(own) >= limit:
        seconds = round(sum(map(estimate.left, own)) / limit, 1)
        if not position.behind or seconds > position.seconds:
            return QueuePosition(len(own), seconds, limit)
    return position


WIDE = 1.5  # mention the longest duration if it is this many times the probable one


def estimate_text(expected: estimate.Estimate, scenario: Scenario) -> str:
    """Return the estimate that is shown before a run of a scenario is started."""
    user = user_key(Run(scenario=scenario))
    at = _behind(expected.lane, list(queue_order(expected.lane)), user)  # a new run is at the end
    about = f"About {duration.span(round(expected.seconds))}" if expected.seconds >= 1 else "Less than a second"
    if expected.most >= max(2.0, WIDE * expected.seconds):
        about += f", up to {duration.span(round(expected.most))} if the machine is busy,"
    pods, nodes = count(expected.pods, "pod"), count(expected.nodes, "node")
    return f"{about} for {pods} on {nodes}" + (f"; {wait_text(at, user)}." if at.behind else ".")


def wait_text(at: QueuePosition, user: UserKey) -> str:
    """Return a text such as `waits behind 2 runs, about 40 s`, with the limit that makes a run of `user` wait; "" for
    the next run."""
    if not at.behind:
        return ""
    about = f"about {duration.span(max(1, round(at.seconds)))}"
    if not at.limit:
        return f"waits behind {count(at.behind, 'run')}, {about}"
    runs = f"{count(at.behind, 'long run')} of the same {user[0]}"
    return f"waits behind {runs}, {about}: a {user[0]} has at most {at.limit} at once"


COLUMNS = ("owner_id", "scenario_id", "low", "lane", "state", "estimate_s", "started_at", "created_at")


def _in_queue(lane: str) -> Q:
    """Select a queue. Runs queued before queues existed count as long."""
    return Q(lane__in=[lane, ""] if lane == Run.Lane.LONG else [lane])
