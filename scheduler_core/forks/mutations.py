"""Changes to a run: the format of forks and suggested fixes, with validation and application.

One change is a JSON object with one key:

| key | value |
| --- | --- |
| `create` | an object |
| `patch` | `kind`, `namespace`, `name`, `patch`: a JSON merge patch (RFC 7386) |
| `delete` | `kind`, `namespace`, `name` |
| `cordon`, `uncordon`, `drain` | a node's name |
| `taint` | `node`, `key`, `value`, `effect` |
| `untaint` | `node`, `key`, `effect` (none: all of that key) |
| `place` | `pod` (namespace/name), `node`: put the pod on the node regardless of plugins |
| `skip` | `pod` (none: all), `plugin`: act as if the plugin did not exist |
| `weight` | `plugin`, `weight`: weight of its scores in every profile; 0 leaves them out |

`Edit.apply` changes a Simulation directly, without watch events. A fork calls it before its first cycle. In virtual
time, the simulated API server changes objects, with the same operations (`virtual_time/scenario.py`).
"""

import copy
from collections.abc import Iterable
from typing import Any

import msgspec

from scheduler_core.api import patches
from scheduler_core.api.objects import Node, Object, Pod, Taint, decode, describe
from scheduler_core.api.text_checks import refuse_nul
from scheduler_core.cluster.change_log import BOUND, GONE, POD
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.controllers import device_claims
from scheduler_core.errors import InputError
from scheduler_core.framework.runtime import Framework
from scheduler_core.releases import Release
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot import defaults
from scheduler_core.virtual_time.scenario import NodeTaint, Patch, Reference, StrictStruct

MOST = 1000
MAX_WEIGHT = 1_000_000

OBJECTS = ("create", "patch", "delete", "cordon", "uncordon", "drain", "taint", "untaint")
DECISIONS = ("place", "skip", "weight")
NOT_LOOKED_AT = "the scheduler does not use objects of this kind"


class Place(StrictStruct, kw_only=True):
    """Put the pod (`namespace/name`) on the node."""

    pod: str
    node: str


class Skip(StrictStruct, kw_only=True):
    """Act as if the plugin did not exist, for one pod (`namespace/name`) or for all."""

    plugin: str
    pod: str | None = None


class Weight(StrictStruct, kw_only=True):
    """Set the weight of a Score plugin."""

    plugin: str
    weight: int


class Change(StrictStruct, kw_only=True):
    """One change: exactly one field is set."""

    create: dict[str, Any] | None = None
    patch: Patch | None = None
    delete: Reference | None = None
    cordon: str | None = None
    uncordon: str | None = None
    drain: str | None = None
    taint: NodeTaint | None = None
    untaint: NodeTaint | None = None
    place: Place | None = None
    skip: Skip | None = None
    weight: Weight | None = None

    @property
    def operation(self) -> tuple[str, Any]:
        """The operation's (name, argument)."""
        return next((name, value) for name in (*OBJECTS, *DECISIONS) if (value := getattr(self, name)) is not None)


def read_changes(raw: Any) -> list[Change]:
    """Decode and validate a list of changes from JSON. Raises InputError with the invalid change and its field."""
    if not isinstance(raw, list):
        raise InputError("changes", "", f"must be a list, got {type(raw).__name__}")
    if len(raw) > MOST:
        raise InputError("changes", "", f"must be at most {MOST:,}, got {len(raw):,}")
    refuse_nul(raw, "changes")
    return [_read(one, f"changes[{i}]") for i, one in enumerate(raw)]


def _read(raw: Any, where: str) -> Change:
    try:
        change = msgspec.convert(raw, Change)
    except (msgspec.ValidationError, RecursionError) as problem:
        text, _, path = str(problem).partition(" - at `$")
        raise InputError(where, path.rstrip("`").lstrip("."), text[:200]) from None
    given = [name for name in (*OBJECTS, *DECISIONS) if getattr(change, name) is not None]
    if len(given) != 1:
        names = ", ".join((*OBJECTS, *DECISIONS))
        raise InputError(where, "", f"must have exactly one of {names}" + (f", got {', '.join(given)}" * bool(given)))
    if change.create is not None:
        try:
            _decoded(change.create)
        except InputError as problem:
            raise InputError(where, "create", str(problem)) from None
    if change.taint is not None and not change.taint.effect:
        raise InputError(where, "taint.effect", "is missing")
    if change.weight is not None and not 0 <= change.weight.weight <= MAX_WEIGHT:
        raise InputError(where, "weight.weight", f"must be in 0..{MAX_WEIGHT:,}, got {change.weight.weight}")
    return change


