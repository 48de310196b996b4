"""Volume plugins, and two changes of 1.20 next to theirs."""

from dataclasses import dataclass

from scheduler_core.releases.behaviors.behavior import WORDING, off, on


@dataclass(frozen=True, kw_only=True)
class VolumeBehaviors:
    volume_affinity_reason_reworded: bool = on(
        "the reason of VolumeBinding names the PersistentVolume's node affinity",
        "the reason of VolumeBinding is a volume node affinity conflict",
        WORDING,
        since="1.33",
    )
    claim_in_use_reason_reworded: bool = on(
        "the reason of VolumeRestrictions states that another pod uses the ReadWriteOncePod claim",
        "the reason of VolumeRestrictions states that the claim is in use, without naming its access mode",
        WORDING,
        since="1.34",
    )
    volume_binding_prefilter: bool = on(
        "VolumeBinding checks claims once in PreFilter instead of for each node",
        "VolumeBinding checks claims for each node",
        "cycles are faster; an unbound claim is reported once instead of for each node",
        since="1.19",
        pull=91775,
    )
    ephemeral_volumes: bool = on(
        "a generic ephemeral volume has a claim, named after the pod and the volume",
        "generic ephemeral volumes are ignored",
        "pods with generic ephemeral volumes wait for their claims",
        since="1.21",
        gate="GenericEphemeralVolume",
        kep=1698,
    )
    lost_claim_rejects: bool = on(
        "VolumeBinding rejects a pod with a lost claim once",
        "VolumeBinding rejects each node for a pod with a lost claim",
        WORDING,
        since="1.23",
        pull=105245,
    )
    missing_volume_reason_reworded: bool = on(
        "the reason of VolumeBinding for a missing volume is about the node",
        "the reason of VolumeBinding for a missing volume is about the claim",
        WORDING,
        since="1.23",
        pull=105196,
    )
    storage_capacity: bool = on(
        "VolumeBinding checks the capacity that a driver reports",
        "VolumeBinding ignores the capacity of storage",
        "pods no longer go to nodes where too little storage is left for their volumes",
        since="1.21",
        kep=1472,
    )
    storage_capacity_scoring: bool = on(
        "VolumeBinding scores nodes by the storage that is left for the pod's claims",
        "VolumeBinding does not score",
        "pods with claims that bind with them prefer nodes with much free storage",
        since="1.37",
        gate="StorageCapacityScoring",
        kep=4049,
    )
    missing_driver_rejects: bool = on(
        "NodeVolumeLimits rejects nodes without a CSI driver that prevents this (preventPodSchedulingIfMissing)",
        "NodeVolumeLimits does not check whether a node has a CSI driver",
        "pods with volumes of such a driver wait for nodes on which it runs",
        since="1.37",
        gate="VolumeLimitScaling",
        kep=5030,
    )
    local_volumes_prefilter_nodes: bool = off(
        "VolumeBinding keeps only the nodes of bound local volumes in PreFilter",
        "the nodes of bound local volumes are only checked in Filter",
        "nodes whose hostname label is not their name are found; else only the evaluated nodes and the message differ",
        since="1.27",
        until="1.29.10, 1.30.6, 1.31.2",
        pull=125398,
        picks=(127586, 127585, 127584),
    )
    read_write_once_pod: bool = on(
        "VolumeRestrictions enforces ReadWriteOncePod claims",
        "ReadWriteOncePod is treated as ReadWriteOnce",
        "a second pod with such a claim stays pending, or preempts the first",
        since="1.27",
        gate="ReadWriteOncePod",
        kep=2485,
    )
    volume_attributes_class: bool = on(
        "claim and volume must have the same VolumeAttributesClass",
        "VolumeAttributesClass is ignored when a volume is matched",
        "claims with a class no longer bind to volumes of another one",
        since="1.34",
        gate="VolumeAttributesClass",
        kep=3751,
    )
    volume_zone_reads_stable_labels: bool = on(
        "VolumeZone reads the stable and the beta labels of zone and region",
        "VolumeZone reads only failure-domain.beta.kubernetes.io/zone and region",
        "volumes that have only the stable labels keep pods in their zone",
        since="1.19",
        pull=89365,
    )
    volume_zone_claim_fails: bool = off(
        "an unusable claim is an error of VolumeZone",
        "VolumeZone rejects a pod with an unusable claim",
        "the event and the result differ; the pod stays pending in both",
        until="1.19",
        pull=102306,
    )
    volume_zone_explains_unbound_claims: bool = on(
        "VolumeZone reports what an unbound claim lacks",
        "VolumeZone reports an unbound claim as not found",
        WORDING,
        since="1.18",
    )
    volume_zone_stable_labels: bool = on(
        "a node's stable zone label matches a volume's beta zone label",
        "labels of node and volume must be equal in name, stable or beta",
        "pods with old volumes fit on nodes that have only the stable labels",
        since="1.29",
    )
    volume_zone_prefilter: bool = on(
        "VolumeZone checks claims once in PreFilter instead of for each node",
        "VolumeZone checks claims for each node",
        "cycles are faster; a broken claim is reported once instead of for each node",
        since="1.27",
    )
    attach_limits_from_allocatable: bool = off(
        "the node's allocatable can also limit CSI volumes",
        "only the CSINode limits CSI volumes",
        "limits in a node's allocatable no longer apply to CSI volumes",
        until="1.31",
    )
    counts_attachments_without_pods: bool = on(
        "attached volumes without a pod count against the limit",
        "only volumes of pods on the node count against the limit",
        "nodes that are still detaching volumes accept fewer pods",
        since="1.32",
    )
    preferred_affinity_ignores_fields: bool = off(
        "preferred node affinity looks at matchExpressions alone",
        "preferred node affinity also looks at matchFields",
        "preferred terms with matchFields count",
        until="1.19",
    )
    spread_defaulting_type: bool = on(
        "PodTopologySpreadArgs has defaultingType",
        "the defaultConstraints of PodTopologySpreadArgs always count",
        "a configuration with defaultConstraints needs defaultingType: List",
        since="1.20",
    )
    checks_claims_first: bool = off(
        "the claims of a pod are checked before PreFilter: a missing or deleted one is an error",
        "a missing or deleted claim rejects the pod",
        "the event and the result differ; the pod stays pending in both",
        until="1.19",
    )
    unusable_claim_fails_cycle: bool = off(
        "an unbound claim or a missing volume is an error of the cycle, not a rejection",
        "an unbound claim or a missing volume rejects the pod",
        "the event and the result differ; the pod stays pending in both",
        until="1.17",
        pull=93892,
    )
    missing_claim_fails: bool = on(
        "volume limits treat a missing claim of a pod as an error",
        "volume limits ignore a missing claim of a pod",
        "pods with a missing claim fail with an error",
        since="1.23",
    )
    missing_claim_rejects: bool = on(
        "NodeVolumeLimits rejects a pod with a missing claim, without an error",
        "a missing claim is an error of NodeVolumeLimits",
        "the event and the result differ; the pod stays pending in both",
        since="1.32",
    )
    in_tree_disks_are_csi: bool = on(
        "in-tree disks count as CSI volumes on nodes where a CSI driver replaces the in-tree plugin",
        "in-tree disks are not CSI volumes",
        "the limits and the topology of CSI drivers apply to in-tree disks",
        since="1.23",
        kep=625,
    )
    gce_pd_is_csi: bool = on(
        "GCE PD counts as CSI on every node with a CSINode, whatever the CSINode announces",
        "GCE PD counts as CSI where the CSINode announces the migration",
        "the limit of the CSI driver applies to GCE PD volumes",
        since="1.28",
    )
    missing_csi_node_crashes: bool = off(
        "kube-scheduler crashes if an in-tree disk is a volume of a pod and a node has no CSINode",
        "an in-tree disk of a pod does not count on a node without a CSINode",
        "clusters in which a node has no CSINode have a scheduler again",
        since="1.25",
        until="1.25.6, 1.26.1",
        pull=115179,
        picks=(115347, 115348),
    )
    portworx_migration: bool = on(
        "Portworx counts as CSI if the CSINode announces it",
        "Portworx volumes are not translated to CSI",
        "the limit of the CSI driver applies to migrated Portworx volumes",
        since="1.31",
        gate="CSIMigrationPortworx",
        kep=2589,
    )
    rbd_migratable: bool = off(
        "CSI translation supports RBD, so that NodeVolumeLimits does not skip it",
        "RBD volumes are not translated to CSI",
        "pods with RBD volumes are no longer checked against CSI limits",
        until="1.30",
    )
