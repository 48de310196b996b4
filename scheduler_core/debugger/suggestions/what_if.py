"""Runs a pod's cycle with changes to the cluster, the pod or the profile, and then reverts them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from scheduler_core.api import patches
from scheduler_core.api.objects import Object, Pod, decode
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.schedule_one import Scheduler
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.debugger.mutations import Change, Edit
from scheduler_core.dra.claims import claims_used
from scheduler_core.errors import InputError
from scheduler_core.framework.runtime import Framework
from scheduler_core.simulation import Simulation

Undo = Callable[[], object]


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
    if the pod is not pending.
    """

    def __init__(self, simulation: Simulation, pod: str, attempt: int = 1) -> None:
        self.simulation = simulation
        self.cluster = simulation.cluster
        self.edit = Edit(simulation)
        found = self.edit.find("Pod", pod)
        if not isinstance(found, PodInfo) or found.node:
            raise InputError(f"Pod {pod}", "", "is not pending at that timepoint")
        self.pod = found
        self.document: dict[str, Any] = msgspec.to_builtins(found.pod)
        self.framework: Framework = simulation.scheduler.profiles[found.pod.spec.scheduler_name]
        self.attempt = attempt
        self.runs = 0

    def run(self, changes: Sequence[Change], look: Callable[[CycleTrace, PodInfo], Any] | None = None) -> CycleTrace:
        """Run the cycle to Permit, without preemption; call `look` before reverting the changes. Raises InputError."""
        undo: list[Undo] = []
        try:
            pod = self._do(changes, undo)
            self.cluster.nodes.refresh()
            trace = self._cycle(pod)
            if look is not None:
                look(trace, pod)
            return trace
        finally:
            for back in reversed(undo):
                back()
            self.cluster.nodes.refresh()

    def _cycle(self, pod: PodInfo) -> CycleTrace:
        self.runs += 1
        scheduler, nominator = self.simulation.scheduler, self.cluster.nominator
        promised = nominator.node_of(pod)
        waiting = [(one, set(one.pending), one.rejected) for one in self.framework.waiting_pods]
        try:
            with dry_cycles(scheduler):
                framework, state, trace = scheduler.try_pod(pod, self.attempt)
                if trace.placed_on:
                    scheduler.forget(framework, state, pod, trace.node)
        finally:
            for one, pending, rejected in waiting:
                one.pending, one.rejected = pending, rejected
            if promised and not nominator.node_of(pod):
                nominator.nominate(self.pod, promised)
        return trace

    def _do(self, changes: Sequence[Change], undo: list[Undo]) -> PodInfo:
        """Apply the changes and return the changed pod."""
        document = self.document
        others: list[Change] = []
        for change in changes:
            patch, mine = change.patch, ("Pod", self.pod.namespace, self.pod.name)
            if patch is not None and (patch.kind, patch.namespace or "default", patch.name) == mine:
                document = patches.merge_patch(document, patch.patch)
            else:
                others.append(change)
        for change in others:
            undo.append(self._back(change))
            self.edit.apply([change])
        if document is self.document:
            return self.pod
        changed = decode({"kind": "Pod", **copy.deepcopy(document)})
        assert isinstance(changed, Pod)
        pod = PodInfo(changed, self.cluster.release)
        pod.node, pod.nominated_node = "", self.pod.nominated_node
        return pod

    def _back(self, change: Change) -> Undo:
        """Return a function that reverts a change. Call this before the change is applied."""
        name, what = change.operation
        scheduler = self.simulation.scheduler
        match name:
            case "skip" | "weight" | "place":
                own, places = dict(scheduler.own_frameworks), dict(scheduler.places)
                profiles = scheduler.profiles.values()
                frameworks = [(one, one.__dict__ | {"weights": dict(one.weights)}) for one in profiles]

                def decide_again() -> None:
                    scheduler.own_frameworks, scheduler.places = own, places
                    for framework, attributes in frameworks:
                        framework.__dict__.update(attributes)

                return decide_again
            case "create":
                return self._uncreate(what)
            case "patch" | "delete":
                named = decode({"kind": what.kind, "metadata": {"name": what.name, "namespace": what.namespace}})
                key = named.key if named is not None else ""
                return self._restore(self.edit.find(what.kind, key)) if key else lambda: None
            case "drain":
                return self._undrain(what)
        node = what if isinstance(what, str) else what.node
        return self._restore(self.edit.find("Node", node))

    def _restore(self, was: Object | PodInfo | None) -> Undo:
        if was is None:
            return lambda: None
        if not isinstance(was, PodInfo):
            return lambda: self.cluster.apply(was)
        node, key = was.node, was.key
        claims = claims_used(was, self.cluster.device_claims)

        def claim_again() -> None:
            for claim in claims:
                self.cluster.apply(claim)

        if not node:
            pending, to_try = list(self.simulation.pending), list(self.simulation.to_try)
            promised = self.cluster.nominator.node_of(was)

            def wait_again() -> None:
                claim_again()
                self.simulation.pending, self.simulation.to_try = pending, to_try
                if promised:
                    self.cluster.nominator.nominate(was, promised)

            return wait_again
        order = list(self.cluster.nodes.entries[node].pods)

        def run_again() -> None:
            claim_again()
            now = self.cluster.pods.get(key)
            if now is not None:
                self.cluster.remove_pod(now)
            self.cluster.add_pod(was, node)
            there = self.cluster.nodes.entries[node].pods
            ordered = {name: there[name] for name in order if name in there}
            ordered.update(there)
            there.clear()
            there.update(ordered)

        return run_again

    def _undrain(self, name: str) -> Undo:
        back = [self._restore(self.edit.find("Node", name))]
        entry = self.cluster.nodes.entries.get(name)
        back += [self._restore(pod) for pod in reversed(list(entry.pods.values()) if entry is not None else [])]

        def undrain() -> None:
            for one in reversed(back):
                one()

        return undrain

    def _uncreate(self, raw: dict[str, Any]) -> Undo:
        named = decode({"kind": raw.get("kind"), "metadata": dict(raw.get("metadata") or {})})
        if named is None or self.edit.find(type(named).__name__, named.key) is not None:
            return lambda: None

        def remove() -> None:
            found = self.edit.find(type(named).__name__, named.key)
            if isinstance(found, PodInfo):
                self.edit._remove(found)
            elif found is not None:
                self.cluster.remove(found)

        return remove
