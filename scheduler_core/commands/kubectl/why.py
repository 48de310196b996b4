"""`kubectl kubesched why`: why pods are pending, and whether the pods of a file would find nodes."""

import copy
import re
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from scheduler_core.api.objects import KINDS as OBJECT_KINDS
from scheduler_core.api.objects import Node, Object, Pod, PriorityClass, StorageClass, is_namespaced
from scheduler_core.cluster.formatting import count, some
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.commands.kubectl.cluster_reader import ReadCluster
from scheduler_core.controllers.pod_template import KINDS as CREATORS
from scheduler_core.errors import InputError
from scheduler_core.live.watch_events import ADDED, DELETED, MODIFIED, WatchEvent
from scheduler_core.pending_pods.answer import PendingAnswers
from scheduler_core.pending_pods.pending_answer import BOUND, PendingAnswer
from scheduler_core.snapshot.files import objects_in, read_bytes
from scheduler_core.snapshot.preflight import Choices
from scheduler_core.snapshot.prepare import prepare
from scheduler_core.snapshot.workload_pods import title
from scheduler_core.stations.creation import pods_of

KINDS = {
    **dict.fromkeys(("pod", "pods", "po"), "Pod"),
    **dict.fromkeys(("deployment", "deployments", "deploy", "deployment.apps"), "Deployment"),
    **dict.fromkeys(("replicaset", "replicasets", "rs", "replicaset.apps"), "ReplicaSet"),
    **dict.fromkeys(("statefulset", "statefulsets", "sts", "statefulset.apps"), "StatefulSet"),
    **dict.fromkeys(("daemonset", "daemonsets", "ds", "daemonset.apps"), "DaemonSet"),
    **dict.fromkeys(("job", "jobs", "job.batch"), "Job"),
    **dict.fromkeys(("cronjob", "cronjobs", "cj", "cronjob.batch", "cronjobs.batch"), "CronJob"),
}
"""Kinds as kubectl names them -> Kind."""
FIXES = 3  # answers for which a fix is searched
PENDING = ("", "Pending")
_UNREADY = re.compile(r"(?<=has not started it)(?:: | \().*$", re.S)
"""What the kubelet of a bound pod reports."""
_TIME = re.compile(r"(?: (?:at|by))? \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC(?: at the latest)?")


def kind_and_name(words: Sequence[str]) -> tuple[str, str]:
    """Return kind and name of `NAME`, `TYPE/NAME` or `TYPE NAME`. Raises InputError for an unknown type."""
    text = "/".join(words)
    kind, _, name = text.rpartition("/")
    if not name:
        raise InputError(text, "", "has no name")
    if not kind:
        return "Pod", name
    if kind.lower() not in KINDS:
        known = "pod, deployment, replicaset, statefulset, daemonset, job and cronjob"
        raise InputError(text, "", f"type {kind[:63]!r} is not one of {known}")
    return KINDS[kind.lower()], name


def answers_for(cluster: ReadCluster, kind: str, key: str, fix: bool) -> list[PendingAnswer]:
    """Return the answer for a pod, or those for the pods of a workload and for the pods that it lacks.

    Raises InputError if the object does not exist.
    """
    answers, now = answers_of(cluster), time.time()
    if kind == "Pod":
        if "Pod" in cluster.refused:
            raise InputError(f"Pod {key}", "", "pods cannot be read: the API server refuses it")
        if cluster.mirror.store.get("Pod", key) is None:
            raise InputError(f"Pod {key}", "", f"does not exist{_elsewhere(cluster, key)}")
        return [answers.answer(key, now, fix=fix)]
    store = cluster.mirror.store
    pods = [pod for pod in pods_of(store, kind, key) if not pod.terminated]
    missing = answers.missing(kind, key)
    if store.get(kind, key) is None and not pods:
        raise InputError(f"{kind} {key}", "", "does not exist")
    waiting = [pod for pod in pods if not pod.spec.node_name or pod.status.phase in PENDING]
    found = [answers.answer(pod.key, now, fix=fix and i < FIXES) for i, pod in enumerate(waiting)]
    return [*found, *missing]


def _elsewhere(cluster: ReadCluster, key: str) -> str:
    """Return the namespaces that have a pod of the same name, as the end of a sentence."""
    name = key.rpartition("/")[2]
    found = sorted(one.namespace for one in cluster.mirror.store.objects("Pod") if one.name == name)
    return f"; a pod of this name is in namespace {some(found, 3)}" if found else ""


