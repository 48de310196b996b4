"""Comparison of two runs: outcomes of all pods, the first cycle that differs, and how (docs/debugger.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import zip_longest
from typing import Any

from scheduler_core.cluster.formatting import count, listing
from scheduler_core.cluster.nodes import ZONE
from scheduler_core.compare import differences
from scheduler_core.compare.inputs import Outcome
from scheduler_core.compare.metrics import metrics
from scheduler_core.compare.run_side import RecordedOutcome, RunSide
from scheduler_core.compare.steps import OUTCOME, RANKS, first_difference, steps
from scheduler_core.errors import InputError

SAME, MOVED, GAINED, LOST, GONE, OTHER = "same", "moved", "gained", "lost", "gone", "other"
ONLY_A, ONLY_B = "only_a", "only_b"
CHANGES = (SAME, MOVED, GAINED, LOST, GONE, OTHER, ONLY_A, ONLY_B)

MOST_CELLS = 2_000_000  # nodes x cycles read for `first` without a request; others are read on request
BATCH = 100

First = dict[str, Any] | None


class PodComparison:
    """A pod in both runs. `first`: what explains how its last cycles differ; None if equal or not `known` yet."""

    __slots__ = ("a", "b", "change", "first", "known", "name")

    def __init__(self, name: str, a: RecordedOutcome | None, b: RecordedOutcome | None) -> None:
        self.name, self.a, self.b = name, a, b
        self.change = change_of(a, b)
        self.first: First = None
        self.known = a is None or b is None or not (a.cycle and b.cycle)  # otherwise two cycles must be read

    def as_dict(self) -> dict[str, Any]:
        a, b = (None if outcome is None else outcome.as_dict() for outcome in (self.a, self.b))
        data = {"pod": self.name, "change": self.change, "a": a, "b": b, "first": self.first}
        return data if self.known else data | {"first_known": False}

    @property
    def rank(self) -> tuple[bool, int]:
        """The order of pods by what differs: the outcome, a verdict, a score, only words, nothing."""
        kind = self.first["kind"] if self.first else ""
        return self.change == SAME, RANKS.index(kind) if kind in RANKS else len(RANKS)

    def afterwards(self) -> First:
        """Return the difference after two equal cycles: their results."""
        if self.change == SAME or self.a is None or self.b is None:
            return None
        point = "bind" if "error" in (self.a.result, self.b.result) else "permit"
        found = {"point": point, "plugin": "", "node": "", "a": self.a.result, "b": self.b.result}
        return found | {"kind": OUTCOME}

    @property
    def owner(self) -> str:
        return next((outcome.owner for outcome in (self.b, self.a) if outcome is not None), "")


def change_of(a: RecordedOutcome | Outcome | None, b: RecordedOutcome | Outcome | None) -> str:
    """Return how a pod's outcome in b differs from that in a."""
    if a is None or b is None:
        return ONLY_B if a is None else ONLY_A
    if a.placed and b.placed:
        return SAME if (a.result, a.node) == (b.result, b.node) else MOVED if a.node != b.node else OTHER
    if a.placed or b.placed:
        return LOST if a.placed else GAINED
    return SAME if a.result == b.result else OTHER


