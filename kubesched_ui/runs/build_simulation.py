"""Builds the input of a run: the scenario's objects according to the run's settings, and the core's simulation."""

import time
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from django.conf import settings

from kubesched_ui.models import Run
from kubesched_ui.models.fields import unpack
from kubesched_ui.runs import pod_template
from kubesched_ui.scenarios import virtual_time
from scheduler_core.api.objects import Object, Pod
from scheduler_core.config import Unknown
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.garbage_collection import without_collecting
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot import defaults
from scheduler_core.snapshot.preflight import Choices
from scheduler_core.snapshot.prepare import Prepared, prepare_decoded
from scheduler_core.snapshot.stored_objects import StoredObjects, refuse_repetition
from scheduler_core.snapshot.workload_pods import title
from scheduler_core.virtual_time.scenario_run import ScenarioRun

# Fields that kubelet and scheduler write. They are removed if a pod is scheduled again.
DELETION = ("deletionTimestamp", "deletionGracePeriodSeconds")
PLACEMENT_STATUS = ("conditions", "hostIP", "hostIPs", "podIP", "podIPs", "startTime", "containerStatuses")


class RunInput(NamedTuple):
    """The objects of a run. `pods`: the pods to schedule, first those of `Run.pods` in their order; None for all that
    are pending. `only`: titles of the workloads whose pods may be created, None for all without pods."""

    objects: list[dict[str, Any]]
    pods: list[str] | None
    only: list[str] | None


class _StoredName(msgspec.Struct):
    name: str = ""
    namespace: str | None = None


class _StoredHead(msgspec.Struct):
    kind: str
    metadata: _StoredName


_decode_head = msgspec.json.Decoder(_StoredHead).decode


class StartedRun(NamedTuple):
    """A simulation at its beginning. `recorded`: messages of the real cluster ("ns/name" -> message). `warnings`: about
    the snapshot and the configuration."""

    simulation: Simulation
    prepared: Prepared
    recorded: dict[str, str]

    @property
    def warnings(self) -> list[str]:
        return [*self.prepared.warnings, *self.simulation.warnings]


def without_placement(pod: dict[str, Any]) -> dict[str, Any]:
    """Return the pod as it was before its placement and deletion."""
    metadata = {key: value for key, value in (pod.get("metadata") or {}).items() if key not in DELETION}
    spec = {key: value for key, value in (pod.get("spec") or {}).items() if key != "nodeName"}
    status = {key: value for key, value in (pod.get("status") or {}).items() if key not in PLACEMENT_STATUS}
    return pod | {"metadata": metadata, "spec": spec, "status": status | {"phase": "Pending"}}


def cluster_of(run: Run, packed: Iterable[bytes] | None = None) -> RunInput:
    """Return the scenario's objects according to the run's settings. `packed`: its `packed_objects`, if they are read
    already."""
    packed = run.scenario.packed_objects() if packed is None else packed
    objects: list[dict[str, Any]] = [msgspec.json.decode(unpack(data)) for data in packed]
    chosen = chosen_of(run)
    for index, obj in enumerate(objects):
        if obj.get("kind") == "Pod" and chosen and pod_key(obj) in chosen and has_node(obj):
            objects[index] = without_placement(obj)
    added, workloads = pod_template.objects_of(run.template, run.copies) if run.template else ([], [])
    if taken := {title(obj) for obj in added} & {title(obj) for obj in objects}:
        raise InputError(pod_template.WHERE, "metadata.name", f"the cluster already has {min(taken)}")
    return RunInput(objects + added, *_pods_of(run, added, workloads))


def _pods_of(run: Run, added: list[dict[str, Any]], workloads: list[str]) -> tuple[list[str] | None, list[str] | None]:
    """Return `pods` and `only` of RunInput. `added`, `workloads`: of the template."""
    if run.pods is None:
        return None, None
    copies = [pod_key(obj) for obj in added if obj["kind"] == "Pod"]
    return [*run.pods, *run.unbind, *copies], workloads


