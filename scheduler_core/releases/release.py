"""What a kube-scheduler release is, as far as decisions depend on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

PluginWeights = tuple[tuple[str, int], ...]
"""(plugin name, weight) in order; weight 0 stands for «not given»."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """A minor release: its defaults and the switches by which its behaviour differs from others.

    `api_versions`: the KubeSchedulerConfiguration versions it reads, newest first.
    `default_plugins`: the MultiPoint list of the default profile, in order (upstream: getDefaultPlugins).
    `default_points`: API versions older than MultiPoint name their defaults per extension point instead.
    `removed_plugins`: names that were plugins once and that this release refuses to see in a configuration.
    """

    name: str
    api_versions: tuple[str, ...]
    default_plugins: PluginWeights
    default_points: Mapping[str, Mapping[str, PluginWeights]] = field(default_factory=dict)
    removed_plugins: frozenset[str] = frozenset()

    # Behaviour switches; each says which upstream change it stands for.
    sidecar_containers: bool = True  # init containers with restartPolicy Always (SidecarContainers, 1.29)
    pod_level_resources: bool = True  # spec.resources (PodLevelResources, 1.34)
    in_place_resize: bool = True  # container statuses count in requests (InPlacePodVerticalScaling, 1.33)
