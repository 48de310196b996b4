"""Compares each attempt in a log of kube-scheduler with a computation of our own on the state before it.

The log has the order of the decisions, and a recording or a snapshot has the objects. Arrivals and deletions in the log
say how far the scheduler knew the recording. Pods count on their nodes from the decision on, as in its cache. If the
results differ, a few more and a few less changes of the recording are tried, since the scheduler learns of each kind
by a watch of its own.

A snapshot of the end of the log becomes a recording: its pods arrive, are bound and are nominated as the log says.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from scheduler_core.api.objects import Object, Pod
from scheduler_core.cluster.formatting import some
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.config import Configuration
from scheduler_core.evidence.log_sentences import entries
from scheduler_core.evidence.scheduler_log import NO_NODES, Attempt, NodeScores, SchedulerLog
from scheduler_core.explain.answer import Part
from scheduler_core.live.cluster_mirror import ClusterMirror, MirrorChange
from scheduler_core.live.ordering import in_order
from scheduler_core.live.watch_events import ADDED, DELETED, MODIFIED, Item, Listed, WatchEvent
from scheduler_core.releases import Release
from scheduler_core.shadow.evaluator import Evaluation, Evaluator
from scheduler_core.shadow.explanations import volumes_of

MAX_TRIES = 24  # other states that are tried, half of them later ones
TRIES_COST = 20_000  # nodes times such states
_UNDOABLE = 512
_ELSEWHERE = 9  # rank
_VOLUMES_AHEAD = 2000  # items in which a volume gets its claim after the decision


class ComparedAttempt(Part):
    """An attempt of the log in comparison with our computation.

    `outcome`: equal, differs, or unknown if it cannot be compared. `difference`: the first one. `reason`: why it is
    unknown. `node`, `message`: its result in the log. `scores`: the number of plugin scores that were compared.
    `changes`: how many changes of the recording more (or less, if negative) the scheduler knew. `time`: that of the
    recording's last change before the attempt.
    """

    pod: str
    number: int
    line: int
    at: str
    outcome: str
    difference: str = ""
    reason: str = ""
    node: str = ""
    message: str = ""
    scores: int = 0
    changes: int = 0
    time: float = 0.0


class _Difference(NamedTuple):
    """`rank`: how far the computation agrees before it differs; that of the highest rank is reported."""

    rank: int
    text: str


class LogComparison:
    """Compares the attempts of a log with a recording.

    `items`: of all kinds in the order of resourceVersion. `configuration`: of the scheduler. `latest`: the kinds of
    which the objects are those at the end of the log.
    """

    def __init__(
        self,
        log: SchedulerLog,
        items: Iterable[Item],
        release: Release,
        configuration: Configuration,
        *,
        latest: Collection[str] = (),
    ) -> None:
        self._log = log
        self._items = [item for item in items if isinstance(item, Listed | WatchEvent)]
        self._mirror = ClusterMirror(release, undoable=_UNDOABLE)
        self._evaluator = Evaluator(self._mirror.cluster, configuration, pods=self._mirror.pods.values)
        self._latest = frozenset(latest)
        self._changed = [(one.line, one.node) for one in log.occurrences if one.what == "node changed"]
        self._at = 0  # index of the next item
        self._decided: dict[str, str] = {}  # pod -> node, as the log says
        self._arrived: set[str] = set()
        self._absent: set[str] = set()  # pods on nodes that the recording does not have
        self._places: dict[tuple[str, str, str], list[int]] = defaultdict(list)  # type, kind, key -> indices
        for index, item in enumerate(self._items):
            if isinstance(item, WatchEvent) and item.kind in ("Pod", "Node"):
                self._places[item.type, item.kind, item.key].append(index)

    def compare(self) -> Iterator[ComparedAttempt]:
        """Yield a comparison for each attempt, in the order of the log."""
        while self._at < len(self._items) and isinstance(self._items[self._at], Listed):
            self._advance()
        first = self._first_line()
        for entry in entries(self._log):
            if isinstance(entry, Attempt):
                if entry.line < first:
                    yield _unknown(entry, "it begins later")
                else:
                    yield self._attempt(entry)
            elif entry.what in ("node added", "node deleted"):
                self._advance_to(ADDED if entry.what == "node added" else DELETED, "Node", entry.node)
            elif entry.what == "added":
                self._forget(entry.pod)
                if entry.pod in self._arrived or entry.pod not in self._mirror.pods:
                    self._advance_to(ADDED, "Pod", entry.pod)
                self._arrived.add(entry.pod)
            elif entry.what == "deleted":
                self._forget(entry.pod)
                if entry.pod in self._mirror.pods:
                    self._advance_to(DELETED, "Pod", entry.pod)

    def _first_line(self) -> int:
        """Return the line after the last attempt whose pod has its node in the recording from its beginning on."""
        bound = {key: pod.node for key, pod in self._mirror.pods.items() if pod.node}
        lines = [one.line for one in self._log.attempts if one.node and bound.get(one.pod) == one.node]
        return max(lines, default=-1) + 1

    # ---- the state

    def _advance_to(self, type_: str, kind: str, key: str) -> None:
        """Apply the recording up to the next such change of an object, if there is one."""
        if kind == "Node" and (key in self._mirror.cluster.nodes.rows) == (type_ == ADDED):
            return  # known already
        places = self._places[type_, kind, key]
        found = bisect_left(places, self._at)
        while found < len(places) and self._at <= places[found]:
            self._advance()

    def _advance(self) -> None:
        item = self._items[self._at]
        self._at += 1
        self._take_back(item.key if isinstance(item, WatchEvent) else "")
        self._mirror.apply(item)
        self._count(item.key if isinstance(item, WatchEvent) else "")

    def _go_back(self) -> MirrorChange:
        """Undo the last change."""
        key = self._mirror.changes[-1].key
        self._take_back(key)
        change = self._mirror.undo()
        assert change is not None
        self._at -= 1
        self._count(key)
        return change

    def _take_back(self, key: str) -> None:
        for pod in (key,) if key else list(self._mirror.assumed):
            self._mirror.take_back(pod)

    def _count(self, key: str) -> None:
        """Count pods on the nodes for which they were decided, though the recording does not show it yet."""
        for pod in (key,) if key else tuple(self._decided):
            node = self._decided.get(pod)
            if node is not None and pod in self._mirror.pending and pod not in self._mirror.assumed:
                self._mirror.assume(pod, node)

    def _forget(self, pod: str) -> None:
        self._decided.pop(pod, None)
        self._absent.discard(pod)
        self._mirror.take_back(pod)

    # ---- an attempt

    def _attempt(self, attempt: Attempt) -> ComparedAttempt:
        key, chosen = attempt.pod, _chosen(attempt)
        self._forget(key)
        if key not in self._mirror.pods:
            self._advance_to(ADDED, "Pod", key)
        self._arrived.add(key)
        made = _unknown(attempt, "")
        made.time = self._items[self._at - 1].time if self._at else 0.0
        pod = self._mirror.pending.get(key)
        if pod is None:
            made.reason = "it does not have the pod"
            if key in self._mirror.pods:
                made.reason = "it has the pod on its node already"
            elif chosen:
                self._absent.add(key)
            return made
        if not self._evaluator.responsible(pod):
            made.reason = f"the configuration has no profile {pod.pod.spec.scheduler_name}"
        elif attempt.result not in ("scheduled", "chosen", "unschedulable"):
            made.reason = "the log has no result"
        else:
            self._compare(made, attempt, pod)
        if chosen:
            self._decided[key] = chosen
            self._count(key)
            for volume in volumes_of([pod], islice(self._items, self._at, self._at + _VOLUMES_AHEAD)):
                self._mirror.cluster.apply(volume)  # the scheduler reserves a volume when it decides
        return made

    def _compare(self, made: ComparedAttempt, attempt: Attempt, pod: PodInfo) -> None:
        """Set the outcome by the first state on which nothing differs, or else by the state that agrees furthest."""
        made.changes, found = self._closest(attempt, pod)
        if found is None:
            made.outcome, made.scores = "equal", sum(len(one.plugins) for one in attempt.scores)
            return
        made.difference, made.changes = found.text, 0
        later = [node for line, node in self._changed if line > attempt.line] if "Node" in self._latest else []
        if self._absent:
            made.reason = "pods were on nodes then that it does not have"
        elif "PersistentVolumeClaim" in self._latest and _uses_claims(pod):
            made.reason = "it has claims as they were bound later"
        elif later:
            made.reason = "it has nodes as they changed later"
        else:
            made.outcome = "differs"

    def _closest(self, attempt: Attempt, pod: PodInfo) -> tuple[int, _Difference | None]:
        """Return what differs on the state that agrees furthest, and how many changes more it has.

        If nothing differs on a later state, the scheduler knew it, so it stays. Otherwise the state stays as it is.
        """
        best = self._difference(attempt, pod)
        if best is None:
            return 0, None
        if best.rank == _ELSEWHERE:
            return 0, best
        tries = max(2, min(MAX_TRIES, TRIES_COST // max(len(self._mirror.cluster.nodes), 1)) // 2)
        start, steps = self._at, 0
        while steps < tries and self._may_advance(pod.key):
            self._advance()
            if not self._mirror.changes[-1].matters:
                continue
            steps += 1
            if (found := self._difference(attempt, self._mirror.pending[pod.key])) is None:
                return self._at - start, None
            best = max(best, found, key=lambda one: one.rank)
        while self._at > start:
            self._go_back()
        steps = undone = 0
        found = best
        while found is not None and steps < tries and self._mirror.changes and self._mirror.changes[-1].key != pod.key:
            change = self._go_back()
            undone += 1
            if change.matters and not change.binds:
                steps += 1
                found = self._difference(attempt, self._mirror.pending[pod.key])
                best = max(best, found, key=lambda one: one.rank) if found is not None else best
        while self._at < start:
            self._advance()
        return (-undone, None) if found is None else (0, best)

    def _may_advance(self, pod: str) -> bool:
        """Whether the next change can be before the attempt: not one of the pod, nor a binding decided later."""
        if self._at == len(self._items):
            return False
        item = self._items[self._at]
        if not isinstance(item, WatchEvent) or (item.kind == "Pod" and item.key == pod):
            return False
        binds = isinstance(item.object, Pod) and item.object.spec.node_name and item.key in self._mirror.pending
        return not binds or item.key in self._decided

    # ---- what differs

    def _difference(self, attempt: Attempt, pod: PodInfo) -> _Difference | None:
        """Return the first difference on the present state; None if there is none."""
        self._mirror.cluster.nodes.refresh()
        if attempt.result == "unschedulable":
            trace = self._evaluator.message(pod, attempt.message)
            equal = trace.message == attempt.message or (attempt.message == NO_NODES and not trace.nodes)
            return None if equal else _Difference(0, f"message: {trace.message or 'it finds a node'}")
        bound = self._bound(pod.pod)
        if attempt.result == "scheduled" and bound and bound != attempt.node:
            return _Difference(_ELSEWHERE, f"the recording has it on {bound}")
        evaluation = self._evaluator.evaluate(pod)
        row = self._mirror.cluster.nodes.rows.get(attempt.node, -1)
        if row < 0:
            return _Difference(0, f"node {attempt.node} is not known")
        if not evaluation.fits(row):
            return _Difference(0, f"{attempt.node} is not feasible: {_rejection(evaluation, row)}")
        if attempt.evaluated == 1 and not attempt.scores:  # a nominated node, or that of the batch
            return None
        return self._feasible(attempt, evaluation) or self._scores(attempt, evaluation, row)

    def _bound(self, pod: Pod) -> str:
        """Return the node that the pod gets in the recording; "" if it gets none."""
        places = self._places[MODIFIED, "Pod", pod.key]
        for place in places[bisect_left(places, self._at) :]:
            item = self._items[place]
            now = item.object if isinstance(item, WatchEvent) else None
            if isinstance(now, Pod) and now.metadata.uid == pod.metadata.uid and now.spec.node_name:
                return now.spec.node_name
        return ""

    def _feasible(self, attempt: Attempt, evaluation: Evaluation) -> _Difference | None:
        """Compare the feasible nodes, unless the search ended before all nodes were evaluated."""
        if evaluation.wanted or attempt.feasible is None or attempt.evaluated != len(evaluation.searched):
            return None
        ours = set(evaluation.names(evaluation.rows))
        if attempt.feasible == len(ours):
            return None
        logged = {one.node for one in attempt.scores}
        named = [f"{some(sorted(nodes), 3)} {where}" for nodes, where in
                 ((logged - ours, "only in the log"), (ours - logged, "only here")) if logged and nodes]  # fmt: skip
        text = f"feasible nodes: {attempt.feasible} in the log, {len(ours)} here"
        return _Difference(1, text + (f" ({', '.join(named)})" if named else ""))

    def _scores(self, attempt: Attempt, evaluation: Evaluation, row: int) -> _Difference | None:
        rows = evaluation.rows
        if attempt.scores:
            known = self._mirror.cluster.nodes.rows
            rows = np.array(sorted(known.get(one.node, -1) for one in attempt.scores), np.intp)
            missing = [one.node for one in attempt.scores if not evaluation.fits(known.get(one.node, -1))]
            if missing:
                return _Difference(1, f"{some(missing, 3)} has scores in the log and is not feasible here")
            if (found := self._plugin_scores(attempt.scores, evaluation, rows)) is not None:
                return found
        elif evaluation.wanted:
            return None  # which nodes were scored is not known
        best = evaluation.best(rows)
        if not (best == row).any():
            return _Difference(3, f"best node: {some(evaluation.names(best), 3)} here")
        return None

    def _plugin_scores(
        self, logged: Sequence[NodeScores], evaluation: Evaluation, rows: np.ndarray[Any, np.dtype[np.intp]]
    ) -> _Difference | None:
        scores = evaluation.scores(rows)
        if scores is None:
            return None
        place = {name: index for index, name in enumerate(evaluation.names(rows))}
        for one in logged:
            for plugin, score in one.plugins.items():
                ours = scores.get(plugin)
                normalized = int(ours.normalized[place[one.node]]) if ours is not None else 0
                weighted = normalized * (ours.weight if ours is not None else 1)
                if weighted != score.weighted:
                    there = f"{score.weighted}" + (
                        f" (normalized {score.normalized})" if score.normalized is not None else ""
                    )
                    text = f"score of {plugin} on {one.node}: {there} in the log, {weighted} ({normalized}) here"
                    return _Difference(2, text)
        return None


def _uses_claims(pod: PodInfo) -> bool:
    return any(one.persistent_volume_claim is not None or one.ephemeral is not None for one in pod.volumes)


def _rejection(evaluation: Evaluation, row: int) -> str:
    status = evaluation.trace.prefilter or evaluation.trace.status_at(row)
    return "; ".join(status.reasons) if status is not None else evaluation.trace.error or "it was not evaluated"


def _chosen(attempt: Attempt) -> str:
    return attempt.node if attempt.result in ("scheduled", "chosen") else ""


def _unknown(attempt: Attempt, reason: str) -> ComparedAttempt:
    of = attempt
    return ComparedAttempt(of.pod, of.number, of.line, of.at, "unknown", "", reason, _chosen(of), of.message)


def compare(
    log: SchedulerLog,
    recorded: Sequence[Item],
    latest: Mapping[str, Sequence[Object]],
    release: Release,
    configuration: Configuration,
) -> Iterator[ComparedAttempt]:
    """Yield a comparison for each attempt of a log. `recorded`: the items of a recording, or none. `latest`: kind ->
    objects at the end of the log, of kinds that the recording lacks."""
    kinds = {item.kind for item in recorded}
    lists = [Listed(kind, 0, tuple(objects), 0.0) for kind, objects in latest.items()]
    items = as_recording(latest, log) if "Pod" in latest else lists
    ordered = [*items, *in_order(iter(recorded), kinds)]
    return LogComparison(log, ordered, release, configuration, latest=latest).compare()


def as_recording(objects: Mapping[str, Sequence[Object]], log: SchedulerLog) -> list[Item]:
    """Return the items of a snapshot that was made at the end of a log. `objects`: kind -> objects.

    The pods and nodes that arrive in the log are added then, and each pod gets its node by its binding in the log.
    """
    found = dict(objects)
    pods = {obj.key: obj for obj in found.pop("Pod", ()) if isinstance(obj, Pod)}
    nodes = {obj.key: obj for obj in found.pop("Node", ())}
    logged = {attempt.pod for attempt in log.attempts}
    last = {one.pod: one.line for one in log.occurrences if one.what == "added"}  # pod -> line of its last arrival
    added = {one.node: one.line for one in log.occurrences if one.what == "node added"}
    listed = [_waiting(pod) if key in logged else pod for key, pod in pods.items() if key not in last]
    items: list[Item] = [Listed(kind, 0, tuple(objects), 0.0) for kind, objects in found.items()]
    items.append(Listed("Node", 0, tuple(node for key, node in nodes.items() if key not in added), 0.0))
    items.append(Listed("Pod", 0, tuple(listed), 0.0))
    now = {pod.key: pod for pod in listed}

    def change(type_: Any, obj: Object, time: float) -> None:
        if isinstance(obj, Pod):
            now[obj.key] = obj
        items.append(WatchEvent("Pod" if isinstance(obj, Pod) else "Node", type_, obj.key, len(items), obj, time))

    for entry in entries(log):
        if not isinstance(entry, Attempt) and entry.line == added.get(entry.node) and entry.node in nodes:
            change(ADDED, nodes[entry.node], entry.time)
            continue
        pod = pods.get(entry.pod)
        if pod is None or entry.line < last.get(entry.pod, 0):
            continue  # an earlier pod of the same name
        if not isinstance(entry, Attempt):
            if entry.what == "added" and entry.line == last[entry.pod]:
                change(ADDED, _waiting(pod), entry.time)
        elif entry.result == "scheduled" and entry.pod in now:
            spec = replace(pod.spec, node_name=pod.spec.node_name or entry.node)
            change(MODIFIED, replace(pod, spec=spec), entry.bound or entry.time)
        elif entry.result == "unschedulable" and entry.pod in now:
            before = now[entry.pod].status
            if before.nominated_node_name != entry.nominated_node:
                status = replace(before, nominated_node_name=entry.nominated_node)
                change(MODIFIED, replace(now[entry.pod], status=status), entry.time)
    return items


def _waiting(pod: Pod) -> Pod:
    """Return a pod as it was before it had a node."""
    status = replace(pod.status, nominated_node_name="", phase="Pending", conditions=[])
    return replace(pod, spec=replace(pod.spec, node_name=""), status=status)
