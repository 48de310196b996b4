"""Taints that Kubernetes and its autoscalers set: what they say about a node.

Source: k8s.io/api/core/v1 well_known_taints.go, k8s.io/cloud-provider/api, kubernetes/autoscaler
cluster-autoscaler/utils/taints, sigs.k8s.io/karpenter pkg/apis/v1 taints.go, virtual-kubelet node/node.go.
"""

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"

NOT_READY = {
    "node.kubernetes.io/not-ready": "are not ready",
    "node.kubernetes.io/unreachable": "are unreachable",
    "node.kubernetes.io/out-of-service": "are out of service",
    "node.kubernetes.io/network-unavailable": "have no network",
    "node.kubernetes.io/memory-pressure": "have memory pressure",
    "node.kubernetes.io/disk-pressure": "have disk pressure",
    "node.kubernetes.io/pid-pressure": "have PID pressure",
    "node.cloudprovider.kubernetes.io/uninitialized": "are not initialized by their cloud provider",
    "node.cloudprovider.kubernetes.io/shutdown": "are shut down",
    "node.cilium.io/agent-not-ready": "wait for their Cilium agent",
    "karpenter.sh/unregistered": "are not registered by Karpenter",
}
"""Taint -> what it says of nodes that will take pods again, a plural verb first."""

LEAVING = {
    "ToBeDeletedByClusterAutoscaler": "are being removed by the cluster autoscaler",
    "DeletionCandidateOfClusterAutoscaler": "are to be removed by the cluster autoscaler",
    "karpenter.sh/disrupted": "are being removed by Karpenter",
    "karpenter.sh/disruption": "are being removed by Karpenter",
}
CONTROL_PLANE = dict.fromkeys(
    (
        "node-role.kubernetes.io/control-plane",
        "node-role.kubernetes.io/master",
        "node-role.kubernetes.io/controlplane",
        "node-role.kubernetes.io/etcd",
    ),
    "belong to the control plane",
)
VIRTUAL = dict.fromkeys(
    ("virtual-kubelet.io/provider", "eks.amazonaws.com/compute-type", "azure.com/aci", "liqo.io/remote-node"),
    "are virtual",
)
NEVER = LEAVING | CONTROL_PLANE | VIRTUAL
"""Taint -> what it says of nodes that are not meant for ordinary pods."""
SYSTEM_TAINTS = frozenset((UNSCHEDULABLE, *NOT_READY, *NEVER))
"""Taints that the system sets. A pod that tolerates one runs where it should not."""
