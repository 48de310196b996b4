"""Comparison of two cycles of one pod, in the order of a cycle.

Verdicts are compared where both cycles have them: on nodes that both clusters have, that both cycles evaluated, and
that no earlier plugin rejected. A plugin that is absent from one cycle (skipped, disabled, not in that release) counts
as passing every node and as scoring zero, since an absence without effect is no difference.

Differences are ranked: a verdict explains more than a score, a score more than the outcome that follows, and wording
explains nothing. Which nodes were evaluated is never the first difference, since it follows from earlier cycles.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.cluster.formatting import count
from scheduler_core.compare.run_side import RunCycle
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.ladder import of_one_node, phrase_of
from scheduler_core.framework.interface import PASSES, Int64, Status, Verdict
from scheduler_core.releases.differences import merged
from scheduler_core.search.cycle_steps import span_text

Rows = npt.NDArray[np.intp]
Texts = tuple[str, str]
PASS = "passes"
NOT_REACHED = "not reached"
ABSENT = "is not there"

VERDICT, SCORE, OUTCOME, WORDS, EVALUATED = "verdict", "score", "outcome", "words", "evaluated"
RANKS = (VERDICT, SCORE, OUTCOME, WORDS)
"""Kinds of differences; the first one that a cycle has explains it best."""


@dataclass(slots=True)
class ComparedStep:
    """The result of a plugin in both cycles.

    `part`: for scores `raw`, `weight` or `normalized`. `a`, `b`: the two results; for results per node, those of
    `node`, one of the `nodes` nodes that differ: a chosen node if possible, otherwise the first. `summary`: texts about
    both as a whole. `kind`: what kind of difference it is. `words`: of a Filter plugin, what `node` lacks in each, a
    verb first; "" where it passes.
    """

    point: str
    plugin: str
    part: str = ""
    a: Any = None
    b: Any = None
    node: str = ""
    nodes: int = 0
    summary: Texts = ("", "")
    kind: str = OUTCOME
    words: Texts = ("", "")

    @property
    def same(self) -> bool:
        return bool(self.a == self.b)

    def first(self) -> dict[str, Any]:
        """Return the step in the format of a pod's `first`."""
        found = {"point": self.point, "plugin": self.plugin, "node": self.node, "a": self.a, "b": self.b}
        found |= {"kind": self.kind, "text": self.text()}
        return found | ({"part": self.part} if self.part else {})

    def text(self) -> str:
        """Return the difference as a sentence, with the words of an explanation; "" if it has none."""
        a, b = self.words
        if a and b:
            return f"{self.node} {a} in A; in B it {b}."
        if a or b:
            return f"{self.node} {a or b}, only in {'A' if a else 'B'}."
        if self.kind == SCORE and self.node and self.plugin:
            part = f"{self.part} " if self.part in ("raw", "normalized") else ""
            return f"{self.plugin} gives {self.node} the {part}score {self.a:,} in A and {self.b:,} in B."
        if self.node and ABSENT in (self.a, self.b):
            return f"{self.node} is only in {'B' if self.a == ABSENT else 'A'}, where it fits."
        return ""

    def as_dict(self) -> dict[str, Any]:
        a, b = self.summary if any(self.summary) else (_text(self.a), _text(self.b))
        example = {"node": self.node, "a": self.a, "b": self.b} if self.node else None
        head = {"point": self.point, "plugin": self.plugin, "part": self.part, "same": self.same}
        head["kind"] = "" if self.same else self.kind
        return head | {"a": a, "b": b, "nodes": self.nodes, "example": example}


def first_difference(a: RunCycle, b: RunCycle) -> ComparedStep | None:
    """Return the difference that explains the two results best: the first one of the highest rank. None if only the
    evaluated nodes differ, or nothing."""
    found: ComparedStep | None = None
    for step in steps(a, b):
        if step.same or step.kind == EVALUATED:
            continue
        if step.kind == RANKS[0]:
            return step
        if found is None or RANKS.index(step.kind) < RANKS.index(found.kind):
            found = step
    return found


def steps(a: RunCycle, b: RunCycle) -> Iterator[ComparedStep]:
    """Yield all results of both cycles, in the order of a cycle."""
    yield _statuses("preenqueue", a.trace.preenqueue, b.trace.preenqueue)
    queued = [trace.preenqueue is None for trace in (a.trace, b.trace)]
    yield _statuses("prefilter", a.trace.prefilter, b.trace.prefilter, queued[0], queued[1])
    if _over(a.trace) or _over(b.trace):
        yield from _ends(a.trace, b.trace)
        return
    pair = Pair(a, b)
    yield pair.narrowed()
    yield pair.looked()
    yield from pair.filters()
    yield pair.nominated()
    yield pair.feasible()
    yield from pair.scores()
    yield from _ends(a.trace, b.trace)


