"""Messages of FailedScheduling from public sources, with the release that the source states, or the first and the last
release that the source allows."""

from __future__ import annotations

from typing import NamedTuple

from scheduler_core.framework import causes
from scheduler_core.releases import NEWEST

K8S = "https://github.com/kubernetes/kubernetes/issues/"


class PublicMessage(NamedTuple):
    """`release`: of the source; two for a range; "" if it states none. `kinds`: number of nodes -> kind of each reason.
    `since` and `until`: what the wording says. `preemption`: whether the message has a part about it."""

    source: str
    release: str
    text: str
    kinds: list[tuple[int, str]]
    since: str
    until: str
    preemption: bool = False


MESSAGES = [
    PublicMessage(
        f"{K8S}85625",
        "1.16",
        "0/1 nodes are available: 1 node(s) had taints that the pod didn't tolerate.",
        [(1, causes.UNTOLERATED_TAINT)],
        "1.16",
        "1.17",
    ),
    PublicMessage(
        f"{K8S}107194",
        "1.17",
        "0/5 nodes are available: 2 node(s) were unschedulable, 3 Insufficient pods.",
        [(3, causes.PODS_LIMIT), (2, causes.CORDONED)],
        "1.16",
        "1.17",
    ),
    PublicMessage(
        "https://github.com/kubernetes/minikube/issues/6246",
        "1.16",
        "pod has unbound immediate PersistentVolumeClaims (repeated 2 times)",
        [(0, causes.CLAIM_UNBOUND)],
        "1.16",
        "1.16",
    ),
    PublicMessage(
        "https://github.com/kubernetes/minikube/issues/6205",
        "1.17",
        'error while running "VolumeBinding" filter plugin for pod "wp-test-wordpress-75bcf4685f-zp4d2": pod has '
        "unbound "
        "immediate PersistentVolumeClaims",
        [(0, causes.CLAIM_UNBOUND)],
        "1.17",
        "1.17",
    ),
    PublicMessage(
        "https://github.com/kubernetes/minikube/issues/7218",
        "1.18",
        'running "VolumeBinding" filter plugin for pod "postgres-5c8db948ff-59whb": pod has unbound immediate '
        "PersistentVolumeClaims",
        [(0, causes.CLAIM_UNBOUND)],
        "1.18",
        "1.18",
    ),
    PublicMessage(
        f"{K8S}100400",
        "",
        "0/20 nodes are available: 1 node(s) didn't match pod affinity/anti-affinity, 19 node(s) didn't match node "
        "selector.",
        [(19, causes.NODE_SELECTOR), (1, causes.POD_ANTI_AFFINITY)],
        "1.16",
        "1.19",
    ),
    PublicMessage(
        "https://github.com/hashicorp/consul-helm/issues/493",
        "",
        "0/1 nodes are available: 1 node(s) didn't match pod affinity/anti-affinity, 1 node(s) didn't satisfy existing "
        "pods anti-affinity rules.",
        [(1, causes.POD_ANTI_AFFINITY), (1, causes.POD_ANTI_AFFINITY)],
        "1.16",
        "1.20",
    ),
    PublicMessage(
        f"{K8S}104709",
        "",
        "0/3 nodes are available: 1 node(s) didn't match pod affinity/anti-affinity, 1 node(s) didn't satisfy existing "
        "pods anti-affinity rules, 2 node(s) had volume node affinity conflict.",
        [(2, causes.VOLUME_ZONE), (1, causes.POD_ANTI_AFFINITY), (1, causes.POD_ANTI_AFFINITY)],
        "1.16",
        "1.20",
    ),
    PublicMessage(
        "https://github.com/lucidworks/fusion-cloud-native/issues/198",
        "1.20",
        "0/4 nodes are available: 1 node(s) exceed max volume count, 1 node(s) had taint "
        "{ToBeDeletedByClusterAutoscaler: 1636478510}, that the pod didn't tolerate, 2 node(s) didn't match Pod's node "
        "affinity.",
        [(2, causes.NODE_SELECTOR), (1, causes.VOLUME_LIMIT), (1, causes.UNTOLERATED_TAINT)],
        "1.20",
        "1.20",
    ),
    PublicMessage(
        "https://github.com/arianitu/postgres-statefulset/issues/9",
        "1.21",
        "0/3 nodes are available: 3 pod has unbound immediate PersistentVolumeClaims.",
        [(3, causes.CLAIM_UNBOUND)],
        "1.16",
        "1.25",
    ),
    PublicMessage(
        "https://github.com/datawire/edge-stack/issues/2",
        "1.21",
        "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports.",
        [(2, causes.HOST_PORT)],
        "1.16",
        NEWEST,
    ),
    PublicMessage(
        f"{K8S}108096",
        "1.23",
        "0/1 nodes are available: 1 node(s) had volume node affinity conflict",
        [(1, causes.VOLUME_ZONE)],
        "1.16",
        "1.32",
    ),
    PublicMessage(
        "https://github.com/radondb/radondb-mysql-kubernetes/issues/395",
        "",
        "0/3 nodes are available: 1 node(s) had taint {node-role.kubernetes.io/master: }, \nthat the pod didn't "
        "tolerate, 2 node(s) had volume node affinity conflict.",
        [(2, causes.VOLUME_ZONE), (1, causes.UNTOLERATED_TAINT)],
        "1.18",
        "1.23",
    ),
    PublicMessage(
        "https://github.com/aws/karpenter-provider-aws/issues/1573",
        "",
        "0/7 nodes are available: 3 Insufficient cpu, 3 node(s) had taint {karpenter.sh/not-ready: }, that the pod "
        "didn't tolerate, 4 Insufficient memory.",
        [(4, causes.INSUFFICIENT_RESOURCE), (3, causes.INSUFFICIENT_RESOURCE), (3, causes.UNTOLERATED_TAINT)],
        "1.18",
        "1.23",
    ),
    PublicMessage(
        "https://github.com/microsoft/pai/issues/5577",
        "",
        "0/2 nodes are available: 1 Insufficient memory, 1 Pod is waiting for preemptible or free resource to appear: "
        "have to use at least one bad node 1/xx.xx.xx.xx when scheduling in VC default, 1 node(s) didn't match node "
        "selector.\n",
        [(1, causes.INSUFFICIENT_RESOURCE), (1, causes.PLUGIN), (1, causes.NODE_SELECTOR)],
        "1.16",
        "1.19",
    ),
    PublicMessage(
        "https://github.com/harvester/harvester/issues/3136",
        "1.24",
        "0/1 nodes are available: 1 Insufficient memory. preemption: 0/1 nodes are available: 1 No preemption victims "
        "found for incoming pod.",
        [(1, causes.INSUFFICIENT_RESOURCE)],
        "1.24",
        NEWEST,
        preemption=True,
    ),
    PublicMessage(
        "https://github.com/aws/karpenter-provider-aws/issues/3647",
        "",
        "0/5 nodes are available: 2 node(s) had untolerated taint {CriticalAddonsOnly: true}, 3 node(s) exceed max "
        "volume count. preemption: 0/5 nodes are available: 2 Preemption is not helpful for scheduling, 3 No "
        "preemption victims found for incoming pod.",
        [(3, causes.VOLUME_LIMIT), (2, causes.UNTOLERATED_TAINT)],
        "1.24",
        "1.34.1",
        preemption=True,
    ),
    PublicMessage(
        "https://github.com/tektoncd/pipeline/issues/7099",
        "1.26",
        "0/3 nodes are available: 3 node(s) had volume node affinity conflict. , preemption: 0/3 nodes are "
        "available: 3 Preemption is not helpful for scheduling..",
        [(3, causes.VOLUME_ZONE)],
        "1.26",
        "1.28",
        preemption=True,
    ),
    PublicMessage(
        "https://github.com/NVIDIA/k8s-device-plugin/issues/430",
        "",
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available: 1 No preemption "
        "victims found for incoming pod..",
        [(1, causes.INSUFFICIENT_RESOURCE)],
        "1.26",
        "1.28",
        preemption=True,
    ),
    PublicMessage(
        "https://github.com/aws/karpenter-provider-aws/issues/6447",
        "",
        "0/20 nodes are available: 1 node(s) had untolerated taint {windowsContainers: true}, 2 node(s) had "
        "untolerated taint {eks.amazonaws.com/compute-type: fargate}, 4 node(s) didn't match Pod's node "
        "affinity/selector, 4 node(s) didn't match pod anti-affinity rules, 9 node(s) didn't match pod topology "
        "spread constraints. preemption: 0/20 nodes are available: 13 No preemption victims found for incoming pod, "
        "7 Preemption is not helpful for scheduling.",
        [
            (9, causes.TOPOLOGY_SPREAD),
            (4, causes.NODE_SELECTOR),
            (4, causes.POD_ANTI_AFFINITY),
            (2, causes.UNTOLERATED_TAINT),
            (1, causes.UNTOLERATED_TAINT),
        ],
        "1.24",
        "1.34.1",
        preemption=True,
    ),
    PublicMessage(
        "https://github.com/Panfactum/stack/issues/129",
        "",
        "0/7 nodes are available: 1 Too many pods, 6 node(s) didn't match Pod's node affinity/selector. preemption: "
        "0/7 nodes are available: 1 No preemption victims found for incoming pod, 6 Preemption is not helpful for "
        "scheduling.",
        [(6, causes.NODE_SELECTOR), (1, causes.PODS_LIMIT)],
        "1.24",
        NEWEST,
        preemption=True,
    ),
    PublicMessage(
        "https://github.com/hystax/optscale/issues/568",
        "",
        "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }. preemption: 0/1 "
        "nodes are available: 1 Preemption is not helpful for scheduling.",
        [(1, causes.NODE_NOT_READY)],
        "1.24",
        "1.34.1",
        preemption=True,
    ),
    PublicMessage(
        f"{K8S}141491",
        "",
        "0/401 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Too many pods, 3 node(s) didn't match "
        "pod anti-affinity rules, 397 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, "
        "preemption: 0/401 nodes are available: 3 node(s) didn't match pod anti-affinity rules, 398 Preemption is not "
        "helpful for scheduling.",
        [
            (397, causes.NODE_SELECTOR),
            (3, causes.POD_ANTI_AFFINITY),
            (1, causes.INSUFFICIENT_RESOURCE),
            (1, causes.INSUFFICIENT_RESOURCE),
            (1, causes.PODS_LIMIT),
        ],
        "1.26",
        NEWEST,
        preemption=True,
    ),
    PublicMessage(
        "an incident report of a cluster of 1.35.3",
        "1.35",
        "0/6 nodes are available:\n  3 node(s) didn't match pod anti-affinity rules,\n  3 node(s) had untolerated "
        "taint(s).\nno new claims to deallocate,\npreemption: 0/6 nodes are available:\n  3 No preemption victims "
        "found for incoming pod,\n  3 Preemption is not helpful for scheduling.",
        [(3, causes.POD_ANTI_AFFINITY), (3, causes.UNTOLERATED_TAINT)],
        "1.34.2",
        NEWEST,
        preemption=True,
    ),
    PublicMessage(
        "a course about GPUs, on AKS 1.35.6",
        "1.35",
        "0/2 nodes are available: 1 cannot allocate all claims,\n  1 node(s) didn't match Pod's node "
        "affinity/selector.\n  still not schedulable, preemption: 0/2 nodes are available:\n  2 Preemption is not "
        "helpful for scheduling.",
        [(1, causes.DEVICE_CLAIM), (1, causes.NODE_SELECTOR)],
        "1.31",
        NEWEST,
        preemption=True,
    ),
    PublicMessage(
        "a course about volumes",
        "",
        "0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 1 node(s) had untolerated "
        "taint(s). no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for "
        "scheduling.",
        [(1, causes.VOLUME_ZONE), (1, causes.UNTOLERATED_TAINT)],
        "1.34.2",
        NEWEST,
        preemption=True,
    ),
]
