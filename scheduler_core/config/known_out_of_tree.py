"""Descriptions of well-known plugins that are not part of a release.

They do not change the meaning of a configuration; they appear in messages about unknown plugin names.
"""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from scheduler_core.config.legacy_scores import FIT, STRATEGIES
from scheduler_core.releases.catalog import PLUGIN_RELEASES

LEAST_LOAD = "uses the measured load, which a snapshot does not contain"
_SCHEDULER_PLUGINS = "scheduler-plugins"
_GPU_SIMULATOR = "the GPU simulator of open-simulator"
_GPU_SCORE = re.compile(
    r"(Gpu|BestFit|WorstFit|CosineSim|DotProduct|L2Norm|FGD|PWR|Gandiva|Synergy|Random)[A-Za-z0-9]{0,60}?Score"
)

OUT_OF_TREE: Mapping[str, tuple[str, str]] = {
    # sigs.k8s.io/scheduler-plugins, cmd/scheduler/main.go
    "CapacityScheduling": (_SCHEDULER_PLUGINS, "lends unused quota of ElasticQuotas between namespaces"),
    "Coscheduling": (_SCHEDULER_PLUGINS, "places the pods of a PodGroup together or not at all"),
    "CrossNodePreemption": (_SCHEDULER_PLUGINS, "preempts pods of several nodes for one"),
    "DiskIO": (_SCHEDULER_PLUGINS, "spreads disk bandwidth"),
    "LoadVariationRiskBalancing": (_SCHEDULER_PLUGINS, f"scores by mean and variation of load: {LEAST_LOAD}"),
    "LowRiskOverCommitment": (_SCHEDULER_PLUGINS, f"scores by the risk of overcommitment: {LEAST_LOAD}"),
    "NetworkOverhead": (_SCHEDULER_PLUGINS, "keeps the pods of an AppGroup near each other in the network"),
    "NodeMetadata": (_SCHEDULER_PLUGINS, "scores by a number or time in a node's label or annotation"),
    "NodeResourcesAllocatable": (_SCHEDULER_PLUGINS, "scores by what nodes offer, not by what is free"),
    "NodeResourceTopologyMatch": (_SCHEDULER_PLUGINS, "considers NUMA zones in NodeResourceTopology objects"),
    "Peaks": (_SCHEDULER_PLUGINS, f"scores by the power that a pod would consume: {LEAST_LOAD}"),
    "PodState": (_SCHEDULER_PLUGINS, "prefers nodes with terminating pods"),
    "PreemptionToleration": (_SCHEDULER_PLUGINS, "preemption from which priority classes can protect pods"),
    "QOSSort": (_SCHEDULER_PLUGINS, "sorts the queue by priority, then quality of service"),
    "SySched": (_SCHEDULER_PLUGINS, "groups pods by the system calls that their seccomp profiles allow"),
    "TargetLoadPacking": (_SCHEDULER_PLUGINS, f"packs nodes up to a target load: {LEAST_LOAD}"),
    "TopologicalSort": (_SCHEDULER_PLUGINS, "sorts the queue by the order of an AppGroup's workloads"),
    "ClusterTopologyPlacementGroup": (_SCHEDULER_PLUGINS, "Sakkara: groups of pods within a tree of topology"),
    "KNIDebug": ("scheduler-plugins of OpenShift", "logs what pods request and nodes have; decides nothing"),
    # koordinator.sh, cmd/koord-scheduler
    "BatchResourceFit": ("Koordinator", "fits batch-cpu and batch-memory"),
    "CompatibleDefaultPreemption": ("Koordinator", "DefaultPreemption under another name"),
    "DefaultPreBind": ("Koordinator", "writes the decisions of other plugins to the pod"),
    "DeviceShare": ("Koordinator", "shares GPUs and other devices by their Device objects"),
    "ElasticQuota": ("Koordinator", "quota trees that lend to each other"),
    "LoadAwareScheduling": ("Koordinator", f"avoids busy nodes: {LEAST_LOAD}"),
    "NodeNUMAResource": ("Koordinator", "assigns cores and NUMA zones"),
    "NodeResourcesFitPlus": ("Koordinator", "scores each resource by a strategy of its own"),
    "ScarceResourceAvoidance": ("Koordinator", "reserves nodes with scarce resources for pods that request them"),
    "Reservation": ("Koordinator", "reserves resources with Reservation objects"),
    "SchedulingHint": ("Koordinator", "limits a pod to the nodes that its annotation names"),
    # gocrane.io, kubewharf.io, yunikorn.apache.org
    "Dynamic": ("Crane", f"filters and scores by load written into annotations of nodes: {LEAST_LOAD}"),
    "NodeResourceTopology": ("Crane and Katalyst", "considers NUMA zones"),
    "NodeOvercommitment": ("Katalyst", "respects how far nodes are overcommitted"),
    "QoSAwareNodeResourcesFit": ("Katalyst", "fits reclaimed resources"),
    "QoSAwareNodeResourcesBalancedAllocation": ("Katalyst", "balances reclaimed resources"),
    "Loadaware": ("Katalyst", f"avoids busy nodes: {LEAST_LOAD}"),
    "YuniKornPlugin": ("Apache YuniKorn", "delegates to the queues of YuniKorn"),
    # github.com/alibaba/open-simulator and its descendants
    "Simon": (_GPU_SIMULATOR, "scores by share of free resources, and binds"),
    "Open-Gpu-Share": (_GPU_SIMULATOR, "assigns shares of GPUs"),
    "Open-Local": (_GPU_SIMULATOR, "places local volumes"),
    "Fluence": ("Flux Framework", "asks the Flux scheduler to place a group of pods"),
    "KusciaScheduling": ("Kuscia", "places the pods of a task together"),
    "KusciaSort": ("Kuscia", "sorts the queue by task"),
    "NodeNumber": ("the samples of Kubernetes", "prefers nodes whose number equals the pod's"),
}
"""Name -> (project, short description)."""