def _decoded(raw: dict[str, Any], release: Release | None = None) -> Object:
    """Decode an object with its defaults. Raises InputError."""
    filled = copy.deepcopy(raw)
    defaults.fill(filled, release)
    obj = decode(filled)
    if obj is None:
        raise InputError(describe(raw), "kind", NOT_LOOKED_AT)
    return obj


class Edit:
    """Applies changes to a simulation. Changed pods keep their node. Only existing objects can be deleted."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.cluster = simulation.cluster

    def apply(self, changes: Iterable[Change]) -> None:
        """Apply all changes in order. Raises InputError if one cannot be applied; those before it stay applied."""
        for number, change in enumerate(changes):
            name, what = change.operation
            try:
                getattr(self, f"_{name}")(what)
            except InputError as problem:
                raise InputError(f"changes[{number}]", name, str(problem)) from None
        self.cluster.nodes.refresh()

    # ---- objects

    def _create(self, raw: dict[str, Any]) -> None:
        obj = _decoded(raw, self.cluster.release)
        if self.find(type(obj).__name__, obj.key) is not None:
            raise InputError(describe(raw), "", "exists already")
        if isinstance(obj, Pod):
            self._appear(PodInfo(obj, self.cluster.release))
        else:
            self.cluster.apply(obj)

    def _appear(self, pod: PodInfo) -> None:
        if pod.priority == 0 and pod.pod.spec.priority_class_name and pod.pod.spec.priority is None:
            named = self.cluster.priority_classes.get(pod.pod.spec.priority_class_name)
            pod.priority = named.value if named is not None else 0
        self.cluster.journal.note(POD, pod)
        if pod.pod.spec.node_name:
            self.cluster.add_pod(pod, pod.pod.spec.node_name)
            self.cluster.journal.note(BOUND, pod)
        else:
            self.simulation.pending.append(pod)
            if pod.pod.spec.scheduler_name in self.simulation.scheduler.profiles:
                self.simulation.to_try.append(pod)

    def _patch(self, patch: Patch) -> None:
        key = _key(patch)
        old = self._there(patch.kind, key)
        stored = old.pod if isinstance(old, PodInfo) else old
        new = decode({"kind": patch.kind, **patches.merge_patch(msgspec.to_builtins(stored), patch.patch)})
        assert new is not None
        if new.key != stored.key:
            raise InputError(f"{patch.kind} {key}", "metadata.name", "a patch must not rename an object")
        if isinstance(old, PodInfo) and isinstance(new, Pod):
            self.replace_pod(old, new)
        else:
            self.cluster.apply(new)

    def replace_pod(self, old: PodInfo, pod: Pod) -> PodInfo:
        """Replace a pod by another version of it, on the same node or in the same queue."""
        new = PodInfo(pod, self.cluster.release)
        new.nominated_node, new.start_time = old.nominated_node, abs(old.start_time)
        self.cluster.journal.note(POD, new)
        if old.node:
            node = old.node
            self.cluster.remove_pod(old)
            self.cluster.add_pod(new, node)
            self.cluster.journal.note(BOUND, new)
            return new
        new.node = ""
        self._swap(old, new)
        nominator = self.cluster.nominator
        if node := nominator.node_of(old):
            nominator.forget(old)
            nominator.nominate(new, node)
        return new

    def _swap(self, old: PodInfo, new: PodInfo | None) -> None:
        """Replace a pending pod, also among the pods to try. None removes it."""
        for pods in (self.simulation.pending, self.simulation.to_try):
            for place, pod in enumerate(pods):
                if pod is old:
                    pods[place : place + 1] = [] if new is None else [new]
                    break

    def _delete(self, reference: Reference) -> None:
        old = self._there(reference.kind, _key(reference))
        if isinstance(old, PodInfo):
            self._remove(old)
        else:
            self.cluster.remove(old)

    def _remove(self, pod: PodInfo) -> None:
        if pod.node:
            self.cluster.remove_pod(pod)
        else:
            self.cluster.nominator.forget(pod)
        self._swap(pod, None)  # also one that this run placed
        for claim, left in list(device_claims.release_claims(pod, self.cluster.device_claims)):
            if left is None:
                self.cluster.remove(claim)
            else:
                self.cluster.apply(left)
        self.cluster.journal.note(GONE, pod.key)

    def find(self, kind: str, key: str) -> Object | PodInfo | None:
        """Return the object with this kind and key (namespace/name, or name), for a pod its PodInfo; None for none.

        Raises InputError for unsupported kinds.
        """
        if kind == "Pod":
            placed = self.cluster.pods.get(key)
            return placed or next((pod for pod in self.simulation.pending if pod.key == key), None)
        namespace, _, name = key.rpartition("/")
        return self.cluster.find(_named(kind, namespace, name))

    def _there(self, kind: str, key: str) -> Any:
        found = self.find(kind, key)
        if found is None:
            raise InputError(f"{kind} {key[:253]}", "", "does not exist")
        return found

    # ---- nodes

    def _node(self, name: str) -> Node:
        node: Node = self._there("Node", name)
        return node

    def _cordon(self, name: str) -> None:
        self.cluster.apply(patches.cordoned(self._node(name), True))

    def _uncordon(self, name: str) -> None:
        self.cluster.apply(patches.cordoned(self._node(name), False))

    def _drain(self, name: str) -> None:
        """Cordon the node and delete its pods except those that stay in a drain."""
        self._cordon(name)
        for pod in list(self.cluster.nodes.entries[name].pods.values()):
            if not pod.pod.stays_in_drain:
                self._remove(pod)

    def _taint(self, taint: NodeTaint) -> None:
        self.cluster.apply(patches.tainted(self._node(taint.node), Taint(taint.key, taint.value, taint.effect)))

    def _untaint(self, taint: NodeTaint) -> None:
        self.cluster.apply(patches.untainted(self._node(taint.node), taint.key, taint.effect))

    # ---- decisions

    def _place(self, place: Place) -> None:
        if self._there("Pod", place.pod).node:
            raise InputError(f"Pod {place.pod}", "", "already runs on a node")
        self._node(place.node)
        self.simulation.scheduler.places[place.pod] = place.node

    def _skip(self, skip: Skip) -> None:
        scheduler = self.simulation.scheduler
        self._known(skip.plugin)
        if skip.pod is None:
            for framework in self._frameworks():
                framework.leave_out(skip.plugin)
            return
        pod: PodInfo = self._there("Pod", skip.pod)
        own = scheduler.own_frameworks.get(pod.key)
        if own is None:
            name = pod.pod.spec.scheduler_name
            if name not in scheduler.profiles:
                raise InputError(f"Pod {pod.key}", "spec.schedulerName", f"no profile is named {name[:63]!r}")
            own = scheduler.own_frameworks[pod.key] = scheduler.profiles[name].copy()
        own.leave_out(skip.plugin)

    def _weight(self, weight: Weight) -> None:
        self._known(weight.plugin)
        found = [framework for framework in self._frameworks() if weight.plugin in framework.weights]
        if not found:
            raise InputError(f"plugin {weight.plugin}", "", "does not score in any profile")
        for framework in found:
            framework.weigh(weight.plugin, weight.weight)

    def _frameworks(self) -> list[Framework]:
        scheduler = self.simulation.scheduler
        return [*scheduler.profiles.values(), *scheduler.own_frameworks.values()]

    def _known(self, plugin: str) -> None:
        frameworks = self.simulation.scheduler.profiles.values()
        known = sorted({name for framework in frameworks for name in framework.plugin_names})
        if plugin not in known:
            raise InputError(f"plugin {plugin[:63]}", "", f"is in no profile; there are {', '.join(known)}")


def _key(reference: Reference) -> str:
    return _named(reference.kind, reference.namespace, reference.name).key


def _named(kind: str, namespace: str, name: str) -> Object:
    """Return an empty object of that name. Raises InputError for unsupported kinds."""
    named = decode({"kind": kind, "metadata": {"name": name, "namespace": namespace}})
    if named is None:
        raise InputError(f"{kind[:63]} {name[:253]}", "kind", NOT_LOOKED_AT)
    return named
