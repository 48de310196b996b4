"""Scenarios of the stored history: a cluster at a resourceVersion, and the state before a decision with a run of its
pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, TypeVar

import msgspec
from django.conf import settings
from django.db import transaction

from kubesched_ui.clusters import history
from kubesched_ui.clusters.models import Cluster, Decision
from kubesched_ui.editor.try_runs import delete_temporary
from kubesched_ui.housekeeping import disk_space, quota
from kubesched_ui.ingest import chunked_store, preflight
from kubesched_ui.ingest.events import EventChoice, small_event
from kubesched_ui.ingest.kinds import KINDS as STORED
from kubesched_ui.ingest.kinds import NEIGHBOURS
from kubesched_ui.ingest.result import Key, ObjectRecord, Record
from kubesched_ui.models import MAX_NAME, Run, Scenario, current_viewer
from kubesched_ui.models.fields import pack
from kubesched_ui.offload.pool import OffloadError
from kubesched_ui.offload.pools import get_pool
from kubesched_ui.runs.services import RunSettings, create_run, defaults
from kubesched_ui.runtime.advisory_lock import lock_until_commit
from kubesched_ui.runtime.outages import Outage, ServiceUnavailable
from scheduler_core.errors import InputError
from scheduler_core.releases import get_release

DECISION = "Decision"  # begins the name of a run of an opened decision
OPENED = 20  # opened decisions of a user that stay; saved ones always do
SMALL = 3000  # objects; states with more are built in a worker process
KINDS = STORED | NEIGHBOURS
EVENT = "Event"  # of these, a scenario stores those from which waits are read, as an upload does

T = TypeVar("T")


def fork(cluster: Cluster, resource_version: int | None = None) -> Scenario:
    """Create a scenario of the cluster at a resourceVersion; None: the newest stored state. Raises InputError if that
    part of the history is not stored, OverQuota, and ServiceUnavailable."""
    version = cluster.resource_version if resource_version is None else resource_version
    return _scenario(cluster, version, f"{cluster.name} at {version}")


def open_decision(decision: Decision) -> Run | None:
    """Return a run of the decision's pod alone, on the state before the decision. The viewer's second call returns the
    same run, unless it opened more than OPENED others since. Returns None if the pod did not exist before. Raises as
    `fork`."""
    name = _run_name(decision)
    if found := _runs(name).first():
        return found
    scenario = _before(decision)
    namespace, _, pod = decision.pod.rpartition("/")
    if not scenario.cluster_objects.filter(kind="Pod", namespace=namespace, name=pod).exists():
        scenario.delete()
        return None
    cluster = decision.cluster
    wanted = defaults(scenario) | {"pods": [decision.pod], "config": cluster.used_config}
    if cluster.used_release:
        wanted["release"] = cluster.used_release
    try:
        with transaction.atomic():
            lock_until_commit(f"{name} of {current_viewer.owner_id()}")
            found = _runs(name).first() or create_run(scenario, RunSettings(**wanted), name=name)
    except InputError:
        scenario.delete()
        raise
    if found.scenario_id != scenario.pk:
        scenario.delete()  # another request was faster
    opened = _runs().filter(name__startswith=DECISION).order_by("-pk").values_list("scenario", flat=True)
    delete_temporary(opened[OPENED:], Scenario.Origin.LIVE)
    return found


def save_decision(decision: Decision) -> Scenario:
    """Return a scenario of the state before the decision that is not deleted automatically. Raises as `fork`."""
    found = _runs(_run_name(decision)).first()
    scenario = found.scenario if found is not None else _before(decision)
    scenario.pinned = True
    scenario.save(update_fields=["pinned"])
    return scenario


def _run_name(decision: Decision) -> str:
    return f"{DECISION} {decision.resource_version} of cluster {decision.cluster_id}: {decision.pod}"[:MAX_NAME]


def _runs(name: str = "") -> Any:
    """Return the viewer's runs of an opened decision; "" for all of live clusters."""
    rows = Run.objects.filter(scenario__origin=Scenario.Origin.LIVE, owner=current_viewer.owner_id())
    return (rows.filter(name=name) if name else rows).select_related("scenario")


def _before(decision: Decision) -> Scenario:
    cluster, version = decision.cluster, decision.resource_version - 1
    return _scenario(cluster, version, f"{cluster.name} before {decision.pod} at {decision.resource_version}")


