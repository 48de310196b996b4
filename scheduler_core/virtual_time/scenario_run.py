"""Runs a scenario in virtual time: sets up its cluster and configuration and schedules its planned changes."""

import copy
import random
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import msgspec

from scheduler_core.api import patches
from scheduler_core.api.duration import DURATION_ANNOTATION, seconds
from scheduler_core.api.objects import Node, Object, Pod, Taint, decode, describe
from scheduler_core.api.selector_text import taint_text
from scheduler_core.config import Configuration, Unknown
from scheduler_core.config.loader import load
from scheduler_core.controllers import pod_template
from scheduler_core.controllers.node_lifecycle import NodeLifecycle
from scheduler_core.controllers.pod_template import Workload
from scheduler_core.controllers.taint_manager import TaintManager
from scheduler_core.controllers.workloads import Workloads
from scheduler_core.cycle.extenders import Extenders
from scheduler_core.errors import InputError
from scheduler_core.framework.interface import Plugin
from scheduler_core.framework.plugin_kinds import kind_warnings
from scheduler_core.plugins import PLUGINS
from scheduler_core.releases import Release, get_release, with_gates
from scheduler_core.releases.remarks import virtual_time_remark
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot import defaults
from scheduler_core.snapshot.defaults import Filled
from scheduler_core.snapshot.generated_names import NAMED, name_objects
from scheduler_core.snapshot.preflight import AS_UPSTREAM, Choices
from scheduler_core.snapshot.prepare import prepare_virtual_time
from scheduler_core.virtual_time.engine import Record
from scheduler_core.virtual_time.group_engine import GroupEngine
from scheduler_core.virtual_time.scenario import (
    Arrivals,
    NodeTaint,
    RandomDuration,
    Reference,
    Scenario,
    TimelineEntry,
    at_line,
)

NOT_LOOKED_AT = "the scheduler does not use objects of this kind"

Action = Callable[[], None]


