"""The outcome of a run: one sentence, and the pods without a node, grouped by their main cause."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Max

from kubesched_ui.models import Cycle, PodResult, Run
from scheduler_core.cluster.formatting import agree, count, listing
from scheduler_core.config.policy_plugins import successor
from scheduler_core.plugins import PLUGINS

PODS = 8  # pods listed per cause
CAUSES = 4  # causes in the sentence

# Plugin -> what its rejections say about a pod, a plural verb first. The pods of STATIC can never run on such nodes.
STATIC = {
    "NodeUnschedulable": "find only cordoned nodes",
    "NodeName": "name a node that does not exist",
    "TaintToleration": "do not tolerate a taint of each node",
    "NodeAffinity": "have a node selector or affinity that no node matches",
    "VolumeZone": "have a volume that no node can reach",
    "NodeDeclaredFeatures": "need a feature that no node has",
    "NodeLabel": "find no node with the labels that the configuration requires",
}
OTHER_PLUGINS = {
    "NodePorts": "need a host port that is taken",
    "VolumeRestrictions": "have a volume that is in use",
    "VolumeBinding": "have a volume that no node can reach",
    "PodTopologySpread": "have a topology spread constraint that no node satisfies",
    "InterPodAffinity": "have a pod affinity or anti-affinity that no node satisfies",
    "DynamicResources": "lack devices that a claim requests",
}
OF_REASON = {reason: name for name, plugin in PLUGINS.items() for reason in plugin.phrases}
FIT, SLOTS, LACKS = "NodeResourcesFit", "Too many pods", "Insufficient "
GATED, FAILED, NOMINATED = "have scheduling gates", "have an error", "wait for pods to be evicted"


class UnplacedPod(NamedTuple):
    """A pod without a node. `cycle`: its last cycle; `nominated`: the node on which preemption frees resources."""

    namespace: str
    name: str
    nominated: str
    cycle: int

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass
class PendingCause:
    """Pods without a node for the same main cause. `words`: the cause, a plural verb first. `pods`: the first ones."""

    words: str
    count: int = 0
    pods: list[UnplacedPod] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return `1 lacks cpu`, `2 lack cpu`."""
        return f"{self.count:,} {agree(self.count, self.words)}"

    @property
    def more(self) -> int:
        return self.count - len(self.pods)


@dataclass
class RunAnswer:
    """`sentence`: the outcome. `counts`: result -> pods. `causes`: most pods first. `reasons`: (plugin, reason, pods)
    of pods without a nominated node, in which a pod counts once per reason."""

    sentence: str
    counts: dict[str, int]
    causes: list[PendingCause]
    reasons: list[tuple[str, str, int]]

    @property
    def pending(self) -> int:
        return sum(cause.count for cause in self.causes)

    @property
    def first(self) -> UnplacedPod | None:
        """Return the pod to look at first: one of the most frequent cause."""
        return self.causes[0].pods[0] if self.causes else None


def answer_of(run: Run) -> RunAnswer:
    """Return the outcome of a run, or of its part so far."""
    counts = counts_of(run)
    causes, reasons = _pending(run)
    sentence = _sentence(run, counts, causes)
    if run.evicted:
        sentence = f"{sentence.removesuffix('.')}; {count(run.evicted, 'running pod')} evicted."
    return RunAnswer(sentence, counts, causes, reasons)


def counts_of(run: Run) -> dict[str, int]:
    """Return result -> number of pods; the unschedulable ones with a nominated node are counted apart."""
    return PodResult.objects.filter(run=run).outcomes()


def _pending(run: Run) -> tuple[list[PendingCause], list[tuple[str, str, int]]]:
    """Return the causes and the reasons of pods without a node."""
    rows = PodResult.objects.filter(run=run).exclude(result__in=("scheduled", "waiting")).order_by("position")
    fields = ("namespace", "name", "result", "nominated_node", "reasons")
    causes: dict[str, PendingCause] = {}
    counted: Counter[tuple[str, str]] = Counter()
    for namespace, name, result, nominated, reasons in rows.values_list(*fields).iterator(chunk_size=2000):
        words = NOMINATED if nominated else cause_of(result, reasons)
        cause = causes.setdefault(words, PendingCause(words))
        cause.count += 1
        if len(cause.pods) < PODS:
            cause.pods.append(UnplacedPod(namespace, name, nominated, 0))
        if result == PodResult.Result.UNSCHEDULABLE and not nominated:
            counted.update({(entry["plugin"], entry["reason"]) for entry in reasons})
    found = sorted(causes.values(), key=lambda cause: (-cause.count, cause.words))
    _add_cycles(run, found)
    # a stable order while results arrive
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return found, [(plugin, reason, pods) for (plugin, reason), pods in ordered]