def _scenario(cluster: Cluster, version: int, name: str) -> Scenario:
    disk_space.check_space()
    quota.check_scenario()
    owner = current_viewer.owner_id()
    pk = _in_worker(cluster, store_scenario, cluster.pk, version, name[:MAX_NAME], owner)
    found: Scenario = Scenario.everything.get(pk=pk)
    return found


def _in_worker(cluster: Cluster, function: Callable[..., T], *args: Any) -> T:
    """Call a function: in a worker process if the cluster is large. Raises ServiceUnavailable."""
    if not settings.OFFLOAD or sum(cluster.counts.get("kinds", {}).values()) <= SMALL:
        return function(*args)
    try:
        result: T = get_pool("requests").run(function, *args)
        return result
    except OffloadError as error:
        raise ServiceUnavailable(Outage(str(error), error.retry_after)) from None


def store_scenario(cluster_id: int, version: int, name: str, owner: int | None) -> int:
    """Store the state at a resourceVersion as a scenario of this user and return its ID. Raises as `fork`."""
    cluster = Cluster.everything.get(pk=cluster_id)
    state = history.checked_state_at(cluster, version)
    counts = Counter({kind: len(by_key) for kind, by_key in state.objects.items() if kind in KINDS and by_key})
    events = EventChoice()
    for _, obj in raw_objects(state, EVENT):
        if (small := small_event(obj)) is not None:
            events.add(small)
    about = events.objects()
    counts[EVENT] = 0
    columns: dict[str, Any] = {
        "name": name,
        "description": f"The live cluster {cluster.name} at resourceVersion {version}.",
        "origin": Scenario.Origin.LIVE,
        "kubernetes": _kubernetes(cluster),
        "config": cluster.used_config,
        "counts": dict(counts),
    }
    pending = 0

    def rows() -> Iterator[tuple[Any, ...]]:
        nonlocal pending
        records: dict[Key, Record] = {}
        position = count()
        for kind, obj in raw_objects(state):
            metadata = obj["metadata"]
            pending += kind == "Pod" and not (obj.get("spec") or {}).get("nodeName")
            namespace = metadata.get("namespace", "") if KINDS[kind].namespaced else ""
            data = msgspec.json.encode(obj)
            key = kind, namespace, metadata["name"]
            if (kind.partition(".")[0], *key[1:]) in about:
                node = (obj.get("spec") or {}).get("nodeName", "") if kind == "Pod" else ""
                records[key] = ObjectRecord(kind, obj["apiVersion"], namespace, metadata["name"], data, node)
            yield next(position), kind, obj["apiVersion"], namespace, metadata["name"], pack(data)
        for event in events.kept(records):
            metadata = event["metadata"]
            counts[EVENT] += 1
            data = pack(msgspec.json.encode({"apiVersion": "v1", "kind": EVENT, **event}))
            yield next(position), EVENT, "v1", metadata["namespace"], metadata["name"], data

    token = current_viewer.as_viewer(current_viewer.OwnerViewer(owner))
    with token, chunked_store.storing(check=quota.check_storing, **columns) as scenario:
        chunked_store.add(scenario, rows())
        workloads = list(scenario.objects_of(preflight.MAKERS))
        objects = scenario.decoded(preflight.needed_kinds(workloads))
        warnings = preflight.warnings_about(workloads, objects, cluster.used_config)
        stored = {kind: number for kind, number in counts.items() if number}
        Scenario.everything.filter(pk=scenario.pk).update(pending=pending, warnings=warnings, counts=stored)
    return scenario.pk


def raw_objects(state: history.State, only: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (kind, object) of the objects that a scenario stores, with apiVersion and kind: nodes first, and without
    events. `only`: those of one kind."""
    for kind in sorted(state.objects, key=lambda kind: (kind != "Node", kind == "Pod", kind)):
        if kind not in KINDS or (kind != only if only else kind == EVENT):
            continue
        head = {"apiVersion": KINDS[kind].api_version, "kind": KINDS[kind].served}
        for value in state.objects[kind].values():
            obj = msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value
            yield kind, head | obj


def _kubernetes(cluster: Cluster) -> str:
    """Return the version of the cluster, or that of its scheduler's release if the two differ."""
    try:
        release, server = get_release(cluster.used_release or cluster.git_version), get_release(cluster.git_version)
    except InputError:
        return cluster.git_version
    same = release.name.split()[0] == server.name.split()[0]
    return cluster.git_version if same else f"v{release.version}"
