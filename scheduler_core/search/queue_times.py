"""Explanations of a pod's times in the queue: when an attempt began, when a backoff ends, what woke the pod.

Times are seconds of the run, computed with the queue's rules (scheduler_core/queue). Nothing is replayed. If a computed
time differs from the recorded one, the recorded one is shown without an explanation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

from scheduler_core.config import Configuration
from scheduler_core.framework import events
from scheduler_core.provenance import tree as t
from scheduler_core.provenance.tree import Source, Tree
from scheduler_core.queue.queued_pod import ACTIVE, BACKOFF, GATED, GONE, POPPED, UNSCHEDULABLE
from scheduler_core.queue.scheduling_queue import LEFTOVER_PERIOD, OLD_LEFTOVER_SECONDS, leftover_seconds
from scheduler_core.releases import Release
from scheduler_core.search.provenance import DISAGREES, NotDecided

QUEUE = "queue"  # the `point` of questions about the queue
SECONDS = "s"
UPDATED = "PodUpdate"  # label of a pod update in releases without queueing hints
PARTS = {ACTIVE: "activeQ", BACKOFF: "backoffQ", UNSCHEDULABLE: "the unschedulable pods", GATED: "the gated pods"}


class MoveCause(NamedTuple):
    """Cause of a move: its event `seq`, the object that changed as `source`, and the `cycle` if it was one."""

    text: str
    seq: int = 0
    source: Source | None = None
    cycle: int = 0


class Move(NamedTuple):
    """Move of a pod from queue part `was` ("" at first) to another; `event` is upstream's label."""

    seq: int
    t: float
    was: str
    to: str
    event: str
    cause: MoveCause | None = None


class Failed(NamedTuple):
    """A failed attempt that returned to the queue. `plugins` rejected the pod; empty for an error."""

    seq: int
    t: float
    attempt: int
    cycle: int
    plugins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of the run's queue.

    `initial` and `maximum` are backoff durations in seconds. `counts_attempts` and `past_its_end` are backoff rules
    that depend on the release. Without `with_hints`, the kind of an event alone wakes a pod. A pod stays unschedulable
    for at most `leftover_seconds`. `woken_by` maps (failed attempt, event label) to the plugins that rejected the pod
    and registered the event. With `forgets`, failures are forgotten after some time and after an update of the pod
    (1.16).
    """

    initial: Tree
    maximum: Tree
    counts_attempts: bool
    past_its_end: bool
    with_hints: bool
    leftover_seconds: float
    woken_by: Callable[[Failed, str], list[str]]
    forgets: bool = False

    def span(self, failures: int) -> float:
        """Return the seconds of backoff after this number of failures."""
        return min(self.initial.value * 2.0 ** min(failures - 1, 64), self.maximum.value) if failures else 0.0


def rules_of(release: Release, configuration: Configuration, woken_by: Callable[[Failed, str], list[str]]) -> Rules:
    """Return the queue's rules for a release and a configuration. `woken_by`: as for Rules."""

    def argument(path: str, value: int) -> Tree:
        return Tree(value=value, op="argument", path=path, unit=SECONDS, default=path not in configuration.given)

    return Rules(
        argument("podInitialBackoffSeconds", configuration.pod_initial_backoff_seconds),
        argument("podMaxBackoffSeconds", configuration.pod_max_backoff_seconds),
        release.backoff_counts_attempts,
        release.backoff_includes_end,
        release.queueing_hints,
        leftover_seconds(release),
        woken_by,
        release.legacy_queue,
    )


@dataclass(slots=True)
class _Known:
    """The queue's knowledge of the pod at a move.

    `since`: when the pod arrived or last failed. `counted_failures`: where failures are forgotten, those that still
    count; the backoff began at the last of them. `last`: the previous move.
    """

    since: Tree
    attempts: int = 0
    failures: list[Failed] = field(default_factory=list)
    counted_failures: list[Failed] = field(default_factory=list)
    last: Move | None = None

    def after(self, one: Move | Failed, rules: Rules) -> _Known:
        """Return the state after one more entry; it starts anew if the pod is added again."""
        if isinstance(one, Failed):
            self.failures.append(one)
            self.since = _failure(one)
            self._count_failure(one, rules)
            return self
        # a pod deleted from activeQ leaves its backoff to the next pod with its name
        deleted = self.last is not None and (self.last.was, self.last.to) == (ACTIVE, GONE)
        left = self.counted_failures if deleted else []
        known = self if one.was else _Known(_event(one), counted_failures=left)
        known.attempts += one.to == POPPED
        known.last = one
        if (one.was, one.to, one.event) == (UNSCHEDULABLE, ACTIVE, UPDATED):
            known.counted_failures = []
        return known

    def _count_failure(self, failed: Failed, rules: Rules) -> None:
        counted = self.counted_failures
        if counted and counted[-1].t + rules.maximum.value <= failed.t:
            counted = []
        if not counted or counted[-1].t + rules.span(len(counted)) <= failed.t:
            counted = [*counted, failed]
        self.counted_failures = counted


