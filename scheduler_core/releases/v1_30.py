"""Kubernetes 1.30 with the default feature gates."""

from dataclasses import replace

from scheduler_core.releases import v1_31
from scheduler_core.releases.release import insert, unweighted

_IN_TREE_LIMITS = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
_PLUGINS = insert(v1_31.RELEASE.default_plugins, "NodeVolumeLimits", *unweighted("EBSLimits", "GCEPDLimits"))

RELEASE = replace(
    v1_31.RELEASE,
    name="1.30",
    patch_version="1.30.1",
    default_plugins=insert(_PLUGINS, "VolumeBinding", ("AzureDiskLimits", 0)),
    removed_plugins=v1_31.RELEASE.removed_plugins - _IN_TREE_LIMITS,
    affinity_label_keys=False,
    portworx_migration=False,
    rbd_migratable=True,
    prefilter_excluded_node_message="node is filtered out by the prefilter result",
    start_index_wraps_at_filtered_nodes=True,
    prefilter_reports_narrowing_plugins=False,
    queueing_hint_pod_changes=False,
    queueing_hint_spread_pod_adds=False,
    own_update_completes_backoff=False,
)
