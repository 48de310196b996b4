"""NoDiskConflict, NoVolumeZoneConflict, CheckVolumeBinding: disks and claims of a pod.

Newer plugins reject the pod as a whole in PreFilter, but a predicate fails on every node that it checks. Such an error
fails the cycle, unless earlier predicates reject all nodes. Source: pkg/scheduler/algorithm/predicates/predicates.go,
pkg/scheduler/volumebinder, pkg/controller/volume/scheduling.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scheduler_core.api.objects import PersistentVolume, PersistentVolumeClaim
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cluster.volume_users import disk_key
from scheduler_core.framework import interface as fwk
from scheduler_core.legacy import reasons
from scheduler_core.plugins import volume_binding
from scheduler_core.plugins.volume_binding import UNBOUND_IMMEDIATE, VolumeBinding
from scheduler_core.plugins.volume_restrictions import VolumeRestrictions, Wanted
from scheduler_core.plugins.volumes import NO_NAME, claims_of, class_of_claim, fully_bound, is_missing, waits
from scheduler_core.provenance.context import View
from scheduler_core.provenance.matching import label_equals
from scheduler_core.provenance.tree import Tree, constant, contains, every, opposite, some

ZONE_LABELS = ("failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region")


class NoDiskConflict(VolumeRestrictions):
    """The disk conflicts of VolumeRestrictions; ReadWriteOncePod claims were added later."""

    name = "NoDiskConflict"

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        disks = [volume for volume in pod.pod.spec.volumes if disk_key(volume) is not None]
        if not disks:
            return fwk.SKIPPED
        state[self.name] = Wanted(disks, frozenset(), 0)
        return None


class CheckVolumeBinding(VolumeBinding):
    name = "CheckVolumeBinding"

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Classify the pod's claims. Missing claims and claims being deleted have failed the cycle before."""
        found = [claim for volume in pod.pod.spec.volumes if (claim := self._claim(pod, volume)) is not None]
        if not found:
            return fwk.SKIPPED
        bound = [claim for claim in found if fully_bound(claim)]
        delayed = [claim for claim in found if not fully_bound(claim) and self._is_delayed(claim)]
        if len(bound) + len(delayed) < len(found):
            state[f"{self.name}/error"] = fwk.error(*UNBOUND_IMMEDIATE.reasons)
        else:
            state[self.name] = volume_binding.Cycle(bound, delayed)
        return None

    def _claim(self, pod: PodInfo, volume: object) -> PersistentVolumeClaim | None:
        named = getattr(volume, "persistent_volume_claim", None)
        return None if named is None else self.cluster.claims.get(f"{pod.namespace}/{named.claim_name}")

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        failed: fwk.Status | None = state.get(f"{self.name}/error")
        if failed is not None:
            return fwk.Verdict.reject(np.ones(len(self.cluster.nodes), np.bool_), failed)
        return super().filter(state, pod)

    def _status(self, combined: int) -> fwk.Status:
        status = super()._status(combined)
        if combined & volume_binding.VOLUME_MISSING:
            return fwk.error("could not find v1.PersistentVolume")
        return reasons.refusal(*status.reasons)

    def _migrated(self, volume: PersistentVolume) -> fwk.Bool | None:
        return None  # CSI migration does not exist yet

    def _has_capacity(self, claim: PersistentVolumeClaim, storage_class: object) -> fwk.Bool:
        return np.ones(len(self.cluster.nodes), np.bool_)  # drivers do not report their capacity yet

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        failed: fwk.Status | None = state.get(f"{self.name}/error")
        if failed is None:
            return super().explain_filter(state, view)
        return super().explain_pre_filter(state, view).with_text(f"{view.node.name}: {failed.message}")