class ScenarioRun:
    """A run of a scenario.

    `source`: text of the file, for line numbers in errors. `registry`: the available plugins. `allowed_extenders`:
    hosts that may be called; if empty, extenders are left out. `unknown_plugins`: as in Simulation. `choices`: how to
    complete what the snapshot leaves open. `only`: as in snapshot.prepare. `release`, `configuration`: replace those of
    the scenario. Raises InputError.
    """

    def __init__(
        self,
        scenario: Scenario,
        source: str | bytes | None = None,
        registry: Mapping[str, type[Plugin]] = PLUGINS,
        timer: Callable[[], int] = lambda: 0,
        allowed_extenders: Collection[str] = (),
        unknown_plugins: Unknown = "error",
        choices: Choices = AS_UPSTREAM,
        only: Collection[str] | None = None,
        release: Release | None = None,
        configuration: Configuration | None = None,
    ) -> None:
        self.scenario = scenario
        self.until = scenario.until()
        self._source = source
        self._filled = Filled()
        spec = scenario.spec
        self._release = release = release or with_gates(get_release(spec.release), spec.feature_gates)
        if configuration is None:
            configuration = load(spec.config, release, registry, unknown_plugins)
        given = [raw for _, raw in spec.each_object()] + [entry.create for entry in spec.timeline if entry.create]
        for raw in name_objects(given):
            self._filled.add([(NAMED, 1, "")], defaults.title(raw))
        objects, workloads = self._objects()
        entries = [self._read(entry, f"spec.timeline[{i}]") for i, entry in enumerate(spec.timeline)]
        arrivals = [self._template(arrival, f"spec.arrivals[{i}]") for i, arrival in enumerate(spec.arrivals)]
        planned = [*(obj for entry in entries for obj in entry), *arrivals]
        self.prepared = prepare_virtual_time(
            objects,
            workloads,
            planned,
            release=release,
            schedulers=configuration.schedulers,
            choices=choices,
            admission=spec.controllers.admission,
            only=only,
        )
        self.simulation = Simulation(
            self.prepared.objects,
            release=release,
            config=configuration,
            seed=spec.seed,
            tie_break=spec.tie_break,
            preemption=spec.preemption,
            percentage=spec.percentage,
            registry=registry,
            timer=timer,
        )
        known = [*self.prepared.objects, *(obj for obj in planned if isinstance(obj, Object))]
        self.simulation.warnings = [*configuration.warnings, *kind_warnings(configuration.profiles, known)]
        extenders = configuration.extenders if allowed_extenders else []
        self.engine = GroupEngine(
            self.simulation,
            admission=spec.controllers.admission,
            graceful=spec.grace_periods,
            bind_seconds=seconds(spec.binding.seconds),
            bind_failures={failure.pod: failure.times for failure in spec.binding.failures},
            extenders=Extenders(extenders, self.simulation.cluster, allowed_extenders) if extenders else None,
        )
        self.api = self.engine.api
        self._workloads = self._controllers()
        for bare in self.prepared.bare:
            self.engine.at(0.0, self._apply(bare))
        for number, (entry, read) in enumerate(zip(spec.timeline, entries, strict=True), 1):
            self._plan_entry(number, entry, read)
        for arrival, template in zip(spec.arrivals, arrivals, strict=True):
            self._plan_arrivals(arrival, template)

    @property
    def notes(self) -> list[str]:
        """Warnings about the snapshot and the verification of the queue, and the fields that were filled in."""
        filled = self._filled.message if self._filled else ""
        return [*self.prepared.warnings, *filter(None, (filled, virtual_time_remark(self.simulation.release.name)))]

    @property
    def warnings(self) -> list[str]:
        """The notes, and warnings about the configuration."""
        return [*self.notes, *self.simulation.warnings]

    def run(self) -> Iterator[Record]:
        """Yield all records until the end of the run, in order."""
        return self.engine.run(self.until)

    def change(self, operation: str, what: Any) -> None:
        """Apply an operation of a timeline entry immediately. Raises InputError if that is impossible."""
        entry = TimelineEntry(at=0, **{operation: what})
        action, about = self._step_of(entry, self._read(entry, operation))
        with self.engine.caused(self.engine.record("scenario.step", step=0, operation=operation, **about)):
            action()

    # ---- initial objects

    def _objects(self) -> tuple[list[Object], list[dict[str, Any]]]:
        """Return the objects that the scheduler uses, and the workload objects of the scenario."""
        objects: list[Object] = []
        workloads: list[dict[str, Any]] = []
        seen: set[tuple[type[Object], str]] = set()
        for path, raw in self.scenario.spec.each_object():
            filled, obj = self._decode(raw, path)
            if obj is not None:
                if (type(obj), obj.key) in seen:
                    raise self._error(InputError(f"{type(obj).__name__} {obj.key}", "", "occurs twice"), path)
                seen.add((type(obj), obj.key))
                objects.append(obj)
            if self.scenario.spec.controllers.workloads and defaults.is_typed(filled):
                self._workload(filled, path)  # raises an error with the path if it is invalid
                workloads.append(filled)
        return objects, workloads

    def _decode(self, raw: Any, path: str) -> tuple[dict[str, Any], Object | None]:
        """Complete an object as an API server does and decode it; None for a kind that the scheduler ignores."""
        spec, filled = self.scenario.spec, copy.deepcopy(raw)
        notes = defaults.fill(filled, self._release, spec.controllers.admission)
        try:
            obj = decode(filled)
        except InputError as error:
            raise self._error(error, path) from None
        self._filled.add(notes, defaults.title(filled))
        return filled, obj

    def _workload(self, raw: dict[str, Any], path: str) -> Workload | None:
        """Return a workload that creates pods; None for other objects or if workload controllers are disabled."""
        if not self.scenario.spec.controllers.workloads or not pod_template.makes_pods(raw):
            return None
        try:
            return pod_template.read(raw)
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

    # ---- planned changes

    def _read(self, entry: TimelineEntry, path: str) -> list[Object | Workload]:
        """Return what an entry of the timeline creates or updates."""
        name, what = entry.operation
        if name not in ("create", "update"):
            return []
        filled, obj = self._decode(what, f"{path}.{name}")
        return [found for found in (obj, self._workload(filled, f"{path}.{name}")) if found is not None]

    def _template(self, arrivals: Arrivals, path: str) -> Pod:
        raw = copy.deepcopy(arrivals.template) | {"kind": "Pod"}
        raw["metadata"] = {**(raw.get("metadata") or {}), "name": f"{arrivals.name}-0"}
        template = self._decode(raw, f"{path}.template")[1]
        assert isinstance(template, Pod)
        return template

    def _plan_entry(self, number: int, entry: TimelineEntry, read: list[Object | Workload]) -> None:
        action, about = self._step_of(entry, read)

        def step() -> None:
            seq = self.engine.record("scenario.step", step=number, operation=entry.operation[0], **about)
            with self.engine.caused(seq):
                try:
                    action()
                except InputError as problem:  # impossible at that time; the run continues
                    self.engine.record("warning", message=str(problem))

        self.engine.at(seconds(entry.at), step)

    def _step_of(self, entry: TimelineEntry, read: list[Object | Workload]) -> tuple[Action, dict[str, str]]:
        """Return the action of an entry and what it affects: `object` and, where they apply, `pod`, `node`, `taint`."""
        name, what = entry.operation
        match name:
            case "create" | "update":
                obj = next((obj for obj in read if isinstance(obj, Object)), None)
                kind, name_of = (type(obj).__name__, obj.key) if obj is not None else ("", "")
                return self._write(name, what, read), _about(describe(what), kind, name_of)
            case "patch" | "delete":
                write = self._patch if name == "patch" else self._delete
                key = f"{what.namespace or 'default'}/{what.name}" if what.kind == "Pod" else what.name
                return lambda: write(what), _about(describe(_raw(what)), what.kind, key)
            case "cordon" | "uncordon":
                return lambda: self._cordon(what, name == "cordon"), _about(f"Node {what}", "Node", what)
            case "drain":
                return lambda: self._drain(what), _about(f"Node {what}", "Node", what)
        write_taint = self._taint if name == "taint" else self._untaint
        taint = taint_text(Taint(what.key, what.value, what.effect)).removesuffix(":")
        return lambda: write_taint(what), _about(f"Node {what.node}", "Node", what.node) | {"taint": taint}

    def _write(self, how: str, raw: dict[str, Any], read: list[Object | Workload]) -> Action:
        """Return an action that creates or updates an object or a workload. It raises InputError if that is
        impossible."""

        def write() -> None:
            if not read:
                raise InputError(describe(raw), "", NOT_LOOKED_AT)
            for obj in read:
                if isinstance(obj, Workload):
                    self._apply(obj)()
                    continue
                there = obj.key in self.api.pods if isinstance(obj, Pod) else self.api.cluster.find(obj) is not None
                if there and how == "create":
                    raise InputError(describe(raw), "", "exists already and is not changed")
                if not there and how == "update":
                    raise InputError(describe(raw), "", "does not exist")
                (self.api.create if how == "create" else self.api.update)(copy.deepcopy(obj))

        return write

    def _apply(self, made_by: Workload) -> Action:
        workloads = self._workloads
        assert workloads is not None
        return lambda: workloads.apply(made_by)

    def _plan_arrivals(self, arrivals: Arrivals, template: Pod) -> None:
        chance = random.Random(f"{self.scenario.spec.seed}/{arrivals.name}")
        end = min(self.until, seconds(arrivals.end)) if arrivals.end is not None else self.until
        start = seconds(arrivals.start)
        first = start if arrivals.every is not None else start + self._gap(arrivals, chance)

        def arrive(number: int, at: float) -> None:
            self.api.create(_numbered(template, arrivals, number, chance))
            following = at + self._gap(arrivals, chance)
            if following <= end and (arrivals.count is None or number + 1 < arrivals.count):
                self.engine.at(following, lambda: arrive(number + 1, following))

        if first <= end:
            self.engine.at(first, lambda: arrive(0, first))

    @staticmethod
    def _gap(arrivals: Arrivals, chance: random.Random) -> float:
        if arrivals.every is not None:
            return seconds(arrivals.every)
        return chance.expovariate(1 / seconds(arrivals.mean or 0))

    # ---- operations

    def _stored(self, reference: Reference) -> Object:
        raw = _raw(reference)
        named, where = decode(raw), describe(raw)
        if named is None:
            raise InputError(where, "", NOT_LOOKED_AT)
        pod = self.api.pods.get(named.key) if isinstance(named, Pod) else None
        found = pod.pod if pod is not None else self.api.cluster.find(named)
        if found is None or (isinstance(named, Pod) and pod is None):
            raise InputError(where, "", "does not exist")
        return found

    def _patch(self, patch: Any) -> None:
        if self._workloads is not None and self._workloads.patch(patch.kind, patch.namespace, patch.name, patch.patch):
            return
        stored = self._stored(patch)
        merged = patches.merge_patch(msgspec.to_builtins(stored), patch.patch)
        new = decode({"kind": patch.kind, **merged})
        assert new is not None
        if new.key != stored.key:
            raise InputError(f"{patch.kind} {stored.key}", "metadata.name", "a patch must not rename an object")
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
            self.api.update(patches.cordoned(node, unschedulable))

    def _drain(self, name: str) -> None:
        """Cordon the node and evict its pods, except those that stay in a drain."""
        self._cordon(name, True)
        for pod in list(self.api.cluster.nodes.entries[name].pods.values()):
            if not pod.pod.stays_in_drain and not self.api.lifecycle.is_assumed(pod.key):
                self.api.evict(self.api.pods[pod.key], "drain")

    def _taint(self, taint: NodeTaint) -> None:
        self.api.update(patches.tainted(self._node(taint.node), Taint(taint.key, taint.value, taint.effect)))

    def _untaint(self, taint: NodeTaint) -> None:
        self.api.update(patches.untainted(self._node(taint.node), taint.key, taint.effect))


