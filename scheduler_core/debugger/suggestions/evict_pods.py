"""Steps that delete pods to free resources."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.cluster import formatting
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.debugger.mutations import Change
from scheduler_core.debugger.suggestions.node_context import NodeContext
from scheduler_core.debugger.suggestions.requests import short
from scheduler_core.debugger.suggestions.steps import EVICT, Step
from scheduler_core.virtual_time.scenario import Reference

MOST = 30  # maximum number of pods deleted for one pod
SYSTEM = ("kube-system",)


def deletable(pods: Iterable[PodInfo]) -> list[PodInfo]:
    """Return the pods whose deletion frees their node: all but static pods, which the kubelet keeps running."""
    return [pod for pod in pods if pod.pod.placed_by != "kubelet"]


def delete(pods: list[PodInfo]) -> Step:
    """Return the step that deletes these pods."""
    changes = tuple(Change(delete=Reference(kind="Pod", namespace=p.namespace, name=p.name)) for p in pods)
    keys = [pod.key for pod in pods]
    what = f"delete pod {keys[0]}" if len(keys) == 1 else f"delete {len(keys)} pods: {formatting.some(keys, 6)}"
    nodes = sorted({pod.node for pod in pods if pod.node})
    text = f"{what} (on {formatting.some(nodes, 3)})" if nodes else what
    return Step(text, EVICT, sum(map(_loss, pods)), None, changes, frozenset(keys))


def _loss(pod: PodInfo) -> float:
    """Return the cost of deleting a pod: higher if it returns at once, is a system pod or has a positive priority."""
    comes_back = any(owner.kind == "DaemonSet" for owner in pod.pod.metadata.owner_references)
    return 1.0 + 6.0 * comes_back + 4.0 * (pod.namespace in SYSTEM) + (2.0 if pod.priority > 0 else 0.0)


def free_resources(context: NodeContext) -> list[Step]:
    """NodeResourcesFit: delete the fewest, least important pods that free what the node would have without pods."""
    lacking = {name: context.pod.requests[name] - left for name, left in short(context).items()}
    pods = deletable(context.pods())
    has = {name: sum(pod.requests.get(name, 0) for pod in pods) for name in lacking}
    lacking = {name: need for name, need in lacking.items() if need <= has[name]}
    places = len(context.pods()) + len(context.ahead()) + 1 - int(context.cluster.nodes.allowed_pods[context.row])
    useful = [p for p in pods if places > 0 or any(p.requests.get(name, 0) > 0 for name in lacking)]
    chosen: list[PodInfo] = []
    while not _enough(chosen, lacking, places):
        left = [pod for pod in useful if pod not in chosen]
        if not left or len(chosen) >= MOST:
            return []
        chosen.append(_best(left, chosen, lacking, places))
    for pod in sorted(chosen, key=lambda pod: -_loss(pod)):
        without = [other for other in chosen if other is not pod]
        if _enough(without, lacking, places):
            chosen = without
    return [delete(chosen)] if chosen else []


def _enough(chosen: list[PodInfo], lacking: dict[str, int], places: int) -> bool:
    freed = {name: sum(pod.requests.get(name, 0) for pod in chosen) for name in lacking}
    return len(chosen) >= places and all(freed[name] >= short for name, short in lacking.items())


def _best(left: list[PodInfo], chosen: list[PodInfo], lacking: dict[str, int], places: int) -> PodInfo:
    """Return the least important pod that suffices alone, else the one that contributes most relative to its cost."""

    def key(pod: PodInfo) -> tuple[bool, float, float, str]:
        needs = {name: short - sum(p.requests.get(name, 0) for p in chosen) for name, short in lacking.items()}
        done = sum(min(pod.requests.get(name, 0) / need, 1.0) for name, need in needs.items() if need > 0)
        alone = _enough([*chosen, pod], lacking, places)
        return not alone, _loss(pod) - (0.0 if alone else 2.0 * done), -done, pod.key

    return min(left, key=key)
