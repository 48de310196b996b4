"""A simulated run in virtual time as the stream of changes that a client of a real cluster sees."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec

from scheduler_core.api.objects import Condition, Metadata, Namespace, Object, Pod, kind_of
from scheduler_core.cluster.change_log import BOUND, GONE, NOMINATED, OBJECT, POD, REMOVED, LoggedChange
from scheduler_core.live.watch_events import ADDED, DELETED, MODIFIED, Item, Listed, WatchEvent
from scheduler_core.virtual_time.engine import Record
from scheduler_core.virtual_time.scenario_run import ScenarioRun


class RunStream:
    """The items of a run. `swap`: bindings of one instant are written in another order, as by a busy API server."""

    def __init__(self, run: ScenarioRun, swap: random.Random | None = None) -> None:
        self.run = run
        self.swap = swap
        self.version = 10
        self.pods: dict[str, Pod] = {}
        self.others: dict[tuple[str, str], Object] = {}

    def items(self) -> Iterator[Item]:
        cluster = self.run.simulation.cluster
        namespaces = [Namespace(metadata=_metadata(name, labels)) for name, labels in cluster.namespaces.items()]
        bound = [info.pod for info in cluster.pods.values()]
        nodes = [entry.node for entry in cluster.nodes.entries.values() if entry.node is not None]  # as they arrived
        for obj in (*nodes, *cluster.others(), *namespaces):
            self.others[kind_of(type(obj)), obj.key] = obj
        pending = [info.pod for info in self.run.simulation.pending]
        self.pods = {pod.key: pod for pod in (*bound, *pending)}
        kinds: dict[str, list[Object]] = {"Pod": list(self.pods.values()), "Node": []}
        for (kind, _), obj in self.others.items():
            kinds.setdefault(kind, []).append(obj)
        for kind, objects in kinds.items():
            yield Listed(kind, self.version, tuple(objects), 1000.0)
        events = [event for record in self.run.run() for event in self._events(record)]
        yield from self._swapped(events) if self.swap else events

    def _events(self, record: Record) -> Iterator[WatchEvent]:
        time = 1000.0 + record.time
        trace = record.trace
        if trace is not None and trace.result in ("unschedulable", "error"):
            why = Condition("PodScheduled", "False", "Unschedulable", trace.message or trace.error)
            yield from self._pod(trace.pod, time, conditions=[why])
        for change in record.changes:
            yield from self._change(change, time)

    def _change(self, change: LoggedChange, time: float) -> Iterator[WatchEvent]:
        what, subject = change.kind, change.subject
        if what == POD and (subject.key not in self.pods or subject.pod is not self.pods[subject.key]):
            before = self.pods.get(subject.key)
            pod = subject.pod
            if before is not None:  # the run keeps status and node elsewhere
                spec = msgspec.structs.replace(pod.spec, node_name=before.spec.node_name)
                pod = msgspec.structs.replace(pod, spec=spec)
            self.pods[subject.key] = pod
            yield self._event("Pod", MODIFIED if before is not None else ADDED, pod, time)
        elif what == BOUND and not self.pods[subject.key].spec.node_name:
            yield from self._pod(subject.key, time, node=subject.node)
        elif what == NOMINATED and subject in self.pods and not self.pods[subject].spec.node_name:
            yield from self._pod(subject, time, nominated=change.node)
        elif what == GONE and subject in self.pods:
            yield self._event("Pod", DELETED, self.pods.pop(subject), time)
        elif what in (OBJECT, REMOVED) and isinstance(subject, Object):
            place = (kind_of(type(subject)), subject.key)
            known = place in self.others
            if what == OBJECT:
                self.others[place] = subject
            else:
                self.others.pop(place, None)
            yield self._event(place[0], DELETED if what == REMOVED else MODIFIED if known else ADDED, subject, time)

    def _pod(
        self,
        key: str,
        time: float,
        conditions: list[Condition] | None = None,
        node: str = "",
        nominated: str | None = None,
    ) -> Iterator[WatchEvent]:
        before = self.pods[key]
        status, spec = before.status, before.spec
        if conditions is not None:
            status = msgspec.structs.replace(status, conditions=conditions)
        if nominated is not None:
            status = msgspec.structs.replace(status, nominated_node_name=nominated)
        if node:
            spec = msgspec.structs.replace(spec, node_name=node)
        if (spec, status) != (before.spec, before.status):
            self.pods[key] = pod = msgspec.structs.replace(before, spec=spec, status=status)
            yield self._event("Pod", MODIFIED, pod, time)

    def _event(self, kind: str, change: Any, obj: Object, time: float) -> WatchEvent:
        self.version += 1
        metadata = msgspec.structs.replace(obj.metadata, resource_version=str(self.version))
        return WatchEvent(kind, change, obj.key, self.version, msgspec.structs.replace(obj, metadata=metadata), time)

    def _swapped(self, events: list[WatchEvent]) -> list[WatchEvent]:
        """Exchange some bindings with the next ones of the same instant."""
        assert self.swap is not None
        found = list(events)
        for i in range(len(found) - 1):
            one, other = found[i], found[i + 1]
            if _binds(one) and _binds(other) and one.time == other.time and self.swap.random() < 0.3:
                found[i] = other._replace(resource_version=one.resource_version)
                found[i + 1] = one._replace(resource_version=other.resource_version)
        return found


def _binds(event: WatchEvent) -> bool:
    return event.type == MODIFIED and isinstance(event.object, Pod) and bool(event.object.spec.node_name)


def _metadata(name: str, labels: dict[str, str]) -> Metadata:
    return Metadata(name=name, labels=labels)
