"""Effects of an upgrade: every pod with another outcome, and the behaviours of the release that cause it.

It compares two runs that differ mainly in the release. Behaviours that change nothing are found by leaving out many of
them at once; each of the others is switched separately, for all pods at once. A pod that no single behaviour explains
gets a smallest set of them, as in `root_cause`.

A changed pod is `direct` if it also changes when it is scheduled alone on the cluster as it is (`alone.py`). The others
follow from the placement of other pods.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from scheduler_core.cluster.formatting import count, listing
from scheduler_core.compare.alone import outcomes_alone
from scheduler_core.compare.comparison import CHANGES, GONE, SAME, change_of, sentence
from scheduler_core.compare.deltas import Delta
from scheduler_core.compare.inputs import Inputs, Outcome, Refusals, only_words, outcomes
from scheduler_core.compare.root_cause import NOT_EVEN_ALL, LimitReached, MinimalCause, UnitSearch
from scheduler_core.errors import InputError

NOMINATED, REASONS, WORDS = "nominated", "reasons", "words"
KINDS = (*(change for change in CHANGES if change not in (SAME, GONE)), NOMINATED, REASONS, WORDS)
DECISIONS = KINDS[:-2]  # the others concern a pod without a node: its reasons, or only their wording

MOST_RUNS = 600
MOST_SECONDS = 600.0
PROOF_SECONDS = 5.0
PLANNED_RUNS = 20  # of a step with changes, as a first guess

Watch = Callable[[int, int], None]
"""Called at every step of every run with (finished runs, planned runs as far as known); may raise to stop."""


def decision(outcome: Outcome | None) -> tuple[Any, ...]:
    """Return the outcome without its message."""
    return () if outcome is None else outcome.decision


@dataclass
class Changed:
    """A pod with another outcome or message. `cause`: indexes of the step's units, None if unknown. `direct`: whether
    the pod also changes alone; None if unknown."""

    pod: str
    change: str
    a: Outcome | None
    b: Outcome | None
    minimal_cause: MinimalCause = field(default_factory=MinimalCause)
    direct: bool | None = None

    @property
    def cause(self) -> frozenset[int] | None:
        return self.minimal_cause.applied

    def is_that(self, outcome: Outcome | None) -> bool:
        """Return whether an outcome equals that in b, as far as this change is concerned."""
        if self.change in DECISIONS:
            return decision(outcome) == decision(self.b)
        return outcome == self.b

    def as_dict(self) -> dict[str, Any]:
        sides = {name: outcome and outcome.as_dict() for name, outcome in (("a", self.a), ("b", self.b))}
        cause = None if self.cause is None else sorted(self.cause)
        found = {"pod": self.pod, "change": self.change, **sides, "cause": cause, "minimal": self.minimal_cause.minimal}
        return found | {"direct": self.direct}


@dataclass
class CauseGroup:
    """Pods with the same cause. `pods`: change -> their names, decisions first."""

    cause: tuple[int, ...] | None
    minimal: bool = True
    pods: dict[str, list[str]] = field(default_factory=dict)

    @property
    def decisions(self) -> int:
        return sum(len(pods) for kind, pods in self.pods.items() if kind in DECISIONS)

    @property
    def messages(self) -> int:
        return sum(len(pods) for kind, pods in self.pods.items() if kind not in DECISIONS)


@dataclass
class UpgradeStep:
    """The step to the next release. `pods`: number tried. `runs`: for the causes. `note`: why some are unknown."""

    a: str
    b: str
    units: list[Delta] = field(default_factory=list)
    pods: int = 0
    changed: list[Changed] = field(default_factory=list)
    runs: int = 0
    note: str = ""

    @property
    def summary(self) -> dict[str, int]:
        """Number of pods by change; `same` counts pods whose message is also equal."""
        counted = Counter(one.change for one in self.changed)
        return {SAME: self.pods - len(self.changed)} | {kind: counted[kind] for kind in KINDS}

    @property
    def direct(self) -> int | None:
        """Number of decisions that change directly; None if unknown."""
        known = [one.direct for one in self.changed if one.change in DECISIONS]
        return None if None in known else sum(map(bool, known))

    def groups(self) -> list[CauseGroup]:
        """Return the causes, the one that changes the most decisions first; pods without a cause come last."""
        found: dict[tuple[int, ...] | None, CauseGroup] = {}
        for one in self.changed:
            cause = None if one.cause is None else tuple(sorted(one.cause))
            group = found.setdefault(cause, CauseGroup(cause))
            group.minimal = group.minimal and one.minimal_cause.minimal
            group.pods.setdefault(one.change, []).append(one.pod)
        return sorted(found.values(), key=lambda group: (group.cause is None, -group.decisions, -group.messages))

    def as_dict(self) -> dict[str, Any]:
        units = [unit._asdict() | {"pods": 0, WORDS: 0} for unit in self.units]
        for one in self.changed:
            for number in one.cause or ():
                units[number]["pods" if one.change in DECISIONS else WORDS] += 1
        changed = [one.as_dict() for one in self.changed]
        summary, sentence = self.summary, upgrade_sentence(self.summary)
        data = {"a": self.a, "b": self.b, "pods": self.pods, "summary": summary, "sentence": sentence}
        follows = direct_sentence(sum(summary[kind] for kind in DECISIONS), self.direct)
        data |= {"direct": self.direct, "direct_sentence": follows}
        return data | {"units": units, "changed": changed, "runs": self.runs, "note": self.note}


def upgrade_sentence(summary: Mapping[str, int]) -> str:
    """Return a summary such as `1 pod is placed and 3 move; 36 of 40 pods have the same outcome. 2 messages differ only
    in wording.`"""
    words, reasons, nominated = (summary[kind] for kind in (WORDS, REASONS, NOMINATED))
    decided = {kind: summary.get(kind, 0) for kind in CHANGES} | {SAME: summary[SAME] + words + reasons + nominated}
    more = [
        text
        for number, text in (
            (nominated, f"{count(nominated, 'pod')} would preempt differently"),
            (reasons, f"{count(reasons, 'pod')} without a node {'has' if reasons == 1 else 'have'} other reasons"),
            (words, f"{count(words, 'message')} {'differs' if words == 1 else 'differ'} only in wording"),
        )
        if number
    ]
    return f"{sentence(decided)} {listing(more)}." if more else sentence(decided)


def direct_sentence(decisions: int, direct: int | None) -> str:
    """Return how many of the changed decisions are direct; "" if there are none, or if it is unknown."""
    if not decisions or direct is None:
        return ""
    alone = "alone on the cluster as it is"
    if not direct:
        return f"No change is direct: scheduled {alone}, each pod has the same outcome in both releases."
    if direct == decisions:
        return f"{'The change is' if direct == 1 else 'All changes are'} direct: it also occurs {alone}."
    head = f"{direct:,} of {count(decisions, 'change')} {'is' if direct == 1 else 'are'} direct"
    return (
        f"{head}: the pod also changes if it is scheduled {alone}. The others follow from the placement of other pods."
    )


def upgrade(
    inputs: Sequence[Inputs], watch: Watch = lambda done, planned: None, **bounds: Any
) -> Iterator[UpgradeStep]:
    """Yield the step between each two successive inputs. `bounds`: as for `step`. Raises InputError."""
    for a, b in pairwise(inputs):
        yield step(a, b, watch, **bounds)


def step(
    a: Inputs,
    b: Inputs,
    watch: Watch = lambda done, planned: None,
    most_runs: int = MOST_RUNS,
    most_seconds: float = MOST_SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> UpgradeStep:
    """Return every pod with another outcome in b, with the cause. Raises InputError for inputs that cannot be run."""
    if (a.time is None) != (b.time is None):
        raise InputError("upgrade", "", "both runs must be single passes, or both in virtual time")
    search = _UpgradeSearch(a, b, watch, most_runs, clock() + most_seconds, clock)
    found = UpgradeStep(a.release.name, b.release.name, search.units)
    of_a: dict[str, Refusals] = {}
    of_b: dict[str, Refusals] = {}
    try:
        before, after = search.play(a, of_a), search.play(b, of_b)
    except LimitReached:
        found.note = f"running both releases takes more than {most_seconds:g} seconds, so no cause is known"
        return found
    search.known[frozenset()] = before
    found.pods = len({**before, **after})
    for pod in {**before, **after}:
        if change := _change(before.get(pod), after.get(pod), of_a.get(pod, {}), of_b.get(pod, {})):
            found.changed.append(Changed(pod, change, before.get(pod), after.get(pod)))
    found.changed.sort(key=lambda one: KINDS.index(one.change))
    try:
        search.mark_direct(found.changed)
        for one in found.changed:
            one.minimal_cause.find(search.effective(), search.has_effect(one))
    except LimitReached:
        left = sum(one.cause is None for one in found.changed)
        found.note = f"stopped after {count(search.runs, 'run')}; {count(left, 'pod')} without a cause"
    else:
        # Smaller sets matter most for direct changes.
        search.deadline = min(search.deadline, clock() + PROOF_SECONDS)
        with suppress(LimitReached):
            search.minimize(sorted(found.changed, key=lambda one: not one.direct))
    if not found.note and any(one.cause is None for one in found.changed):
        found.note = NOT_EVEN_ALL
    found.runs = search.runs
    return found


def _change(a: Outcome | None, b: Outcome | None, of_a: Refusals, of_b: Refusals) -> str:
    """Return how a pod's outcome changed; "" if the outcome and its message are equal."""
    change = change_of(a, b)
    if change != SAME or a is None or b is None:
        return change
    if a.decision != b.decision:
        return NOMINATED
    if a.message == b.message:
        return ""
    return WORDS if only_words(of_a, of_b) else REASONS


