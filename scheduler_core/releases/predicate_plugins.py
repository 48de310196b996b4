"""Which plugin does what a predicate or a priority did: what is known of the one serves the other."""

_SUCCESSORS = {
    "CheckNodeUnschedulable": "NodeUnschedulable",
    "GeneralPredicates": "NodeResourcesFit",  # and three others; resources are what it mostly refuses for
    "PodFitsResources": "NodeResourcesFit",
    "HostName": "NodeName",
    "PodFitsHostPorts": "NodePorts",
    "MatchNodeSelector": "NodeAffinity",
    "NoDiskConflict": "VolumeRestrictions",
    "PodToleratesNodeTaints": "TaintToleration",
    "MaxEBSVolumeCount": "EBSLimits",
    "MaxGCEPDVolumeCount": "GCEPDLimits",
    "MaxCSIVolumeCountPred": "NodeVolumeLimits",
    "MaxAzureDiskVolumeCount": "AzureDiskLimits",
    "MaxCinderVolumeCount": "CinderLimits",
    "CheckVolumeBinding": "VolumeBinding",
    "NoVolumeZoneConflict": "VolumeZone",
    "EvenPodsSpread": "PodTopologySpread",
    "MatchInterPodAffinity": "InterPodAffinity",
}


def successor(name: str) -> str:
    """The plugin that came after a predicate; a plugin is its own."""
    return _SUCCESSORS.get(name, name)
