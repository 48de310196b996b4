"""Dry placement of pods one after another with changes, and the number of added nodes that place most of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import msgspec

from scheduler_core.api import patches
from scheduler_core.api.objects import Pod, decode
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.debugger.mutations import Change
from scheduler_core.debugger.suggestions.owner import equality_of
from scheduler_core.debugger.suggestions.trial import reverted
from scheduler_core.debugger.suggestions.what_if import dry_cycles
from scheduler_core.framework.interface import CycleState
from scheduler_core.framework.runtime import Framework
from scheduler_core.plugins.dynamic_resources import DynamicResources
from scheduler_core.simulation import Simulation

MOST_NODES = 16  # maximum number of added nodes


class Placing:
    """Dry runs for pending pods. `cycles`: how many cycles may still run; a run that would need more ends early."""

    def __init__(self, simulation: Simulation, cycles: int) -> None:
        self.simulation = simulation
        self.cycles = cycles
        self._kinds: dict[str, bytes] = {}  # pod -> a key that is equal for pods that the scheduler treats equally

    def place(self, changes: Sequence[Change], pods: Sequence[PodInfo]) -> list[str]:
        """Return the nodes on which pods are placed, in order, with the changes; all is reverted.

        After a pod that is not placed, equal ones are skipped. Raises InputError if a change cannot be applied.
        """
        scheduler = self.simulation.scheduler
        own = {pod.key for pod in pods}
        done = []
        nowhere: set[bytes] = set()  # kinds of pods that were not placed since the last success
        with reverted(self.simulation) as trial:
            for change in changes:
                if _edited_pod(change) not in own:
                    trial.apply(change)
            self.simulation.cluster.nodes.refresh()
            try:
                with dry_cycles(scheduler):
                    for pod in self.edited(pods, changes):
                        if self._kinds[pod.key] in nowhere or self.cycles <= 0:
                            continue
                        self.cycles -= 1
                        trial.keep_claims(pod)
                        framework, state, trace = scheduler.try_pod(pod)
                        if trace.placed_on:
                            _write_claims(framework, state, pod, trace.node)
                            done.append((framework, state, pod, trace.node))
                            nowhere.clear()
                        else:
                            nowhere.add(self._kinds[pod.key])
            finally:
                for framework, state, pod, node in reversed(done):
                    scheduler.forget(framework, state, pod, node)
        return [node for *_, node in done]

    def edited(self, pods: Sequence[PodInfo], changes: Sequence[Change]) -> list[PodInfo]:
        """Return the pods with the patches of the changes, apart from the simulation."""
        edits = {_edited_pod(change): change.patch for change in changes if _edited_pod(change)}
        found = []
        for pod in pods:
            if pod.key not in self._kinds:
                self._kinds[pod.key] = equality_of(pod)
            edit = edits.get(pod.key)
            if edit is not None:
                document = patches.merge_patch(msgspec.to_builtins(pod.pod), edit.patch)
                changed = decode({"kind": "Pod", **copy.deepcopy(document)})
                assert isinstance(changed, Pod)
                node, pod = pod.nominated_node, PodInfo(changed, pod.release)
                pod.node, pod.nominated_node = "", node
            found.append(pod)
        return found


def _write_claims(framework: Framework, state: CycleState, pod: PodInfo, node: str) -> None:
    """Reserve the pod's ResourceClaims as a binding cycle does: later pods may share them then."""
    for plugin in framework.pre_bind if pod.pod.spec.resource_claims else ():
        if isinstance(plugin, DynamicResources):
            plugin.pre_bind(state, pod, node)


def _edited_pod(change: Change) -> str:
    patch = change.patch
    return f"{patch.namespace}/{patch.name}" if patch is not None and patch.kind == "Pod" else ""


def fewest(place: Callable[[int], int], wanted: int) -> tuple[int, int]:
    """Return (the smallest number that places as many pods as possible, how many it places); (0, 0) if none helps.

    `place(number)` returns how many pods are placed, at most `wanted`, with 1 to MOST_NODES.
    """
    low, best = 0, (0, 0)
    for number in (1, 2, 4, 8, MOST_NODES):
        placed = place(number)
        if placed <= best[1]:
            break
        low, best = best[0], (number, placed)
        if placed == wanted:
            break
    high, placed = best
    while high - low > 1:
        middle = (low + high) // 2
        if place(middle) >= placed:
            high = middle
        else:
            low = middle
    return high, placed