def _over(trace: CycleTrace) -> bool:
    return trace.preenqueue is not None or trace.prefilter is not None


def _ends(a: CycleTrace, b: CycleTrace) -> Iterator[ComparedStep]:
    """Yield the results after Filter and Score."""
    if a.postfilter is not None or b.postfilter is not None:
        statuses = [t.postfilter.status if t.postfilter else None for t in (a, b)]
        ran = [t.postfilter is not None for t in (a, b)]
        yield _statuses("postfilter", statuses[0], statuses[1], ran[0], ran[1])
        by = next((status.plugin for status in statuses if status is not None), "")
        yield ComparedStep("postfilter", by, "nominated", a.nominated_node, b.nominated_node)
        yield ComparedStep("postfilter", by, "victims", a.victims, b.victims)
    yield ComparedStep("select", "", a=a.node, b=b.node)
    reached = [bool(t.node) for t in (a, b)]
    for point in ("reserve", "permit", "prebind", "bind"):
        one, other = getattr(a, point), getattr(b, point)
        yield _statuses(point, one, other, reached[0], reached[1])
        reached = [was and status is None for was, status in zip(reached, (one, other), strict=True)]
    if a.error or b.error:
        kind = WORDS if a.error and b.error else OUTCOME
        yield ComparedStep("error", "", a=a.error, b=b.error, kind=kind)
    yield ComparedStep("result", "", a=a.result, b=b.result)


def _statuses(
    point: str, a: Status | None, b: Status | None, a_reached: bool = True, b_reached: bool = True
) -> ComparedStep:
    """Compare two statuses; None passes, if the cycle reached the point."""
    plugin = next((status.plugin for status in (a, b) if status is not None), "")
    if not (a_reached and b_reached):
        one, other = (_status_text(s) if there else NOT_REACHED for s, there in ((a, a_reached), (b, b_reached)))
        return ComparedStep(point, plugin, a=one, b=other)
    if a is None or b is None:
        return ComparedStep(point, plugin, a=_status_text(a), b=_status_text(b), kind=VERDICT)
    kind = WORDS if (a.plugin, a.code) == (b.plugin, b.code) else VERDICT
    if a.plugin != b.plugin:
        one, other = (f"{status.plugin}: {_status_text(status)}" for status in (a, b))
        return ComparedStep(point, a.plugin, a=one, b=other, kind=kind)
    return ComparedStep(point, plugin, a=_status_text(a), b=_status_text(b), kind=kind)


def _status_text(status: Status | None) -> str:
    return PASS if status is None else ", ".join(status.reasons) or status.code


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return "none" if value in (None, "") else str(value)