def chosen_of(run: Run) -> set[str]:
    """Return the pods that the run schedules although they may have a node."""
    return {*(run.pods or []), *run.unbind}


def decoded_cluster_of(
    run: Run, packed: Iterable[bytes] | None, stored: StoredObjects
) -> tuple[list[Object], list[str] | None, list[str] | None]:
    """Return what `cluster_of` returns with decoded objects, read by `stored`. Raises InputError."""
    packed = run.scenario.packed_objects() if packed is None else packed
    chosen = chosen_of(run)
    added, workloads = pod_template.objects_of(run.template, run.copies) if run.template else ([], [])
    titles = {title(obj) for obj in added}

    def decoded(text: bytes) -> Object | None:
        head = _decode_head(text)
        key = f"{head.metadata.namespace or 'default'}/{head.metadata.name}"
        if f"{head.kind} {key}" in titles:
            raise InputError(pod_template.WHERE, "metadata.name", f"the cluster already has {head.kind} {key}")
        if head.kind == "Pod" and key in chosen and has_node(raw := msgspec.json.decode(text)):
            return stored.object(without_placement(raw))
        return stored.decoded(text)

    decode = decoded if chosen or titles else stored.decoded
    objects = [obj for data in packed if (obj := decode(unpack(data))) is not None]
    objects += [obj for raw in added if (obj := stored.object(raw)) is not None]
    refuse_repetition(objects)
    return objects, *_pods_of(run, added, workloads)


def pods_named(run: Run, keys: list[str]) -> dict[str, dict[str, Any]]:
    """Return the scenario's pods with these names, as in `cluster_of`, without loading the other objects."""
    names = [key.partition("/")[2] for key in keys]
    rows = run.scenario.cluster_objects.filter(kind="Pod", name__in=names)
    found = {pod_key(obj): obj for obj in rows.values_list("data", flat=True)}
    chosen = {*(run.pods or []), *run.unbind}
    return {
        key: without_placement(found[key]) if key in chosen and has_node(found[key]) else found[key]
        for key in keys
        if key in found
    }


def nodes_before(run: Run) -> dict[str, str]:
    """Return the node of each pod that the run reschedules, in the scenario."""
    chosen = {*(run.pods or []), *run.unbind}
    pods = run.scenario.objects_of(["Pod"]) if chosen else []
    return {key: pod["spec"]["nodeName"] for pod in pods if has_node(pod) and (key := pod_key(pod)) in chosen}


def has_node(pod: dict[str, Any]) -> bool:
    """Return whether a pod is bound."""
    return bool((pod.get("spec") or {}).get("nodeName"))


def pod_key(pod: dict[str, Any]) -> str:
    """Return namespace/name."""
    metadata = pod.get("metadata") or {}
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}"


@without_collecting()
def start(run: Run, packed: Iterable[bytes] | None = None) -> StartedRun:
    """Create the core's simulation for a single pass. `packed`: as in `cluster_of`. Raises InputError."""
    release = get_release(run.release)
    stored = StoredObjects(release)
    objects, pods, only = decoded_cluster_of(run, packed, stored)
    recorded = {obj.key: message for obj in objects if isinstance(obj, Pod) and (message := obj.unschedulable_message)}
    configuration = load(run.config or None, release, unknown=unknown_of(run))
    prepared = prepare_decoded(
        objects,
        stored.workloads,
        stored.filled,
        release=release,
        schedulers=configuration.schedulers,
        choices=choices_of(run),
        seed=run.seed,
        only=only,
    )
    if len(prepared.made) > settings.RUN_MAX_PODS:
        problem = f"would have {len(prepared.made):,} pods, which is more than {settings.RUN_MAX_PODS:,}"
        raise InputError("Run", "", f"workloads that have no pods yet {problem}")
    if pods is not None:
        skipped = set(prepared.deleting)
        pods = [*(key for key in pods if key not in skipped), *(pod.key for pod in prepared.made)]
    simulation = Simulation(
        prepared.objects,
        release=run.release,
        config=configuration,
        pods=pods,
        **core_settings(run),
    )
    if not run.pods:
        simulation.sort_pods()
    return StartedRun(simulation, prepared, recorded)


