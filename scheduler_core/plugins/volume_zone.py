"""VolumeZone: a volume that is bound and labelled with a zone or region is used in that zone or region alone.

Upstream: pkg/scheduler/framework/plugins/volumezone.
"""

from __future__ import annotations

import numpy as np

from scheduler_core.api.objects import PersistentVolumeClaim
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import events
from scheduler_core.framework.interface import (
    PASSES,
    SKIPPED,
    CycleState,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    Status,
    Verdict,
    unresolvable,
)
from scheduler_core.plugins.volumes import NO_NAME, claim_missing, class_of_claim, names_claim, not_found

CONFLICT = unresolvable("node(s) had no available volume zone")

# label of the volume -> the stable label that means the same
_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}

Topology = tuple[str, frozenset[str]]


def _zones(text: str) -> frozenset[str]:
    """The zones of a label such as `a__b`; none if one of them is empty, which makes upstream ignore the label."""
    zones = frozenset(zone.strip() for zone in text.split("__"))
    return frozenset() if "" in zones else zones


class VolumeZone(PreFilterPlugin, FilterPlugin):
    name = "VolumeZone"

    def pre_filter(self, state: CycleState, pod: PodInfo) -> Status | PreFilterResult | None:
        """Collects the zone and region labels of the bound volumes; skips where there are none."""
        topologies: list[Topology] = []
        for volume in pod.pod.spec.volumes:
            if volume.persistent_volume_claim is None:
                continue
            name = volume.persistent_volume_claim.claim_name
            if not name:
                return unresolvable(NO_NAME)
            claim = self.cluster.claims.get(f"{pod.namespace}/{name}")
            if claim is None:
                return unresolvable(claim_missing(name))
            if not claim.spec.volume_name:
                reason = self._why_unbound(claim)
                if reason:
                    return unresolvable(reason)
                continue
            bound = self.cluster.volumes.get(claim.spec.volume_name)
            if bound is None:
                return unresolvable(not_found("persistentvolume", claim.spec.volume_name))
            labels = bound.metadata.labels
            topologies += [(key, zones) for key in _LABELS if key in labels and (zones := _zones(labels[key]))]
        if not topologies:
            return SKIPPED
        state[self.name] = topologies
        return None

    def _why_unbound(self, claim: PersistentVolumeClaim) -> str:
        """Why a claim without a volume cannot be used; "" if its volume is to come with the pod."""
        name = class_of_claim(claim)
        if not name:
            return "PersistentVolumeClaim had no pv name and storageClass name"
        storage_class = self.cluster.storage_classes.get(name)
        if storage_class is None:
            return not_found("storageclass.storage.k8s.io", name)
        return "" if storage_class.volume_binding_mode == "WaitForFirstConsumer" else "PersistentVolume had no name"

    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        """Rejects nodes elsewhere; a node without any zone or region label fits every volume."""
        topologies: list[Topology] | None = state.get(self.name)
        if topologies is None:
            return PASSES
        nodes = self.cluster.nodes
        labelled = np.zeros(len(nodes), np.bool_)
        for key in _LABELS:
            labelled |= nodes.topology(key).ids >= 0
        wrong = np.zeros(len(nodes), np.bool_)
        for key, zones in topologies:
            ids, values = nodes.topology(key).ids, nodes.topology(key).values
            fits = np.array([*(value in zones for value in values), False], np.bool_)[ids]
            if self.cluster.release.volume_zone_stable_labels and _LABELS[key] != key:
                stable, values = nodes.topology(_LABELS[key]).ids, nodes.topology(_LABELS[key]).values
                instead = np.array([*(value in zones for value in values), False], np.bool_)[stable]
                fits = np.where(ids < 0, instead, fits)
            wrong |= ~fits
        return Verdict.reject(labelled & wrong, CONFLICT)

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered("StorageClass", events.ADD),
            events.registered(events.NODE, events.ADD, events.UPDATE_NODE_LABEL),
            events.registered("PersistentVolumeClaim", events.ADD, events.UPDATE, hint=self._after_claim_change),
            events.registered("PersistentVolume", events.ADD, events.UPDATE),
        ]

    def _after_claim_change(self, pod: PodInfo, old: object, new: PersistentVolumeClaim) -> bool:
        return names_claim(pod, new)
