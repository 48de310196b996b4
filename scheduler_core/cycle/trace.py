"""The record of a cycle: every status of every plugin on every node and every score, as columns.

In memory the columns are numpy arrays over nodes. `encode` packs them: a column with a single value is stored as that
value, other columns use the smallest integer type that holds them, and the result is deflated. Values that follow from
other fields (totals, best nodes, decisive statuses) are not stored but computed. `golden` returns the format of the
conformance cases.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np
import numpy.typing as npt
from isal import isal_zlib

from scheduler_core.cycle.column_packing import (
    Packed,
    pack,
    pack_codes,
    pack_optional,
    pack_rows,
    pack_scores,
    pack_small,
    unpack,
    unpack_optional,
)
from scheduler_core.errors import InputError, damaged
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.score_columns import (
    SMALL,
    ClassScores,
    Keyframe,
    Score,
    SmallColumn,
    StaticColumn,
    UsageColumn,
)
from scheduler_core.framework.status_merge import FIRST, merged_verdict

VERSION = 1  # a cycle as one document
SHARED_VERSION = 2  # a cycle with parts that cycles of equal pods have in common

_OUTCOMES = 1024  # of a profile's pods, each by two keys
_FEW_OUTCOMES = 128  # on clusters of more nodes than the following allows
_MAX_CELLS = 1 << 23  # of all outcomes over the nodes

Rows = npt.NDArray[np.intp]

_NO_ROWS = np.zeros(0, np.intp)
PREEMPTION = "DefaultPreemption"  # the plugin that evicts pods, unless another one is recorded


@dataclass(slots=True)
class PostFilterTrace:
    """The result of preemption.

    `candidates`: node -> (victims, most important first; budget violations). `decides`: `nominated_node` replaces the
    pod's nomination, even if it is ""; otherwise the nomination stays. `cleared`: other pods that lose their
    nomination. `ending`: the victims that were being deleted already. `preemptors`: how many plugins tried to evict
    pods; the candidates are those of the last one, `plugin`.
    """

    status: fwk.Status | None = None
    nominated_node: str = ""
    candidates: dict[str, tuple[list[str], int]] = field(default_factory=dict)
    rejected: list[tuple[fwk.Status, Rows]] = field(default_factory=list)
    nominated_any_of: list[str] = field(default_factory=list)
    rule: str = ""
    decides: bool = False
    cleared: list[str] = field(default_factory=list)
    ending: list[str] = field(default_factory=list)
    preemptors: int = 1
    plugin: str = PREEMPTION

    @staticmethod
    def from_result(result: fwk.PostFilterResult | None, status: fwk.Status) -> PostFilterTrace:
        """Build the trace from what a PostFilter plugin returned."""
        if result is None:
            return PostFilterTrace(status)
        node = result.nominated_node
        how = (result.candidates, result.rejected, result.nominated_any_of, result.rule)
        ending = [victim.key for victim in result.victims if victim.terminating]
        found = PostFilterTrace(status, node or "", *how, node is not None, [], ending, result.preemptors)
        found.plugin = result.plugin or PREEMPTION
        return found


@dataclass(slots=True, eq=False)
class FilterOutcome:
    """What follows from the verdicts alone. Cycles of equal pods share it while their verdicts are the same objects."""

    source: dict[str, fwk.Verdict]  # those of the last cycle
    verdicts: tuple[fwk.Verdict, ...]  # those that refuse nodes
    passing: fwk.Bool | None
    rows: Rows | None  # those that pass, None for all
    # The plugins that are the first to refuse some node; None if a status is no rejection.
    rejectors: frozenset[str] | None
    decisive: npt.NDArray[np.uint8] | None = None  # once it was read
    statuses: list[tuple[fwk.Status, Rows]] | None = None
    plugins: tuple[str, ...] = ()
    packed: bytes | None = None  # the encoded verdicts
    potential: dict[bool, Rows] = field(default_factory=dict)  # the argument of `potential_rows` -> its result

    @staticmethod
    def from_verdicts(source: dict[str, fwk.Verdict]) -> FilterOutcome:
        """Return the outcome of these verdicts."""
        refused, rejectors = first_refusals(source, None)
        passing = None if refused is None else ~refused
        rows = None if passing is None else passing.nonzero()[0]
        refusing = tuple([verdict for verdict in source.values() if verdict.codes is not None])
        found = frozenset(rejectors) if only_rejections(source) else None
        return FilterOutcome(source, refusing, passing, rows, found, plugins=tuple(source))


def only_rejections(verdicts: Mapping[str, fwk.Verdict]) -> bool:
    """Return whether no status of the verdicts is an error."""
    return all(status.rejected for verdict in verdicts.values() for status in verdict.statuses)


def first_refusals(
    verdicts: Mapping[str, fwk.Verdict], considered: fwk.Bool | None
) -> tuple[fwk.Bool | None, list[str]]:
    """Return the nodes that a plugin refuses (bool over nodes, None for none), and the plugins that are the first to
    refuse one of the considered nodes (None: all)."""
    refused: fwk.Bool | None = None
    plugins: list[str] = []
    for plugin, verdict in verdicts.items():
        if verdict.codes is None:
            continue
        mine = verdict.codes > 0
        fresh = mine if refused is None else mine > refused
        if np.count_nonzero(fresh if considered is None else fresh & considered):  # faster than `any`
            plugins.append(plugin)
        refused = mine if refused is None else refused | mine
    return refused, plugins


class Equals(Protocol):
    """What the cycles of equal pods share. `outcomes`: by the plugins and the identities of the verdicts that refuse
    nodes; all pods of a profile share them. `layouts`: encoded parts."""

    outcomes: dict[Hashable, FilterOutcome]
    layouts: dict[tuple[Any, ...], bytes]


class EncodedParts(NamedTuple):
    """Encoded parts of a cycle: those that the cycles of its class have in common, the verdicts, the keyframe of its
    scores, if there is one, with the number of its patches that precede the cycle, and the columns of its own, if there
    are any."""

    layout: bytes
    verdicts: bytes
    keyframe: Keyframe | None
    patch_count: int
    columns: bytes | None


class Selection(msgspec.Struct, frozen=True):
    """How the chosen node compares with the other feasible ones.

    `ties`: the number of nodes with its total, itself included. `runner_up`: the row of the best other node, the first
    of equals. `margin`: the lead over it.
    """

    score: int
    ties: int
    runner_up: int
    margin: int


def _best_other(total: fwk.Int64, place: int) -> int:
    """Return the index of the highest of at least two values except the one at `place`, the first of equals."""
    before, after = total[:place], total[place + 1 :]
    if not place:
        return 1 + int(after.argmax())
    other = int(before.argmax())
    if len(after):
        later = place + 1 + int(after.argmax())
        if total[later] > total[other]:
            return later
    return other


def _by_status(verdict: fwk.Verdict, rows: Rows) -> Iterator[tuple[fwk.Status, Rows]]:
    """Yield each status of a verdict with those of the rows that have it. `rows`: some that the verdict refuses."""
    if verdict.codes is None or not len(rows):
        return
    if len(verdict.statuses) == 1:
        yield verdict.statuses[0], rows
        return
    codes = verdict.codes[rows]
    for code, status in enumerate(verdict.statuses, 1):
        mine = rows[codes == code]
        if len(mine):
            yield status, mine


class CycleTrace(msgspec.Struct, eq=False):
    """One scheduling cycle of one pod, from PreEnqueue to PostBind. Rows index the run's list of nodes.

    `result`: scheduled, unschedulable, gated, error or waiting (in Permit). `verdicts`: Filter plugin -> Verdict over
    all nodes, in running order, without nominated pods. `merges`: all plugins that refuse a node decide, not only the
    first. `nominated`: rows where nominated pods were considered -> the resulting status (None: fits). `subset`: the
    rows that PreFilter left, None for all. `looked`: bool over nodes, the ones that upstream would have evaluated; None
    for all (of the subset). `feasible`: intp rows, None for every node. `batch_hint`: the node that batching tried
    first. `group`: the pod's group, if any. `placement`: the nodes on which the group was tried. `durations`: extension
    point -> nanoseconds. `made_scores`: `scores`, or what makes them.
    """

    pod: str
    number: int = 0
    attempt: int = 1
    nodes: int = 0
    profile: str = ""
    time: float = 0.0
    start_index: int = 0
    group: str = ""
    result: str = ""
    message: str = ""
    error: str = ""
    preenqueue: fwk.Status | None = None
    prefilter: fwk.Status | None = None
    placement: Rows | None = None
    subset: Rows | None = None
    subset_status: fwk.Status | None = None
    skipped_filter: list[str] = []
    skipped_score: list[str] = []
    verdicts: dict[str, fwk.Verdict] = {}
    merges: int = 0
    nominated: dict[int, fwk.Status | None] = {}
    looked: fwk.Bool | None = None
    feasible: Rows | None = _NO_ROWS
    made_scores: dict[str, Score] | ClassScores | DecodedScores = {}
    batch_hint: str = ""
    node: str = ""
    selected_row: int = -1
    reserve: fwk.Status | None = None
    permit: fwk.Status | None = None
    permit_waits: dict[str, float] = {}
    prebind: fwk.Status | None = None
    bind: fwk.Status | None = None
    unschedulable_plugins: list[str] = []
    postfilter: PostFilterTrace | None = None
    nominated_node: str = ""
    victims: list[str] = []
    durations: dict[str, int] = {}
    _layouts: dict[tuple[Any, ...], bytes] | None = None
    _outcome: FilterOutcome | None = None
    _decisive: npt.NDArray[np.uint8] | None = None
    _decided: bool = False
    _merged: fwk.Verdict | None = None
    _statuses: list[tuple[fwk.Status, Rows]] | None = None
    _total: fwk.Int64 | None = None
    _ranking: tuple[fwk.Int64, int, int] | None = None
    _tied: tuple[int, int, int] | None = None
    _selection: Selection | bool | None = False  # False: not computed

    # ---- values computed from the columns

    @property
    def scores(self) -> dict[str, Score]:
        """Score plugin -> its scores of the feasible nodes; empty if no scores decided."""
        if not isinstance(self.made_scores, dict):
            self.made_scores = self.made_scores.by_plugin()
        return self.made_scores

    @property
    def has_shared_parts(self) -> bool:
        """Whether cycles of equal pods have parts of the encoding in common."""
        return self._outcome is not None and self._layouts is not None

    @property
    def parts_key(self) -> tuple[int, int]:
        """Keys of the pod's class and of the verdicts, as long as the trace exists."""
        return id(self._layouts), id(self._outcome)

    @property
    def pends_with_group(self) -> bool:
        """Whether the pod was tried with its group and stays pending."""
        return bool(self.group) and self.result not in ("scheduled", "waiting")

    @property
    def placed_on(self) -> str:
        """The node on which the cycle placed the pod, "" if it did not."""
        return self.node if self.result in ("scheduled", "waiting") else ""

    @property
    def is_plain(self) -> bool:
        """Whether the cycle only placed the pod: all nodes were evaluated, no nominated pod counted, scores (if there
        are any) decided, and no plugin stated another status than that of nodes."""
        return (
            self.result == "scheduled"
            and self._outcome is not None
            and self.looked is None
            and self.subset is None
            and self.placement is None
            and not self.nominated
            and not self.error
            and _STATUSES_OF(self) == _NO_STATUSES
            and (not self.made_scores or self.selection() is not None)
        )

    @property
    def there(self) -> int:
        """The number of nodes available to the pod: all, or those of its group's placement."""
        return self.nodes if self.placement is None else len(self.placement)

    def decisive(self) -> npt.NDArray[np.uint8] | None:
        """Return the 1-based number of the first Filter plugin (in the order of `verdicts`) that refuses each node.

        uint8 over nodes, 0 where all plugins pass; None if every node passes. Nominated pods are ignored. If statuses
        are merged, it is the plugin that the merged status names.
        """
        if not self._decided and self.merges:
            verdict, numbers = self.merged(), {name: i for i, name in enumerate(self.verdicts, 1)}
            if verdict.codes is not None:
                self._decisive = np.array([0, *(numbers[s.plugin] for s in verdict.statuses)], np.uint8)[verdict.codes]
            self._decided = True
        outcome = self._outcome
        if not self._decided and outcome is not None and outcome.decisive is not None:
            self._decisive, self._decided = outcome.decisive, True
        if not self._decided:
            for number, verdict in enumerate(self.verdicts.values(), 1):
                if verdict.codes is None:
                    continue
                if self._decisive is None:
                    self._decisive = np.where(verdict.codes > 0, np.uint8(number), np.uint8(0))
                else:
                    self._decisive[(verdict.codes > 0) & (self._decisive == 0)] = number
            self._decided = True
            if outcome is not None:
                outcome.decisive = self._decisive
        return self._decisive

    def merged(self) -> fwk.Verdict:
        """Return the merged verdict of all Filter plugins, if `merges`."""
        if self._merged is None:
            self._merged = merged_verdict(self.verdicts, self.merges == FIRST)
        return self._merged

    def refuse(self, plugin: str, verdict: fwk.Verdict) -> None:
        """Add a verdict that was made after the Filter plugins ran."""
        self.verdicts = {**self.verdicts, plugin: verdict}  # other cycles may have the same dict
        self._forget_decisions()

    def forget(self, plugin: str) -> None:
        """Remove the results of a plugin, as if it had not run."""
        if plugin in self.verdicts:
            self.verdicts = {name: verdict for name, verdict in self.verdicts.items() if name != plugin}
            mine = [row for row, status in self.nominated.items() if status is not None and status.plugin == plugin]
            self.nominated.update(dict.fromkeys(mine))
            self._forget_decisions()

    def share(self, equals: Equals) -> None:
        """Use the outcome of the same verdicts in another cycle, or add it to the outcomes. Call it after Filter."""
        self._layouts, outcomes, verdicts = equals.layouts, equals.outcomes, self.verdicts
        outcome = outcomes.get(id(verdicts))
        if outcome is None or outcome.source is not verdicts:
            refusing = [verdict for verdict in verdicts.values() if verdict.codes is not None]
            if [one for one in refusing if one.refused is not None]:  # no other cycle has such a verdict
                self._outcome = FilterOutcome.from_verdicts(verdicts)
                return
            key = (*verdicts, *map(id, refusing))
            outcome = outcomes.get(key)
            if outcome is None:
                if len(outcomes) >= max(min(_MAX_CELLS // max(self.nodes, 1), _OUTCOMES), _FEW_OUTCOMES):
                    outcomes.clear()
                outcome = outcomes[key] = FilterOutcome.from_verdicts(verdicts)
            outcome.source = verdicts
            outcomes[id(verdicts)] = outcome
        self._outcome = outcome

    def rejectors(self) -> frozenset[str] | set[str] | None:
        """Return the plugins that decided against an evaluated node; None if this follows only from
        `decisive_statuses`, or one of these is no rejection. Call it after Filter."""
        if self.merges or self.nominated:
            return None
        if self._outcome is not None and self.looked is None and self.subset is None:
            return self._outcome.rejectors
        return set(first_refusals(self.verdicts, self.looked_mask())[1]) if only_rejections(self.verdicts) else None

    def _forget_decisions(self) -> None:
        self._outcome = None
        self._decisive, self._decided, self._merged, self._statuses = None, False, None, None

    def passing(self) -> fwk.Bool | None:
        """Return the nodes that pass all filters, with nominated pods considered: bool over nodes, None for all."""
        if self._outcome is not None and not self.nominated:
            return self._outcome.passing
        decisive = self.decisive()
        if decisive is None and not any(self.nominated.values()):
            return None
        mask = np.ones(self.nodes, np.bool_) if decisive is None else decisive == 0
        for row, status in self.nominated.items():
            mask[row] = status is None
        return mask

    def passing_rows(self) -> Rows | None:
        """Return the rows of `passing`: intp, None for all."""
        if self._outcome is not None and not self.nominated:
            return self._outcome.rows
        passing = self.passing()
        return None if passing is None else np.flatnonzero(passing)

    def passing_evaluated(self) -> Rows:
        """Return the rows of `passing` on which the filters ran."""
        passing = self.passing()
        return np.flatnonzero(self.looked_mask() if passing is None else self.looked_mask() & passing)

    def _feasible_follows(self) -> bool:
        """Return whether the feasible rows are those of `passing_evaluated`, of which they are always some."""
        if self.looked is None or self.feasible is None or self.nominated:
            return False
        passing = self.passing()
        evaluated = self.looked if passing is None else self.looked & passing
        return int(np.count_nonzero(evaluated)) == len(self.feasible)

    def status_at(self, row: int) -> fwk.Status | None:
        """Return the status that decided about a node; None if it is feasible or was not evaluated."""
        if self.prefilter is not None:
            return self.prefilter
        if not self.has_looked(row):
            return self.subset_status if not self.in_subset(row) else None
        if row in self.nominated:
            return self.nominated[row]
        if self.merges:
            return self.merged().at(row)
        decisive = self.decisive()
        if decisive is None or not decisive[row]:
            return None
        plugin = list(self.verdicts)[int(decisive[row]) - 1]
        status = self.verdicts[plugin].at(row)
        return status.by(plugin) if status is not None else None

    def in_subset(self, row: int) -> bool:
        return self.subset is None or bool((self.subset == row).any())

    def has_looked(self, row: int) -> bool:
        """Whether upstream would have run the filters on the node."""
        return bool(self.looked[row]) if self.looked is not None else self.in_subset(row)

    def looked_mask(self) -> fwk.Bool:
        """Return the nodes on which the filters ran: bool over nodes."""
        if self.looked is not None:
            return self.looked
        mask = np.zeros(self.nodes, np.bool_)
        mask[slice(None) if self.subset is None else self.subset] = True
        return mask

    def has_filter_error(self) -> bool:
        """Return whether a Filter plugin returned an error for any node, evaluated or not."""
        statuses = [status for verdict in self.verdicts.values() for status in verdict.statuses]
        return any(status.code == fwk.ERROR for status in (*statuses, *self.nominated.values()) if status is not None)

    def decisive_statuses(self) -> list[tuple[fwk.Status, Rows]]:
        """Return each status that decided against an evaluated node, with its rows. Call it after Filter."""
        if self._statuses is None:
            outcome = self._outcome
            if outcome is None or self.nominated or self.looked is not None or self.subset is not None:
                self._statuses = list(self._find_statuses())
            else:
                if outcome.statuses is None:
                    outcome.statuses = list(self._find_statuses())
                self._statuses = outcome.statuses
        return self._statuses

    def _find_statuses(self) -> Iterator[tuple[fwk.Status, Rows]]:
        if self.merges:
            merged = self.merged()
            if merged.codes is not None:
                yield from _by_status(merged, self._evaluated(merged.codes.nonzero()[0]))
        else:
            refusing = [(plugin, v, v.codes) for plugin, v in self.verdicts.items() if v.codes is not None]
            decided = np.zeros(self.nodes if len(refusing) > 1 else 0, np.bool_)
            for plugin, verdict, codes in refusing:
                rows = verdict.refused if verdict.refused is not None else (codes > 0).nonzero()[0]
                if len(decided):
                    rows = rows[~decided[rows]]
                    decided[rows] = True
                for status, some in _by_status(verdict, self._evaluated(rows)):
                    yield status.by(plugin), some
        for row, nominated in self.nominated.items():
            if nominated is not None and self.has_looked(row):
                yield nominated, np.array([row], np.intp)

    def _evaluated(self, rows: Rows) -> Rows:
        """Return those of the rows on which the filters ran, without those where nominated pods were considered."""
        if self.looked is not None or self.subset is not None:
            rows = rows[self.looked_mask()[rows]]
        return np.setdiff1d(rows, list(self.nominated)) if self.nominated else rows

    def reasons(self) -> dict[str, int]:
        """Return reason -> number of nodes, over decisive statuses and the nodes that PreFilter excluded."""
        reasons: dict[str, int] = {}
        explicit = 0
        for status, rows in self.decisive_statuses():
            explicit += len(rows)
            for reason in status.reasons:
                reasons[reason] = reasons.get(reason, 0) + len(rows)
        if self.subset_status is not None and explicit < self.there:
            for reason in self.subset_status.reasons:
                reasons[reason] = reasons.get(reason, 0) + self.there - explicit
        return reasons

    def potential_rows(self, absent_unresolvable: bool) -> Rows:
        """Return the nodes where evicting pods might help: refused, but not unresolvable. intp rows."""
        if self.prefilter is not None:
            return np.arange(self.nodes if self.prefilter.code == fwk.UNSCHEDULABLE else 0, dtype=np.intp)
        statuses = self.decisive_statuses()
        outcome = self._outcome if self._outcome is not None and statuses is self._outcome.statuses else None
        rows = outcome.potential.get(absent_unresolvable) if outcome is not None else None
        if rows is None:
            mask = np.zeros(self.nodes, np.bool_) if absent_unresolvable else np.ones(self.nodes, np.bool_)
            for status, mine in statuses:
                mask[mine] = (
                    status.code == fwk.UNSCHEDULABLE if absent_unresolvable else status.code != fwk.UNRESOLVABLE
                )
            rows = np.flatnonzero(mask)
            if outcome is not None:
                outcome.potential[absent_unresolvable] = rows
        return rows

    def feasible_rows(self) -> Rows:
        """Return the intp rows of the feasible nodes."""
        return np.arange(self.nodes, dtype=np.intp) if self.feasible is None else self.feasible

    def total(self) -> fwk.Int64:
        """Return the weighted sum of normalized scores: int64 over the feasible nodes. Call it after Score."""
        if self._total is None:
            result: fwk.Int64 | None = None
            for score in self.scores.values():
                weighted = score.normalized * score.weight
                result = weighted if result is None else result + weighted
            self._total = np.zeros(len(self.feasible_rows()), np.int64) if result is None else result
        return self._total

    def rank(self, ranking: fwk.Int64, offset: int, place: int, ties: int, other: int) -> None:
        """Keep what `selection` is made of: `ranking` and `ranking_offset` of CycleState, the index of the first node
        with the highest score in `ranking`, the number of nodes with that score, and the index of the first of them
        that was not selected.

        Only a single best node is compared with the others. Then the next cycle calls `unrank`, because it changes
        `ranking`.
        """
        if ties > 1:
            self._tied = int(ranking[place]) + offset, ties, other
        else:
            self._ranking = ranking, offset, place

    def unrank(self) -> None:
        """Remove what the next cycle changes."""
        self._ranking = None

    @property
    def is_ranked(self) -> bool:
        """Whether `unrank` removes something: afterwards, `selection` takes longer."""
        return self._ranking is not None

    def selection(self) -> Selection | None:
        """Return how the selected row compares. None if no scores decided: there are none, the row is not feasible
        because a change placed the pod, or it is the only feasible node."""
        if self._selection is False:
            self._selection = self._compare_selected()
            self._tied = None
        return self._selection or None  # type: ignore[return-value]

    def _compare_selected(self) -> Selection | None:
        row, rows = self.selected_row, self.feasible
        if row < 0 or not self.made_scores or (self.nodes if rows is None else len(rows)) < 2:
            return None
        if self._tied is not None:
            score, ties, other = self._tied
            return Selection(score, ties, other if rows is None else int(rows[other]), 0)
        if self._ranking is not None:
            total, offset, place = self._ranking
            ties = 1
        else:
            place = row if rows is None else int(rows.searchsorted(row))
            if rows is not None and (place == len(rows) or rows[place] != row):
                return None
            total, offset = self.total(), 0
            ties = int(np.count_nonzero(total == total[place]))
        other, score = _best_other(total, place), int(total[place])
        return Selection(score + offset, ties, other if rows is None else int(rows[other]), score - int(total[other]))

    # ---- the format of the conformance cases

    def golden(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the cycle with the keys of the conformance cases. `names`: the run's nodes in row order."""
        out: dict[str, Any] = {"pod": self.pod}
        if self.preenqueue is not None:
            return {**out, "preenqueue": _golden_status(self.preenqueue), "filter": {}, "feasible": []}
        if self.error and not self.node:
            return {**out, "filter": {}, "feasible": [], "error": self.error}
        if self.prefilter is not None:
            out["prefilter"] = _golden_status(self.prefilter)
        out["skipped_filter"] = self.skipped_filter
        out["filter"] = self._golden_filter(names)
        out["filter_all"] = self.golden_filter_all(names)
        rows = self.feasible_rows().tolist()
        inside = out["feasible"] = [names[row] for row in rows]
        if self.scores:
            out["skipped_score"] = self.skipped_score
            out["score"], extenders = {}, {}
            for plugin, score in self.scores.items():
                raw, normalized = (dict(zip(inside, c.tolist(), strict=True)) for c in (score.raw, score.normalized))
                if plugin.startswith(f"{fwk.EXTENDER} "):
                    address = plugin.removeprefix(f"{fwk.EXTENDER} ")
                    extenders[address] = {node: value * score.weight for node, value in normalized.items()}
                else:
                    out["score"][plugin] = {"weight": score.weight, "raw": raw, "normalized": normalized}
            if extenders:
                out["extender_score"] = extenders
            total = self.total()
            out["total"] = dict(zip(inside, total.tolist(), strict=True))
            out["best"] = [names[rows[i]] for i in np.flatnonzero(total == total.max()).tolist()]
        elif len(rows) == 1:
            out["best"] = [names[rows[0]]]
        elif len(rows) > 1 and self.node and not self.skipped_score:  # no plugin scores: every node is equal
            out["total"], out["best"] = dict.fromkeys(inside, 1), inside
        if self.batch_hint:
            out["batch_hint"] = self.batch_hint
        if self.node:
            out["selected"] = self.node
        if self.reserve is not None:
            out["reserve"] = _golden_status(self.reserve)
        if self.message:
            out["fit_error"] = self.message
        out["unschedulable_plugins"] = self.unschedulable_plugins
        if self.postfilter is not None:
            out["postfilter"] = _golden_postfilter(self.postfilter, names)
        if self.error:
            out["error"] = self.error
        return out

    def _golden_filter(self, names: Sequence[str]) -> dict[str, Any]:
        statuses: dict[str, Any] = {}
        for status, rows in self.decisive_statuses():
            golden = _golden_status(status.by("") if status.plugin == fwk.EXTENDER else status)
            for row in rows.tolist():
                statuses[names[row]] = golden
        if self.subset is not None and self.subset_status is not None and self.prefilter is None:
            inside = set(self.subset.tolist())
            for row, name in enumerate(names) if self.placement is None else ((r, names[r]) for r in self.placement):
                if row not in inside:
                    statuses[name] = _golden_status(self.subset_status)
        return statuses

    def golden_filter_all(self, names: Sequence[str]) -> dict[str, Any]:
        """Return node -> plugin -> its rejection, of each plugin that rejects the node on its own."""
        refusals: dict[str, Any] = {}
        for plugin, verdict in self.verdicts.items():
            if verdict.codes is None or plugin == fwk.EXTENDER:
                continue
            statuses = [{"code": s.code, "reasons": list(s.reasons)} for s in verdict.statuses]
            rows = np.flatnonzero(verdict.codes)
            rows = rows if self.placement is None else np.intersect1d(rows, self.placement)
            for row in rows.tolist():
                refusals.setdefault(names[row], {})[plugin] = statuses[int(verdict.codes[row]) - 1]
        return refusals

    # ---- encoding

    def encode(self) -> bytes:
        """Return the cycle as bytes for `decode`. The first byte is the format version."""
        if self._outcome is not None and self._layouts is not None:
            return self._encode_shared(self._outcome, self._layouts)
        document = (
            [*_HEAD_OF(self), pack_optional(self.placement), self.merges],
            [_pack_status(status) for status in _STATUSES_OF(self)],
            pack_optional(self.subset),
            pack_optional(self.looked),
            pack_optional(self.feasible),
            _pack_verdicts(self.verdicts),
            [(row, _pack_status(s)) for row, s in self.nominated.items()],
            [
                (p, s.weight, pack(s.raw), None if s.normalized is s.raw else pack(s.normalized))
                for p, s in self.scores.items()
            ],
            None if self.postfilter is None else _pack_postfilter(self.postfilter),
        )
        return bytes((VERSION,)) + isal_zlib.compress(_ENCODER.encode(document), 1)

    def _encode_shared(self, outcome: FilterOutcome, layouts: dict[tuple[Any, ...], bytes]) -> bytes:
        """Return the cycle as bytes with parts that cycles of equal pods have in common, which are encoded once."""
        layout, verdicts, keyframe, patch_count, columns = self._parts(outcome, layouts, deflates=True)
        frame, patches = b"", _NO_PATCHES
        if keyframe is not None:
            frame, patches = pack_keyframe(keyframe), _pack_patches(keyframe, patch_count)
        return _SHARED_PLAIN + _ENCODE((*self.own_parts(), layout, verdicts, frame, patches, columns))

    def shared_parts(self) -> EncodedParts:
        """Return the parts of the encoding that cycles of equal pods have in common, if there are any. They are not
        deflated, since the batch is."""
        assert self._outcome is not None
        assert self._layouts is not None
        return self._parts(self._outcome, self._layouts, deflates=False)

    def keyframe(self) -> tuple[Keyframe | None, int]:
        """Return the keyframe of scores that were not read yet, and the number of its patches that precede the cycle;
        (None, 0) if there is none."""
        made = self.made_scores
        return (made.keyframe, made.count) if isinstance(made, ClassScores) else (None, 0)

    def has_layout_of(self, other: CycleTrace) -> bool:
        """Return whether `shared_parts` of two cycles of a class have the same layout, and neither has columns of its
        own. False may also be wrong."""
        made, outcome, others = self.made_scores, self._outcome, other._outcome
        return (
            outcome is not None
            and others is not None
            and self.feasible is outcome.rows
            and isinstance(made, ClassScores)
            and isinstance(other.made_scores, ClassScores)
            and not made.varying
            and self.skipped_filter == other.skipped_filter
            and self.skipped_score == other.skipped_score
            and outcome.plugins == others.plugins
            and self.looked is None
            and self.subset is None
            and self.placement is None
            and not self.nominated
        )

    def own_parts(self, plain: bool = False) -> tuple[Any, ...]:
        """Return the values that other cycles do not share, as `trace_from` takes them. `plain`: whether `is_plain`."""
        if plain:
            return _OWN_OF(self), None, None, None
        statuses = _STATUSES_OF(self)
        return (
            _OWN_OF(self),
            None if statuses == _NO_STATUSES else [_pack_status(status) for status in statuses],
            [(row, _pack_status(s)) for row, s in self.nominated.items()] if self.nominated else None,
            None if self.postfilter is None else _pack_postfilter(self.postfilter),
        )

    def _parts(self, outcome: FilterOutcome, layouts: dict[tuple[Any, ...], bytes], deflates: bool) -> EncodedParts:
        if outcome.packed is None:
            packed = _ENCODE(
                [
                    (i, [_pack_status(s) for s in v.statuses], _pack_codes_of(v))
                    for i, v in enumerate(self.verdicts.values())
                    if v.codes is not None
                ]
            )
            outcome.packed = _deflate(packed) if deflates else packed
        made, (keyframe, patch_count) = self.made_scores, self.keyframe()
        scores = made.varying if isinstance(made, ClassScores) else self.scores
        varying: list[tuple[Packed | None, Packed | None]] = []
        names: list[str] = []
        for name, score in scores.items():
            if not isinstance(score, Score):
                varying.append((pack_small(score) if score.dtype is SMALL else pack_scores(score), None))
                names.append(name)
                continue
            raw, normalized = score.raw_source, score.normalized_source
            if isinstance(raw, UsageColumn):
                keyframe, patch_count = raw.keyframe, raw.count
                continue
            if isinstance(raw, SmallColumn):
                varying.append((pack_small(raw.column), None))
            elif not isinstance(raw, StaticColumn):
                after = None if normalized is raw else pack_scores(score.normalized)
                varying.append((pack_scores(score.raw), after))
            elif not isinstance(normalized, StaticColumn):
                varying.append((None, pack_scores(score.normalized)))
            else:
                continue
            names.append(name)
        # A cycle with one feasible node has no scores, so it does not share the layout of a scored cycle.
        key = bool(made), tuple(self.skipped_filter), tuple(self.skipped_score), tuple(names), outcome.plugins
        layout = layouts.get(key)
        if layout is None:
            data = _ENCODE(self._layout())  # classes that differ in labels often have the same
            layout = layouts[key] = (_deflate_once if len(data) < _LONG else _deflate)(data)
        derived = self.feasible is outcome.rows and not self.nominated and self.looked is None and self.subset is None
        columns = None
        if not derived or self.placement is not None:
            feasible = None if derived else () if self._feasible_follows() else (pack_optional(self.feasible),)
            own = self.placement, self.subset, self.looked
            columns = _ENCODE((*map(pack_optional, own), feasible, varying))
        elif varying:
            columns = _ENCODE((None, None, None, None, varying))
        if deflates and columns is not None:
            # no other cycle has them: level 0 takes half the time, but twice the bytes
            columns = _deflate(columns, 0)
        return EncodedParts(layout, outcome.packed, keyframe, patch_count, columns)

    def _layout(self) -> tuple[Any, ...]:
        """Return what the cycles of a class have in common besides the verdicts.

        A score is a name, a weight, and the index of its column in the keyframe or None, and for columns that stay
        those over all nodes: the raw scores, and the normalized ones, None if they are the same, or () if they vary.
        """
        scores: list[tuple[Any, ...]] = []
        for plugin, score in self.scores.items():
            raw, normalized = score.raw_source, score.normalized_source
            if isinstance(raw, UsageColumn):
                scores.append((plugin, score.weight, raw.index))
            elif isinstance(raw, StaticColumn):
                stays = () if not isinstance(normalized, StaticColumn) else pack(normalized.column)
                scores.append((plugin, score.weight, None, pack(raw.column), None if normalized is raw else stays))
            else:
                scores.append((plugin, score.weight, None))
        return (*_SHARED_OF(self), list(self.verdicts), scores)

    @staticmethod
    def decode(data: bytes) -> CycleTrace:
        """Return the cycle that `encode` packed. Raises InputError for anything else."""
        if not data or data[0] not in (VERSION, SHARED_VERSION):
            found = data[0] if data else "nothing"
            raise InputError("cycle trace", "version", f"expected {VERSION} or {SHARED_VERSION}, got {found}")
        with damaged("cycle trace"):
            return _decode_whole(data[1:]) if data[0] == VERSION else _decode_shared(data[1:])


def _decode_whole(data: bytes) -> CycleTrace:
    document = _DECODER.decode(zlib.decompress(data))
    head, statuses, subset, looked, feasible, verdicts, nominated, scores, postfilter = document
    *values, placement, merges = head
    trace = CycleTrace(values[0], merges=merges)
    for name, value in zip(_HEAD, values, strict=True):
        setattr(trace, name, value)
    for name, status in zip(_STATUSES, statuses, strict=True):
        setattr(trace, name, _unpack_status(status))
    trace.placement = unpack_optional(placement, np.intp)
    trace.subset = unpack_optional(subset, np.intp)
    trace.looked = unpack_optional(looked, np.bool_)
    trace.feasible = unpack_optional(feasible, np.intp)
    trace.verdicts = _unpack_verdicts(verdicts)
    trace.nominated = {row: _unpack_status(s) for row, s in nominated}
    for plugin, weight, raw, normalized in scores:
        column = unpack(raw)
        trace.scores[plugin] = Score(weight, column, column if normalized is None else unpack(normalized))
    trace.postfilter = None if postfilter is None else _unpack_postfilter(postfilter)
    return trace


def _decode_shared(data: bytes) -> CycleTrace:
    document = _DECODER.decode(zlib.decompress(data[1:]) if data[0] else data[1:])
    *own, layout, verdicts, frame, patches, columns = document
    keyframe = unpack_keyframe(frame, patches) if frame else None
    shared = Layout(layout)
    return trace_from(own, shared, shared.outcome(verdicts), keyframe, len(patches), columns)


class Layout:
    """The decoded parts that the cycles of a class have in common. `scores`: plugin, weight, and the index of its
    column in the keyframe or None, then its raw and its normalized scores over all nodes, None if they are the same or
    vary, and whether each cycle has its own."""

    def __init__(self, data: bytes) -> None:
        *shared, self.plugins, scores = _inflated(data)
        self.shared: dict[str, Any] = dict(zip(_SHARED, shared, strict=True))
        self.scores: list[tuple[str, int, int | None, fwk.Int64 | None, fwk.Int64 | None, bool]] = []
        for plugin, weight, index, *stays in scores:
            raw, normalized = stays or (None, ())
            column = None if raw is None else unpack(raw)
            after = unpack(normalized) if normalized else None
            if any(one is not None and len(one) != self.shared["nodes"] for one in (column, after)):
                raise ValueError("column length")
            self.scores.append((plugin, weight, index, column, after, index is None and normalized in ([], ())))
        self.width = max((index + 1 for _, _, index, *_ in self.scores if index is not None), default=0)

    def outcome(self, verdicts: bytes) -> FilterOutcome:
        """Decode the verdicts that refuse nodes."""
        named = dict.fromkeys(self.plugins, fwk.PASSES)
        for i, packed, codes in _inflated(verdicts):
            verdict = fwk.Verdict(unpack_optional(codes, np.uint16), tuple(map(_unpack_known, packed)))
            if verdict.codes is not None and len(verdict.codes) != self.shared["nodes"]:
                raise ValueError("column length")
            named[self.plugins[i]] = verdict
        return FilterOutcome.from_verdicts(named)


class DecodedScores:
    """The scores of a decoded cycle. `keyframe` after `count` patches has those that depend on usage. `rows`: the
    feasible nodes, None for all. `varying`: the columns of the cycle's own scores."""

    __slots__ = ("count", "keyframe", "layout", "rows", "varying")

    def __init__(
        self, layout: Layout, keyframe: Keyframe | None, count: int, rows: Rows | None, varying: Sequence[Any]
    ) -> None:
        if layout.width:
            if keyframe is None or not layout.width <= len(keyframe.columns) or not 0 <= count <= len(keyframe.patches):
                raise ValueError("keyframe")
            if keyframe.columns.shape[1] != layout.shared["nodes"]:
                raise ValueError("column length")
        self.layout, self.keyframe, self.count, self.rows, self.varying = layout, keyframe, count, rows, varying

    def by_plugin(self) -> dict[str, Score]:
        """Return plugin -> its scores."""
        rows = slice(None) if self.rows is None else self.rows
        rest, scores = iter(self.varying), {}
        for plugin, weight, index, raw, normalized, varies in self.layout.scores:
            if index is not None:
                assert self.keyframe is not None
                usage = UsageColumn(self.keyframe, self.count, index, rows)
                scores[plugin] = Score(weight, usage, usage)
                continue
            own_raw, own_normalized = next(rest) if varies else (None, None)
            column = unpack(own_raw or ()) if raw is None else raw[rows]
            after = column if normalized is None else normalized[rows]
            scores[plugin] = Score(weight, column, after if own_normalized is None else unpack(own_normalized))
        return scores


def trace_from(
    own: Sequence[Any],
    layout: Layout,
    outcome: FilterOutcome,
    keyframe: Keyframe | None,
    count: int,
    columns: bytes | None,
) -> CycleTrace:
    """Return the cycle with these parts. `count`: the number of patches of the keyframe that precede it."""
    values, statuses, nominated, postfilter = own
    trace = CycleTrace(
        **dict(zip(_OWN, values, strict=True)), **layout.shared, verdicts=outcome.source, merges=False, _outcome=outcome
    )  # only such cycles share parts
    if statuses is not None:
        for name, status in zip(_STATUSES, statuses, strict=True):
            setattr(trace, name, _unpack_status(status))
    trace.nominated = {row: _unpack_status(s) for row, s in nominated or ()}
    trace.postfilter = None if postfilter is None else _unpack_postfilter(postfilter)
    if columns is None:
        trace.feasible = trace.passing_rows()
        if layout.scores:
            trace.made_scores = DecodedScores(layout, keyframe, count, trace.feasible, ())
    else:
        placement, subset, looked, feasible, varying = _inflated(columns)
        trace.placement = unpack_optional(placement, np.intp)
        trace.subset = unpack_optional(subset, np.intp)
        trace.looked = unpack_optional(looked, np.bool_)
        if feasible:
            trace.feasible = unpack_optional(feasible[0], np.intp)
        else:
            trace.feasible = trace.passing_rows() if feasible is None else trace.passing_evaluated()
        trace.made_scores = DecodedScores(layout, keyframe, count, trace.feasible, varying).by_plugin()
    return trace


# Fields in the order of the encoding; `placement` and `merges` follow the head.
_HEAD = (
    *("pod", "number", "attempt", "nodes", "profile", "time", "start_index", "result", "message", "error", "node"),
    *("selected_row", "nominated_node", "victims", "skipped_filter", "skipped_score", "unschedulable_plugins"),
    *("durations", "permit_waits", "batch_hint", "group"),
)
_SHARED = ("nodes", "profile", "skipped_filter", "skipped_score")  # equal pods have them in common
_OWN = tuple(name for name in _HEAD if name not in _SHARED)
_STATUSES = ("preenqueue", "prefilter", "subset_status", "reserve", "permit", "prebind", "bind")
_HEAD_OF, _SHARED_OF, _OWN_OF, _STATUSES_OF = (attrgetter(*names) for names in (_HEAD, _SHARED, _OWN, _STATUSES))
_ENCODER = msgspec.msgpack.Encoder()
_ENCODE = _ENCODER.encode
_DECODER = msgspec.msgpack.Decoder()
_NO_PATCHES = msgspec.Raw(b"\x90")
_NO_STATUSES = (None,) * len(_STATUSES)
# 0: not deflated as a whole, because its parts are. Cycles of earlier versions of KubeSched may be, which is 1.
_SHARED_PLAIN = bytes((SHARED_VERSION, 0))


_DEFLATED = 0x78  # the first byte of zlib's data; no list begins with it
_SHORT = 200  # bytes that are not worth deflating
_LONG = 1 << 13  # bytes that are not worth keeping for an equal part


def _deflate(data: bytes, level: int = 1) -> bytes:
    return data if len(data) < _SHORT else isal_zlib.compress(data, level)


_deflate_once = lru_cache(128)(_deflate)


def _inflated(data: bytes) -> Any:
    return _DECODER.decode(zlib.decompress(data) if data[0] == _DEFLATED else data)


def pack_keyframe(keyframe: Keyframe) -> bytes:
    """Return the encoded scores of a keyframe over all nodes."""
    if keyframe.packed is None:
        columns = [pack_small(c) if c.dtype == np.uint8 else pack(c) for c in keyframe.columns]
        keyframe.packed = _deflate(_ENCODE(columns))
    return keyframe.packed


def _pack_patches(keyframe: Keyframe, count: int) -> msgspec.Raw:
    """Return the patches that precede the cycle as an encoded list."""
    packed = keyframe.packed_patches(count, _ENCODE)
    return msgspec.Raw(b"\xdd" + count.to_bytes(4, "big") + packed)  # the header of a list of msgpack


def unpack_keyframe(frame: bytes, patches: Sequence[Sequence[int]]) -> Keyframe:
    """Return the keyframe of the scores, with its patches."""
    columns = np.stack([unpack(packed) for packed in _inflated(frame)])
    keyframe = Keyframe(columns)
    width, size = columns.shape
    for row, *values in patches:
        if len(values) != width or not 0 <= row < size:
            raise ValueError("patch")
        keyframe.patches.append((row, np.array(values, np.int64)))
    return keyframe


def _pack_verdicts(verdicts: Mapping[str, fwk.Verdict]) -> list[tuple[Any, ...]]:
    return [(p, [_pack_status(s) for s in v.statuses], pack_optional(v.codes)) for p, v in verdicts.items()]


def _pack_codes_of(verdict: fwk.Verdict) -> Packed:
    """Return the packed codes of a verdict that refuses nodes. Several outcomes may have the same verdict."""
    assert verdict.codes is not None
    packed = verdict.packed
    if packed is None:
        packed = pack_codes(verdict.codes, verdict.refused)
        object.__setattr__(verdict, "packed", packed)  # otherwise, verdicts do not change
    return packed


def _unpack_verdicts(packed: Sequence[Any]) -> dict[str, fwk.Verdict]:
    found = {}
    for plugin, statuses, codes in packed:
        found[plugin] = fwk.Verdict(unpack_optional(codes, np.uint16), tuple(map(_unpack_known, statuses)))
    return found


def _pack_status(status: fwk.Status | None) -> tuple[str, tuple[str, ...], str] | None:
    return None if status is None else (status.code, status.reasons, status.plugin)


def _unpack_known(packed: Sequence[Any]) -> fwk.Status:
    return fwk.Status(packed[0], tuple(packed[1]), packed[2])


def _unpack_status(packed: Sequence[Any] | None) -> fwk.Status | None:
    return None if packed is None else _unpack_known(packed)


def _pack_postfilter(trace: PostFilterTrace) -> tuple[Any, ...]:
    rejected = [(_pack_status(status), _pack_again(rows)) for status, rows in trace.rejected]
    status = _pack_status(trace.status)
    how = (trace.nominated_any_of, trace.rule, trace.decides, trace.cleared)
    packed = status, trace.nominated_node, trace.candidates, rejected, *how
    if trace.plugin != PREEMPTION:
        return *packed, trace.ending, trace.preemptors, trace.plugin
    return (*packed, trace.ending) if trace.ending else packed


def _pack_again(rows: Rows) -> Packed:
    """Return `pack_rows(rows)`. Cycles of equal pods that follow each other have the same array."""
    global _packed_last
    known, packed = _packed_last
    if known is not rows:
        packed = pack_rows(rows)
        _packed_last = rows, packed
    return packed


_packed_last: tuple[Rows, Packed] = (_NO_ROWS, pack(_NO_ROWS))


def _unpack_postfilter(packed: Sequence[Any]) -> PostFilterTrace:
    status, nominated, candidates, rejected, any_of, rule, *rest = packed  # without what is as by default
    candidates = {node: (victims, violations) for node, (victims, violations) in candidates.items()}
    rejected = [(_unpack_known(s), unpack(rows).astype(np.intp)) for s, rows in rejected]
    return PostFilterTrace(_unpack_status(status), nominated, candidates, rejected, any_of, rule, *rest)


def _golden_status(status: fwk.Status) -> dict[str, Any]:
    out: dict[str, Any] = {"code": status.code, "reasons": list(status.reasons)}
    return {"plugin": status.plugin, **out} if status.plugin else out


def _golden_postfilter(trace: PostFilterTrace, names: Sequence[str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if trace.status is not None:
        out["status"] = _golden_status(trace.status)
    if trace.nominated_node:
        out["nominated_node"] = trace.nominated_node
        out["nominated_any_of"] = trace.nominated_any_of
    out["candidates"] = {
        node: {"victims": list(victims), "pdb_violations": violations}
        for node, (victims, violations) in trace.candidates.items()
    }
    if trace.preemptors > 1:
        out["preemptors"] = trace.preemptors
    out["rejected"] = {names[row]: _golden_status(status) for status, rows in trace.rejected for row in rows.tolist()}
    return out
