"""Skew of workloads over the values of a topology key, as PodTopologySpread defines it."""

from collections.abc import Iterable, Mapping

import numpy as np

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.node_matching import required_mask
from scheduler_core.cluster.pod_info import PodInfo


def skews(cluster: Cluster, keys: Iterable[str], workload_of: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Map each topology key that some node has to the skews of the workloads with at least two placed pods: the largest
    number of a workload's pods in a domain minus the smallest (the global minimum).

    A domain is a value of the node label `key`. Domains without a node that the workload's nodeSelector and required
    node affinity allow do not count, nor do terminating pods, static pods and those of DaemonSets. `workload_of`: pod
    -> workload; other pods are ignored.

    Source: pkg/scheduler/framework/plugins/podtopologyspread (filtering.go; nodeAffinityPolicy Honor).
    """
    nodes = cluster.nodes
    members = _members(cluster.pods.values(), workload_of)
    pods = [pod for group in members.values() for pod in group]
    rows = np.array([nodes.rows.get(pod.node, -1) for pod in pods], np.intp)
    groups = np.repeat(np.arange(len(members)), [len(group) for group in members.values()])
    examples = [group[0] for group in members.values()]
    selections = {pod.node_selection: pod for pod in examples}
    kinds = {selection: kind for kind, selection in enumerate(selections)}
    kind_of = np.array([kinds[pod.node_selection] for pod in examples], np.intp)
    masks = [required_mask(nodes, pod) for pod in selections.values()]
    found: dict[str, dict[str, int]] = {}
    for key in keys:
        topology = nodes.topology(key)
        if not topology.values:
            continue
        counts = rows >= 0
        eligible = np.zeros(len(masks), np.int64)  # domains of each kind
        for kind, mask in enumerate(masks):
            ids = topology.ids if mask is None else topology.ids[mask]
            eligible[kind] = len(np.unique(ids[ids >= 0]))
            if mask is not None:
                counts &= (kind_of[groups] != kind) | mask[rows]
        here = topology.ids[rows]
        counts &= here >= 0
        pairs, numbers = np.unique(groups[counts] * len(topology.values) + here[counts], return_counts=True)
        of = pairs // len(topology.values)
        most, fewest = np.zeros(len(members), np.int64), np.full(len(members), len(pods), np.int64)
        np.maximum.at(most, of, numbers)
        np.minimum.at(fewest, of, numbers)
        fewest[np.bincount(of, minlength=len(members)) < eligible[kind_of]] = 0
        found[key] = dict(zip(members, np.maximum(most - fewest, 0).tolist(), strict=True))
    return found


def _members(pods: Iterable[PodInfo], workload_of: Mapping[str, str]) -> dict[str, list[PodInfo]]:
    members: dict[str, list[PodInfo]] = {}
    for pod in pods:
        workload = workload_of.get(pod.key)
        if workload is not None and not pod.terminating and not pod.pod.stays_in_drain:
            members.setdefault(workload, []).append(pod)
    return {workload: pods for workload, pods in members.items() if len(pods) > 1}