class _UpgradeSearch(UnitSearch[dict[str, Outcome]]):
    """Finds the outcomes of all pods."""

    def __init__(
        self, a: Inputs, b: Inputs, watch: Watch, most_runs: int, deadline: float, clock: Callable[[], float]
    ) -> None:
        super().__init__(a, b, most_runs)
        self.watch, self.deadline, self.clock = watch, deadline, clock
        self._effective: list[int] | None = None

    def tick(self) -> None:
        """Report progress. Raises LimitReached when the time is up."""
        self.watch(self.runs, max(PLANNED_RUNS, self.runs + 1))
        if self.clock() > self.deadline:
            raise LimitReached

    def mark_direct(self, changed: Sequence[Changed]) -> None:
        """Determine which pods also change alone. Unknown in virtual time and in forks."""
        if self.a.time is not None or self.a.items or self.b.items:
            return
        names = [one.pod for one in changed]
        a, b = (outcomes_alone(inputs, names, self.tick) for inputs in (self.a, self.b))
        for one in changed:
            before, after = a.get(one.pod), b.get(one.pod)
            one.direct = before != after if one.change not in DECISIONS else decision(before) != decision(after)

    def effective(self) -> list[int]:
        """Return units that together have the effect of all, each of them necessary. Raises LimitReached."""
        if self._effective is None:
            whole = frozenset(range(len(self.units)))
            self._effective = sorted(self._without_effect(tuple(whole), whole))
        return self._effective

    def _without_effect(self, group: tuple[int, ...], applied: frozenset[int]) -> frozenset[int]:
        """Return the applied units without those of the group that are not needed: many are left out at once."""
        if not group:
            return applied
        fewer = applied - set(group)
        if self.with_units(fewer) == self.with_units(applied):
            return fewer
        if len(group) == 1:
            return applied
        middle = len(group) // 2
        return self._without_effect(group[:middle], self._without_effect(group[middle:], applied))

    def play(self, inputs: Inputs, refusals: dict[str, Refusals] | None = None) -> dict[str, Outcome]:
        """Return every pod's outcome; empty for inputs that cannot be run. Raises InputError with `refusals`."""
        self.tick()
        try:
            played = outcomes(inputs, self.tick, refusals)
        except InputError:
            if refusals is not None:
                raise
            return {}
        self.runs += 1
        return played

    def minimize(self, changed: Sequence[Changed]) -> None:
        """Reduce the causes of these pods, and prove those of decisions. Raises LimitReached."""
        for one in changed:
            one.minimal_cause.reduce(self.has_effect(one))
        for one in changed:
            if one.change in DECISIONS:
                one.minimal_cause.prove(range(len(self.units)), self.has_effect(one))

    def has_effect(self, one: Changed) -> Callable[[frozenset[int]], bool]:
        """Return whether differences change a pod's outcome to that in b."""
        return lambda applied: one.is_that(self.with_units(applied).get(one.pod))
