"""Warnings about parts of a cluster that are not simulated, and about their effect: quotas, devices, queues and
others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from kubesched_ui.ingest.kinds import POD_GROUP
from scheduler_core.cluster.formatting import some

CODE = "beside"
KINDS_SHOWN = 6

# Kind with its group, or a group alone -> topic of the warning.
_OF = {
    "ResourceQuota": "quota",
    "LimitRange": "limits",
    "PodGroup": "gangs",
    "PodGroup.scheduling.x-k8s.io": "gangs",
    "HorizontalPodAutoscaler.autoscaling": "replicas",
    "RuntimeClass.node.k8s.io": "runtime",
    "resource.k8s.io": "devices",
    "PodGroup.scheduling.k8s.io": "groups",
    "scheduling.k8s.io": "workloads",
    "kueue.x-k8s.io": "kueue",
    "visibility.kueue.x-k8s.io": "kueue",
    "scheduling.volcano.sh": "volcano",
    "batch.volcano.sh": "volcano",
    "flow.volcano.sh": "volcano",
    "bus.volcano.sh": "volcano",
    "topology.volcano.sh": "volcano",
    "nodeinfo.volcano.sh": "volcano",
    "karpenter.sh": "karpenter",
    "karpenter.k8s.aws": "karpenter",
    "karpenter.azure.com": "karpenter",
    "karpenter.k8s.gcp": "karpenter",
    "autoscaling.k8s.io": "vertical",
    "keda.sh": "replicas",
    "topology.node.k8s.io": "plugins",
    "appgroup.diktyo.x-k8s.io": "plugins",
    "networktopology.diktyo.x-k8s.io": "plugins",
    "slo.koordinator.sh": "plugins",
    "scheduling.koordinator.sh": "plugins",
    "quota.koordinator.sh": "plugins",
    "ElasticQuota.scheduling.x-k8s.io": "plugins",
}
_CHANGES = {
    "devices": (
        "dynamic resource allocation: of it claims, their templates, device classes and resource slices are "
        "simulated, from 1.34 on. What these do to devices beside is not"
    ),
    "quota": (
        "an API server refuses new pods beyond a quota. That is not simulated: pods typed, copied or made "
        "here are not refused; those that are in the snapshot were admitted"
    ),
    "limits": (
        "an API server gives new pods the requests and limits that a LimitRange has for them. That is not "
        "simulated: pods typed or made here ask for what is written in them, perhaps for nothing"
    ),
    "gangs": (
        "the scheduler plugin Coscheduling places the pods of a PodGroup together or not at all. The "
        "configuration does not enable it: each pod is placed by itself"
    ),
    "groups": (
        "kube-scheduler 1.36 schedules the pods of a group together where the feature gates GenericWorkload and "
        "GangScheduling are on. So does a run with these gates; where nothing else is chosen they are set"
    ),
    "workloads": (
        "kube-scheduler 1.35 places the pods of a Workload's groups together. Here that is done from 1.36 on, by "
        "PodGroups: each pod is placed by itself"
    ),
    "kueue": (
        "Kueue lets Jobs start when their queue has quota. That is not simulated: pods with its gate stay "
        "gated, suspended Jobs have no pods, all others count as admitted"
    ),
    "volcano": (
        "Volcano's own scheduler places whole groups, by queues. That is not simulated: its pods are left to "
        "it, or, if a run takes them, are placed one by one"
    ),
    "karpenter": (
        "Karpenter adds nodes for pods that fit nowhere, and takes away empty ones. That is not simulated: "
        "the nodes are those of the snapshot, and such pods stay pending"
    ),
    "replicas": (
        "they change how many pods a workload has. That is not simulated: there are as many as the workload says"
    ),
    "vertical": "it changes what new pods request. That is not simulated: pods ask for what is written in them",
    "runtime": (
        "an API server gives new pods the overhead and the node selector of their RuntimeClass. That is not "
        "simulated: pods typed or made here have what is written in them"
    ),
    "plugins": "plugins from outside of kube-scheduler look at them, which are not here",
}


def split(
    unknown: Mapping[str, int], counts: Mapping[str, int], config: str
) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Return the warnings, and the kinds of `unknown` that have no warning.

    `unknown`: objects that are not kept, `Kind.group` -> number. `counts`: kinds that are kept. `config`: the scheduler
    configuration, which may enable a plugin that uses them.
    """
    found: dict[str, dict[str, int]] = {}
    kept = {kind: counts[kind] for kind in ("PodGroup", POD_GROUP) if counts.get(kind)}
    rest = Counter[str]()
    for name, number in {**kept, **unknown}.items():
        what = _OF.get(name) or _OF.get(name.partition(".")[2])
        if what is None:
            rest[name] += number
        elif what != "gangs" or "Coscheduling" not in config:
            found.setdefault(what, {})[name] = number
    return list(_remarks(found)), rest


def _remarks(found: Mapping[str, Mapping[str, int]]) -> Iterator[dict[str, Any]]:
    for what in _CHANGES:
        if numbers := found.get(what):
            kinds = some([f"{number:,} {name.partition('.')[0]}" for name, number in numbers.items()], KINDS_SHOWN)
            message = f"The upload has {kinds}: {_CHANGES[what]}."
            yield {"code": CODE, "message": message, "counts": dict(numbers)}