def all_answers(cluster: ReadCluster, namespace: str, fix: bool) -> list[PendingAnswer]:
    """Return the answers for all pending pods, and for the workloads that lack pods. `namespace`: "" for all."""
    answers, now, store = answers_of(cluster), time.time(), cluster.mirror.store
    pods = [pod for pod in store.objects("Pod") if isinstance(pod, Pod) and namespace in ("", pod.namespace)]
    waiting = [pod for pod in pods if not pod.terminated and (not pod.spec.node_name or pod.status.phase in PENDING)]
    found = [answers.answer(pod.key, now) for pod in sorted(waiting, key=lambda pod: pod.key)]
    for group in grouped(found)[:FIXES] if fix else ():
        group.answer.details.answer = answers.answer(group.answer.key, now, fix=True).details.answer
    return [*found, *(one for one in answers.missing() if namespace in ("", one.key.partition("/")[0]))]


class AnswerGroup(NamedTuple):
    """An answer, and the other pods that have the same but for times and the nodes that they are bound to.

    `answer`: of the first pod; its sentence is that of all.
    """

    answer: PendingAnswer
    others: list[str]


def grouped(answers: Iterable[PendingAnswer]) -> list[AnswerGroup]:
    """Group equal answers, the most frequent first."""
    groups: dict[tuple[str, str], list[PendingAnswer]] = {}
    for answer in answers:
        pod = answer.subject == "Pod"
        groups.setdefault((answer.subject, _common_text(answer)) if pod else ("", answer.key), []).append(answer)
    found = [AnswerGroup(_of_all(group), [answer.key for answer in group[1:]]) for group in groups.values()]
    return sorted(found, key=lambda group: -len(group.others))


def _common_text(answer: PendingAnswer) -> str:
    """Return the sentence without times and, for a bound pod, without its node and its state."""
    text = _TIME.sub("", answer.sentence)
    if answer.cause != BOUND or not answer.details.node:
        return text
    return _UNREADY.sub(".", text).replace(f" {answer.details.node}", "")


def _of_all(group: Sequence[PendingAnswer]) -> PendingAnswer:
    """Return the first answer with a sentence and a note that hold for all."""
    first = group[0]
    if len({(answer.sentence, answer.details.note) for answer in group}) == 1:
        return first
    sentence, details = _TIME.sub("", first.sentence), replace(first.details, note=_TIME.sub("", first.details.note))
    if first.cause == BOUND:
        node = first.details.node
        sentence = _UNREADY.sub(".", sentence).replace(f"It was bound to {node}", f"They were bound to {_nodes(group)}")
        for one, all_ in (
            (f"the kubelet of {node} has not started it", "the kubelets have not started them"),
            (f"{node} is not ready, so its kubelet does not start the pod", "none of these is ready to start them"),
            ("no node of that name exists", "no nodes of these names exist"),
        ):
            sentence = sentence.replace(one, all_)
    return replace(first, sentence=sentence, details=details)


def _nodes(group: Sequence[PendingAnswer]) -> str:
    return some(sorted({answer.details.node for answer in group}), 3)


def answers_of(cluster: ReadCluster) -> PendingAnswers:
    return PendingAnswers(cluster.mirror, cluster.configuration, cluster.refused, namespace=cluster.namespace)


# ---- files


class PodPlacement(msgspec.Struct, omit_defaults=True):
    """What would happen to a pod. `node`: "" if it stays pending. `evicts`: pods that it would preempt.

    `answer`: why it stays pending.
    """

    pod: str
    node: str = ""
    evicts: list[str] = []
    answer: PendingAnswer | None = None


def placements_of_file(cluster: ReadCluster, path: str, namespace: str, fix: bool) -> list[PodPlacement]:
    """Return where the pods of a file would be placed, one after the other. The file's workloads create their pods.

    Raises InputError for a file that cannot be read, without pods, or with invalid objects.
    """
    raws = [raw for raw in objects_in(read_bytes(path), path) if isinstance(raw, dict)]
    try:
        objects = _prepared(cluster, raws, namespace)
    except InputError as problem:
        raise InputError(path, "", str(problem)) from None
    pods = [obj for obj in objects if isinstance(obj, Pod) and not obj.spec.node_name and not obj.terminated]
    if not pods:
        raise InputError(path, "", "has no pod that would be scheduled, and no workload that would create one")
    for obj in objects:
        if not isinstance(obj, Pod):
            _apply(cluster, obj)
    return place(cluster, pods, fix)


