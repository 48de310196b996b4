"""CSI migration: treats in-tree volumes as volumes of the CSI drivers that replaced the in-tree code.

Upstream: k8s.io/csi-translation-lib. Which plugins count as migrated: pkg/scheduler/framework/plugins/nodevolumelimits
(utils.go) and pkg/scheduler/framework/plugins/volumebinding (binder.go).
"""

from collections.abc import Mapping
from typing import Any

from scheduler_core.api.objects import CSINode, NodeSelectorTerm, PersistentVolume, Requirement, VolumeSource
from scheduler_core.plugins.volumes import affinity_terms
from scheduler_core.releases import Release

EBS, GCE_PD, AZURE_DISK = "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/azure-disk"
CINDER, PORTWORX = "kubernetes.io/cinder", "kubernetes.io/portworx-volume"
RBD = "kubernetes.io/rbd"
AZURE_FILE, VSPHERE = "kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"

DRIVERS = {
    EBS: "ebs.csi.aws.com",
    GCE_PD: "pd.csi.storage.gke.io",
    AZURE_DISK: "disk.csi.azure.com",
    AZURE_FILE: "file.csi.azure.com",
    CINDER: "cinder.csi.openstack.org",
    PORTWORX: "pxd.portworx.com",
    VSPHERE: "csi.vsphere.vmware.com",
}
_TOPOLOGY = {
    EBS: "topology.ebs.csi.aws.com/zone",
    GCE_PD: "topology.gke.io/zone",
    CINDER: "topology.cinder.csi.openstack.org/zone",
}
_MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_BETA_ZONE, _BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
_DELIMITER = "__"  # separates the zones in a label value


class TranslationError(ValueError):
    """The in-tree volume has no CSI equivalent; the message contains the reason."""


def plugin_of(source: VolumeSource) -> str:
    """Return the in-tree plugin of a volume if a CSI driver replaces it, otherwise ""."""
    if source.aws_elastic_block_store is not None:
        return EBS
    if source.gce_persistent_disk is not None:
        return GCE_PD
    if source.azure_disk is not None:
        return AZURE_DISK
    if source.cinder is not None:
        return CINDER
    if source.portworx_volume is not None:
        return PORTWORX
    if source.azure_file is not None:
        return AZURE_FILE
    return VSPHERE if source.vsphere_volume is not None else ""


def is_inline_migratable(source: VolumeSource, release: Release) -> bool:
    """Return whether the translation to CSI supports a volume of a pod (upstream IsInlineMigratable)."""
    return bool(plugin_of(source)) or (source.rbd is not None and release.rbd_migratable)


def announced(csi_node: CSINode | None, plugin: str) -> bool:
    """Return whether the CSINode lists the plugin as migrated to CSI."""
    return csi_node is not None and plugin in csi_node.metadata.annotations.get(_MIGRATED_PLUGINS, "").split(",")


def counted_as_csi(csi_node: CSINode | None, plugin: str, release: Release) -> bool:
    """Return whether volume limits count the plugin's volumes on a node as CSI volumes (upstream isCSIMigrationOn)."""
    if csi_node is None or not release.in_tree_disks_are_csi:
        return False
    if plugin in (EBS, AZURE_DISK, CINDER):
        return True
    if plugin == GCE_PD:
        return release.gce_pd_is_csi or announced(csi_node, plugin)
    return plugin == PORTWORX and release.portworx_migration and announced(csi_node, plugin)


def placed_as_csi(plugin: str, release: Release) -> bool:
    """Return whether VolumeBinding treats the plugin's volumes as CSI volumes on nodes that list the plugin as
    migrated."""
    if not release.in_tree_disks_are_csi:
        return False
    return plugin in (EBS, GCE_PD, AZURE_DISK, CINDER) or (plugin == PORTWORX and release.portworx_migration)


# ---------------------------------------------------------------- volume handles


def handle(source: VolumeSource, labels: Mapping[str, str]) -> str:
    """Return the CSI volume handle of an in-tree volume. `labels`: labels of the PersistentVolume, if it is one.

    Raises TranslationError.
    """
    if source.aws_elastic_block_store is not None:
        return _ebs_handle(source.aws_elastic_block_store.volume_id)
    if source.gce_persistent_disk is not None:
        return _gce_handle(source.gce_persistent_disk.pd_name, labels)
    if source.azure_disk is not None:
        return source.azure_disk.disk_uri
    loose: dict[str, Any] = source.cinder or source.portworx_volume or {}
    return str(loose.get("volumeID") or "")


def _ebs_handle(volume_id: str) -> str:
    """Return the volume ID. `vol-1`, `aws:///vol-1` and `aws://zone/vol-1` are the same volume."""
    if not volume_id.startswith("aws://"):
        return volume_id
    _, _, path = volume_id.removeprefix("aws://").partition("/")
    name = path.strip("/")
    if not name.startswith("vol-") or "/" in name:
        raise TranslationError(f"failed to translate Kubernetes ID to EBS Volume ID: {volume_id[:128]!r}")
    return name


def _gce_handle(disk: str, labels: Mapping[str, str]) -> str:
    zones = (labels.get(_BETA_ZONE) or labels.get(_ZONE, "")).split(_DELIMITER)
    if len(zones) == 1:
        return f"projects/UNSPECIFIED/zones/{zones[0] or 'UNSPECIFIED'}/disks/{disk}"
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise TranslationError(f"failed to get region from zones: {zone[:63]!r}")
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        raise TranslationError(f"failed to get region from zones: {', '.join(sorted(regions))}")
    return f"projects/UNSPECIFIED/regions/{regions.pop()}/disks/{disk}"


# ---------------------------------------------------------------- topology


def csi_terms(volume: PersistentVolume) -> list[NodeSelectorTerm] | None:
    """Return the node affinity of an in-tree PersistentVolume as a CSI volume; None if it has none.

    Zone keys in the affinity are replaced by the driver's topology key. If the affinity has no zones, the zone label of
    the volume is added. Raises TranslationError.
    """
    terms, plugin = affinity_terms(volume), plugin_of(volume.spec)
    handle(volume.spec, volume.metadata.labels)
    key = _TOPOLOGY.get(plugin)
    if key is None:
        return terms
    used = {req.key for term in terms or () for req in term.match_expressions}
    labels = volume.metadata.labels
    stable = _ZONE in used or (_BETA_ZONE not in used and (_ZONE in labels or _BETA_ZONE not in labels))
    zone_key = _ZONE if stable else _BETA_ZONE
    renamed = {} if stable else {_BETA_REGION: _REGION}
    zones: list[str] = []
    if any(req.key == zone_key and req.values for term in terms or () for req in term.match_expressions):
        renamed[zone_key] = key
    elif zone_key in labels:
        zones = sorted({zone.strip() for zone in labels[zone_key].split(_DELIMITER)} - {""})
    extra = [Requirement(key, "In", zones)] if zones else []
    if terms is None and not extra:
        return None
    return [
        NodeSelectorTerm(
            [Requirement(renamed.get(r.key, r.key), r.operator, r.values) for r in term.match_expressions] + extra,
            term.match_fields,
        )
        for term in terms or [NodeSelectorTerm()]
    ]