def virtual_time_objects(
    run: Run, packed: Iterable[bytes] | None = None
) -> tuple[list[dict[str, Any]], list[str] | None]:
    """Return the initial objects of a run in virtual time, and the titles of workloads whose pods may be created."""
    objects, pods, only = cluster_of(run, packed)
    if pods is None:
        return objects, only
    chosen = set(pods)
    return [obj for obj in objects if obj.get("kind") != "Pod" or has_node(obj) or pod_key(obj) in chosen], only


@without_collecting()
def start_in_virtual_time(run: Run, packed: Iterable[bytes] | None = None) -> tuple[ScenarioRun, dict[str, str]]:
    """Return the core's run in virtual time, limited by the settings, and the messages of the real cluster by pod.
    `packed`: as in `cluster_of`."""
    objects, only = virtual_time_objects(run, packed)
    recorded = {pod_key(obj): message for obj in objects if (message := recorded_message(obj))}
    in_time = ScenarioRun(
        virtual_time.scenario_of(run, objects),
        timer=time.perf_counter_ns,
        unknown_plugins=unknown_of(run),
        choices=choices_of(run),
        only=only,
    )
    in_time.engine.max_records = settings.RUN_MAX_RECORDS
    in_time.engine.max_pods = settings.RUN_MAX_PODS
    return in_time, recorded


def added_pods(run: Run) -> list[dict[str, Any]]:
    """Return the pods that a run adds to its scenario. These are copies of its template, pods that forks create and, in
    a single pass, pods of workloads."""
    created = [change["create"] for stage in run.stages for change in stage["changes"] if "create" in change]
    forked = [obj for obj in created if obj.get("kind") == "Pod"]
    bare = any(isinstance(warning, dict) and warning.get("code") == "workloads" for warning in run.scenario.warnings)
    return forked + (_added_pods(run.pk, run.created_at) if run.template or (bare and run.pods is None) else [])


@lru_cache(maxsize=2)
def _added_pods(run_id: int, created_at: datetime) -> list[dict[str, Any]]:
    # The key contains the time because a database may reuse the number of a deleted run.
    run = Run.objects.select_related("scenario").get(pk=run_id)
    try:
        added = pod_template.objects_of(run.template, run.copies)[0] if run.template else []
        copies = [obj for obj in added if obj["kind"] == "Pod"]
        for copy in copies:
            defaults.fill(copy, get_release(run.release))
        if run.in_time or (copies and run.pods is not None):
            return copies
        made = start(run).prepared.made
    except InputError:  # the run failed with this error and shows it
        return []
    return [*copies, *({"apiVersion": "v1", "kind": "Pod", **msgspec.to_builtins(pod)} for pod in made)]


def core_settings(settings: Any) -> dict[str, Any]:
    """Return the settings of a Run or RunSettings that the core's simulation has under the same names."""
    return {name: getattr(settings, name) for name in ("seed", "tie_break", "preemption", "percentage")}


def choices_of(run: Run) -> Choices:
    """Return how the run handles what its snapshot does not define."""
    return Choices.parse(run.other_schedulers, run.absent_claims)


def unknown_of(run: Run) -> Unknown:
    """Return how the run handles unknown plugins."""
    return "leave_out" if run.unknown_plugins == "leave_out" else "error"


def recorded_message(obj: dict[str, Any]) -> str:
    """Return the message of a pod's condition PodScheduled if its status is False."""
    if obj.get("kind") != "Pod":
        return ""
    for condition in (obj.get("status") or {}).get("conditions") or []:
        # old scenarios may contain a null here
        if condition and condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return str(condition.get("message") or "")
    return ""
