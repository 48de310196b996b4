"""Converts a recorded cycle to its explanation."""

from collections.abc import Sequence
from functools import cached_property
from itertools import chain, islice

import numpy as np

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain import groups, ladder, scores, summary
from scheduler_core.explain.answer import (
    Answer,
    Cause,
    NodeObjections,
    Objection,
    RejectedNodes,
)
from scheduler_core.explain.failure_details import lacks, objection, short_by
from scheduler_core.explain.groups import OUTSIDE
from scheduler_core.explain.nowhere import Nowhere
from scheduler_core.explain.preemption import preemption_of, waits_for_victims
from scheduler_core.explain.scores import ScoreRules
from scheduler_core.framework import causes
from scheduler_core.framework.interface import (
    SKIP,
    SUCCESS,
    UNRESOLVABLE,
    UNSCHEDULABLE,
    WAIT,
    Int64,
    Plugin,
    Status,
)
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.framework.runtime import Framework
from scheduler_core.plugins import PLUGINS, REGISTRY
from scheduler_core.plugins.node_resources_fit import lacking
from scheduler_core.simulation import Simulation

CLOSEST, TOP = 5, 10
# In Filter, these plugins report in more detail why PreFilter left out a node.
NARROWING = tuple(name for name, plugin in REGISTRY.items() if plugin.narrows_nodes)


def explain(
    trace: CycleTrace,
    where: Simulation | Cluster | None = None,
    pod: PodInfo | None = None,
    names: Sequence[str] | None = None,
    victims: Sequence[PodInfo] = (),
    rules: ScoreRules | None = None,
    whole_ladder: bool = False,
) -> Answer:
    """Return why the pod of a cycle was placed on its node, or is pending.

    `trace`: the cycle, as recorded or decoded. `where`: the cluster before or after the cycle (a Simulation for its
    cluster and profiles); the pod itself is excluded from all counts, so both work. `pod`: the pod. `names`: the nodes
    in the order of the trace's rows, if the cluster's order has changed. `victims`: the pods that the cycle evicted, if
    the cluster no longer has them. `rules`: how the profile chooses; by default those of the Simulation, if any.
    `whole_ladder`: the ladder has all nodes, and a pod with a node has one as well.

    Reasons, scores and preemption come only from the trace. Shortfalls, taints, labels and conflicting pods are looked
    up in the cluster. They are left out without `where` and `pod`, or if they no longer hold in the cluster.

    Raises ValueError if neither `where` nor `names` is given.
    """
    return Explainer(trace, where, pod, names, victims, rules).answer(whole_ladder)


