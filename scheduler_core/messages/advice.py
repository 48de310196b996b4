"""What a kind of cause means, what to ask kubectl about it, and what only a snapshot of the cluster can answer."""

from dataclasses import dataclass

from scheduler_core.framework import causes

POD, NAMESPACE = "POD", "NAMESPACE"
"""Placeholders in commands, for the name of the pod and its namespace."""

_NODES = "kubectl get nodes"
_OF_POD = f"kubectl get pod {POD} -n {NAMESPACE} -o jsonpath="
_CLAIMS = (
    (f"kubectl get pvc -n {NAMESPACE}", "the claims, and whether each has a volume"),
    (f"kubectl describe pvc -n {NAMESPACE}", "the events of the claims, and the pods that use them"),
)
_READY = ((_NODES, "the state of the nodes"), ("kubectl describe nodes", "the conditions and taints of the nodes"))
_DEVICES = (
    (f"kubectl get resourceclaims -n {NAMESPACE}", "the claims, and which are allocated"),
    ("kubectl get resourceslices", "the devices that drivers offer, by node"),
    ("kubectl get deviceclasses", "the classes that claims can request"),
)
_SPREAD = "-L topology.kubernetes.io/zone,kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class Advice:
    """About a kind of cause. `meaning`: one or two sentences. `commands`: (command, what it shows); they only read.
    `snapshot`: what a snapshot of the cluster answers beyond them; "" for nothing of its own."""

    meaning: str
    commands: tuple[tuple[str, str], ...] = ()
    snapshot: str = ""