class Comparison:
    """Comparison of two runs. Cycles are expensive to read; they are read on request and the results cached."""

    def __init__(self, a: RunSide, b: RunSide) -> None:
        self.a, self.b = a, b
        names = dict.fromkeys([*a.outcomes, *b.outcomes])
        alike = a.scenario == b.scenario != 0
        if alike:  # pods that no run tried, but that one of them moved or evicted
            nodes = [{pod: node for pod, (node, _) in side.places.items()} for side in (a, b)]
            names |= dict.fromkeys(pod for pod in nodes[0] | nodes[1] if nodes[0].get(pod) != nodes[1].get(pod))
        self.pods = {name: self._pod(name, alike) for name in names}
        self._looked = False

    def _pod(self, name: str, alike: bool) -> PodComparison:
        """Compare a pod. In runs of the same scenario, it has an outcome even if a run did not try it."""
        if not alike:
            return PodComparison(name, self.a.outcomes.get(name), self.b.outcomes.get(name))
        pod = PodComparison(name, self.a.outcome(name), self.b.outcome(name))
        there = name in self.a.at_end and self.a.settings.get("until") == self.b.settings.get("until")
        if name not in self.b.at_end and (there or pod.change == ONLY_A):
            pod.change = GONE
        return pod

    @cached_property
    def summary(self) -> dict[str, int]:
        """Number of pods by change; `other` counts pods that are placed in neither run but have different results."""
        counted = Counter(pod.change for pod in self.pods.values())
        return {change: counted[change] for change in CHANGES}

    @cached_property
    def metrics(self) -> dict[str, Any]:
        return metrics(self.a, self.b)

    @cached_property
    def settings(self) -> list[dict[str, Any]]:
        return differences.settings(self.a, self.b)

    @cached_property
    def objects(self) -> tuple[list[dict[str, Any]], int]:
        return differences.objects(self.a, self.b)

    @cached_property
    def divergence(self) -> dict[str, Any] | None:
        """The first cycle with a different result, and what explains it. None if all cycles agree."""
        cycle = self._parting()
        if cycle is None:
            return None
        keys = [side.keys[cycle - 1] if cycle <= len(side.keys) else "" for side in (self.a, self.b)]
        found = {"cycle": cycle, "pod": keys[1] or keys[0], "point": "queue", "plugin": "", "node": "", "kind": OUTCOME}
        if keys[0] != keys[1]:
            return found | {"a": keys[0] or None, "b": keys[1] or None}
        first = next(self._firsts([(keys[0], cycle, cycle)]))[1]
        return found | (first or {})

    def _parting(self) -> int | None:
        """Return the first cycle with another pod or result; None if all are equal."""
        cycles = enumerate(zip_longest(*(zip(side.keys, side.results, strict=True) for side in (self.a, self.b))), 1)
        return next((number for number, (one, other) in cycles if one != other), None)

    def look(self, names: Iterable[str]) -> None:
        """Compute `first` for these pods."""
        pods = [pod for pod in map(self.pods.__getitem__, names) if not pod.known]
        for name, first in self._firsts([(pod.name, pod.a.cycle, pod.b.cycle) for pod in pods if pod.a and pod.b]):
            pod = self.pods[name]
            pod.first, pod.known = first or pod.afterwards(), True

    def look_at_most(self) -> None:
        """Compute `first` for as many pods as the limit allows: changed pods first, ordered by their cycle in b."""
        if self._looked:
            return
        self._looked = True
        sizes = [len(side.end.rows) for side in (self.a, self.b)]
        most = MOST_CELLS // max(sum(sizes), 50)
        order = sorted(self.pods.values(), key=lambda pod: (pod.change == SAME, pod.b.cycle if pod.b else 0))
        self.look([pod.name for pod in order if not pod.known][:most])

    def _firsts(self, wanted: Iterable[tuple[str, int, int]]) -> Iterator[tuple[str, First]]:
        """Yield (pod, first difference) for the given cycles of each pod in a and in b."""
        everything = list(wanted)
        for begin in range(0, len(everything), BATCH):
            batch = everything[begin : begin + BATCH]
            of_a = self.a.cycles([cycle for _, cycle, _ in batch])
            of_b = self.b.cycles([cycle for _, _, cycle in batch])
            for name, one, other in batch:
                step = first_difference(of_a[one], of_b[other])
                yield name, None if step is None else step.first()

    def steps(self, name: str) -> list[dict[str, Any]]:
        """Compare the last cycles of a pod plugin by plugin; [] unless both runs tried it. Raises InputError."""
        pod = self.pods.get(name)
        if pod is None:
            raise InputError(f"Pod {name[:300]}", "", "is in neither run")
        if pod.a is None or pod.b is None or not (pod.a.cycle and pod.b.cycle):
            return []
        a, b = self.a.cycles([pod.a.cycle])[pod.a.cycle], self.b.cycles([pod.b.cycle])[pod.b.cycle]
        found = [step.as_dict() for step in steps(a, b)]
        if all(step["same"] for step in found) and (later := pod.afterwards()):
            found.append(later | {"part": "", "same": False, "nodes": 0, "example": None})
        return found

    @property
    def sentence(self) -> str:
        return sentence(self.summary)

    def as_dict(self, pod: str = "") -> dict[str, Any]:
        """Return the keys of docs/debugger.md. `pod`: only it, with `steps`. Raises InputError for an unknown pod."""
        steps = self.steps(pod) if pod else []
        if pod:
            self.look([pod])
        else:
            self.look_at_most()
        objects, more = self.objects
        return {
            "settings": self.settings,
            "objects": objects,
            "more_objects": more,
            "summary": self.summary,
            "sentence": self.sentence,
            "metrics": self.metrics,
            "divergence": self.divergence,
            "pods": [found.as_dict() for found in ([self.pods[pod]] if pod else self.pods.values())],
        } | ({"steps": steps} if pod else {})

    def flows(self, label: str = ZONE) -> list[tuple[str, str, int]]:
        """Return (from, to, pods): how many pods moved between groups of nodes, largest first; "" is no node."""
        groups = [groups_of(side, label) for side in (self.a, self.b)]

        def group(side: int, outcome: RecordedOutcome | None) -> str:
            return groups[side].get(outcome.node, "?") if outcome is not None and outcome.placed else ""

        counted = Counter((group(0, pod.a), group(1, pod.b)) for pod in self.pods.values() if pod.change != SAME)
        return [(a, b, pods) for (a, b), pods in sorted(counted.items(), key=lambda item: (-item[1], item[0]))]


