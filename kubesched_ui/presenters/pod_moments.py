"""The list of a pod's timeline: its place in the queue, its attempts, and what happened to it later.

A single pass has no clock, so its moments are named by their cycles. Runs in virtual time have a list of their own
(pod_timeline.py), which the browser writes.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kubesched_ui.models import Cycle, PodResult, Run
from kubesched_ui.presenters.attempts import Attempt, Event
from kubesched_ui.presenters.sentence_links import SentenceLink, pod_links
from scheduler_core.api.duration import milliseconds
from scheduler_core.cluster.formatting import count, some

VICTIMS = 5  # named


class QueuePlace(NamedTuple):
    """`number`: the pod's place, from 1. `total`: the number of pods. `ahead`: the pods that are still tried before it;
    None if it was tried."""

    number: int
    total: int
    ahead: int | None


class PodMoment(NamedTuple):
    """A row of the list.

    `when`: a cycle or a time, as text. `what`: a few words. `why`: a sentence or "", with its `links`. `tone`: of a gap
    (`gap`), else "". `address`: a link of `when`, "" for none. `key`: identifies the row when a page is refreshed.
    """

    when: str
    what: str
    why: str = ""
    links: Sequence[SentenceLink] = ()
    tone: str = ""
    address: str = ""
    key: str = ""


def place_of(run: Run, key: str, result: PodResult | None) -> QueuePlace | None:
    """Return the place of a pod (`key`: namespace/name); None in virtual time, if the run has not begun, or if it does
    not try the pod. `result`: the pod's, if it was tried."""
    if run.in_time:
        return None
    total = max(run.cycles_total, run.cycles_done)
    if result is not None:
        return QueuePlace(result.position + 1, max(total, result.position + 1), None)
    if key not in run.remaining:
        return None
    first = (run.fork_at or 1) - 1 if run.adopts else 0
    index = first + run.remaining.index(key)
    tried = PodResult.objects.filter(run=run, position__lt=index).count()
    return QueuePlace(index + 1, total, index - tried)


def of_single_pass(
    run: Run,
    place: QueuePlace | None,
    rows: Sequence[Cycle],
    came_to: Sequence[Attempt],
    groups: Sequence[Sequence[Event]],
    result: PodResult | None,
) -> list[PodMoment]:
    """Return the moments of a pod. `rows`, `came_to`, `groups`: its cycles, their results and their events."""
    moments = []
    if place is not None and place.ahead is None:
        before = place.number - 1
        why = f"{count(before, 'pod')} {'was' if before == 1 else 'were'} tried before it." if before else "The first."
        moments.append(PodMoment("start", in_queue(place), why))
    elif place is not None and not run.active:
        moments.append(PodMoment("end", in_queue(place), "The run ended before its turn."))
    took = f"It took {milliseconds(result.duration)}." if result and result.duration else ""
    for index, row in enumerate(rows):
        last = index == len(rows) - 1
        what = f"Attempt {row.attempt} began" if len(rows) > 1 else "The scheduling cycle began"
        moments.append(PodMoment(f"cycle {row.number}", what, took if last else ""))
        victims = victims_of(groups[index]) if index < len(groups) else []
        if came_to[index].nominated:
            why = f"Preemption evicts {some(victims, VICTIMS)}." if victims else ""
            links = pod_links(run, victims[:VICTIMS])
            moments.append(PodMoment(f"cycle {row.number}", f"Nominated to {came_to[index].nominated}", why, links))
    if result is not None and result.evicted_by:
        by = result.evicted_by
        number = cycle_of(run, by, rows[-1].number if rows else 0)
        when = f"cycle {number}" if number else "later"
        moments.append(PodMoment(when, "Evicted", f"Preemption for {by}.", pod_links(run, [by])))
    return moments


def in_queue(place: QueuePlace) -> str:
    """Return a place as text: `Place 413 of 3,000 in the queue`."""
    return f"Place {place.number:,} of {place.total:,} in the queue"


def victims_of(events: Iterable[Event]) -> list[str]:
    """Return the pods that an attempt evicts."""
    return [victim for event in events if event["type"] == "postfilter" for victim in event["data"]["victims"]]


def cycle_of(run: Run, pod: str, after: int) -> int:
    """Return the number of a pod's first cycle after another one, 0 if there is none."""
    namespace, _, name = pod.partition("/")
    rows = Cycle.objects.filter(run=run, namespace=namespace, name=name, number__gt=after).order_by("number")
    return rows.values_list("number", flat=True).first() or 0
