"""The surroundings of the pods of a snapshot, and the answers for those that the scheduler does not decide about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from scheduler_core.api.objects import Object, Pod, check_metadata, convert, describe, kind_of
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.formatting import count, some
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import Answer, Part, PendingWorkload, Stop
from scheduler_core.live.objects import TYPES
from scheduler_core.live.store import Store
from scheduler_core.live.watch_events import Listed
from scheduler_core.metrics.groups import group_name, workload_of, workloads
from scheduler_core.simulation import Simulation
from scheduler_core.stations import engine
from scheduler_core.stations.creation import missing_pods
from scheduler_core.stations.extra_kinds import extra_kind
from scheduler_core.stations.node_pools import NodePools
from scheduler_core.stations.resource_quotas import ResourceQuotaUse
from scheduler_core.stations.surroundings import Surroundings
from scheduler_core.stations.waits import NOT_CREATED, Wait
from scheduler_core.suggestions.answers import AlikePods

Raw = dict[str, Any]
MOST_PARTS = 100  # answers to which pods lead that are alike but wait for different things
_EVENT_FIELDS = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedCount": "count",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "reportingController": "reportingComponent",
}
"""Fields of an event of events.k8s.io -> those of core/v1."""


class MissingAnswer(Part):
    """Why pods of a workload were never created. `quotas`: the ResourceQuotas that refuse them."""

    pod: None
    result: str
    sentence: str
    station: str
    says: list[str]
    workload: PendingWorkload
    stations: list[Stop]
    quotas: list[ResourceQuotaUse] = []


def read_extra(raws: Iterable[Raw]) -> tuple[list[tuple[str, Object]], list[str]]:
    """Return the objects of the kinds that only waits are read from, with their kinds, and notes about unreadable
    ones."""
    found, unreadable = list[tuple[str, Object]](), list[str]()
    for raw in raws:
        kind = extra_kind(raw)
        if not kind:
            continue
        where = describe(raw)
        try:
            obj = convert(_core_event(raw) if kind == "Event" else raw, TYPES[kind], where)
            check_metadata(obj, where)
        except InputError as problem:
            unreadable.append(str(problem))
            continue
        found.append((kind, obj))
    notes = [f"{count(len(unreadable), 'object')} left out of waits: {some(unreadable, 3)}"] if unreadable else []
    return found, notes


def _core_event(raw: Raw) -> Raw:
    """Return an event in the form of core/v1."""
    if not str(raw.get("apiVersion")).startswith("events.k8s.io/"):
        return raw
    return {_EVENT_FIELDS.get(key, key): value for key, value in raw.items()}


def surroundings_of(
    objects: Iterable[Object],
    extra: Iterable[tuple[str, Object]],
    cluster: Cluster,
    schedulers: Iterable[str],
    keyed: Mapping[str, Mapping[str, Object]] | None = None,
) -> Surroundings:
    """Return the surroundings of the pods of a snapshot. `objects`: those of a run. `extra`: as of `read_extra`.
    `keyed`: objects of other kinds, by kind and key."""
    kinds: dict[str, list[Object]] = defaultdict(list)
    for obj in objects:
        kinds[kind_of(type(obj))].append(obj)
    for kind, obj in extra:
        kinds[kind].append(obj)
    store = Store()
    for kind, listed in kinds.items():
        store.apply(Listed(kind, 1, tuple(listed), 0.0))
    for kind, by_key in (keyed or {}).items():
        store.put(kind, by_key)
    return Surroundings(store, cluster, frozenset(schedulers))


def others(around: Surroundings) -> Iterator[tuple[Pod, Wait, Answer]]:
    """Yield the pods that wait, but for none of the configured schedulers: bound pods that have not started, and pods
    of other schedulers. Pods that a user wrote wait nowhere yet."""
    for pod in around.store.objects("Pod"):
        if not isinstance(pod, Pod) or pod.typed or pod.metadata.deletion_timestamp:
            continue
        if not pod.spec.node_name and pod.spec.scheduler_name in around.schedulers:
            continue
        wait = engine.wait_of(pod, None, around, None)
        if wait is not None:
            node = pod.spec.node_name
            answer = Answer(pod.key, "bound" if node else "not asked", "", node=node)
            engine.apply(wait, answer)
            answer.stations = engine.strip_of(pod, wait, around)
            yield pod, wait, answer


@dataclass(slots=True)
class AlikeWaits:
    """Pods of one workload that wait for the same. `workload`: such as `Job default/train`, "" without a controller.
    `common`: a sentence about all of them."""

    workload: str
    common: str
    answers: list[Answer] = field(default_factory=list)

    @property
    def first(self) -> Answer:
        return self.answers[0]

    @property
    def title(self) -> str:
        """Return `default/web-0`, `500 pods of Job default/train` or, without a controller, `default/a and 2 equal`."""
        if len(self.answers) > 1 and self.workload:
            return f"{count(len(self.answers), 'pod')} of {self.workload}"
        return group_name([answer.pod for answer in self.answers])

    @property
    def owner(self) -> str:
        """Return namespace/name of the workload; "" without a controller."""
        return self.workload.partition(" ")[2]

    @property
    def differ(self) -> bool:
        """Whether the sentences of the pods differ."""
        return any(answer.sentence != self.first.sentence for answer in self.answers)

    @property
    def sentence(self) -> str:
        return self.common if self.differ else self.first.sentence

    @property
    def of_first(self) -> bool:
        """Whether the facts about the first pod are not those about all of them."""
        return any(answer.says != self.first.says for answer in self.answers)


def alike_waits(around: Surroundings) -> list[AlikeWaits]:
    """Return the pods of `others` by workload, station and what they wait for, most pods first."""
    waiting = list(others(around))
    names = workloads(pod for pod, _, _ in waiting)
    found: dict[tuple[str, str, str], AlikeWaits] = {}
    for pod, wait, answer in waiting:
        common = wait.common or answer.sentence
        workload = names[pod.key] if workload_of(pod) is not None else ""
        found.setdefault((names[pod.key], wait.station, common), AlikeWaits(workload, common)).answers.append(answer)
    return sorted(found.values(), key=lambda group: -len(group.answers))


def missing(around: Surroundings) -> Iterator[MissingAnswer]:
    """Yield an answer for each workload whose pods do not exist."""
    for found in missing_pods(around):
        wait, strip = found.wait, engine.strip_without_pod(found.wait)
        says, quotas = wait.says, wait.quotas
        yield MissingAnswer(None, NOT_CREATED, wait.sentence, wait.station, says, found.owner, strip, quotas)


def with_waits(
    found: Iterable[AlikePods],
    pods: Mapping[str, Pod],
    infos: Mapping[str, PodInfo],
    around: Surroundings,
    node_pools: NodePools,
    wanted: str = "",
) -> Iterator[AlikePods]:
    """Add where the pods wait and whether new nodes take them, and yield the answers, each with its other pods. Pods
    of one answer that wait for different things get answers of their own, at most MOST_PARTS of them: further pods
    have none. `wanted`: a pod that has one in any case."""
    for alike in found:
        parts: dict[tuple[str, str], AlikePods] = {}
        for key in dict.fromkeys((alike.answer.pod, *alike.pods)):
            wait = engine.wait_of(pods[key], infos.get(key), around, alike.answer) if key in pods else None
            wait_key = (wait.station, wait.sentence) if wait is not None else ("", "")
            if wait_key in parts:
                parts[wait_key].pods.append(key)
            elif len(parts) < MOST_PARTS or key == wanted:
                answer = replace(alike.answer, pod=key)
                engine.apply(wait, answer)
                answer.stations = engine.strip_of(pods[key], wait, around) if key in pods else []
                if key in infos and answer.result == "unschedulable":
                    answer.new_node = node_pools.new_node_for(infos[key])
                parts[wait_key] = AlikePods(answer)
        yield from parts.values()


def waits_of_run(
    simulation: Simulation, found: Sequence[AlikePods], extra: Iterable[tuple[str, Object]], wanted: str
) -> list[AlikePods]:
    """Return the answers of a run with where the pods wait, each with all its pods: as far as the pods and the cluster
    of the run, and what else its snapshot holds (`extra`), show it. `wanted`: as of `with_waits`."""
    cluster = simulation.cluster
    infos = {info.key: info for info in simulation.pending}
    pods = {key: info.pod for key, info in (cluster.pods | infos).items()}
    nodes = {name: entry.node for name, entry in cluster.nodes.entries.items() if entry.node is not None}
    owners = (*cluster.replica_sets.values(), *cluster.stateful_sets.values())
    keyed: dict[str, Mapping[str, Object]] = {"Pod": pods, "Node": nodes}
    around = surroundings_of(owners, extra, cluster, simulation.scheduler.profiles, keyed)
    parts = with_waits(found, pods, infos, around, NodePools(simulation, around), wanted)
    return [AlikePods(alike.answer, [alike.answer.pod, *alike.pods]) for alike in parts]
