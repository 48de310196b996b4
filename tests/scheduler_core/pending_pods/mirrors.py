"""Mirrors of small clusters, and the scheduler's verdict on a pod by a simulation of its own."""

import copy
from collections.abc import Iterable
from typing import Any

from scheduler_core.api.objects import Object, decode_all, kind_of
from scheduler_core.config.loader import load
from scheduler_core.live.cluster_mirror import ClusterMirror
from scheduler_core.live.watch_events import Listed
from scheduler_core.pending_pods.answer import PendingAnswers
from scheduler_core.pending_pods.pending_answer import PendingAnswer
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation

Raw = dict[str, Any]
CREATED, NOW = "2026-01-01T00:00:00Z", 1767225600.0 + 300
REJECTED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/2 nodes are available: 2 Insufficient cpu.",
    "lastTransitionTime": "2026-01-01T00:00:01Z",
}


def rejected(pod: Raw, message: str = "", reason: str = "Unschedulable") -> Raw:
    """Return the pod as its scheduler left it after a cycle in which no node fitted."""
    condition = {**REJECTED, "reason": reason, **({"message": message} if message else {})}
    pod.setdefault("status", {})["conditions"] = [condition]
    pod["metadata"].setdefault("creationTimestamp", CREATED)
    return pod


def mirror_of(objects: Iterable[Object], release: str = "1.36") -> ClusterMirror:
    """Return a mirror that has listed these objects."""
    mirror = ClusterMirror(get_release(release))
    kinds: dict[str, list[Object]] = {}
    for obj in objects:
        kinds.setdefault(kind_of(type(obj)), []).append(obj)
    for kind, listed in kinds.items():
        mirror.apply(Listed(kind, 1, tuple(listed), NOW))
    return mirror


def answers_of(mirror: ClusterMirror, refused: Iterable[str] = ()) -> PendingAnswers:
    return PendingAnswers(mirror, load(None, mirror.release), tuple(refused), recheck_every=0.0)


def answer(*raws: Raw | Object, pod: str = "default/web", release: str = "1.36", now: float = NOW) -> PendingAnswer:
    """Return the answer for a pod of a cluster."""
    objects = [raw for raw in raws if isinstance(raw, Object)]
    objects += decode_all(raw for raw in raws if not isinstance(raw, Object))
    return answers_of(mirror_of(objects, release)).answer(pod, now)


def fits(objects: Iterable[Object], pod: str, release: str) -> str:
    """Return the node where a new simulation of these objects places the pod, "" for none."""
    simulation = Simulation(
        copy.deepcopy(list(objects)), release=release, tie_break="name", pods=[pod], preemption=False
    )
    return next((trace.node for trace in simulation.run() if trace.result in ("scheduled", "waiting")), "")
