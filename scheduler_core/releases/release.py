"""A kube-scheduler release: its default plugins and, collected from behaviors/, what differs between releases."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from scheduler_core.releases.behaviors.behavior import Behavior
from scheduler_core.releases.behaviors.cluster import ClusterBehaviors
from scheduler_core.releases.behaviors.dra import DynamicResourceBehaviors
from scheduler_core.releases.behaviors.framework import FrameworkBehaviors
from scheduler_core.releases.behaviors.image_locality import ImageLocalityBehaviors
from scheduler_core.releases.behaviors.inter_pod_affinity import InterPodAffinityBehaviors
from scheduler_core.releases.behaviors.legacy import LegacyBehaviors
from scheduler_core.releases.behaviors.node_affinity import NodeAffinityBehaviors
from scheduler_core.releases.behaviors.node_declared_features import NodeDeclaredFeaturesBehaviors
from scheduler_core.releases.behaviors.node_resources import NodeResourcesBehaviors
from scheduler_core.releases.behaviors.pod_groups import PodGroupBehaviors
from scheduler_core.releases.behaviors.pod_topology_spread import PodTopologySpreadBehaviors
from scheduler_core.releases.behaviors.preemption import PreemptionBehaviors
from scheduler_core.releases.behaviors.queue import QueueBehaviors
from scheduler_core.releases.behaviors.taint_toleration import TaintTolerationBehaviors
from scheduler_core.releases.behaviors.volumes import VolumeBehaviors
from scheduler_core.releases.versions import minor_of

PluginWeights = tuple[tuple[str, int], ...]
"""(plugin name, weight) in order; weight 0 means that no weight is given."""
DefaultPoints = Mapping[str, Mapping[str, PluginWeights]]
"""Configuration version -> extension point -> its default plugins."""

OLD_PLUGINS = frozenset(
    {
        *("NodeLabel", "NodePreferAvoidPods", "ServiceAffinity"),
        *("NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "RequestedToCapacityRatio"),
    }
)
"""Plugins of v1beta1 and of Policies that later configuration versions lack. 1.22 is the last release with them."""


@dataclass(frozen=True, kw_only=True)
class Release(
    LegacyBehaviors,
    ClusterBehaviors,
    InterPodAffinityBehaviors,
    NodeAffinityBehaviors,
    TaintTolerationBehaviors,
    NodeResourcesBehaviors,
    ImageLocalityBehaviors,
    NodeDeclaredFeaturesBehaviors,
    PodTopologySpreadBehaviors,
    VolumeBehaviors,
    FrameworkBehaviors,
    PreemptionBehaviors,
    PodGroupBehaviors,
    QueueBehaviors,
    DynamicResourceBehaviors,
):
    """A minor release, or one of its patch releases. catalog.py computes its behaviours from `since` and `until`.

    `api_versions`: the KubeSchedulerConfiguration versions that it accepts, newest first.
    `default_plugins`: the MultiPoint list of the default profile, in order (upstream: getDefaultPlugins).
    `default_points`: the defaults of each extension point, for API versions older than MultiPoint.
    `removed_plugins`: plugins of older or newer releases, which this release refuses in a configuration.
    `absent_points`: plugin -> extension points that it has in other releases but not in this one.
    `feature_gates`: the gates that differ from their defaults; `name` also contains them.
    `patch_version`: the patch release that it is simulated as, for a minor release the one that decided the conformance
    cases; "" if there are none.
    """

    name: str
    api_versions: tuple[str, ...]
    default_plugins: PluginWeights
    default_points: DefaultPoints = field(default_factory=dict)
    removed_plugins: frozenset[str] = frozenset()
    absent_points: Mapping[str, frozenset[str]] = field(default_factory=dict)
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    patch_version: str = field(default="", compare=False)

    @property
    def number(self) -> str:
        """`1.36` or `1.36.1`: the name without feature gates."""
        return self.name.partition(" ")[0]

    @property
    def prefilter_excluded_node_message(self) -> str:
        """The reason of the nodes that PreFilter excluded, with `{plugins}` for their names; "" if there is none."""
        if not self.excluded_nodes_have_status:
            return ""
        if self.excluded_node_status_names_plugins:
            return "node(s) didn't satisfy plugin(s) [{plugins}]"
        return "node is filtered out by the prefilter result"

    @property
    def minor(self) -> str:
        """`1.36`: the minor release."""
        return minor_of(self.number)

    @property
    def version(self) -> str:
        """`1.36.2`: the patch release that it is simulated as."""
        return self.patch_version or f"{self.minor}.0"


BEHAVIORS: Mapping[str, Behavior] = {
    made.name: made.metadata["behavior"] for base in Release.__bases__ for made in fields(base)
}
"""Field of a Release -> its metadata."""


def without(plugins: PluginWeights, *names: str) -> PluginWeights:
    """Return the plugins except those with these names."""
    return tuple(entry for entry in plugins if entry[0] not in names)


def weighted(plugins: PluginWeights, **weights: int) -> PluginWeights:
    """Return the plugins with these weights replaced."""
    return tuple((name, weights.get(name, weight)) for name, weight in plugins)


def insert(plugins: PluginWeights, before: str, *entries: tuple[str, int]) -> PluginWeights:
    """Return the plugins with `entries` inserted before the plugin `before`."""
    at = [name for name, _ in plugins].index(before)
    return (*plugins[:at], *entries, *plugins[at:])


def with_weight(weight: int, *names: str) -> PluginWeights:
    """Return plugins that all have this weight."""
    return tuple((name, weight) for name in names)


def unweighted(*names: str) -> PluginWeights:
    """Return plugins with weight 0."""
    return with_weight(0, *names)
