"""Labels of nodes."""

GIVEN_LABELS = (
    *("kubernetes.io/hostname", "kubernetes.io/arch", "kubernetes.io/os", "beta.kubernetes.io/arch"),
    *("beta.kubernetes.io/os", "node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"),
    *("topology.kubernetes.io/zone", "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone"),
    "failure-domain.beta.kubernetes.io/region",
)
"""Labels that describe what a node is. Changing them does not change the node."""

TOPOLOGY_LABELS = frozenset(label for label in GIVEN_LABELS if label.rpartition("/")[2] in ("zone", "region"))
FIXED_LABELS = frozenset(label for label in GIVEN_LABELS if label.rpartition("/")[2] in ("arch", "os"))
"""Labels whose value a pod needs because its images need it."""