def _prepared(cluster: ReadCluster, raws: list[dict[str, Any]], namespace: str) -> list[Object]:
    """Return the objects of a file with the pods of its workloads, as the cluster's admission would store them."""
    store = cluster.mirror.store
    known = [obj for kind in (PriorityClass, StorageClass) for obj in store.objects(kind.__name__)]
    if any(raw.get("kind") == "DaemonSet" for raw in raws):
        known += store.objects("Node")
    for raw in raws:
        metadata = raw.get("metadata")
        kind = OBJECT_KINDS.get(str(raw.get("kind")))
        if isinstance(metadata, dict) and not metadata.get("namespace") and is_namespaced(kind):
            metadata["namespace"] = namespace
        if isinstance(metadata, dict):
            metadata.pop("uid", None)
        if raw.get("kind") in CREATED_AGAIN:  # also if it was read from a cluster
            raw.pop("status", None)
    named = {title(raw) for raw in raws}
    given = [
        {"kind": type(obj).__name__, **msgspec.to_builtins(obj)}
        for obj in known
        if f"{type(obj).__name__} default/{obj.name}" not in named
    ]
    prepared = prepare(
        [*copy.deepcopy(given), *raws],
        release=cluster.release,
        schedulers=cluster.configuration.schedulers,
        choices=Choices("leave", "error"),
    )
    ours = {(type(obj), obj.key) for obj in known}
    return [obj for obj in prepared.objects if (type(obj), obj.key) not in ours]


CREATED_AGAIN = ("Pod", *CREATORS)


def _apply(cluster: ReadCluster, obj: Object) -> None:
    mirror = cluster.mirror
    kind = type(obj).__name__
    if mirror.store.get(kind, obj.key) is None:
        mirror.apply(WatchEvent(kind, ADDED, obj.key, mirror.resource_version, obj, time.time()))


def place(cluster: ReadCluster, pods: Sequence[Pod], fix: bool, drained: Node | None = None) -> list[PodPlacement]:
    """Schedule new pods in queue order, and explain those that stay pending. They replace pods of the same names.

    `drained`: a cordoned node, which the explanations leave out.
    """
    mirror, now = cluster.mirror, time.time()
    keys = {pod.key for pod in pods}
    before = [info for key, info in mirror.pending.items() if key not in keys]
    for pod in pods:
        how = ADDED if mirror.store.get("Pod", pod.key) is None else MODIFIED
        mirror.apply(WatchEvent("Pod", how, pod.key, mirror.resource_version, pod, now))
    new = [mirror.pending[pod.key] for pod in pods]
    answers = answers_of(cluster)
    found = {info.key: PodPlacement(info.key) for info in new}
    simulation = answers.analysis.simulation
    simulation.pending = [*before, *new]
    simulation.to_try = [pod for pod in new if pod.pod.spec.scheduler_name in simulation.scheduler.profiles]
    simulation.sort_pods()
    for trace in simulation.run():
        placed = found.get(trace.pod)
        if placed is not None:
            placed.node = trace.placed_on or trace.nominated_node
            placed.evicts = trace.victims
    for info in new:
        if info.node:
            del mirror.pending[info.key]
    if drained is not None:
        mirror.apply(WatchEvent("Node", DELETED, drained.name, mirror.resource_version, drained, now))
    left = [info for info in new if not found[info.key].node]
    _explain(answers, left, found, fix, now)
    return list(found.values())


def _explain(
    answers: PendingAnswers, left: list[PodInfo], found: dict[str, PodPlacement], fix: bool, now: float
) -> None:
    for number, pod in enumerate(left):
        found[pod.key].answer = answers.answer(pod.key, now, fix=fix and number < FIXES, tried=True)


def summary(placements: Sequence[PodPlacement]) -> str:
    """Return `3 of 5 pods would be placed, 1 of them by evicting others; 2 would stay pending.`"""
    placed = [one for one in placements if one.node]
    evicting = sum(bool(one.evicts) for one in placed)
    text = f"{len(placed):,} of {count(len(placements), 'pod')} would be placed"
    text += f", {evicting:,} of them by evicting others" if evicting else ""
    left = len(placements) - len(placed)
    return f"{text}; {left:,} would stay pending." if left else f"{text}."