class Explainer:
    """Builds the answer; the arguments are those of `explain`. `context`: None if the cluster is not known; `promised`:
    the same, in which nominated pods count where the cycle counted them. `evaluated`: whether Filter looked at nodes.
    """

    def __init__(
        self,
        trace: CycleTrace,
        where: Simulation | Cluster | None,
        pod: PodInfo | None,
        names: Sequence[str] | None,
        victims: Sequence[PodInfo] = (),
        rules: ScoreRules | None = None,
    ) -> None:
        cluster = where.cluster if isinstance(where, Simulation) else where
        if names is None:
            if cluster is None:
                raise ValueError("explain requires the cluster or the names of the nodes")
            names = cluster.nodes.names
        profiles = where.scheduler.profiles if isinstance(where, Simulation) else {}
        if rules is None and isinstance(where, Simulation) and (framework := profiles.get(trace.profile)) is not None:
            rules = ScoreRules.of_profile(framework.profile, where.registry, framework.picker.by)
        self.trace, self.names, self.rules = trace, names, rules or ScoreRules()
        self.evaluated = not (trace.preenqueue or trace.prefilter or trace.error) and bool(trace.nodes)
        self.context = self.promised = None
        self.lacks = np.zeros(len(names))
        self.framework: Framework | None = None
        if cluster is not None and pod is not None:
            self.framework, gone = profiles.get(pod.pod.spec.scheduler_name), {trace.nominated_node: victims}
            filters = self.framework.filter if self.framework is not None else ()
            counted = [names[row] for row, status in trace.nominated.items() if status is not None]
            self.context = RejectionContext(cluster, pod, names, filters, gone)
            self.promised = RejectionContext(cluster, pod, names, filters, gone, counted)
            self.lacks = lacks(self.promised)

    @cached_property
    def waits(self) -> tuple[Cause, str] | None:
        """For a nominated pod that may not evict pods because some are being deleted: what it waits for."""
        if self.context is None or self.trace.postfilter is None or self.trace.postfilter.decides:
            return None
        return waits_for_victims(self.context.cluster, self.context.pod, self.framework)

    def answer(self, whole_ladder: bool = False) -> Answer:
        trace = self.trace
        answer = Answer(trace.pod, trace.result, "", trace.profile, trace.node, trace.nodes, message=trace.message)
        if self.evaluated:
            answer.looked = int(trace.looked_mask().sum())
            answer.feasible = len(trace.feasible_rows())
            answer.groups = self.groups()
            if not answer.feasible:
                answer.closest = self.closest()
            answer.top = scores.ranking(trace, self.names, TOP)
            answer.ties = scores.ties(trace, self.names)
            if len(answer.top) > 1:
                answer.duel = scores.duel(answer.top[0], answer.top[1])
            answer.decision = scores.decision(trace, self.rules)
        answer.preemption = preemption_of(trace)
        if trace.result in ("unschedulable", "gated", "error"):
            answer.cause = self.cause()
        if answer.cause is not None or whole_ladder:
            answer.ladder = ladder.rungs(self.nowhere.classes, whole_ladder)
        answer.sentence = self.waits[1] if self.waits else summary.answer_sentence(trace, answer, self.nowhere)
        return answer

    # ---- the ladder

    @cached_property
    def nowhere(self) -> Nowhere:
        """Why the pod has no node; for a pod with a node, why the others do not fit."""
        classes = list[ladder.NodeClass]()
        if self.evaluated:
            classes = ladder.classes_of(self.trace, self.names, self.context, self.lacks, self.left_out)
        return Nowhere(self.trace, classes, self.context, self.promised)

    def cause(self) -> Cause:
        """Return the cause for which the pod has no node."""
        trace = self.trace
        for status in (trace.reserve, trace.permit, trace.prebind, trace.bind):
            if status is not None and status.code not in (SUCCESS, WAIT, SKIP):
                cls = PLUGINS.get(status.plugin, Plugin)
                return Cause(cls.cause, status.plugin, [trace.node] if trace.node else [])
        if trace.postfilter is not None and trace.postfilter.nominated_node:
            node = trace.postfilter.nominated_node
            return Cause(causes.NOMINATED, trace.postfilter.plugin, [node], list(trace.victims))
        if self.waits:
            return self.waits[0]
        if groups.of_member(trace):
            return Cause(causes.POD_GROUP, "", [trace.node] if trace.node else [], [trace.group])
        return self.nowhere.cause()

    # ---- reasons

    def groups(self) -> list[RejectedNodes]:
        """Return the decisive reasons, most nodes first."""
        found: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        for status, rows in self.trace.decisive_statuses():
            found.setdefault((status.plugin, status.reasons), []).extend(rows.tolist())
        if self.left_out is not None:
            found["", self.left_out[1].reasons] = self.left_out[0].tolist()
        groups = [self.group(plugin, reasons, sorted(rows)) for (plugin, reasons), rows in found.items()]
        return sorted(groups, key=lambda g: -g.count)

    @cached_property
    def left_out(self) -> tuple[Int64, Status] | None:
        """The nodes that PreFilter left out, with the status; None if it left out none."""
        trace = self.trace
        if trace.subset is None or len(trace.subset) == trace.nodes:
            return None
        reason = OUTSIDE if trace.placement is not None else "node(s) were excluded by PreFilter"
        rows = np.setdiff1d(np.arange(trace.nodes), trace.subset)
        return rows, trace.subset_status or Status(UNRESOLVABLE, (reason,))

    def group(self, plugin: str, reasons: tuple[str, ...], rows: list[int]) -> RejectedNodes:
        words = ladder.phrase_of(plugin, Status(UNSCHEDULABLE, reasons))
        group = RejectedNodes(plugin, list(reasons), words, len(rows), [self.names[row] for row in rows])
        if self.context is not None and lacking(reasons):
            node = self.names[min(rows, key=lambda row: (self.lacks[row], row))]
            shortfalls = objection(self.promised, node, Status(UNSCHEDULABLE, reasons, plugin)).shortfalls
            if shortfalls:
                group.closest = f"{node}, short by {short_by(shortfalls)}"
        return group

    def closest(self) -> list[NodeObjections]:
        """Return the nearest nodes of the ladder, with all objections to each."""
        names = islice(chain.from_iterable(one.names for one in self.nowhere.classes), CLOSEST)
        return [NodeObjections(name, self.objections(self.names.index(name))) for name in names]

    def objections(self, row: int) -> list[Objection]:
        """Return all objections to a node: the decisive one first, then further ones."""
        statuses: list[Status] = []
        nominated = self.trace.nominated.get(row)
        verdicts = {plugin: verdict.at(row) for plugin, verdict in self.trace.verdicts.items()}
        if self.left_out and not self.trace.in_subset(row) and not any(verdicts.get(name) for name in NARROWING):
            statuses.append(self.left_out[1])
        if nominated is not None:
            verdicts.pop(nominated.plugin, None)
        statuses += [status.by(plugin) for plugin, status in verdicts.items() if status is not None]
        found = [objection(self.context, self.names[row], status) for status in statuses]
        if nominated is not None:
            first = objection(self.promised, self.names[row], nominated)
            first.detail = f"{first.detail or '; '.join(first.reasons)}, counting pods that are nominated to the node"
            found.insert(0, first)
        return found