ADVICE: dict[str, Advice] = {
    causes.INSUFFICIENT_RESOURCE: Advice(
        "The requests of the pods on these nodes leave less than the pod requests. The scheduler adds up requests; it "
        "does not look at usage.",
        (
            (_OF_POD + "'{.spec.containers[*].resources.requests}'", "what the pod requests"),
            ("kubectl describe nodes", "what each node has, and what its pods request (Allocated resources)"),
        ),
        "how much is missing on each node, and which node is the closest",
    ),
    causes.PODS_LIMIT: Advice(
        "These nodes run as many pods as their kubelet allows, whatever the pods request.",
        (
            (
                "kubectl get nodes -o custom-columns=NAME:.metadata.name,PODS:.status.allocatable.pods",
                "the limit of each node",
            ),
        ),
        "which nodes have a free pod slot but refuse the pod for another reason",
    ),
    causes.UNTOLERATED_TAINT: Advice(
        "A taint keeps pods away that have no toleration for it. It usually reserves the nodes for other workloads.",
        (
            ("kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints", "the taints of each node"),
            (_OF_POD + "'{.spec.tolerations}'", "what the pod tolerates"),
        ),
        "whether the pod would fit on these nodes with the toleration",
    ),
    causes.CORDONED: Advice(
        "Somebody has cordoned these nodes, or a drain has. They take pods again after kubectl uncordon.",
        ((_NODES, "which nodes are cordoned (SchedulingDisabled)"),),
        "whether the pod would fit if they were uncordoned",
    ),
    causes.NODE_NOT_READY: Advice(
        "These nodes are in no state to run new pods. A toleration does not help: repair or replace the nodes.", _READY
    ),
    causes.NODE_SELECTOR: Advice(
        "The pod requires labels that these nodes do not have: by its node selector, its node affinity, or, for a pod "
        "of a DaemonSet, its one node.",
        (
            (_OF_POD + "'{.spec.nodeSelector}{\"\\n\"}{.spec.affinity.nodeAffinity}'", "what the pod requires"),
            ("kubectl get nodes --show-labels", "the labels of each node"),
        ),
        "which label or value is missing, and whether a similar one exists",
    ),
    causes.NODE_NAME: Advice(
        "The pod names another node in spec.nodeName.",
        ((_OF_POD + "'{.spec.nodeName}'", "the node that it names"), (_NODES, "the nodes that exist")),
    ),
    causes.HOST_PORT: Advice(
        "A pod on each of these nodes uses the same host port.",
        (
            (_OF_POD + "'{.spec.containers[*].ports[*].hostPort}'", "the host ports of the pod"),
            (
                "kubectl get pods -A -o custom-columns=NODE:.spec.nodeName,NAMESPACE:.metadata.namespace,"
                "NAME:.metadata.name,PORTS:.spec.containers[*].ports[*].hostPort",
                "the host ports of all pods",
            ),
        ),
        "which pod holds the port on each node",
    ),
    causes.TOPOLOGY_SPREAD: Advice(
        "On these nodes the pod would make the difference between topology domains larger than its spread constraint "
        "allows, or they lack the label of the domains.",
        (
            (_OF_POD + "'{.spec.topologySpreadConstraints}'", "the constraints of the pod"),
            (f"kubectl get nodes {_SPREAD}", "the domains of the nodes"),
            (f"kubectl get pods -n {NAMESPACE} -o wide --show-labels", "where the pods are that count"),
        ),
        "how many pods each domain has, and which domain is allowed",
    ),
    causes.POD_AFFINITY: Advice(
        "The pod must run near a pod that these nodes' domains do not have.",
        (
            (_OF_POD + "'{.spec.affinity.podAffinity}'", "what the pod requires"),
            ("kubectl get pods -A -o wide --show-labels", "where pods with these labels run"),
        ),
        "which pods match, and in which domains they run",
    ),
    causes.POD_ANTI_AFFINITY: Advice(
        "A pod in the domain of these nodes and this pod must not run together. With anti-affinity by host, every "
        "replica needs a node of its own.",
        (
            (_OF_POD + "'{.spec.affinity.podAntiAffinity}'", "what the pod keeps away from"),
            ("kubectl get pods -A -o wide --show-labels", "where pods with these labels run"),
        ),
        "which pod is in the way on each node",
    ),
    causes.VOLUME_ZONE: Advice(
        "A volume of the pod can be used from other nodes only: it is in another zone, or it is a disk of one node.",
        (
            *_CLAIMS,
            (
                "kubectl get pv -o custom-columns=NAME:.metadata.name,CLAIM:.spec.claimRef.name,"
                "NODES:.spec.nodeAffinity.required.nodeSelectorTerms",
                "which nodes can use each volume",
            ),
            (f"kubectl get nodes {_SPREAD}", "the zones of the nodes"),
        ),
        "why the nodes that can use the volume refuse the pod",
    ),
    causes.VOLUME_LIMIT: Advice(
        "A node can attach a limited number of volumes of a driver, and these have no room for one more.",
        (
            (
                "kubectl get csinodes -o custom-columns=NAME:.metadata.name,DRIVERS:.spec.drivers[*].name,"
                "LIMITS:.spec.drivers[*].allocatable.count",
                "the limit of each node and driver",
            ),
            ("kubectl get volumeattachments", "the volumes that are attached"),
        ),
        "how many volumes of the driver each node has",
    ),
    causes.DRIVER_MISSING: Advice(
        "The CSI driver of a volume is not installed on these nodes, and its CSIDriver object keeps such pods away "
        "from them (spec.preventPodSchedulingIfMissing).",
        (
            (
                "kubectl get csinodes -o custom-columns=NAME:.metadata.name,DRIVERS:.spec.drivers[*].name",
                "the drivers of each node",
            ),
            ("kubectl get daemonsets -A", "whether the node plugin of the driver runs everywhere"),
        ),
        "which nodes lack the driver",
    ),
    causes.VOLUME_CONFLICT: Advice(
        "Another pod has a volume of this pod in exclusive use.", _CLAIMS, "which pod uses the volume"
    ),
    causes.CLAIM_MISSING: Advice(
        "A claim that the pod names does not exist, is being deleted, or is not its own. The pod waits for it.",
        _CLAIMS,
        "whether the pod would have a node with the claim",
    ),
    causes.CLAIM_UNBOUND: Advice(
        "A claim of the pod has no volume. Its provisioner has not made one, or no PersistentVolume matches it.",
        (*_CLAIMS, ("kubectl get pv,storageclass", "the volumes and classes that exist")),
        "whether the pod would have a node with the volume",
    ),
    causes.STORAGE_CAPACITY: Advice(
        "The driver reports too little free storage for the new volume.",
        (("kubectl get csistoragecapacities -A", "the capacity that drivers report"),),
    ),
    causes.DEVICE_CLAIM: Advice(
        "The devices that the pod's ResourceClaims request are in use, of another kind, or on other nodes; or a claim "
        "is not ready.",
        _DEVICES,
        "which device refuses for which reason",
    ),
    causes.DEVICE_ABSENT: Advice("A claim of the pod requests a class of devices that does not exist.", _DEVICES),
    causes.GATED: Advice(
        "A controller or a person holds the pod until its gates are removed. The scheduler has not tried it.",
        ((_OF_POD + "'{.spec.schedulingGates}'", "its gates"),),
    ),
    causes.POD_GROUP: Advice(
        "The pods of its group are placed together or not at all.",
        ((f"kubectl get pods -n {NAMESPACE} --show-labels", "the pods of the group"),),
    ),
    causes.NO_NODES: Advice("The scheduler knows no node.", ((_NODES, "the nodes that exist"),)),
    causes.ERROR: Advice(
        "The attempt ended in an error before all nodes were looked at. The scheduler tries again.",
        ((f"kubectl get events -n {NAMESPACE} --field-selector involvedObject.name={POD}", "the events of the pod"),),
    ),
    causes.PLUGIN: Advice("", ((_OF_POD + "'{.spec.schedulerName}'", "the scheduler of the pod"),)),
}

UNKNOWN = Advice(
    "No in-tree plugin of 1.16 to 1.37 uses this text: it is of an out-of-tree plugin, an extender or another "
    "scheduler.",
    ADVICE[causes.PLUGIN].commands,
)
EVERY = (
    (f"kubectl describe pod {POD} -n {NAMESPACE}", "what the pod requests, selects and tolerates, and its events"),
)
WHICH_NODE = "which node refuses for which reason"
OTHER_REASONS = (
    "whether a node has further reasons: most releases name only the first plugin that refuses it",
    "which change places the pod",
)
