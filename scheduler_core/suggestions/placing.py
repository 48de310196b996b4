"""Dry placement of pods one after another with changes, and the number of added nodes that place most of them."""

from collections.abc import Callable, Sequence
from functools import cache

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.forks.mutations import Change
from scheduler_core.framework.interface import CycleState
from scheduler_core.framework.runtime import Framework
from scheduler_core.plugins.dynamic_resources import DynamicResources
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.owner import equality_of
from scheduler_core.suggestions.what_if import changed, edited_pod, with_patches

MOST_NODES = 16  # maximum number of added nodes


class Placing:
    """Dry runs for pending pods. `cycles`: how many cycles may still run; a run that would need more ends early."""

    def __init__(self, simulation: Simulation, cycles: int) -> None:
        self.simulation = simulation
        self.cycles = cycles
        self._kind = cache(equality_of)

    def place(self, changes: Sequence[Change], pods: Sequence[PodInfo]) -> list[str]:
        """Return the nodes on which pods are placed, in order, with the changes; all is reverted.

        After a pod that is not placed, equal ones are skipped. Raises InputError if a change cannot be applied.
        """
        scheduler = self.simulation.scheduler
        edits = {key: [change] for change in changes if (key := edited_pod(change))}
        done = []
        nowhere: set[bytes] = set()  # kinds of pods that were not placed since the last success
        with changed(self.simulation, changes, {pod.key for pod in pods}) as trial:
            try:
                for before in pods:
                    kind = self._kind(before)
                    if kind in nowhere or self.cycles <= 0:
                        continue
                    self.cycles -= 1
                    pod = with_patches(before, edits.get(before.key, ()))
                    trial.keep_claims(pod)
                    framework, state, trace = scheduler.try_pod(pod)
                    if trace.placed_on:
                        _write_claims(framework, state, pod, trace.node)
                        done.append((framework, state, pod, trace.node))
                        nowhere.clear()
                    else:
                        nowhere.add(kind)
            finally:
                for framework, state, pod, node in reversed(done):
                    scheduler.forget(framework, state, pod, node)
        return [node for *_, node in done]


def _write_claims(framework: Framework, state: CycleState, pod: PodInfo, node: str) -> None:
    """Reserve the pod's ResourceClaims as a binding cycle does: later pods may share them then."""
    for plugin in framework.pre_bind if pod.pod.spec.resource_claims else ():
        if isinstance(plugin, DynamicResources):
            plugin.pre_bind(state, pod, node)


def fewest(place: Callable[[int], list[str]], wanted: int) -> tuple[int, list[str]]:
    """Return (the smallest number that places as many pods as possible, the nodes); (0, []) if none helps.

    `place(number)` returns the nodes of the pods that are placed, at most `wanted`, with 1 to MOST_NODES.
    """
    low, number, best = 0, 0, list[str]()
    for more in (1, 2, 4, 8, MOST_NODES):
        placed = place(more)
        if len(placed) <= len(best):
            break
        low, number, best = number, more, placed
        if len(placed) == wanted:
            break
    while number - low > 1:
        middle = (low + number) // 2
        placed = place(middle)
        if len(placed) >= len(best):
            number, best = middle, placed
        else:
            low = middle
    return number, best
