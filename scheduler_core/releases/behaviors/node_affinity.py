"""NodeAffinity."""

from dataclasses import dataclass

from scheduler_core.releases.behaviors.behavior import WORDING, on


@dataclass(frozen=True, kw_only=True)
class NodeAffinityBehaviors:
    node_affinity_prefilters_nodes: bool = on(
        "PreFilter keeps only the nodes that the pod's node affinity names",
        "the node affinity is only checked in Filter",
        "pods of DaemonSets are scheduled faster; other nodes are no longer evaluated for them",
        since="1.24",
    )
    node_affinity_reason_names_affinity: bool = on(
        "the reason of NodeAffinity mentions affinity",
        "the reason of NodeAffinity mentions only the node selector",
        WORDING,
        since="1.20",
    )
    node_affinity_reason_reworded: bool = on(
        "the reason of NodeAffinity mentions both affinity and selector",
        "the reason of NodeAffinity mentions only affinity",
        WORDING,
        since="1.21",
    )
