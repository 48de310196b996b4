"""Limits of attached volumes: MaxEBSVolumeCount, MaxGCEPDVolumeCount, MaxAzureDiskVolumeCount, MaxCinderVolumeCount,
MaxCSIVolumeCountPred.

In-tree volumes are not migrated to CSI yet. Source: pkg/scheduler/algorithm/predicates/predicates.go,
csi_volume_predicate.go.
"""

from __future__ import annotations

import re

from scheduler_core.api import quantity
from scheduler_core.api.objects import CSINode, Node, PersistentVolumeClaim, Volume, VolumeSource
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.plugins.node_volume_limits import Attachment, NodeVolumeLimits
from scheduler_core.plugins.non_csi_limits import AzureDiskLimits, CinderLimits, EBSLimits, GCEPDLimits, NonCSILimits
from scheduler_core.plugins.volumes import class_of_claim

_NITRO = re.compile(r"^[cmr]5.*|t3|z1d")


class _Counted(NonCSILimits):
    """Ignores missing claims and the CSI equivalents of in-tree volumes."""

    def _disks(self, pod: PodInfo, incoming: bool) -> set[str]:
        return super()._disks(pod, incoming=False)

    def _disk_of(self, claim: PersistentVolumeClaim) -> str | None:
        volume = self.cluster.volumes.get(claim.spec.volume_name)
        if volume is not None:
            return self.disk(volume.spec)
        found = self.cluster.storage_classes.get(class_of_claim(claim))
        return f"unbound {claim.key}" if found is not None and found.provisioner == self.plugin else None

    def _limit(self, row: int) -> int:
        node = self.cluster.nodes.nodes[row]
        amount = node.status.allocatable.get(self.resource)
        return self.default_limit(node) if amount is None else quantity.value(amount)


class MaxEBSVolumeCount(_Counted, EBSLimits):
    name = "MaxEBSVolumeCount"

    def default_limit(self, node: Node) -> int:
        return 25 if _NITRO.search(node.metadata.labels.get("beta.kubernetes.io/instance-type", "")) else 39


class MaxGCEPDVolumeCount(_Counted, GCEPDLimits):
    name = "MaxGCEPDVolumeCount"


class MaxAzureDiskVolumeCount(_Counted, AzureDiskLimits):
    name = "MaxAzureDiskVolumeCount"


class MaxCinderVolumeCount(_Counted, CinderLimits):
    name = "MaxCinderVolumeCount"

    def disk(self, source: VolumeSource) -> str | None:
        return None if source.cinder is None else str(source.cinder.get("volumeID") or "")


class MaxCSIVolumeCountPred(NodeVolumeLimits):
    """Counts only claims, because a pod cannot contain CSI volumes directly."""

    name = "MaxCSIVolumeCountPred"

    def _attachment(self, pod: PodInfo, volume: Volume, incoming: bool) -> Attachment | None:
        named = volume.persistent_volume_claim
        return None if named is None else self._claimed(pod, volume, named.claim_name, incoming=False)

    def _of_claim(self, claim: PersistentVolumeClaim) -> Attachment | None:
        found = super()._of_claim(claim)
        return None if found is not None and found.plugin else found

    def _counts(self, attachment: Attachment, csi_node: CSINode | None) -> bool:
        return True
