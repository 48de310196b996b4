"""NodeDeclaredFeatures."""

from dataclasses import dataclass

from scheduler_core.releases.behaviors.behavior import on


@dataclass(frozen=True, kw_only=True)
class NodeDeclaredFeaturesBehaviors:
    node_declared_features: bool = on(
        "nodes declare their features",
        "declared features of nodes are ignored",
        "pods that need a feature stay away from nodes that do not declare it",
        since="1.36",
        gate="NodeDeclaredFeatures",
        kep=5328,
    )
