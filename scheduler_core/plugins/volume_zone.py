"""VolumeZone: a bound volume with a zone or region label can be used only in that zone or region.

Upstream: pkg/scheduler/framework/plugins/volumezone.
"""

from collections.abc import Sequence

import numpy as np

from scheduler_core.api.objects import PersistentVolume, PersistentVolumeClaim
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import causes, events, signers
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins.volumes import (
    NO_NAME,
    bound_claims,
    claim_missing,
    claim_obstacle,
    claims_of,
    class_of_claim,
    is_missing,
    not_found,
    own_claim_changed,
    waits,
)
from scheduler_core.provenance.context import View
from scheduler_core.provenance.matching import label_equals
from scheduler_core.provenance.tree import Tree, constant, contains, every, opposite, some

CONFLICT = fwk.unresolvable("node(s) had no available volume zone")

# label of the volume -> the equivalent stable label
_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
_ALL = tuple(_LABELS)
_BETA = _ALL[:2]

Topology = tuple[str, frozenset[str]]


def _zones(text: str) -> frozenset[str]:
    """Return the zones of a label such as `a__b`; empty if one of them is empty, in which case upstream ignores the
    label."""
    zones = frozenset(zone.strip() for zone in text.split("__"))
    return frozenset() if "" in zones else zones


