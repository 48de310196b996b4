"""Explanations of a pod's times in the queue of a stored run in virtual time."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kubesched_ui.event_log.cycle_batches import trace_of
from kubesched_ui.event_log.event_text import event_sentence
from kubesched_ui.event_log.events import Event
from kubesched_ui.models import Cycle, Run
from kubesched_ui.presenters import pod_timeline
from kubesched_ui.presenters.events_at import causes_of
from kubesched_ui.queries.remedies import configuration_of, maker
from scheduler_core.provenance.tree import Source, Tree
from scheduler_core.queue.hints import Hints
from scheduler_core.queue.scheduling_queue import event_of
from scheduler_core.releases import get_release
from scheduler_core.search.provenance import NotDecided
from scheduler_core.search.queue_times import Failed, Move, MoveCause, QueueTimes, Rules, rules_of

# Types of causes whose pod can be displayed as the source.
ABOUT_PODS = ("pod.created", "pod.updated", "pod.bound", "pod.nominated")


def explain_time(run: Run, cycle: Cycle | None, namespace: str, name: str, move: int | None, until: bool) -> Tree:
    """Explain the time of a move, or without a move the beginning of the cycle. Raises InputError, NotDecided."""
    if not run.in_time:
        raise NotDecided(
            "point", "", "queue is only for runs in virtual time; this is a single-pass run, in which pods do not wait"
        )
    times = _of(run, namespace, name)
    if move is None:
        move = times.begin_of(_finished(run, cycle) if cycle is not None else None)
    return times.explain(move, until)


def latest_times(run: Run, namespace: str, name: str) -> dict[int, float]:
    """Map the event of each move of the pod to the latest second at which it leaves that state. Raises InputError."""
    return _of(run, namespace, name, with_causes=False).ends()


def _of(run: Run, namespace: str, name: str, with_causes: bool = True) -> QueueTimes:
    pod = f"{namespace}/{name}"
    events = list(pod_timeline.events_of(run, pod))
    causing = {e["data"].get("cause", 0) for e in events if e["type"] == "queue.moved"} if with_causes else set()
    causes = {seq: _cause(run, pod, event) for seq, event in causes_of(run, causing).items()}
    return QueueTimes(pod, list(history(_numbers(run, namespace, name), events, causes)), _rules(run))


def _finished(run: Run, cycle: Cycle) -> int:
    """Return the event with which a cycle ended."""
    pod = f"{cycle.namespace}/{cycle.name}"
    ended: list[int] = [e["seq"] for e in pod_timeline.events_of(run, pod) if e["type"] == "cycle.finished"]
    place = _numbers(run, cycle.namespace, cycle.name).index(cycle.number)
    if place >= len(ended):
        raise NotDecided("attempt", "", f"is beyond the first {pod_timeline.MAX_EVENTS:,} events of the pod")
    return ended[place]


def _numbers(run: Run, namespace: str, name: str) -> list[int]:
    rows = Cycle.objects.filter(run=run, namespace=namespace, name=name)
    return list(rows.order_by("number").values_list("number", flat=True))


# ---- timeline of the pod


def history(cycles: Sequence[int], events: Sequence[Event], causes: Mapping[int, MoveCause]) -> Iterator[Move | Failed]:
    """Yield a pod's moves and failed attempts.

    `cycles`: the numbers of its cycles. `events`: all its events. `causes`: event -> its cause.
    """
    numbers = iter(cycles)
    number = 0
    for event, group in pod_timeline.with_cycles(events):
        data = event["data"]
        match event["type"]:
            case "queue.moved":
                cause = causes.get(data.get("cause", 0))
                yield Move(event["seq"], event["t"], data["from"], data["to"], data["event"], cause)
            case "cycle.finished":
                number = next(numbers, 0)
                if data["result"] not in ("scheduled", "waiting"):
                    plugins = pod_timeline.rejectors(group) or ([""] if data["result"] == "unschedulable" else [])
                    yield _failed(event, number, plugins if data["result"] != "error" else [])
            case "permit.rejected":
                yield _failed(event, number, data["plugins"] or [""])
            case "bind.failed":
                yield _failed(event, number, [])


def _failed(event: Event, cycle: int, plugins: Sequence[str]) -> Failed:
    return Failed(event["seq"], event["t"], event["attempt"], cycle, tuple(plugins))


def _cause(run: Run, pod: str, event: Event) -> MoveCause:
    """Return the cause of a move of `pod`. For a cycle of another pod, look up its number."""
    data, source, cycle = event["data"], None, 0
    namespace, _, name = event["pod"].partition("/")
    if event["type"] == "node.changed" and data["change"] != "deleted":
        source = Source("Node", data["name"], "metadata.name")
    elif event["type"] in ABOUT_PODS:
        source = Source("Pod", name, "metadata.name", namespace)
    elif event["type"] == "cycle.finished" and event["pod"] != pod:
        rows = Cycle.objects.filter(run=run, namespace=namespace, name=name, attempt=event["attempt"])
        cycle = rows.order_by("number").values_list("number", flat=True).first() or 0
        source = Source("Pod", name, "metadata.name", namespace)
    return MoveCause(event_sentence(event), event["seq"], source, cycle)


# ---- rules of the queue


def _rules(run: Run) -> Rules:
    def woken_by(failed: Failed, label: str) -> list[str]:
        event = event_of(label)
        if event is None:
            return []
        trace = trace_of(Cycle.objects.get(run=run.pk, number=failed.cycle)) if failed.cycle else None
        profile, plugins = (trace.profile, trace.unschedulable_plugins) if trace else ("", failed.plugins)
        registered = _hints_of(run.release, run.config, run.pk).registered_by(profile, event)
        return sorted(registered.intersection(plugins) or registered.intersection(failed.plugins))

    return rules_of(get_release(run.release), configuration_of(run), woken_by)


@lru_cache(maxsize=4)
def _hints_of(release: str, config: str, run_id: int) -> Hints:
    """Return the events that the plugins of the run's profiles registered."""
    made: Any = maker(Run.objects.get(pk=run_id))([])
    return Hints(made.scheduler.profiles, get_release(release))