FOREIGN = "another project's plugin of this name, or a mistake: the available one does not extend all these points"
WASM_GUEST = "a guest of kube-scheduler-wasm-extension: its WebAssembly code is not run"

OTHER_RELEASES: Mapping[str, tuple[str, str]] = {
    **PLUGIN_RELEASES,
    "DefaultPreemption": ("1.19", ""),
    "PodGroupPodsCount": ("1.36", ""),
    "TopologyPlacementGenerator": ("1.36", ""),
}
"""In-tree plugins that not all releases have: name -> the first and the last release, "" if there is none."""

INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"), "NodeVolumeLimits replaces it"),
    "DefaultPodTopologySpread": "PodTopologySpread replaces it; in 1.19 SelectorSpread",
    "DefaultPreemption": "before it, preemption is part of the scheduler",
    "NodeLabel": "NodeAffinity with addedAffinity replaces it",
    "NodePreferAvoidPods": "taints replace it",
    "SelectorSpread": "PodTopologySpread replaces it; in 1.18 DefaultPodTopologySpread",
    "ServiceAffinity": "InterPodAffinity replaces it",
    **{name: f"{FIT} with scoringStrategy.type {kind} replaces it" for name, kind in STRATEGIES.items()},
}
"""In-tree plugins that other releases replace: name -> what replaces them."""

WRAPPED = "Wrapped"  # suffix that kube-scheduler-simulator appends to recorded plugins


def is_wasm_guest(args: Any) -> bool:
    """Return whether the arguments are those of kube-scheduler-wasm-extension, whatever the plugin's name."""
    return isinstance(args, dict) and "guestURL" in args


def what_is(name: str, known: Iterable[str] = ()) -> str:
    """Return a phrase that describes the plugin for a message; "" if it is unknown.

    `known`: the available plugins, to suggest one with a similar name.
    """
    if name in OTHER_RELEASES:
        since, until = OTHER_RELEASES[name]
        releases = f"{since} to {until}" if since and until else f"{since} and newer" if since else f"{until} and older"
        return "; ".join(filter(None, (f"kube-scheduler {releases} have it", INSTEAD.get(name))))
    if name in OUT_OF_TREE:
        project, phrase = OUT_OF_TREE[name]
        return f"{project}: {phrase}"
    if _GPU_SCORE.fullmatch(name):
        return f"{_GPU_SIMULATOR}: one of its scores"
    if name.endswith(WRAPPED) and name != WRAPPED:
        return f"kube-scheduler-simulator's record of {name.removesuffix(WRAPPED)[:80]}: write it without {WRAPPED}"
    meant = next((k for k in known if len(name) > 4 and k.endswith(name) and k != name), "") or closest(name, known)
    return f"was {meant} meant?" if meant else ""


def closest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most similar to `name` but differs from it; "" if none is close."""
    return next(iter(get_close_matches(name[:80], [other for other in known if other != name], 1, 0.85)), "")
