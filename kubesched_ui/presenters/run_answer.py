"""The outcome of a run: one sentence, and the pods without a node by workload, from the stored answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
from django.db.models import Max, Min

from kubesched_ui.models import Cycle, PodResult, Run, WorkloadAnswer
from kubesched_ui.presenters.fix_diff import DiffLine
from scheduler_core.cluster.formatting import count, listing

PODS = 8  # pods listed per group
WORKLOADS, SAME = 20, 3  # workloads on a page, and groups of each
LOOKED_AT = 500  # pods of a group that are searched for the first cycle
NAMED = 3  # workloads in the sentence


class UnplacedPod(NamedTuple):
    """A pod without a node. `cycle`: its last cycle; `nominated`: the node on which preemption frees resources."""

    key: str
    nominated: str = ""
    cycle: int = 0


@dataclass(frozen=True)
class ShownFix:
    """A suggested fix. `fix`: as in Answer. `at`: the cycle before which a fork makes the change. `id`: in the page.
    `diff`: of its target, empty if the page has none."""

    fix: dict[str, Any]
    at: int
    id: str
    diff: Sequence[DiffLine] = ()

    @property
    def key(self) -> tuple[str, str]:
        return self.fix["kind"], self.fix["command"] or self.fix["text"]

    @property
    def changes(self) -> str:
        """Return the changes of the fork as JSON."""
        return msgspec.json.encode(self.fix["changes"]).decode()


@dataclass
class AnsweredPods:
    """Pods of a workload with one answer. `pods`: the first ones. `fixes`: None if the page of a pod searches them;
    `no_fixes`: why none are searched; `more_fixes`: the best one, and before it what to find out. `at`: the first cycle
    of one of them."""

    sentence: str
    count: int
    pods: list[UnplacedPod]
    fixes: list[ShownFix] | None = None
    no_fixes: str = ""
    at: int = 1
    more_fixes: list[ShownFix] = field(default_factory=list)

    @property
    def more(self) -> int:
        return self.count - len(self.pods)


@dataclass
class AnsweredWorkload:
    """The pods of a workload without a node, those with the most frequent answer first."""

    kind: str
    namespace: str
    name: str
    count: int = 0
    groups: list[AnsweredPods] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return `StatefulSet team-a/cache`; for equal pods without a controller `pods like default/a`."""
        key = f"{self.namespace}/{self.name}"
        return f"pods like {key}" if self.kind == "Pod" and self.count > 1 else f"{self.kind} {key}"

    @property
    def part(self) -> str:
        """Return it with its number of pods: `3 of StatefulSet team-a/cache`, `Pod default/a`."""
        if self.kind != "Pod":
            return f"{self.count:,} of {self.text}"
        return self.text if self.count == 1 else f"{self.count:,} {self.text}"

    @property
    def listed(self) -> list[AnsweredPods]:
        return self.groups[:SAME]

    @property
    def more(self) -> int:
        return len(self.groups) - len(self.listed)


@dataclass
class RunAnswer:
    """`sentence`: the outcome. `counts`: result -> pods. `workloads`: most pods first. `unexplained`: the number of
    pods without a node and without a stored answer. `alone`: whether the sentence contains that of the only group.
    `fixes`: those that help several workloads, or all of the only group; None if not searched yet."""

    sentence: str
    counts: dict[str, int]
    workloads: list[AnsweredWorkload]
    pending: int
    unexplained: int
    alone: bool = False
    fixes: list[ShownFix] | None = None

    @property
    def listed(self) -> list[AnsweredWorkload]:
        return self.workloads[:WORKLOADS]

    @property
    def incomplete(self) -> bool:
        """Whether a page that searches fixes would show more."""
        return bool(self.pending and (self.unexplained or self.fixes is None))


def answer_of(run: Run) -> RunAnswer:
    """Return the outcome of a run, or of its part so far."""
    counts = run.pod_results.outcomes()
    pending = sum(counts.values()) - counts.get("scheduled", 0) - counts.get("waiting", 0)
    workloads = [] if run.active or not pending else _workloads(run)
    explained = sum(workload.count for workload in workloads)
    answer = RunAnswer("", counts, workloads, pending, max(0, pending - explained))
    answer.alone = len(workloads) == 1 and len(workloads[0].groups) == 1 and not answer.unexplained
    answer.sentence = _sentence(run, answer)
    _add_fixes(run, answer)
    if run.evicted:
        answer.sentence += f" {count(run.evicted, 'running pod')} {'was' if run.evicted == 1 else 'were'} evicted."
    return answer


