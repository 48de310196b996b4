"""A scenario as a run in time: its cluster, its configuration, and everything it plans put on the timeline."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import msgspec

from scheduler_core.controllers.admission import Admission
from scheduler_core.controllers.node_lifecycle import NodeLifecycle
from scheduler_core.controllers.taint_manager import TaintManager
from scheduler_core.controllers.workloads import Workloads
from scheduler_core.duration import DURATION_ANNOTATION, seconds
from scheduler_core.errors import InputError
from scheduler_core.extenders import Extenders
from scheduler_core.framework.interface import Plugin
from scheduler_core.objects import Node, Object, Pod, PriorityClass, Taint, decode
from scheduler_core.plugins import REGISTRY
from scheduler_core.plugins.coscheduling import Coscheduling
from scheduler_core.scenario import Arrivals, Entry, NodeTaint, Reference, Scenario, Spread, at_line
from scheduler_core.simulation import Simulation
from scheduler_core.timeline import Record, Timeline

PLUGINS: dict[str, type[Plugin]] = {**REGISTRY, Coscheduling.name: Coscheduling}
"""The plugins that a scenario's configuration may enable."""


class ScenarioRun:
    """`source`: the file's text, for lines in errors. `registry`: the plugins there are. `allowed_extenders`: the hosts
    that may be asked; without any, extenders are left out. Raises InputError."""

    def __init__(
        self,
        scenario: Scenario,
        source: str | bytes | None = None,
        registry: Mapping[str, type[Plugin]] = PLUGINS,
        timer: Callable[[], int] = lambda: 0,
        allowed_extenders: Collection[str] = (),
    ) -> None:
        self.scenario = scenario
        self.until = scenario.until()
        self._source = source
        spec = scenario.spec
        objects = self._objects()
        self.simulation = Simulation(
            [obj for obj in objects if obj is not None],
            release=spec.kubernetes,
            config=spec.config,
            seed=spec.seed,
            tie_break=spec.tie_break,
            preemption=spec.preemption,
            percentage=spec.percentage,
            registry=registry,
            timer=timer,
        )
        self.timeline = Timeline(
            self.simulation,
            pop_from_backoff=spec.feature_gates.get("SchedulerPopFromBackoffQ"),
            admission=spec.controllers.admission,
            graceful=spec.grace_periods,
            bind_seconds=seconds(spec.binding.seconds),
            bind_failures={failure.pod: failure.times for failure in spec.binding.failures},
            extenders=self._extenders(allowed_extenders),
        )
        self.api = self.timeline.api
        self._workloads = self._controllers()
        self._plan()

    @property
    def warnings(self) -> list[str]:
        return self.simulation.warnings

    def run(self) -> Iterator[Record]:
        """What happens, in order, to the end."""
        return self.timeline.run(self.until)

    def _extenders(self, allowed: Collection[str]) -> Extenders | None:
        configs = self.simulation.configuration.extenders
        return Extenders(configs, self.simulation.cluster, allowed) if allowed and configs else None

    # ---- the cluster at the beginning

    def _objects(self) -> list[Object | None]:
        spec = self.scenario.spec
        decoded = [self._decode(raw, f"spec.objects[{i}]") for i, raw in enumerate(spec.objects)]
        seen: set[tuple[type[Object], str]] = set()
        for i, obj in enumerate(decoded):
            if obj is not None and (type(obj), obj.key) in seen:
                raise self._error(
                    InputError(f"{type(obj).__name__} {obj.key}", "", "is there twice"), f"spec.objects[{i}]"
                )
            if obj is not None:
                seen.add((type(obj), obj.key))
        if spec.controllers.admission:
            classes = {obj.name: obj for obj in decoded if isinstance(obj, PriorityClass)}
            admission = Admission(classes)
            for obj in decoded:
                if isinstance(obj, Pod) and obj.spec.priority is None:
                    admission.admit_loosely(obj)
        return decoded

    def _decode(self, raw: Any, path: str) -> Object | None:
        try:
            return decode(copy.deepcopy(raw))
        except InputError as error:
            raise self._error(error, path) from None

    def _error(self, error: InputError, path: str) -> InputError:
        return at_line(self._source, error, path) if self._source is not None else error

    def _controllers(self) -> Workloads | None:
        on = self.scenario.spec.controllers
        workloads = Workloads(self.api, self.scenario.spec.seed) if on.workloads else None
        wanted = (
            NodeLifecycle(self.api) if on.node_lifecycle else None,
            TaintManager(self.api) if on.taint_manager else None,
            workloads,
        )
        self.api.controllers = [controller for controller in wanted if controller is not None]
        return workloads

    # ---- what is planned

    def _plan(self) -> None:
        for i, raw in enumerate(self.scenario.spec.objects):
            if self._workloads is not None and Workloads.handles(raw):
                self._workload("create", raw, f"spec.objects[{i}]", 0.0)
        for i, entry in enumerate(self.scenario.spec.timeline):
            self._plan_entry(entry, f"spec.timeline[{i}]")
        for i, arrivals in enumerate(self.scenario.spec.arrivals):
            self._plan_arrivals(arrivals, f"spec.arrivals[{i}]")

    def _plan_entry(self, entry: Entry, path: str) -> None:
        at = seconds(entry.at)
        name, what = entry.operation
        if name in ("create", "update"):
            obj = self._decode(what, f"{path}.{name}")
            if obj is not None:
                write = self.api.create if name == "create" else self.api.update
                self.timeline.at(at, lambda: write(copy.deepcopy(obj)))
            if self._workloads is not None and Workloads.handles(what):
                self._workload(name, what, f"{path}.{name}", at)
            return
        actions: dict[str, Callable[[Any], None]] = {
            "patch": self._patch,
            "delete": self._delete,
            "cordon": lambda node: self._cordon(node, True),
            "uncordon": lambda node: self._cordon(node, False),
            "drain": self._drain,
            "taint": self._taint,
            "untaint": self._untaint,
        }
        self.timeline.at(at, lambda: self._try(lambda: actions[name](what)))

    def _try(self, action: Callable[[], None]) -> None:
        """What cannot be done when its time comes is a warning; the run goes on."""
        try:
            action()
        except InputError as problem:
            self.timeline.record("warning", message=str(problem))

    def _workload(self, how: str, raw: dict[str, Any], path: str, at: float) -> None:
        workloads = self._workloads
        assert workloads is not None
        try:
            workload = workloads.read(raw)
        except InputError as error:
            raise self._error(error, path) from None
        self.timeline.at(at, lambda: workloads.apply(workload))

    def _plan_arrivals(self, arrivals: Arrivals, path: str) -> None:
        raw = copy.deepcopy(arrivals.template) | {"kind": "Pod"}
        raw.setdefault("metadata", {})["name"] = f"{arrivals.name}-0"
        template = self._decode(raw, f"{path}.template")
        assert isinstance(template, Pod)
        chance = random.Random(f"{self.scenario.spec.seed}/{arrivals.name}")
        end = min(self.until, seconds(arrivals.end)) if arrivals.end is not None else self.until
        start = seconds(arrivals.start)
        first = start if arrivals.every is not None else start + self._gap(arrivals, chance)

        def arrive(number: int, at: float) -> None:
            self.api.create(_numbered(template, arrivals, number, chance))
            following = at + self._gap(arrivals, chance)
            if following <= end and (arrivals.count is None or number + 1 < arrivals.count):
                self.timeline.at(following, lambda: arrive(number + 1, following))

        if first <= end:
            self.timeline.at(first, lambda: arrive(0, first))

    @staticmethod
    def _gap(arrivals: Arrivals, chance: random.Random) -> float:
        if arrivals.every is not None:
            return seconds(arrivals.every)
        return chance.expovariate(1 / seconds(arrivals.mean or 0))

    # ---- operations

    def _stored(self, reference: Reference) -> Object:
        raw = {"kind": reference.kind, "metadata": {"name": reference.name, "namespace": reference.namespace}}
        named = decode(raw)
        where = f"{reference.kind} {reference.namespace}/{reference.name}".replace(" /", " ")
        if named is None:
            raise InputError(where, "kind", "the scheduler does not look at objects of this kind")
        pod = self.api.pods.get(named.key) if isinstance(named, Pod) else None
        found = pod.pod if pod is not None else self.api.cluster.find(named)
        if found is None or (isinstance(named, Pod) and pod is None):
            raise InputError(where, "", "does not exist")
        return found

    def _patch(self, patch: Any) -> None:
        if self._workloads is not None and self._workloads.patch(patch.kind, patch.namespace, patch.name, patch.patch):
            return
        stored = self._stored(patch)
        merged = _merge(msgspec.to_builtins(stored), patch.patch)
        new = decode({"kind": patch.kind, **merged})
        assert new is not None
        if new.key != stored.key:
            raise InputError(f"{patch.kind} {stored.key}", "metadata.name", "a patch may not rename an object")
        self.api.update(new)

    def _delete(self, reference: Reference) -> None:
        if self._workloads is not None and self._workloads.delete(reference.kind, reference.namespace, reference.name):
            return
        self.api.delete(self._stored(reference))

    def _node(self, name: str) -> Node:
        entry = self.api.cluster.nodes.entries.get(name)
        if entry is None or entry.node is None:
            raise InputError(f"Node {name}", "", "does not exist")
        return entry.node

    def _cordon(self, name: str, unschedulable: bool) -> None:
        node = self._node(name)
        if node.spec.unschedulable != unschedulable:
            spec = msgspec.structs.replace(node.spec, unschedulable=unschedulable)
            self.api.update(msgspec.structs.replace(node, spec=spec))

    def _drain(self, name: str) -> None:
        """Cordons the node and evicts its pods, those of DaemonSets excepted."""
        self._cordon(name, True)
        for pod in list(self.api.cluster.nodes.entries[name].pods.values()):
            owners = pod.pod.metadata.owner_references
            if not any(owner.kind == "DaemonSet" for owner in owners) and not self.api.lifecycle.is_assumed(pod.key):
                self.api.evict(self.api.pods[pod.key], "drain")

    def _taint(self, taint: NodeTaint) -> None:
        node = self._node(taint.node)
        kept = [t for t in node.spec.taints if (t.key, t.effect) != (taint.key, taint.effect)]
        spec = msgspec.structs.replace(node.spec, taints=[*kept, Taint(taint.key, taint.value, taint.effect)])
        self.api.update(msgspec.structs.replace(node, spec=spec))

    def _untaint(self, taint: NodeTaint) -> None:
        node = self._node(taint.node)
        kept = [t for t in node.spec.taints if t.key != taint.key or taint.effect not in ("", t.effect)]
        spec = msgspec.structs.replace(node.spec, taints=kept)
        self.api.update(msgspec.structs.replace(node, spec=spec))


def _numbered(template: Pod, arrivals: Arrivals, number: int, chance: random.Random) -> Pod:
    """The n-th pod of arrivals."""
    annotations = template.metadata.annotations
    if arrivals.duration is not None:
        annotations = {**annotations, DURATION_ANNOTATION: f"{_draw(arrivals.duration, chance):.3f}"}
    metadata = msgspec.structs.replace(
        template.metadata, name=f"{arrivals.name}-{number}", uid=f"{arrivals.name}-{number}", annotations=annotations
    )
    spec = msgspec.structs.replace(template.spec)
    return msgspec.structs.replace(template, metadata=metadata, spec=spec)


def _draw(duration: str | int | float | Spread, chance: random.Random) -> float:
    if not isinstance(duration, Spread):
        return seconds(duration)
    if duration.mean is not None:
        return min(chance.expovariate(1 / max(seconds(duration.mean), 1e-3)), 366 * 86400.0)
    return chance.uniform(seconds(duration.min or 0), seconds(duration.max or 0))


def _merge(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge(merged.get(key), value)
    return merged
