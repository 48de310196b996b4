"""Where the pods of a snapshot wait that a run does not explain: those with a node, of other schedulers, and workloads
whose pods were never created."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from dataclasses import replace as dataclass_replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from kubesched_ui.models import ClusterObject, PodResult, Run, Scenario
from kubesched_ui.models.fields import unpack
from kubesched_ui.models.scenarios import PACKED
from kubesched_ui.runs.services import default_release
from scheduler_core.api.objects import KINDS, Node, Object, Pod, PodStatus, decode, decode_valid
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import Answer, Stop
from scheduler_core.live.store import Store
from scheduler_core.releases import get_release
from scheduler_core.stations import engine
from scheduler_core.stations.extra_kinds import decoded
from scheduler_core.stations.snapshots import AlikeWaits, MissingAnswer, alike_waits, missing, others
from scheduler_core.stations.surroundings import Surroundings

OF_CLUSTER = (
    *("PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSIDriver", "VolumeAttachment"),
    "ResourceClaim",
)
"""Kinds of objects that answers about waits read in a cluster, besides nodes."""
PLACED = (PodResult.Result.SCHEDULED, PodResult.Result.WAITING)


class StoredStore(Store):
    """The objects of a scenario, each kind read when it is first used."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__()
        self._scenario = scenario

    def get(self, kind: str, key: str) -> Object | None:
        if kind in self._objects:
            return super().get(kind, key)
        namespace, _, name = key.rpartition("/")
        return next(self._read(kind, namespace=namespace, name=name), None)

    def objects(self, kind: str) -> Collection[Object]:
        if kind not in self._objects:
            self._objects[kind] = {obj.key: obj for obj in self._read(kind)}
        return super().objects(kind)

    def _read(self, kind: str, **named: str) -> Iterator[Object]:
        rows = ClusterObject.objects.filter(scenario=self._scenario, kind=kind, **named).order_by("position")
        for data in rows.values_list(PACKED, flat=True).iterator(chunk_size=2000):
            try:
                obj = decode_valid(unpack(data), kind) if kind in KINDS else decoded(kind, unpack(data))
            except InputError:  # only earlier versions stored it
                continue
            if obj is not None:
                yield obj


@dataclass(frozen=True, slots=True)
class PodStations:
    """Where a pod waits by its snapshot. `placed`: whether the run gave it its node, which the snapshot does not know.
    `node`: its node in the snapshot, "" if it had none. `created`: whether the run created it."""

    station: str
    sentence: str
    says: list[str]
    stations: list[Stop]
    placed: bool
    node: str
    created: bool = False

    def answer(self, key: str) -> Answer:
        """Return it as an answer about a pod that the run did not schedule."""
        return Answer(
            key, "bound" if self.node else "not asked", self.sentence,
            node=self.node, station=self.station, says=self.says, stations=self.stations,
        )  # fmt: skip


def of_pod(run: Run, raw: dict[str, Any], result: PodResult | None) -> PodStations | None:
    """Return where a pod of the snapshot waits that has a node at the end of the run, or that the run does not
    schedule; None for other pods. `raw`: the pod in the snapshot.

    The kubelet is not simulated: whether a pod starts is known only on the node that it had in the snapshot.
    """
    try:
        pod = decode(raw)
        around = _around(run.scenario, run.release, run.config)
    except InputError:
        return None
    if not isinstance(pod, Pod) or (result is not None and (result.result not in PLACED or result.evicted_by)):
        return None
    node = pod.spec.node_name
    if result is None:
        wait = engine.wait_of(pod, None, around, None)
        answer = Answer(pod.key, "bound" if node else "not asked", "", node=node)
        engine.apply(wait, answer)
        stops = engine.strip_of(pod, wait, around)
        return PodStations(answer.station, answer.sentence, answer.says, stops, False, node)
    if node:  # the run schedules it again
        pod = replace(pod, spec=replace(pod.spec, node_name=""), status=PodStatus())
    placed = Answer(pod.key, "scheduled", "", node=result.node)
    wait = engine.wait_of(pod, PodInfo(pod, around.cluster.release), around, placed)
    if wait is not None and engine.holds_placed(wait):
        engine.apply(wait, placed)
        return PodStations(placed.station, placed.sentence, placed.says, engine.strip_of(pod, wait, around), True, node)
    last = {"node": Stop("node", "not-needed"), "starting": Stop("starting", "ahead")}
    stops = [last.get(stop.name, stop) for stop in engine.strip_of(pod, None, around)]
    return PodStations("", "", [], stops, True, node)


def of_created_pod(run: Run, raw: dict[str, Any], result: PodResult) -> PodStations | None:
    """Return where a pod waits that the run created and placed; None for other pods. `raw`: the pod before a cycle."""
    found = of_pod(run, raw, result)
    return dataclass_replace(found, node="", created=True) if found is not None else None


def of_snapshot(scenario: Scenario) -> list[Answer | MissingAnswer]:
    """Return where pods wait, but for none of the schedulers that the scenario configures, and why pods of workloads
    were never created. Raises InputError."""
    around = _of(scenario)
    return [*(answer for _, _, answer in others(around)), *missing(around)]


def groups_of_snapshot(scenario: Scenario) -> list[AlikeWaits | MissingAnswer]:
    """Return the same with the pods of one workload that wait alike as one, most pods first. Raises InputError."""
    around = _of(scenario)
    return [*alike_waits(around), *missing(around)]


def _of(scenario: Scenario) -> Surroundings:
    return _around(scenario, default_release(scenario), scenario.config)


def _around(scenario: Scenario, release: str, config: str) -> Surroundings:
    return _kept(scenario.pk, scenario.created_at, release, config)


@lru_cache(maxsize=2)
def _kept(scenario_id: int, created_at: datetime, release: str, config: str) -> Surroundings:
    # The creation time is part of the key because a database may reuse the ID of a deleted scenario.
    known = get_release(release)
    store, cluster = StoredStore(Scenario(pk=scenario_id)), Cluster(known)
    cluster.apply_nodes([obj for obj in store.objects("Node") if isinstance(obj, Node)])
    for kind in OF_CLUSTER:
        for obj in store.objects(kind):
            cluster.apply(obj)
    schedulers = load(config or None, known, unknown="leave_out").schedulers
    return Surroundings(store, cluster, frozenset(schedulers))