def _add_fixes(run: Run, answer: RunAnswer) -> None:
    """Add the fixes that place pods of several workloads, and to each listed group its own best one.

    If the only group is explained in the sentence, all its fixes are those of the run.
    """
    groups = [group for workload in answer.listed for group in workload.listed]
    if run.fixes is None:
        return
    if answer.alone:
        answer.fixes = groups[0].fixes
        return
    own = {fix.key: fix.fix["places"] for group in reversed(groups) for fix in group.fixes or ()}
    first = min((group.at for group in groups), default=1)
    best = [ShownFix(fix, first, f"fix-{n}") for n, fix in enumerate(run.fixes)]
    answer.fixes = [fix for fix in best if fix.fix["places"] > own.get(fix.key, 0)]
    shown = {fix.key for fix in answer.fixes}
    for group in groups:
        found = [fix for fix in group.fixes or () if fix.key not in shown]
        placing = [fix for fix in found if fix.fix["places"]]
        group.more_fixes = [fix for fix in found[:1] if not fix.fix["places"]] + placing[:1]


def _workloads(run: Run) -> list[AnsweredWorkload]:
    rows = WorkloadAnswer.objects.filter(run=run).order_by("-number", "pk")
    found: dict[tuple[str, str, str], AnsweredWorkload] = {}
    listed = []
    for row in rows.only("kind", "namespace", "name", "pod", "number", "sentence").iterator(chunk_size=500):
        key = row.kind, row.namespace, row.name
        workload = found.setdefault(key, AnsweredWorkload(*key))
        workload.count += row.number
        workload.groups.append(AnsweredPods(row.sentence, row.number, [UnplacedPod(row.pod)]))
        listed.append((row.pk, workload.groups[-1]))
    ordered = sorted(found.values(), key=lambda workload: -workload.count)
    shown = [group for workload in ordered[:WORKLOADS] for group in workload.listed]
    _complete(run, {pk: group for pk, group in listed if any(group is one for one in shown)})
    return ordered


def _complete(run: Run, groups: Mapping[int, AnsweredPods]) -> None:
    """Add pods, cycles and fixes to the groups that a page lists."""
    rows = list(WorkloadAnswer.objects.filter(pk__in=groups).only("pods"))
    fixed = WorkloadAnswer.objects.filter(pk__in=groups, fixed=True).values_list("pk", "answer")
    # one at a time: an answer names all nodes
    found = fixed.iterator(chunk_size=500)
    fixes = {pk: (document.get("fixes", []), document.get("no_fixes", "")) for pk, document in found}
    keys = {row.pk: row.pods[:LOOKED_AT] for row in rows}
    names = {key.partition("/")[2] for found in keys.values() for key in found}
    results = PodResult.objects.filter(run=run).without_node().exclude(nominated_node="")
    nominated = {f"{row.namespace}/{row.name}": row.nominated_node for row in results}
    tried = Cycle.objects.filter(run=run, name__in=names).order_by().values_list("namespace", "name")
    first_last = tried.annotate(Min("number"), Max("number"))
    cycles = {f"{namespace}/{name}": (first, last) for namespace, name, first, last in first_last}
    for row in rows:
        group = groups[row.pk]
        group.pods = [UnplacedPod(key, nominated.get(key, ""), cycles.get(key, (0, 0))[1]) for key in row.pods[:PODS]]
        group.at = min((cycles[key][0] for key in keys[row.pk] if key in cycles), default=1)
        if row.pk in fixes:
            suggested, group.no_fixes = fixes[row.pk]
            group.fixes = [ShownFix(fix, group.at, f"fix-{row.pk}-{n}") for n, fix in enumerate(suggested)]


def _sentence(run: Run, answer: RunAnswer) -> str:
    """Return `2 of 5 pods placed; 3 of StatefulSet team-a/cache not: no node has pool=bacth.`"""
    total, left = sum(answer.counts.values()), answer.pending
    placed = total - left
    kind = "pod" if run.pods is not None or run.unbind or run.template else "pending pod"
    if not total:
        return "No pod is scheduled yet." if run.active else "No pod was scheduled."
    if run.active:
        total = total if run.in_time else max(total, run.cycles_total)
        return f"{placed:,} of {count(total, kind)} placed, {left:,} pending so far."
    pods = count(total, kind)
    if not left:
        return f"{'All ' * (total > 1)}{pods} placed."
    head = f"{placed:,} of {pods} placed; {left:,}" if placed else f"None of {pods} placed"
    if not answer.workloads or answer.unexplained:
        return f"{head} not." if placed else f"{head}."
    if answer.alone:
        (workload,) = answer.workloads
        why = workload.groups[0].sentence
        if total == 1:
            return f"The {kind} has no node: {why}"
        of = workload.text if workload.kind == "Pod" else f"of {workload.text}"
        if placed and left == 1:
            return f"{placed:,} of {pods} placed; {workload.text} not: {why}"
        return f"{head} {of} not: {why}" if placed else f"{head}, all {of}: {why}"
    most = NAMED if len(answer.workloads) != NAMED + 1 else NAMED + 1
    parts = [workload.part for workload in answer.workloads[:most]]
    if rest := answer.workloads[most:]:
        parts.append(f"{sum(one.count for one in rest):,} of {count(len(rest), 'other workload')}")
    return f"{head}{' not' * bool(placed)}: {listing(parts)}."
