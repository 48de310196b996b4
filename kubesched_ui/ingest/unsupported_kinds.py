"""Warnings about parts of a cluster that are not simulated, and about their effect: quotas, devices, queues and
others."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from kubesched_ui.ingest.kinds import NEIGHBOURS, POD_GROUP
from scheduler_core.cluster.formatting import some
from scheduler_core.releases import NEWEST

CODE = "unsupported"
_UNKNOWN = f". The newest release that is simulated is {NEWEST}"
_WAITS_ONLY = "Answers say why a pod waits for it, but runs do not simulate it"
KINDS_SHOWN = 6

# Kind with its group, a group, or the last part of a group -> topic of the warning. The first match counts.
_TOPICS = {
    "ResourceQuota": "quota",
    "LimitRange": "limits",
    "HorizontalPodAutoscaler.autoscaling": "replicas",
    "RuntimeClass.node.k8s.io": "runtime",
    "PodGroup.scheduling.k8s.io": "groups",
    "CompositePodGroup.scheduling.k8s.io": "composite groups",
    "Workload.scheduling.k8s.io": "workloads",
    "scheduling.k8s.io": "newer",
    "resource.k8s.io": "devices",
    "lifecycle.k8s.io": "evictions",
    "autoscaling.k8s.io": "vertical",
    "kueue.x-k8s.io": "kueue",
    "volcano.sh": "volcano",
    "karpenter.sh": "karpenter",
    "karpenter.k8s.aws": "karpenter",
    "karpenter.azure.com": "karpenter",
    "karpenter.k8s.gcp": "karpenter",
    "keda.sh": "replicas",
    "koordinator.sh": "koordinator",
    "yunikorn.apache.org": "yunikorn",
    "kai.scheduler": "kai",
    "run.ai": "kai",
}
_CHANGES = {
    "devices": (
        "of dynamic resource allocation, claims, claim templates, device classes and resource slices are simulated, "
        "from release 1.34 on, and DeviceTaintRules from 1.37 on. Other objects are ignored"
    ),
    "quota": (
        "an API server rejects new pods that exceed a quota. This is not simulated: pods that you create here are not "
        "rejected, and the pods of the snapshot were admitted"
    ),
    "limits": (
        "an API server sets the default requests and limits of a LimitRange in new pods. This is not simulated: pods "
        "that you create here have the requests that you enter"
    ),
    "groups": (
        "since 1.36, kube-scheduler schedules the pods of a group together if the feature gates GenericWorkload and "
        "GangScheduling are enabled. Runs of this scenario enable them by default"
    ),
    "composite groups": (
        "since 1.37, kube-scheduler schedules the PodGroups of a CompositePodGroup together if the feature gate "
        f"CompositePodGroup is enabled. This is not simulated: each PodGroup is scheduled on its own{_UNKNOWN}"
    ),
    "workloads": (
        "in v1alpha1, which only 1.35 serves, the groups of pods are a part of a Workload. They are simulated only as "
        "PodGroups, which 1.36 and newer releases have: each pod is scheduled individually"
    ),
    "evictions": (
        "since 1.37, other programs evict the pods that an EvictionRequest names if the feature gate "
        "EvictionRequestAPI is enabled. This is not simulated: these pods stay"
    ),
    "newer": f"kube-scheduler may use them in a release that is not simulated{_UNKNOWN}",
    "kueue": (
        f"Kueue starts Jobs when their queue has quota. {_WAITS_ONLY}: pods with its scheduling gate stay "
        "gated, suspended Jobs have no pods, and all others count as admitted"
    ),
    "volcano": (
        f"the scheduler of Volcano schedules groups by queues. {_WAITS_ONLY}: its pods are not scheduled, or "
        "individually if a run includes the pods of other schedulers"
    ),
    "koordinator": (
        "Koordinator reads them; its scheduler is a kube-scheduler with plugins of its own. They are not simulated: "
        "runs decide without its quotas, gangs, reservations and devices"
    ),
    "yunikorn": (
        "the scheduler of Apache YuniKorn schedules applications by queues. This is not simulated: its pods are not "
        "scheduled, or individually if a run includes the pods of other schedulers"
    ),
    "kai": (
        f"KAI Scheduler schedules groups by queues and shares GPUs. {_WAITS_ONLY}: its pods are not scheduled, "
        "or individually if a run includes the pods of other schedulers"
    ),
    "karpenter": (
        f"Karpenter adds nodes for unschedulable pods and removes empty nodes. {_WAITS_ONLY}: the nodes are "
        "those of the snapshot, and such pods stay pending"
    ),
    "replicas": (
        "they change the number of pods of a workload. This is not simulated: the workload's own number is used"
    ),
    "vertical": "it changes the requests of new pods. This is not simulated",
    "runtime": (
        "an API server sets the overhead and the node selector of a RuntimeClass in new pods. This is not simulated: "
        "pods that you create here keep the values in their spec"
    ),
    "plugins": "out-of-tree scheduler plugins use them, which are not simulated",
}


def split(unknown: Mapping[str, int], counts: Mapping[str, int]) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Return the warnings, and the kinds of `unknown` that have no warning.

    `unknown`: objects that are not stored, `Kind.group` -> number. `counts`: kinds that are stored.
    """
    found: dict[str, dict[str, int]] = {}
    kept = {POD_GROUP: counts[POD_GROUP]} if counts.get(POD_GROUP) else {}
    for name, kind in NEIGHBOURS.items():
        if counts.get(name):
            kept[f"{kind.served}.{kind.groups[0]}".rstrip(".")] = counts[name]
    rest = Counter[str]()
    for name, number in {**kept, **unknown}.items():
        what = next((topic for end, topic in _TOPICS.items() if f".{name}".endswith(f".{end}")), None)
        if what is None:
            rest[name] += unknown.get(name, 0)
        else:
            found.setdefault(what, {})[name] = number
    warnings = []
    for what, change in _CHANGES.items():
        if numbers := found.get(what):
            kinds = some([f"{number:,} {name.partition('.')[0]}" for name, number in numbers.items()], KINDS_SHOWN)
            warnings.append({"code": CODE, "message": f"The upload contains {kinds}: {change}.", "counts": numbers})
    return warnings, +rest