class Pair:
    """Two cycles that both evaluated nodes. `rows`: rows of the common nodes in each cycle, in a's order."""

    def __init__(self, a: RunCycle, b: RunCycle) -> None:
        self.a, self.b = a.trace, b.trace
        self.names = a.names, b.names
        alike = a.names is b.names or a.names == b.names
        self.rows = (np.arange(len(a.names)),) * 2 if alike else _common(a.names, b.names)
        self.common: Sequence[str] = a.names if alike else [a.names[row] for row in self.rows[0].tolist()]
        self._looked = [self._mask(side, t.looked_mask()) for side, t in enumerate((self.a, self.b))]
        left = [_mask_of(t.nodes, slice(None) if t.subset is None else t.subset) for t in (self.a, self.b)]
        self._left = [self._mask(side, left[side]) for side in (0, 1)]
        self._fits = [_mask_of(trace.nodes, trace.feasible_rows()) for trace in (self.a, self.b)]
        self._chosen = [place for place, name in enumerate(self.common) if name in (self.a.node, self.b.node)]

    def _mask(self, side: int, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return column[self.rows[side]]

    def _example(self, mask: npt.NDArray[np.bool_]) -> int:
        """Return the place to show: that of a chosen node if it is in the mask, otherwise the first."""
        return next((place for place in self._chosen if mask[place]), int(mask.argmax()))

    def _differs(
        self, point: str, plugin: str, part: str, masks: Mapping[str, npt.NDArray[np.bool_]], text_of: Any
    ) -> ComparedStep:
        """Return a step over the common nodes. `masks`: kind -> the nodes with such a difference; the first kind that
        has any gives the example. `text_of(side, place)` returns a side's text for one of them."""
        kind = next((kind for kind, mask in masks.items() if mask.any()), "")
        if not kind:
            return ComparedStep(point, plugin, part)
        place = self._example(masks[kind])
        a, b = text_of(0, place), text_of(1, place)
        return ComparedStep(point, plugin, part, a, b, self.common[place], int(masks[kind].sum()), kind=kind)

    def _flags(
        self, part: str, flags: Sequence[npt.NDArray[np.bool_]], no: str, yes: str, **masks: npt.NDArray[np.bool_]
    ) -> ComparedStep:
        """Compare two masks over the common nodes. `no`, `yes`: what False and True mean."""
        point = "prefilter" if part == "nodes" else "filter"
        return self._differs(point, "", part, masks, lambda side, place: yes if flags[side][place] else no)

    def narrowed(self) -> ComparedStep:
        """Compare the nodes that PreFilter left. To leave out a node that the other cycle rejects is no difference of
        verdicts."""
        fits = [self._mask(side, self._fits[side]) for side in (0, 1)]
        differs = self._left[0] != self._left[1]
        matters = differs & (fits[0] | fits[1])
        step = self._flags("nodes", self._left, "left out", "left", **{VERDICT: matters, WORDS: differs})
        status = next((t.subset_status for t in (self.a, self.b) if t.subset_status is not None), None)
        step.plugin = status.plugin if status is not None else ""
        left = ["leaves all" if t.subset is None else f"leaves {count(len(t.subset))}" for t in (self.a, self.b)]
        step.summary = left[0], left[1]
        return step

    def looked(self) -> ComparedStep:
        """Compare which nodes were evaluated before enough were found."""
        a, b = self._looked
        step = self._flags("looked", self._looked, "not evaluated", "evaluated", **{EVALUATED: a != b})
        step.summary = f"evaluates {count(int(a.sum()))}", f"evaluates {count(int(b.sum()))}"
        return step

    def filters(self) -> Iterator[ComparedStep]:
        """Compare the verdicts, plugin by plugin."""
        open_ = [mask.copy() for mask in self._looked]
        for plugin in merged(self.a.verdicts, self.b.verdicts):
            verdicts = [trace.verdicts.get(plugin) for trace in (self.a, self.b)]
            yield self._verdict(plugin, verdicts, open_)
            for side, verdict in enumerate(verdicts):
                if verdict is not None and verdict.codes is not None:
                    open_[side] &= self._mask(side, verdict.codes) == 0

    def _verdict(
        self, plugin: str, verdicts: Sequence[Verdict | None], looked: Sequence[npt.NDArray[np.bool_]]
    ) -> ComparedStep:
        known: dict[tuple[str, ...], int] = {(): 0}
        columns = []
        for side, verdict in enumerate(verdicts):
            found = verdict or PASSES
            ids = [0, *(known.setdefault((s.code, *s.reasons), len(known)) for s in found.statuses)]
            codes = 0 if found.codes is None else self._mask(side, found.codes)
            columns.append(np.broadcast_to(np.array(ids, np.int64)[codes], len(self.common)))
        statuses = list(known)
        grades: dict[str, int] = {}
        codes_of = np.array([grades.setdefault(status[0] if status else "", len(grades)) for status in statuses])
        texts = [", ".join(status[1:]) or (status[0] if status else PASS) for status in statuses]
        reached = looked[0] & looked[1]
        by_code = reached & (codes_of[columns[0]] != codes_of[columns[1]])
        masks = {VERDICT: by_code, WORDS: reached & (columns[0] != columns[1])}

        def text_of(side: int, place: int) -> str:
            mine, other = (columns[s][place] for s in (side, 1 - side))
            return texts[mine] if texts[mine] != texts[other] else f"{texts[mine]} ({statuses[mine][0]})"

        step = self._differs("filter", plugin, "", masks, text_of)
        if step.node and step.kind == VERDICT:
            place = self.common.index(step.node)
            there = [statuses[column[place]] for column in columns]
            one, other = (
                of_one_node(phrase_of(plugin, Status(s[0], tuple(s[1:]), plugin))) if s else "" for s in there
            )
            step.words = one, other
        summary = []
        for side, verdict in enumerate(verdicts):
            refused = int(((columns[side] > 0) & looked[side]).sum())
            passed = "passes all" if looked[side].any() else NOT_REACHED
            summary.append("does not run" if verdict is None else f"refuses {count(refused)}" if refused else passed)
        step.summary = summary[0], summary[1]
        return step

    def nominated(self) -> ComparedStep:
        """Compare the nodes that are evaluated with nominated pods counted."""
        verdicts = [
            {names[row]: _status_text(status) for row, status in trace.nominated.items()}
            for trace, names in zip((self.a, self.b), self.names, strict=True)
        ]
        one, other = verdicts
        differing = [name for name in {**one, **other} if one.get(name) != other.get(name)]
        if not differing:
            return ComparedStep("filter", "", "nominated pods")
        node = differing[0]
        a, b = (statuses.get(node, "no nominated pod counts") for statuses in verdicts)
        return ComparedStep("filter", "", "nominated pods", a, b, node, len(differing), kind=VERDICT)

    def feasible(self) -> ComparedStep:
        """Compare the feasible nodes among those that both cycles decided on. Nodes that only one cluster has come
        after the common ones."""
        fits = [self._mask(side, self._fits[side]) for side in (0, 1)]
        decided = [self._looked[side] | ~self._left[side] for side in (0, 1)]
        differs = (fits[0] != fits[1]) & decided[0] & decided[1]
        step = self._flags("fit", fits, "does not fit", "fits", **{VERDICT: differs})
        for side in (0, 1):
            others = self._fits[side].copy()
            others[self.rows[side]] = False
            alone = np.flatnonzero(others)
            if len(alone) and step.same:
                step.node = self.names[side][int(alone[0])]
                step.a, step.b = ("fits", ABSENT) if side == 0 else (ABSENT, "fits")
                step.kind = VERDICT
            step.nodes += len(alone)
        step.summary = f"{count(len(self.a.feasible_rows()))} fit", f"{count(len(self.b.feasible_rows()))} fit"
        return step

    def scores(self) -> Iterator[ComparedStep]:
        """Compare the scores of nodes that are feasible in both cycles, plugin by plugin, then the totals."""
        if not self.a.scores and not self.b.scores:
            return
        places = self._both_feasible()
        for plugin in merged(self.a.scores, self.b.scores):
            yield from self._score(plugin, places)
        if self.a.scores and self.b.scores:
            yield self._column("total", "", "", [self.a.total()[places[0]], self.b.total()[places[1]]], places[2])

    def _both_feasible(self) -> tuple[Rows, Rows, Rows]:
        """Return the indexes of nodes feasible in both: among the feasible nodes of a, of b, and among the common
        nodes."""
        found = []
        for side, trace in enumerate((self.a, self.b)):
            place = np.full(len(self.names[side]), -1, np.intp)
            rows = trace.feasible_rows()
            place[rows] = np.arange(len(rows))
            found.append(place[self.rows[side]])
        both = np.flatnonzero((found[0] >= 0) & (found[1] >= 0))
        return found[0][both], found[1][both], both

    def _score(self, plugin: str, places: Sequence[Rows]) -> Iterator[ComparedStep]:
        scores = [trace.scores.get(plugin) for trace in (self.a, self.b)]
        there = next(score for score in scores if score is not None)
        a, b = scores
        if a is None or b is None:
            weighted = there.normalized[places[1 if a is None else 0]] * there.weight
            columns = [weighted, np.zeros(len(weighted), np.int64)][:: -1 if a is None else 1]
            texts = ["does not score" if score is None else "scores" for score in scores]
            yield self._column("score", plugin, "weighted", columns, places[2], (texts[0], texts[1]))
            return
        yield self._column("score", plugin, "raw", [a.raw[places[0]], b.raw[places[1]]], places[2])
        normalized = [a.normalized[places[0]], b.normalized[places[1]]]
        yield self._column("score", plugin, "normalized", normalized, places[2])
        yield ComparedStep("score", plugin, "weight", a.weight, b.weight, kind=SCORE)

    def _column(
        self, point: str, plugin: str, part: str, columns: Sequence[Int64], common: Rows, summary: Texts = ("", "")
    ) -> ComparedStep:
        """Compare two columns. `common`: the index of each entry's node among the common nodes."""
        differs = columns[0] != columns[1]
        if not any(summary) and len(columns[0]):
            summary = span_text(columns[0]), span_text(columns[1])
        if not differs.any():
            return ComparedStep(point, plugin, part, summary=summary)
        mask = np.zeros(len(self.common), np.bool_)
        mask[common] = differs
        place = self._example(mask)
        at = int(np.searchsorted(common, place))
        a, b = int(columns[0][at]), int(columns[1][at])
        return ComparedStep(point, plugin, part, a, b, self.common[place], int(differs.sum()), summary, SCORE)


def _mask_of(size: int, rows: Rows | slice) -> npt.NDArray[np.bool_]:
    mask = np.zeros(size, np.bool_)
    mask[rows] = True
    return mask


def _common(a: Sequence[str], b: Sequence[str]) -> tuple[Rows, Rows]:
    where = {name: row for row, name in enumerate(b)}
    pairs = [(row, where[name]) for row, name in enumerate(a) if name in where]
    rows = np.array(pairs, np.intp).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]