def _raw(reference: Reference) -> dict[str, Any]:
    """Return the referenced object with only its kind and name."""
    return {"kind": reference.kind, "metadata": {"name": reference.name, "namespace": reference.namespace}}


def _about(title: str, kind: str, key: str) -> dict[str, str]:
    return {"object": title} | ({kind.lower(): key} if kind in ("Pod", "Node") else {})


def _numbered(template: Pod, arrivals: Arrivals, number: int, chance: random.Random) -> Pod:
    """Return the n-th pod of arrivals."""
    annotations = template.metadata.annotations
    if arrivals.duration is not None:
        annotations = {**annotations, DURATION_ANNOTATION: f"{_draw(arrivals.duration, chance):.3f}"}
    metadata = msgspec.structs.replace(
        template.metadata, name=f"{arrivals.name}-{number}", uid=f"{arrivals.name}-{number}", annotations=annotations
    )
    spec = msgspec.structs.replace(template.spec)
    return msgspec.structs.replace(template, metadata=metadata, spec=spec)


def _draw(duration: str | int | float | RandomDuration, chance: random.Random) -> float:
    if not isinstance(duration, RandomDuration):
        return seconds(duration)
    if duration.mean is not None:
        return min(chance.expovariate(1 / max(seconds(duration.mean), 1e-3)), 366 * 86400.0)
    return chance.uniform(seconds(duration.min or 0), seconds(duration.max or 0))
