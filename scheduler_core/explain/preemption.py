"""The result of PostFilter in a cycle: the candidates in the order of upstream's rules."""

from collections.abc import Mapping, Sequence

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.formatting import count, some
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain.answer import Cause, Preemption, PreemptionCandidate
from scheduler_core.framework import causes
from scheduler_core.framework.interface import Status
from scheduler_core.framework.runtime import Framework
from scheduler_core.plugins.default_preemption import DefaultPreemption

NOT_ELIGIBLE = "not eligible due to "
NAMED = 3  # pods in a sentence


def preemption_of(trace: CycleTrace) -> Preemption | None:
    """Return the result of PostFilter, None if it did not run."""
    found = trace.postfilter
    if found is None:
        return None
    refused: dict[str, int] = {}
    for status, rows in found.rejected:
        for reason in status.reasons:
            refused[reason] = refused.get(reason, 0) + len(rows)
    candidates = [PreemptionCandidate(node, list(pods), broken) for node, (pods, broken) in found.candidates.items()]
    rule = found.rule or ("the only candidate" if len(candidates) == 1 else "")
    victims, equals = list(trace.victims), list(found.nominated_any_of)
    preemption = Preemption("", found.nominated_node, victims, rule, candidates, refused, equals)
    waits = victims and found.ending == victims
    preemption.words = waits_until(found.nominated_node, victims) if waits else _words(preemption, found.status)
    return preemption


def _words(preemption: Preemption, status: Status | None) -> str:
    """Return the result of PostFilter as a sentence."""
    if preemption.nominated_node:
        words = f"It fits on {preemption.nominated_node} by evicting {count(len(preemption.victims), 'pod')}"
        words += f" ({some(preemption.victims, 3)})" if preemption.victims else ""
        if len(preemption.candidates) > 1:
            by = f" by {preemption.rule}" if preemption.rule else ""
            words += f", chosen among {count(len(preemption.candidates))}{by}"
        return f"{words}."
    if preemption.refused:
        parts = [f"{count(number)}: {reason}" for reason, number in preemption.refused.items()]
        return f"Evicting pods of lower priority would not help ({'; '.join(parts)})."
    reasons = [reason.removeprefix("preemption: ") for reason in status.reasons] if status is not None else []
    refusal = next((reason for reason in reasons if reason.startswith(NOT_ELIGIBLE)), "")
    if refusal:
        return f"The pod may not evict others: {refusal.removeprefix(NOT_ELIGIBLE).rstrip('.')}."
    return "Evicting pods cannot help: no node rejects it because of other pods."


def waits_for_victims(cluster: Cluster, pod: PodInfo, framework: Framework | None) -> tuple[Cause, str] | None:
    """Return the cause and the sentence for a pod whose nominated node has pods that it may evict and that are being
    deleted; None for any other pod. `framework`: of its profile. Its first plugin that evicts pods is the cause;
    without one, it is DefaultPreemption, and pods of lower priority count."""
    plugins = framework.post_filter if framework is not None else ()
    plugin = next((one for one in plugins if isinstance(one, DefaultPreemption)), None)
    row = cluster.nodes.rows.get(pod.nominated_node)
    there = [other for other in cluster.nodes.pods_of(row) if other.terminating] if row is not None else []
    victims = plugin.victims_of(pod, there) if plugin is not None else [o for o in there if o.priority < pod.priority]
    ending = [other.key for other in victims]
    name = plugin.name if plugin is not None else DefaultPreemption.name
    cause = Cause(causes.NOMINATED, name, [pod.nominated_node], ending)
    return (cause, waits_until(pod.nominated_node, ending)) if ending else None


def waits_until(node: str, pods: Sequence[str]) -> str:
    """Return why a pod that is nominated to a node has to wait."""
    verb = "has" if len(pods) == 1 else "have"
    return f"It is nominated to {node} and waits until {some(pods, NAMED)} {verb} ended."


def in_order(preemption: Preemption, priorities: Mapping[str, int]) -> list[PreemptionCandidate]:
    """Return the candidates, the nominated one first, the others in the order of upstream's rules.

    `priorities`: pod -> priority, for possible victims.
    """

    def place(one: PreemptionCandidate) -> tuple[bool, int, int, int, int, str]:
        known = [priorities[pod] for pod in one.victims if pod in priorities]
        # Upstream shifts every priority above zero before it adds them, so an additional victim never reduces the sum.
        total = sum(priority + 2**31 for priority in known) if len(known) == len(one.victims) else 0
        nominated = one.node == preemption.nominated_node
        return not nominated, one.pdb_violations, max(known, default=0), total, len(one.victims), one.node

    return sorted(preemption.candidates, key=place)


def rejected_nodes(trace: CycleTrace, names: Sequence[str]) -> list[tuple[str, str, list[str]]]:
    """Return (plugin, reason, nodes) where evicting pods does not help, most nodes first."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for status, rows in trace.postfilter.rejected if trace.postfilter is not None else ():
        nodes = grouped.setdefault((status.plugin, "; ".join(status.reasons)), [])
        nodes += [names[row] for row in rows.tolist()]
    return sorted(((*key, nodes) for key, nodes in grouped.items()), key=lambda entry: -len(entry[2]))
