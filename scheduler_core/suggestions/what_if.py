"""Runs a pod's cycle with changes to the cluster, the pod or the profile, and then reverts them."""

import copy
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from scheduler_core.api import patches
from scheduler_core.api.objects import Pod, decode
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.schedule_one import Scheduler
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.forks.mutations import Change, Edit
from scheduler_core.framework.runtime import Framework
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.trial import Trial, reverted


@contextmanager
def dry_cycles(scheduler: Scheduler) -> Iterator[None]:
    """Run cycles without preemption and batching, and restore the scheduler's counters afterwards."""
    before = {name: getattr(scheduler, name) for name in ("preemption", "batches", "next_start_index", "cycles")}
    scheduler.preemption = scheduler.batches = False
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(scheduler, name, value)


class WhatIf:
    """Dry runs of a pod's cycle with changes.

    `simulation`: the cluster before the cycle (`restore_run`). `pod`: the pending pod's namespace/name. `attempt`: its
    attempt number, which affects the choice between tied nodes. `runs`: number of cycles run so far. Raises InputError
    if the pod is not pending for one of the profiles.
    """

    def __init__(self, simulation: Simulation, pod: str, attempt: int = 1) -> None:
        self.simulation = simulation
        self.cluster = simulation.cluster
        found = Edit(simulation).find("Pod", pod)
        if not isinstance(found, PodInfo) or found.node:
            raise InputError(f"Pod {pod}", "", "is not pending at that timepoint")
        self.pod = found
        self.document: dict[str, Any] = msgspec.to_builtins(found.pod)
        name = found.pod.spec.scheduler_name
        if name not in simulation.scheduler.profiles:
            raise InputError(f"Pod {pod}", "spec.schedulerName", f"is {name}, which has no profile")
        self.framework: Framework = simulation.scheduler.profiles[name]
        self.attempt = attempt
        self.runs = 0

    def run(self, changes: Sequence[Change], look: Callable[[CycleTrace, PodInfo], Any] | None = None) -> CycleTrace:
        """Run the cycle to Permit, without preemption; call `look` before reverting the changes. Raises InputError."""
        scheduler = self.simulation.scheduler
        self.runs += 1
        with changed(self.simulation, changes, {self.pod.key}) as trial:
            pod = with_patches(self.pod, changes)
            trial.keep_claims(pod)
            framework, state, trace = scheduler.try_pod(pod, self.attempt)
            if trace.placed_on:
                scheduler.forget(framework, state, pod, trace.node)
            if look is not None:
                look(trace, pod)
            return trace


@contextmanager
def changed(simulation: Simulation, changes: Iterable[Change], own: Container[str] = ()) -> Iterator[Trial]:
    """Make changes for dry cycles inside the `with`, and revert everything afterwards.

    `own`: pods whose patches the caller makes. Raises InputError if a change cannot be applied.
    """
    with reverted(simulation) as trial:
        for change in changes:
            if edited_pod(change) not in own:
                trial.apply(change)
        simulation.cluster.nodes.refresh()
        with dry_cycles(simulation.scheduler):
            yield trial


def edited_pod(change: Change) -> str:
    """Return the key of the pod that a change patches, "" if it does something else."""
    patch = change.patch
    return f"{patch.namespace or 'default'}/{patch.name}" if patch is not None and patch.kind == "Pod" else ""


def with_patches(pod: PodInfo, changes: Iterable[Change]) -> PodInfo:
    """Return a pod with the patches of the changes, apart from the simulation."""
    document: Any = None
    for change in changes:
        if change.patch is not None and edited_pod(change) == pod.key:
            document = patches.merge_patch(document or msgspec.to_builtins(pod.pod), change.patch.patch)
    if document is None:
        return pod
    changed = decode({"kind": "Pod", **copy.deepcopy(document)})
    assert isinstance(changed, Pod)
    found = PodInfo(changed, pod.release)
    found.node, found.nominated_node = "", pod.nominated_node
    return found