class VolumeZone(fwk.PreFilterPlugin, fwk.FilterPlugin):
    name = "VolumeZone"
    cause = causes.VOLUME_ZONE
    pod_fields = ("volumes",)
    precise_node_updates = "always"
    reads = "has_volumes"
    phrases = {CONFLICT.message: "are outside its volume's zone"}

    @property
    def zone_labels(self) -> Sequence[str]:
        """The labels of nodes and volumes that count."""
        return _ALL if self.cluster.release.volume_zone_reads_stable_labels else _BETA

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Collect the zone and region labels of the bound volumes; skip if there are none."""
        topologies: list[Topology] = []
        wrong = self._collect(pod, topologies)
        if wrong is not None and self.cluster.release.volume_zone_prefilter:
            return wrong
        if not topologies and wrong is None:
            return fwk.SKIPPED
        state[self.name] = topologies, wrong
        return None

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.ANYTHING if pod.pod.spec.volumes else fwk.OBJECTS

    def _collect(self, pod: PodInfo, topologies: list[Topology]) -> fwk.Status | None:
        """Add the labels of each volume in turn; return the problem of the first claim that cannot be used."""
        for volume in pod.pod.spec.volumes:
            if volume.persistent_volume_claim is None:
                continue
            name = volume.persistent_volume_claim.claim_name
            claim = self.cluster.claims.get(f"{pod.namespace}/{name}")
            bound = self.cluster.volumes.get(claim.spec.volume_name) if claim is not None else None
            if bound is not None:
                labels = bound.metadata.labels
                zones = [(key, _zones(labels[key])) for key in self.zone_labels if key in labels]
                topologies += [pair for pair in zones if pair[1]]
            elif reason := self._why_without_volume(name, claim):
                fails = self.cluster.release.volume_zone_claim_fails
                return fwk.error(reason) if fails else fwk.unresolvable(reason)
        return None

    def _why_without_volume(self, name: str, claim: PersistentVolumeClaim | None) -> str:
        """Return why a claim that has no volume cannot be used; "" if it is bound with its pod."""
        if claim is None:
            return claim_missing(name) if name else NO_NAME
        if claim.spec.volume_name:
            return not_found("persistentvolume", claim.spec.volume_name)
        class_name = class_of_claim(claim)
        storage_class = self.cluster.storage_classes.get(class_name)
        if storage_class is not None and storage_class.volume_binding_mode == "WaitForFirstConsumer":
            return ""
        if not self.cluster.release.volume_zone_explains_unbound_claims:
            return f'PersistentVolumeClaim was not found: "{name}"'
        if not class_name:
            return "PersistentVolumeClaim had no pv name and storageClass name"
        if storage_class is None and self.cluster.release.volume_zone_claim_fails:
            return f'StorageClass "{class_name}" claimed by PersistentVolumeClaim "{name}" not found'
        if storage_class is None:
            return not_found("storageclass.storage.k8s.io", class_name)
        return "PersistentVolume had no name"

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        """Reject nodes in other zones or regions. Every volume fits a node without any zone or region label."""
        found: tuple[list[Topology], fwk.Status | None] | None = state.get(self.name)
        if found is None:
            return fwk.PASSES
        topologies, broken = found
        nodes = self.cluster.nodes
        labelled = np.zeros(len(nodes), np.bool_)
        for key in self.zone_labels:
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
        if broken is not None:
            return fwk.Verdict.choose((labelled & wrong, CONFLICT), (labelled, broken))
        return fwk.Verdict.reject(labelled & wrong, CONFLICT)

    # ---- explanations

    def _broken_claims(self, view: View) -> list[Tree]:
        """Return a tree for each claim: whether it cannot be used."""
        cluster, parts = self.cluster, []
        for i, name, claim in claims_of(view):
            if view.pod.pod.spec.volumes[i].persistent_volume_claim is None:
                continue
            if claim is None:
                parts.append(is_missing("PersistentVolumeClaim", f"{view.pod.namespace}/{name}", cluster.claims))
            elif claim.spec.volume_name:
                parts.append(is_missing("PersistentVolume", claim.spec.volume_name, cluster.volumes))
            else:
                parts.append(opposite(waits(view, claim), f"{name} has no volume and does not wait for its pod"))
        return parts

    def explain_pre_filter(self, state: fwk.CycleState, view: View) -> Tree:
        parts = self._broken_claims(view)
        text = next((part.label for part in parts if part.value), "nothing is wrong with its claims")
        return some(parts).with_text(f"The pod as a whole: {text}")

    pod_obstacle = staticmethod(claim_obstacle)

    @classmethod
    def obstacles(
        cls, context: RejectionContext | None, rows: Sequence[int], status: fwk.Status
    ) -> list[tuple[Obstacle, ...]]:
        usual = (cls.obstacle(context, status),)
        if context is None:
            return [usual] * len(rows)
        known: dict[str, tuple[Obstacle, ...]] = {"": usual}
        found = []
        for row in rows:
            labels, text = context.nodes.nodes[row].metadata.labels, ""
            for _, volume in bound_claims(context):
                for label, value in volume.metadata.labels.items():
                    if label.rpartition("/")[2] in ("zone", "region") and labels.get(label) not in value.split("__"):
                        text = f"are outside {label.rpartition('/')[2]} {value} of its volume {volume.name}"
                        if text not in known:
                            known[text] = (
                                Obstacle(cls.cause, causes.NEVER, text, (volume.name, *value.split("__")), label),
                            )
            found.append(known[text])
        return found

    @staticmethod
    def rejection_detail(context: RejectionContext, row: int, status: fwk.Status) -> str:
        """Return the zone or region of the volume, and that of the node."""
        node = context.nodes.nodes[row].metadata.labels
        for key, volume in bound_claims(context):
            for label, value in volume.metadata.labels.items():
                if label.rpartition("/")[2] in ("zone", "region") and node.get(label) not in value.split("__"):
                    has = f"the node has {label}={node[label]}" if label in node else "the node has no such label"
                    return f"volume {volume.name} of claim {key} is in {label}={value} ({has})"
        return ""

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        node = view.node
        labels = view.field(node, "metadata", "labels", missing={})
        keys = [contains(labels, constant(key, "label")) for key in self.zone_labels]
        labelled = some(keys, "has a zone or region label")
        away, texts = [], []
        for _, _, claim in claims_of(view):
            bound = self.cluster.volumes.get(claim.spec.volume_name) if claim is not None else None
            if bound is None:
                continue
            for key in self.zone_labels:
                if key in bound.metadata.labels and (zones := _zones(bound.metadata.labels[key])):
                    fits = self._explain_zone(view, bound, key, zones)
                    away.append(opposite(fits, f"{bound.name} is not of this node's {key}"))
                    texts += [] if fits.value else [f"{bound.name} is of {key} {bound.metadata.labels[key]}"]
        if not self.cluster.release.volume_zone_prefilter:
            broken = self._broken_claims(view)
            away += broken
            texts += [part.label for part in broken if part.value]
        refused = every([labelled, some(away, "a volume is in another zone")])
        return refused.with_text(f"{node.name}: {'; '.join(texts) if refused.value else 'is in the volume zones'}")

    def _explain_zone(self, view: View, volume: PersistentVolume, key: str, zones: frozenset[str]) -> Tree:
        """Explain whether the node's label is one of the zones in the volume's label."""
        node, text = view.node, volume.metadata.labels[key]
        instead = self.cluster.release.volume_zone_stable_labels and key not in node.metadata.labels
        key_of_node = _LABELS[key] if instead else key
        if zones == {text}:
            return label_equals(view, node, key_of_node, view.field(volume, "metadata", "labels", key))
        wanted = [constant(zone, f"a zone of {text}, label {key} of {volume.name}") for zone in sorted(zones)]
        return some([label_equals(view, node, key_of_node, zone) for zone in wanted], "in one of its zones")

    sign = staticmethod(signers.volumes)

    def events_to_register(self) -> list[events.EventHint]:
        return [
            events.registered("StorageClass", events.ADD),
            events.registered(events.NODE, events.ADD, events.UPDATE_NODE_LABEL),
            events.registered("PersistentVolumeClaim", events.ADD, events.UPDATE, hint=own_claim_changed),
            events.registered("PersistentVolume", events.ADD, events.UPDATE),
        ]
