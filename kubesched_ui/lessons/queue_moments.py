"""Moments of the scheduling queue, and of the events that move pods in it."""

from typing import Any

from django.utils.html import format_html, format_html_join

from kubesched_ui.event_log.events import Event
from kubesched_ui.event_log.queue_sizes import LANE, LANES
from kubesched_ui.lessons.errors import Unknown
from kubesched_ui.lessons.formatting import Seconds, shown
from kubesched_ui.lessons.functions import Facts
from kubesched_ui.lessons.parser import MovingPicture
from kubesched_ui.lessons.picture_moments import Drawn, PictureMoment, name_of, names_of, run_in_time, sentence_of
from kubesched_ui.lessons.runner import Played
from scheduler_core.search.queue_times import PARTS

QUEUED = {LANE[lane] for lane in ("active", "backoff", "unschedulable", "gated", "waiting")}
# Events that a pod in the queue may wait for.
OUTSIDE = ("node.changed", "object.changed", "pod.deleted", "pod.updated")


def queue_moments(facts: Facts, wanted: MovingPicture) -> Drawn:
    """Return each move between parts of the queue; if the picture shows events, also those that move no pod."""
    run = run_in_time(facts)
    texts, by_seq = _QueueTexts(facts), {event["seq"]: event for event in run.events}
    moves = [move for move in run.queue_moves if move.lane != LANE["gone"] or move.left in QUEUED]
    found = [(move.t, move.seq, texts.move(by_seq[move.seq], LANES[move.lane])) for move in moves]
    if wanted.shows == "events":
        shown_already = {event["data"].get("cause") for event in run.events if event["type"] == "queue.moved"}
        shown_already.update(move.seq for move in moves)
        outside = (event for event in run.events if event["type"] in OUTSIDE and event["seq"] not in shown_already)
        found += [(event["t"], event["seq"], texts.ignored(event)) for event in outside]
    inside = sorted(one for one in found if wanted.holds(one[0]))
    if not inside:
        raise Unknown(f"nothing moves in the queue from {wanted.from_} to {wanted.to} s")
    before = inside[0][1] - 1
    moments = [PictureMoment(texts.at(before), shown(Seconds(inside[0][0])), {"t": inside[0][0], "seq": before})]
    moments += [PictureMoment(text, shown(Seconds(t)), {"t": t, "seq": seq}) for t, seq, text in inside]
    return moments, {"stretch": _stretch(run, inside[-1][1])}


def _stretch(run: Played, seq: int) -> dict[str, Any]:
    """Return the moves until an event, as /lanes/stretch of a stored run does (docs/websocket.md)."""
    moves = [move for move in run.queue_moves if move.seq <= seq]
    columns = {name: [getattr(move, name) for move in moves] for name in ("t", "pod", "lane", "seq")}
    times = sorted({move.t for move in moves})
    return {
        "from": 0,
        "to": times[-1] if times else 0,
        "lanes": LANES,
        "pods": run.queued_pods,
        "counts": [0] * len(LANES),
        "there": [[] for _ in LANES],
        "moves": columns,
        "moments": times,
        "last_seq": seq,
    }


class _QueueTexts:
    """Sentences about the queue of a run."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.run = facts, facts.run
        self.by_seq = {event["seq"]: event for event in facts.run.events}

    def lanes(self, seq: int) -> dict[str, str]:
        """Return pod -> the part of the queue that it is in after an event."""
        pods = self.run.queued_pods
        return {pods[move.pod]: LANES[move.lane] for move in self.run.queue_moves if move.seq <= seq}

    def at(self, seq: int) -> str:
        """Return where pods wait after an event."""
        found: dict[str, list[str]] = {}
        for pod, lane in self.lanes(seq).items():
            if lane not in ("bound", "gone"):
                found.setdefault(lane, []).append(pod)
        if not found:
            return "The queue is empty."
        parts = [format_html("{} in {}", names_of(pods), PARTS.get(lane, lane)) for lane, pods in found.items()]
        return format_html("At the beginning: {}.", format_html_join("; ", "{}", ((part,) for part in parts)))

    def move(self, event: Event, lane: str) -> str:
        """Return what moves a pod to a part of the queue or a state."""
        data, pod = event["data"], name_of(event["pod"])
        if event["type"] == "cycle.finished":
            text = "Attempt {} of {} chooses {}. The pod is assumed there, and its binding begins."
            return format_html(text, event["attempt"], pod, name_of(data["node"]))
        if event["type"] == "pod.bound":
            if self.lanes(event["seq"] - 1).get(event["pod"]) == "waiting":
                return format_html("The binding of {} to {} succeeds.", pod, name_of(data["node"]))
            text = "Attempt {} of {} chooses {}, and the pod is bound."
            return format_html(text, event["attempt"], pod, name_of(data["node"]))
        if event["type"] != "queue.moved":
            return f"{sentence_of(event)}."
        was, place = data["from"], PARTS.get(lane, lane)
        if was == "popped":
            return self._failed(event, place)
        if not was:
            return format_html("{} is created without a node. It enters {}.", pod, place)
        if data["event"] == "BackoffComplete":
            return format_html("The backoff of {} has ended. The check of backoffQ moves the pod to {}.", pod, place)
        if data["event"] == "UnschedulableTimeout":
            return format_html("{} has waited longer than the limit. A flush moves it to {}.", pod, place)
        cause = self.by_seq.get(data["cause"])
        because = f"{sentence_of(cause)}. " if cause else ""
        text = "{}The event {} moves {} from {} to {}."
        return format_html(text, because, data["event"], pod, PARTS.get(was, was), place)

    def _failed(self, event: Event, place: str) -> str:
        pod, attempt, cause = event["pod"], event["attempt"], self.by_seq.get(event["data"]["cause"])
        backoff = ""
        if event["data"]["to"] == "backoff":
            backoff = f" Its backoff of {shown(self.facts.backoff(pod, attempt))} begins."
        if cause is not None and cause["type"] == "bind.failed":
            text = "Attempt {}: the binding of {} to {} fails with an error. The pod moves to {}.{}"
            return format_html(text, attempt, name_of(pod), name_of(cause["data"]["node"]), place, backoff)
        if cause is not None and cause["type"] != "cycle.finished":
            return format_html("{}. {} moves to {}.{}", sentence_of(cause), name_of(pod), place, backoff)
        by = self._rejected_by(pod, attempt)
        text = "Attempt {} of {} finds no feasible node{}. The pod moves to {}.{}"
        return format_html(text, attempt, name_of(pod), f", rejected by {by}" if by else "", place, backoff)

    def _rejected_by(self, pod: str, attempt: int) -> str:
        trace = self.facts.find(pod, attempt).trace
        return ", ".join(sorted(trace.unschedulable_plugins))

    def ignored(self, event: Event) -> str:
        """Return an event that moves no pod, and which pods keep waiting."""
        waiting = [pod for pod, lane in self.lanes(event["seq"]).items() if lane == "unschedulable"]
        attempts = {cycle.pod: cycle.attempt for cycle in self.run.cycles if cycle.seq < event["seq"]}
        parts = (
            (name_of(pod), by) for pod in waiting if pod in attempts and (by := self._rejected_by(pod, attempts[pod]))
        )
        rest = format_html_join(", ", "{} (rejected by {})", parts)
        return format_html(
            "{}. This moves no pod.{}", sentence_of(event), format_html(" Still waiting: {}.", rest) if rest else ""
        )
