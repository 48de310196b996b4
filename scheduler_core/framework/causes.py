"""Why a pod has no node: the kinds of causes (docs/answers.md), and the obstacles that plugins state."""

import math
from dataclasses import dataclass

UNTOLERATED_TAINT = "untolerated-taint"
NODE_SELECTOR = "node-selector"
INSUFFICIENT_RESOURCE = "insufficient-resource"
REQUEST_EXCEEDS_NODES = "request-exceeds-nodes"
RESOURCE_ABSENT = "resource-absent"
DOMAIN_FULL = "domain-full"
TOPOLOGY_SPREAD = "topology-spread"
POD_AFFINITY = "pod-affinity"
POD_ANTI_AFFINITY = "pod-anti-affinity"
HOST_PORT = "host-port"
VOLUME_ZONE = "volume-zone"
VOLUME_LIMIT = "volume-limit"
DRIVER_MISSING = "driver-missing"
VOLUME_CONFLICT = "volume-conflict"
CLAIM_MISSING = "claim-missing"
CLAIM_UNBOUND = "claim-unbound"
STORAGE_CAPACITY = "storage-capacity"
DEVICE_CLAIM = "device-claim"
DEVICE_ABSENT = "device-absent"
CORDONED = "cordoned"
NODE_NOT_READY = "node-not-ready"
PODS_LIMIT = "pods-limit"
NODE_NAME = "node-name"
GATED = "gated"
POD_GROUP = "pod-group"
NOMINATED = "nominated"
EXTENDER = "extender"
PLUGIN = "plugin"
NO_NODES = "no-nodes"
ERROR = "error"
WAITS = "waits"  # a node takes it now

NEVER = math.inf
"""The effort of an obstacle that no sensible change removes."""

TYPING_ERROR = 1.05
"""The effort to correct a label or value that no node has, while a similar one exists."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What keeps a pod from a node, or from all nodes.

    `effort`: how much a person would change to remove it, 1 for a toleration or an uncordon, up to 2 for a selector;
    NEVER if no sensible change does it. The numbers only order nodes. `phrase`: about nodes, a plural verb first
    (`have no nvidia.com/gpu`); about a whole pod, a sentence. `objects`: what is named, see `Cause.objects`. `domain`:
    the label whose value decides, if the pod is limited to nodes with some of its values. `plugin`: set by the reader.
    """

    kind: str
    effort: float
    phrase: str
    objects: tuple[str, ...] = ()
    domain: str = ""
    plugin: str = ""