def partners(a: RunSide, b: RunSide) -> tuple[list[int], int | None]:
    """Return the partner in `b` of each cycle of `a`, and the first cycle of `a` with another result than its partner.

    A partner is the cycle of the same pod and attempt. If there is none, the entry is -K: the position before b's cycle
    K, which follows the last partner. The second value is None if all results agree.
    """
    theirs: dict[tuple[str, int], int] = {}
    tried: dict[str, int] = {}
    for number, key in enumerate(b.keys, 1):
        tried[key] = tried.get(key, 0) + 1
        theirs[key, tried[key]] = number
    found: list[int] = []
    parting = None
    tried, last = {}, 0
    for number, key in enumerate(a.keys, 1):
        tried[key] = tried.get(key, 0) + 1
        partner = theirs.get((key, tried[key]))
        last = partner or last
        found.append(partner or -(last + 1))
        same = partner is not None and a.results[number - 1] == b.results[partner - 1]
        parting = number if parting is None and not same else parting
    if parting is None and len(a.keys) < len(b.keys):
        parting = len(a.keys) + 1
    return found, parting


def groups_of(side: RunSide, label: str = ZONE) -> Mapping[str, str]:
    """Map every node that ever existed to its value of a label, "?" without the label."""
    presence, nodes = side.recording.tables["presence"], side.recording.tables["nodes"]
    there = presence["node"] >= 0
    latest = dict(zip(presence["name"][there].tolist(), presence["node"][there].tolist(), strict=True))
    values = [labels.get(label) or "?" for labels in nodes.distinct("labels")]
    column = nodes["labels"]
    return {side.recording.names[name]: values[int(column[row])] for name, row in latest.items()}


def sentence(summary: Mapping[str, int]) -> str:
    """Return a sentence such as `2 pods are placed, 7 move and 1 is evicted; 90 of 100 pods have the same outcome.`"""
    total = sum(summary.values())
    if not total:
        return "No pod was tried in either run."
    if summary[SAME] == total:
        return f"All {count(total, 'pod')} have the same outcome." if total > 1 else "The pod has the same outcome."
    changed = [
        (summary[key], one if summary[key] == 1 else many)
        for key, one, many in (
            (GAINED, "is placed", "are placed"),
            (MOVED, "moves", "move"),
            (LOST, "loses its node", "lose their node"),
            (GONE, "is evicted or deleted", "are evicted or deleted"),
            (OTHER, "fails in another way", "fail in another way"),
            (ONLY_A, "is only in the first run", "are only in the first run"),
            (ONLY_B, "is only in the second run", "are only in the second run"),
        )
        if summary[key]
    ]
    parts = [f"{count(number, 'pod') if not i else f'{number:,}'} {verb}" for i, (number, verb) in enumerate(changed)]
    same = summary[SAME]
    rest = f"{same:,} of {count(total, 'pod')} {'has' if same == 1 else 'have'}" if same else "no pod has"
    return f"{listing(parts)}; {rest} the same outcome."