class QueueTimes:
    """Times of one pod. `history` holds all its moves and failed attempts in order."""

    def __init__(self, pod: str, history: Sequence[Move | Failed], rules: Rules) -> None:
        self._pod, self._history, self._rules = pod, history, rules

    def explain(self, seq: int, until: bool = False) -> Tree:
        """Explain when a move happened or, with `until`, when its stay ends at the latest. Raises NotDecided."""
        index = next((i for i, one in enumerate(self._history) if one.seq == seq and isinstance(one, Move)), -1)
        if index < 0:
            raise NotDecided("move", "", f"event {seq} does not move {self._pod} in the queue")
        return self._until(index) if until else self._move(index)

    def begin_of(self, seq: int | None = None) -> int:
        """Return the event that began the last attempt, or the last attempt before event `seq`. Raises NotDecided."""
        begun = [one.seq for one in self._history if isinstance(one, Move) and one.to == POPPED]
        found = [number for number in begun if seq is None or number < seq]
        if not found:
            raise NotDecided("attempt", "", f"{self._pod} was never popped from the queue")
        return found[-1]

    def ends(self) -> dict[int, float]:
        """Map the event of each move to backoffQ or unschedulable pods to the latest second at which the pod leaves."""
        found: dict[int, float] = {}
        known = _Known(_BEGIN)
        for one in self._history:
            known = known.after(one, self._rules)
            if isinstance(one, Move) and one.to in (BACKOFF, UNSCHEDULABLE):
                found[one.seq] = (self._expiry(known) if one.to == BACKOFF else self._leftover(known)).value
        return found

    def _known(self, index: int) -> _Known:
        """Return the state including the move at this index."""
        return reduce(lambda known, one: known.after(one, self._rules), self._history[: index + 1], _Known(_BEGIN))

    def _backoff(self, known: _Known) -> Tree:
        """Explain the length of the backoff: the initial backoff, doubled for each failure after the first."""
        counted, what = self._counted(known)
        if not counted:
            return t.constant(0.0, "it never failed: no backoff", SECONDS)
        grown, maximum = self._rules.initial, self._rules.maximum
        for nth, one in enumerate(counted[1:], 2):
            if grown.value >= maximum.value:
                break
            twice = _of_attempt(2, f"attempt {one.attempt}, {what} {nth}", one)
            grown = t.multiply(grown, twice, "doubled", SECONDS)
        return t.lowest([grown, maximum], f"backoff after attempt {counted[-1].attempt}", SECONDS)

    def _counted(self, known: _Known) -> tuple[list[Failed], str]:
        if self._rules.forgets:
            return known.counted_failures, "failure"
        failures = known.failures
        if self._rules.counts_attempts:
            return failures, "failure"
        errors = 0
        while errors < len(failures) and not failures[-1 - errors].plugins:
            errors += 1
        if errors:
            return failures[-errors:], "error"
        return [one for one in failures if one.plugins], "rejection"

    def _expiry(self, known: _Known) -> Tree:
        since = _failure(known.counted_failures[-1]) if self._rules.forgets and known.counted_failures else known.since
        return _sum(since, self._backoff(known), "end of its backoff")

    def _flushed(self, known: _Known) -> Tree:
        """Explain the first whole second at which the backoff is over."""
        end = self._expiry(known)
        second, one = t.truncated(end), t.constant(1, "the queue checks every second")
        after = t.total([second, one])
        label = "the first second {} the end (flushBackoffQCompleted runs every second)"
        if not self._rules.past_its_end:
            return t.either(t.equal(end, second), second, after, label.format("at or after"), SECONDS)
        return after.with_label(label.format("after")).measured(SECONDS)

    def _leftover(self, known: _Known) -> Tree:
        """Explain when a pod that no event wakes is tried again."""
        longest = t.constant(self._rules.leftover_seconds, self._longest[1], SECONDS)
        end = _sum(known.since, longest, "the maximum time that a pod stays unschedulable")
        period = t.constant(LEFTOVER_PERIOD, "flushUnschedulablePodsLeftover runs every 30 s", SECONDS)
        rounds = t.truncated(t.divide(end, period, "rounds until then"))
        following = t.total([rounds, t.constant(1, "the round after that")])
        return t.multiply(following, period, "tried again even if nothing happens", SECONDS)

    @property
    def _longest(self) -> tuple[str, str]:
        """Return the maximum time that a pod stays unschedulable and upstream's name for it."""
        if self._rules.leftover_seconds == OLD_LEFTOVER_SECONDS:
            return "1 min", "unschedulableQTimeInterval"
        return "5 min", "DefaultPodMaxInUnschedulablePodsDuration"

    def _until(self, index: int) -> Tree:
        move, known = self._history[index], self._known(index)
        assert isinstance(move, Move)
        if move.to == BACKOFF:
            tree = self._expiry(known)
            text = f"Its backoff ends at {_s(tree.value)}: {self._backoff_text(known)}"
            tried = f"the queue checks every second, so it may be tried at {_s(self._flushed(known).value)}"
            return tree.with_text(f"{text}; {tried}")
        if move.to == UNSCHEDULABLE:
            tree = self._leftover(known)
            text = f"If no event requeues it, it is tried again at {_s(tree.value)}"
            since = f"more than {self._longest[0]} after {_s(known.since.value)}"
            return tree.with_text(f"{text}: the first round of 30 s that is {since}")
        raise NotDecided("move", "", "only a backoff and the time as an unschedulable pod have an end")

    def _move(self, index: int) -> Tree:
        """Explain when a move happened; the value is the recorded time."""
        move, known = self._history[index], self._known(index)
        assert isinstance(move, Move)
        tree = self._explain_move(move, known, index)
        if tree.value == move.t:
            return tree
        return _event(move, DISAGREES).with_text(f"{self._what(move, known)} at {_s(move.t)} ({move.event})")

    def _explain_move(self, move: Move, known: _Known, index: int) -> Tree:
        what = f"{self._what(move, known)} at {_s(move.t)}"
        before = self._before(index)
        if move.to == POPPED:
            assert before >= 0
            return self._popped(move, known, before, what)
        if move.event == events.BACKOFF_COMPLETE and before >= 0:
            over, came = self._flushed(known), self._move(before)
            tree = t.highest([over, _part(came, "when it entered backoffQ")], "its backoff is over", SECONDS)
            return tree.with_text(f"{what}, the first second after its backoff: {self._backoff_text(known)}")
        if move.event == events.UNSCHEDULABLE_TIMEOUT.label:
            reason = "no event had requeued it for more than {} ({})".format(*self._longest)
            return self._leftover(known).with_text(f"{what}: {reason}")
        if move.event == events.SCHEDULE_ATTEMPT_FAILURE and known.failures:
            return self._came_back(move, known.failures[-1], what)
        because = f" by {move.event}" + (f": {move.cause.text}" if move.cause is not None else "")
        if move.was == UNSCHEDULABLE and known.failures:
            return self._woken(move, known, what + because)
        return _event(move).with_text(what + because)

    def _what(self, move: Move, known: _Known) -> str:
        if move.to == POPPED:
            return f"Attempt {known.attempts} began"
        return f"It entered {PARTS.get(move.to, move.to)}"

    def _before(self, index: int) -> int:
        """Return the index of the previous move, -1 if there is none."""
        return next((i for i in range(index - 1, -1, -1) if isinstance(self._history[i], Move)), -1)

    def _popped(self, move: Move, known: _Known, before: int, what: str) -> Tree:
        came = self._move(before)
        if move.was == BACKOFF:
            idle = t.constant(0.0, "an idle scheduler pops it immediately", SECONDS)
            early = _sum(_part(came, "when it entered backoffQ"), idle, "taken out early (SchedulerPopFromBackoffQ)")
            earlier = "the earlier of being taken out and the end of its backoff"
            tree = t.lowest([early, self._flushed(known)], earlier, SECONDS)
            end = _s(self._expiry(known).value)
            reason = f"an idle scheduler took it out of backoffQ before the end of its backoff, {end}"
            return tree.with_text(f"{what}: {reason} ({self._backoff_text(known)})")
        waited = move.t - came.value
        why = "a cycle takes no virtual time, so it is popped immediately" if not waited else "other pods went first"
        tree = _sum(came, t.constant(waited, why, SECONDS), "its turn")
        first = came.text[:1].lower() + came.text[1:]
        _part(came, "when it entered activeQ")
        return tree.with_text(f"{what}, as soon as it was its turn: {first}")

    def _came_back(self, move: Move, failed: Failed, what: str) -> Tree:
        why = f"was rejected by {', '.join(filter(None, failed.plugins))}" if failed.plugins else "failed with an error"
        text = f"{what}: attempt {failed.attempt} {why}"
        if move.to != UNSCHEDULABLE and failed.plugins:
            text += ", and an event during the attempt may help"
        return _failure(failed).with_text(text)

    def _woken(self, move: Move, known: _Known, text: str) -> Tree:
        """Explain a wake-up by an event that a rejecting plugin registered, or else by time."""
        plugins = self._rules.woken_by(known.failures[-1], move.event)
        registered = f"registered {move.event}"
        if not plugins:
            hints = [t.constant(True, f"{move.event} wakes it, whichever plugin rejected it")]
        elif self._rules.with_hints:
            named = " or ".join(plugins)
            hints = [t.constant(True, f"{named}, which rejected it, {registered}, and its hint returned Queue")]
        else:
            hints = [t.constant(True, f"{plugin}, which rejected itand {registered}") for plugin in plugins]
        if plugins:
            how = "'s hint returned Queue" if self._rules.with_hints else " registered it"
            text += f" ({' or '.join(plugins)}{how})"
        conditions = [t.some(hints, "it may help")]
        if move.to == ACTIVE and move.event != events.FORCE_ACTIVATE.label:
            now = t.constant(move.t, "now", SECONDS)
            over = t.less_equal(self._expiry(known), now, "its backoff is over")
            if over.value:
                conditions.append(over)
                text += f"; its backoff had ended at {_s(self._expiry(known).value)}"
        woken = conditions[0] if len(conditions) == 1 else t.every(conditions, "it may be tried")
        later = self._leftover(known)
        return t.either(woken, _event(move), later, "requeued by the event, or later by time", SECONDS).with_text(text)

    def _backoff_text(self, known: _Known) -> str:
        """Return a text such as the documentation's example, `backoff 4 s = min(1 s x 2^2, 10 s)`."""
        counted, what = self._counted(known)
        if not counted:
            return "none, it had never failed"
        initial, maximum, many = self._rules.initial.value, self._rules.maximum.value, len(counted)
        after = f"{many} {what}{'s' * (many > 1)}" + " in a row" * (what == "error" and many > 1)
        return (
            f"attempt {counted[-1].attempt} failed at {_s(counted[-1].t)}, and the backoff after {after} is "
            f"{_s(self._backoff(known).value)} = min({_s(initial)} x 2^{many - 1}, {_s(maximum)})"
        )


_BEGIN = t.constant(0.0, "the run begins", SECONDS)


def _s(seconds: float) -> str:
    return f"{seconds:,.6f}".rstrip("0").rstrip(".") + " s"


def _sum(a: Tree, b: Tree, label: str) -> Tree:
    return t.total_floats([a, b], label).measured(SECONDS)


def _part(root: Tree, what: str) -> Tree:
    """Relabel a root so that it can be a part of another tree."""
    return root.with_label(f"{what}: {root.label}" if root.op == "constant" else what).with_text("")


def _failure(failed: Failed) -> Tree:
    return _of_attempt(failed.t, f"when attempt {failed.attempt} failed", failed).measured(SECONDS)


def _of_attempt(value: float, label: str, failed: Failed) -> Tree:
    return Tree(value=value, op="constant", label=label, cycle=failed.cycle, seq=failed.seq)


def _event(move: Move, label: str = "") -> Tree:
    """Explain a move by its cause. The pod moves at the second of the cause."""
    cause = move.cause or MoveCause("", move.seq)
    tree = t.constant(move.t, label or (f"{move.event}: {cause.text}" if move.cause else move.event), SECONDS)
    tree.seq, tree.source, tree.cycle = cause.seq, cause.source, cause.cycle
    return tree