class NoVolumeZoneConflict(fwk.PreFilterPlugin, fwk.FilterPlugin):
    """Requires that the node has the zone and region labels of bound volumes. Nodes without such labels fit
    any volume."""

    name = "NoVolumeZoneConflict"

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Collect the labels of bound volumes up to the first claim with an error. Both affect labelled nodes."""
        labels: list[tuple[str, frozenset[str]]] = []
        for volume in pod.pod.spec.volumes:
            if volume.persistent_volume_claim is None:
                continue
            problem = self._labels_of(pod, volume.persistent_volume_claim.claim_name, labels)
            if problem is not None:
                state[f"{self.name}/error"] = problem
                break
        if not labels and f"{self.name}/error" not in state:
            return fwk.SKIPPED
        state[self.name] = labels
        return None

    def _labels_of(self, pod: PodInfo, name: str, labels: list[tuple[str, frozenset[str]]]) -> fwk.Status | None:
        """Add the labels of the claim's volume, or return the claim's error."""
        if not name:
            return fwk.error(NO_NAME)
        claim = self.cluster.claims.get(f"{pod.namespace}/{name}")
        if claim is None:
            return fwk.error(f'PersistentVolumeClaim was not found: "{name}"')
        if not claim.spec.volume_name:
            found = self.cluster.storage_classes.get(class_of_claim(claim))
            if found is not None and found.volume_binding_mode == "WaitForFirstConsumer":
                return None
            return fwk.error(f'PersistentVolumeClaim was not found: "{name}"')
        bound = self.cluster.volumes.get(claim.spec.volume_name)
        if bound is None:
            return fwk.error(f'PersistentVolume was not found: "{claim.spec.volume_name}"')
        texts = [(key, zones_of(bound.metadata.labels[key])) for key in ZONE_LABELS if key in bound.metadata.labels]
        labels += [(key, zones) for key, zones in texts if zones]
        return None

    def _labelled(self) -> fwk.Bool:
        """Return the nodes with a zone or region label; bool over nodes."""
        topologies = [self.cluster.nodes.topology(key) for key in ZONE_LABELS]
        labelled: npt.NDArray[np.bool_] = np.logical_or.reduce([topology.ids >= 0 for topology in topologies])
        return labelled

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        labels: list[tuple[str, frozenset[str]]] | None = state.get(self.name)
        if labels is None:
            return fwk.PASSES
        nodes, labelled = self.cluster.nodes, self._labelled()
        wrong = np.zeros(len(nodes), np.bool_)
        for key, zones in labels:
            topology = nodes.topology(key)
            wrong |= ~np.array([*(value in zones for value in topology.values), False], np.bool_)[topology.ids]
        choices = [(labelled & wrong, reasons.refusal(reasons.VOLUME_ZONE))]
        failed: fwk.Status | None = state.get(f"{self.name}/error")
        return fwk.Verdict.choose(*choices, *([(labelled, failed)] if failed is not None else []))

    # ---- explanations

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        node, failed = view.node, state.get(f"{self.name}/error")
        labels = view.field(node, "metadata", "labels", missing={})
        labelled = some([contains(labels, constant(key, "label")) for key in ZONE_LABELS], "has a zone or region label")
        away, texts = [], []
        for _, name, claim in claims_of(view):
            if claim is None or not claim.spec.volume_name:
                if claim is None:
                    away.append(
                        is_missing("PersistentVolumeClaim", f"{view.pod.namespace}/{name}", self.cluster.claims)
                    )
                elif failed is not None:
                    away.append(opposite(waits(view, claim), f"{name} has no volume and does not wait for its pod"))
                continue
            bound = self.cluster.volumes.get(claim.spec.volume_name)
            if bound is None:
                away.append(is_missing("PersistentVolume", claim.spec.volume_name, self.cluster.volumes))
                continue
            for key in ZONE_LABELS:
                if zones := zones_of(bound.metadata.labels.get(key, "")):
                    fits = some(
                        [label_equals(view, node, key, _zone(view, bound, key, zone)) for zone in sorted(zones)]
                    )
                    away.append(opposite(fits, f"{bound.name} is not of this node's {key}"))
                    texts += [] if fits.value else [f"{bound.name} is of {key} {bound.metadata.labels[key]}"]
        refused = every([labelled, some(away, "a volume is elsewhere, or a claim has none")])
        words = "; ".join(texts) or (failed.message if failed is not None else "")
        return refused.with_text(f"{node.name}: {words if refused.value else 'is where the volumes are'}")


def _zone(view: View, volume: PersistentVolume, key: str, zone: str) -> Tree:
    text = volume.metadata.labels[key]
    if zone == text:
        return view.field(volume, "metadata", "labels", key)
    return constant(zone, f"a zone of {text}, label {key} of {volume.name}")


def zones_of(text: str) -> frozenset[str]:
    """Return the zones of a label such as `a__b`; empty if one of them is empty, because such a label is ignored."""
    zones = frozenset(zone.strip() for zone in text.split("__"))
    return frozenset() if "" in zones else zones