def _add_cycles(run: Run, causes: Sequence[PendingCause]) -> None:
    """Add the number of its last cycle to each listed pod."""
    names = {pod.name for cause in causes for pod in cause.pods}
    rows = Cycle.objects.filter(run=run, name__in=names).order_by().values_list("namespace", "name")
    cycles = {(namespace, name): number for namespace, name, number in rows.annotate(Max("number"))}
    for cause in causes:
        cause.pods = [pod._replace(cycle=cycles.get((pod.namespace, pod.name), 0)) for pod in cause.pods]


def cause_of(result: str, reasons: Iterable[Mapping[str, Any]]) -> str:
    """Return the main cause for which a pod has no node, a plural verb first.

    `reasons`: [{plugin, reason, nodes}]. Nodes that might suit the pod at another time say more than those that never
    do: of both, the plugin that rejects the most nodes decides.
    """
    if result == PodResult.Result.GATED:
        return GATED
    if result == PodResult.Result.ERROR:
        return FAILED
    nodes: Counter[str] = Counter()
    texts: dict[str, dict[str, int]] = {}
    for entry in reasons:
        plugin = OF_REASON.get(entry["reason"]) or successor(entry["plugin"])
        texts.setdefault(plugin, {})[entry["reason"]] = entry["nodes"]
        nodes[plugin] += entry["nodes"]
    if not texts:
        return "have no feasible node"
    plugin = max(texts, key=lambda name: (name not in STATIC and nodes[name] > 0, nodes[name]))
    if plugin == FIT:
        return _lacking(texts[plugin])
    if not nodes[plugin]:
        return f"are refused by {plugin} ({'; '.join(texts[plugin])})"
    words = (STATIC | OTHER_PLUGINS).get(plugin, f"are refused by {plugin}")
    return words if len(texts) == 1 else words.replace("no node", "no available node")


def _lacking(nodes: Mapping[str, int]) -> str:
    """Return the resources that most nodes lack: `lack cpu and memory`."""
    most = max(nodes.values())
    names = (reason.removeprefix(LACKS) for reason, number in nodes.items() if number == most)
    return f"lack {listing(['a free pod slot' if name == SLOTS else name for name in names])}"


def _sentence(run: Run, counts: Mapping[str, int], causes: Sequence[PendingCause]) -> str:
    """Return `2 of 5 pending pods placed; 3 not: 2 lack cpu, 1 has a node selector that no node matches.`"""
    placed, total = counts.get("scheduled", 0) + counts.get("waiting", 0), sum(counts.values())
    kind = "pod" if run.pods is not None or run.unbind or run.template else "pending pod"
    so_far = " so far" if run.active else ""
    if not total:
        return "No pod is scheduled yet." if run.active else "No pod was scheduled."
    if run.active and not run.in_time:
        total = max(total, run.cycles_total)
    pods = count(total, kind)
    if not causes:
        return f"{placed:,} of {pods} placed so far." if run.active else f"{'All ' * (total > 1)}{pods} placed."
    if total == 1:
        return f"The {kind} is not placed{so_far}: it {agree(1, causes[0].words)}."
    left, clauses = sum(cause.count for cause in causes), [cause.text for cause in causes[:CAUSES]]
    if rest := sum(cause.count for cause in causes[CAUSES:]):
        clauses.append(f"{rest:,} for other reasons")
    why = ", ".join(clauses)
    return (
        f"{placed:,} of {pods} placed{so_far}; {left:,} not: {why}."
        if placed
        else f"None of {pods} placed{so_far}: {why}."
    )
