"""VolumeBinding: bound volumes must be reachable from the node, and unbound claims must find a volume or provisioner.

Upstream: pkg/scheduler/framework/plugins/volumebinding (volume_binding.go, binder.go); k8s.io/component-helpers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from scheduler_core.api import plugin_args as args
from scheduler_core.api import quantity
from scheduler_core.api.objects import (
    CSIDriver,
    CSIStorageCapacity,
    NodeSelectorTerm,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    Phase,
    Quantities,
    Requirement,
    StorageClass,
    TopologySelectorTerm,
)
from scheduler_core.api.plugin_args import Complain, PluginArgs, UtilizationShapePoint
from scheduler_core.api.selector_text import missing, unmet_text
from scheduler_core.cluster import formatting
from scheduler_core.cluster.node_matching import terms_mask
from scheduler_core.cluster.object_store import ObjectTable
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework import causes, events, signers
from scheduler_core.framework import interface as fwk
from scheduler_core.framework.causes import Obstacle
from scheduler_core.framework.rejection_context import RejectionContext
from scheduler_core.plugins import csi_migration, volumes
from scheduler_core.plugins.csi_migration import TranslationError
from scheduler_core.plugins.resource_allocation import MAX_UTILIZATION, Strategy, check_shape, shape_score, share_of
from scheduler_core.plugins.storage_capacity import AvailableStorage, largest_volume
from scheduler_core.plugins.storage_capacity_scoring import ClassTotals, strategy_of
from scheduler_core.plugins.volume_matching import FreeVolumes, Picks
from scheduler_core.plugins.volumes import (
    affinity_terms,
    bound_claims,
    claim_missing,
    claim_name,
    claim_obstacle,
    claims,
    claims_of,
    class_of_claim,
    fully_bound,
    own_claim_changed,
)
from scheduler_core.provenance.context import BYTES, View, at
from scheduler_core.provenance.matching import Owner, any_term, below, requirement
from scheduler_core.provenance.tree import (
    Tree,
    constant,
    contains,
    divide,
    equal,
    every,
    less,
    less_equal,
    opposite,
    over,
    rounded,
    some,
    total,
)

UNBOUND_IMMEDIATE = fwk.unresolvable("pod has unbound immediate PersistentVolumeClaims")

# Reasons for rejecting a node are collected as bits and reported in this order.
_AFFINITY, _NO_VOLUME, _NO_SPACE, VOLUME_MISSING = 1, 2, 4, 8
_REASONS = {
    _AFFINITY: "node(s) didn't match PersistentVolume's node affinity",
    _NO_VOLUME: "node(s) didn't find available persistent volumes to bind",
    _NO_SPACE: "node(s) did not have enough free storage",
    VOLUME_MISSING: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
}
NO_VOLUME_OBJECT = "could not find v1.PersistentVolume"
_OLD_VOLUME_MISSING = "pvc(s) bound to non-existent pv(s)"
_OLD_AFFINITY = "node(s) had volume node affinity conflict"

_NODE_TERMS = ("spec", "nodeAffinity", "required", "nodeSelectorTerms")

Bits = npt.NDArray[np.uint8]


@dataclass(slots=True)
class VolumeBindingState:
    """State that the extension points of one cycle share.

    `bound`: claims that have a volume. `delayed`: claims that are bound with the pod. `provisioned`: delayed claims
    that a provisioner already serves for a selected node. `matched`: the other delayed claims, smallest first, each
    with a column over nodes that has the number of the volume picked there, -1 for none. `undo`: what Reserve replaced,
    as (table, key, old object, new object). `static`: claims and the volumes reserved for them.
    """

    bound: list[PersistentVolumeClaim]
    delayed: list[PersistentVolumeClaim]
    provisioned: list[PersistentVolumeClaim] = field(default_factory=list)
    matched: list[tuple[PersistentVolumeClaim, Picks]] = field(default_factory=list)
    undo: list[tuple[ObjectTable[Any], str, Any, Any]] = field(default_factory=list)
    static: list[tuple[str, str]] = field(default_factory=list)


class VolumeBindingArgs(PluginArgs, frozen=True, kw_only=True):
    """Arguments of VolumeBinding.

    `shape`: the score 0..10 by the utilization of a class's storage, of a node. Without points it prefers free storage.
    """

    not_in = dict.fromkeys(("v1beta1", "v1alpha2"), ("shape",))
    needs = {"shape": "storage_capacity_scoring"}

    bind_timeout_seconds: args.Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None

    def finish(self, complain: Complain) -> Self:
        if self.bind_timeout_seconds < 0:
            complain("bindTimeoutSeconds", f"must not be negative, got {self.bind_timeout_seconds}")
        if self.shape:
            check_shape(complain, "shape", self.shape)
        return self


def _unreachable(volume: PersistentVolume, lacked: Requirement) -> Obstacle:
    name, where = lacked.key.rpartition("/")[2], formatting.listing(lacked.values, "or")
    place = f"on {where}" if name == "hostname" else f"in {name} {where}"
    phrase = f"cannot reach its volume {volume.name} {place}"
    return Obstacle(causes.VOLUME_ZONE, causes.NEVER, phrase, (volume.name, *lacked.values), lacked.key)


class VolumeBinding(
    fwk.PreFilterPlugin, fwk.FilterPlugin, fwk.PreScorePlugin, fwk.ScorePlugin, fwk.ReservePlugin, fwk.PreBindPlugin
):
    name = "VolumeBinding"
    cause = causes.CLAIM_UNBOUND
    effort = 1.8
    args_class = VolumeBindingArgs
    pod_fields = ("volumes",)
    precise_node_updates = "always"
    reads = "has_volumes"
    narrows_nodes = True
    phrases = {
        _REASONS[_AFFINITY]: "cannot reach its volume",
        _OLD_AFFINITY: "cannot reach its volume",
        _REASONS[_NO_VOLUME]: "have no volume to bind",
        _REASONS[_NO_SPACE]: "have too little storage for its volume",
    }

    @cached_property
    def _free(self) -> FreeVolumes:
        return FreeVolumes(self.cluster.volumes, self.cluster.release)

    @cached_property
    def _available_storage(self) -> AvailableStorage:
        return AvailableStorage(self.cluster)

    # ---- PreFilter

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        """Reject pods with claims that are missing, lost, being deleted or still unbound; skip pods without claims."""
        claims: list[PersistentVolumeClaim] = []
        release = self.cluster.release
        for volume in pod.pod.spec.volumes:
            name = claim_name(pod, volume)
            if name is None:
                continue
            claim = self.cluster.claims.get(f"{pod.namespace}/{name}")
            ephemeral = volume.ephemeral is not None
            problem = self._why_unusable(pod, name, claim, ephemeral) if release.volume_binding_prefilter else ""
            if problem:
                return fwk.unresolvable(problem)
            if claim is not None:  # without PreFilter the cycle has ended at a missing claim
                claims.append(claim)
        if not claims:
            return fwk.SKIPPED
        bound = [claim for claim in claims if fully_bound(claim)]
        delayed = [claim for claim in claims if not fully_bound(claim) and self._is_delayed(claim)]
        if len(bound) + len(delayed) < len(claims):
            unbound = fwk.error(*UNBOUND_IMMEDIATE.reasons) if release.unusable_claim_fails_cycle else UNBOUND_IMMEDIATE
            if release.volume_binding_prefilter:
                return unbound
            state[f"{self.name}/unbound"] = unbound
            return None
        state[self.name] = VolumeBindingState(bound, delayed)
        return self._local_nodes(bound) if release.local_volumes_prefilter_nodes else None

    def _why_unusable(self, pod: PodInfo, name: str, claim: PersistentVolumeClaim | None, ephemeral: bool) -> str:
        if claim is None:
            waiting = f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            return waiting if ephemeral else claim_missing(name)
        if claim.status.phase == "Lost" and self.cluster.release.lost_claim_rejects:
            lost = claim.spec.volume_name
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{lost}"'
        if claim.metadata.deletion_timestamp:
            return f'persistentvolumeclaim "{name}" is being deleted'
        return volumes.not_owned(pod, claim) if ephemeral else ""

    def _is_delayed(self, claim: PersistentVolumeClaim) -> bool:
        """Return whether the claim is bound with its first pod. The controller binds claims that name a volume."""
        storage_class = self.cluster.storage_classes.get(class_of_claim(claim))
        if storage_class is None or claim.spec.volume_name:
            return False
        return storage_class.volume_binding_mode == "WaitForFirstConsumer"

    def _local_nodes(self, bound: Iterable[PersistentVolumeClaim]) -> fwk.PreFilterResult | None:
        """Return the nodes that bound volumes name by hostname; None if there are none (upstream GetEligibleNodes)."""
        eligible: frozenset[str] | None = None
        for claim in bound:
            volume = self.cluster.volumes.get(claim.spec.volume_name)
            if volume is None:
                return None
            hosts: set[str] = set()
            for term in volumes.affinity_terms(volume) or ():
                named = [
                    set(req.values)
                    for req in term.match_expressions
                    if req.key == "kubernetes.io/hostname" and req.operator == "In"
                ]
                hosts |= set.intersection(*named) if named else set()
            if hosts:
                eligible = frozenset(hosts) if eligible is None else eligible & hosts
        return None if eligible is None else fwk.PreFilterResult(eligible)

    # ---- Filter

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        unbound: fwk.Status | None = state.get(f"{self.name}/unbound")
        if unbound is not None:
            return fwk.Verdict.reject(np.ones(len(self.cluster.nodes), np.bool_), unbound)
        cycle: VolumeBindingState | None = state.get(self.name)
        if cycle is None:
            return fwk.PASSES
        cycle.provisioned, cycle.matched = [], []
        bits: Bits = np.zeros(len(self.cluster.nodes), np.uint8)
        failed: list[tuple[fwk.Bool, fwk.Status]] = []
        self._check_bound(cycle, bits, failed)
        self._check_delayed(cycle, bits)
        choices = [(bits == combined, self._status(combined)) for combined in np.unique(bits[bits > 0]).tolist()]
        return fwk.Verdict.choose(*failed, *choices)

    def varies_with(self, pod: PodInfo) -> str:
        return fwk.ANYTHING if pod.pod.spec.volumes else fwk.OBJECTS

    def _status(self, combined: int) -> fwk.Status:
        if combined & VOLUME_MISSING and self.cluster.release.unusable_claim_fails_cycle:
            return fwk.error(NO_VOLUME_OBJECT)
        reasons = [reason for bit, reason in _REASONS.items() if combined & bit]
        if combined & VOLUME_MISSING and not self.cluster.release.missing_volume_reason_reworded:
            reasons[-1] = _OLD_VOLUME_MISSING
        if combined & _AFFINITY and not self.cluster.release.volume_affinity_reason_reworded:
            reasons[0] = _OLD_AFFINITY
        return fwk.unresolvable(*(reasons[:1] if self.cluster.release.one_reason_per_node else reasons))

    def _mask(self, terms: list[NodeSelectorTerm] | None) -> fwk.Bool:
        rows = volumes.admitted_rows(self.cluster.nodes, terms)
        if rows is None:
            return np.ones(len(self.cluster.nodes), np.bool_)
        mask = np.zeros(len(self.cluster.nodes), np.bool_)
        mask[rows] = True
        return mask

    def _check_bound(self, cycle: VolumeBindingState, bits: Bits, failed: list[tuple[fwk.Bool, fwk.Status]]) -> None:
        """Reject nodes by the first bound claim whose volume is missing or unreachable."""
        undecided = np.ones(len(bits), np.bool_)
        for claim in cycle.bound:
            volume = self.cluster.volumes.get(claim.spec.volume_name)
            if volume is None:
                bits[undecided] |= VOLUME_MISSING
                return
            fits = self._mask(volumes.affinity_terms(volume))
            migrated = self._migrated(volume)
            if migrated is not None:
                try:
                    fits = np.where(migrated, self._mask(csi_migration.csi_terms(volume)), fits)
                except TranslationError as problem:
                    failed.append((undecided & migrated, fwk.error(f"could not translate pv: {problem}")))
                    undecided &= ~migrated
            bits[undecided & ~fits] |= _AFFINITY
            undecided &= fits

    def _migrated(self, volume: PersistentVolume) -> fwk.Bool | None:
        """Return the nodes on which an in-tree volume is a CSI volume; None if there are none."""
        plugin = csi_migration.plugin_of(volume.spec)
        if not csi_migration.placed_as_csi(plugin, self.cluster.release):
            return None
        nodes, get = self.cluster.nodes, self.cluster.csi_nodes.get

        def make() -> fwk.Bool:
            return np.array([csi_migration.announced(get(name), plugin) for name in nodes.names], np.bool_)

        mask = nodes.memo(("announced", plugin), make)
        return mask if mask.any() else None

    def _check_delayed(self, cycle: VolumeBindingState, bits: Bits) -> None:
        undecided = np.ones(len(bits), np.bool_)
        unmatched: list[PersistentVolumeClaim] = []
        for claim in cycle.delayed:
            selected = claim.metadata.annotations.get(volumes.SELECTED_NODE)
            if selected is None:
                unmatched.append(claim)
                continue
            cycle.provisioned.append(claim)
            away = np.ones(len(bits), np.bool_)
            if selected in self.cluster.nodes.rows:
                away[self.cluster.nodes.rows[selected]] = False
            bits[away] |= _NO_VOLUME
            undecided &= ~away
        self._match(cycle, unmatched)
        everywhere = np.ones(len(bits), np.bool_)
        to_provision = [(claim, everywhere) for claim in cycle.provisioned]
        to_provision += [(claim, picks < 0) for claim, picks in cycle.matched]
        for claim, needed in to_provision:
            here = undecided & needed
            if not here.any():
                continue
            served, enough = self._provisions(claim)
            bits[here & ~served] |= _NO_VOLUME
            bits[here & served & ~enough] |= _NO_SPACE
            undecided &= ~here | (served & enough)

    # ---- static binding

    def _match(self, cycle: VolumeBindingState, claims: list[PersistentVolumeClaim]) -> None:
        """Pick a volume on every node for every claim, smallest claim first."""
        for claim in sorted(claims, key=lambda claim: volumes.storage(claim.spec.resources.requests)):
            taken = [picks for _, picks in cycle.matched]
            cycle.matched.append((claim, self._free.picks(claim, self.cluster.nodes, taken)))

    # ---- dynamic provisioning

    def _provisions(self, claim: PersistentVolumeClaim) -> tuple[fwk.Bool, fwk.Bool]:
        """Return where the claim's class can provision a volume and where capacity is sufficient; bool over
        nodes each."""
        everywhere = np.ones(len(self.cluster.nodes), np.bool_)
        storage_class = self.cluster.storage_classes[class_of_claim(claim)]
        if storage_class.provisioner in ("", volumes.NO_PROVISIONER):
            return ~everywhere, everywhere
        return self._allowed(storage_class), self._has_capacity(claim, storage_class)

    def _allowed(self, storage_class: StorageClass) -> fwk.Bool:
        nodes, terms = self.cluster.nodes, storage_class.allowed_topologies

        def make() -> fwk.Bool:
            return terms_mask(nodes, [_node_term(term) for term in terms])

        if not terms:
            return np.ones(len(nodes), np.bool_)
        return nodes.memo(("allowed topologies", msgspec.json.encode(terms)), make)

    def _has_capacity(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> fwk.Bool:
        """Return where the driver reports enough capacity; all nodes if it reports no capacities."""
        amount = claim.spec.resources.requests.get("storage")
        if amount is None or not self._reports_capacity(storage_class):
            return np.ones(len(self.cluster.nodes), np.bool_)
        return self._available_storage.offer(storage_class.name).largest >= quantity.value(amount)

    def _reports_capacity(self, storage_class: StorageClass) -> bool:
        driver = self.cluster.csi_drivers.get(storage_class.provisioner)
        return driver is not None and driver.spec.storage_capacity and self.cluster.release.storage_capacity

    # ---- PreScore, Score

    @classmethod
    def describe_best(cls, args: Any) -> str:
        emptiest = strategy_of(getattr(args, "shape", None)).best == "the emptiest"
        return "the one with the most free storage" if emptiest else "the one whose storage is used as preferred"

    def pre_score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Status | None:
        release = self.cluster.release
        return fwk.SKIPPED if release.affinity_prescore_skips and not release.storage_capacity_scoring else None

    @cached_property
    def _strategy(self) -> Strategy:
        return strategy_of(self.args.shape)

    def score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> fwk.Int64:
        """Score nodes by requested / capacity of the volumes that the pod's claims find, else of the storage that they
        are provisioned from; 0 for pods without unbound claims. Raises ScoreError where upstream panics."""
        among = np.arange(len(self.cluster.nodes))[rows]
        cycle: VolumeBindingState | None = state.get(self.name)
        if cycle is None or not cycle.delayed or not self.cluster.release.storage_capacity_scoring:
            return np.zeros(len(among), np.int64)
        totals, bound = ClassTotals(len(among)), np.zeros(len(among), np.bool_)
        for claim, picks in cycle.matched:
            bound |= self._add_static(totals, claim, picks[among])
        for claim in (*cycle.provisioned, *(claim for claim, _ in cycle.matched)):
            self._add_provisioned(totals, claim, among, ~bound)
        return totals.scores(self._strategy)

    def _add_static(self, totals: ClassTotals, claim: PersistentVolumeClaim, picks: Picks) -> fwk.Bool:
        """Add the volumes picked for a claim, by the class in their spec. Return where there are some."""
        found, place = np.unique(picks, return_inverse=True)
        volumes_found = [self._free.volume(number).spec if number >= 0 else None for number in found.tolist()]
        sizes = np.array([_bytes(spec.capacity) if spec else 0 for spec in volumes_found], np.int64)[place]
        for name in {spec.storage_class_name for spec in volumes_found if spec is not None}:
            own = np.array([spec is not None and spec.storage_class_name == name for spec in volumes_found])[place]
            requested, capacity, here = totals.columns(name)
            requested[own] += _bytes(claim.spec.resources.requests)
            capacity[own] += sizes[own]
            here |= own
        return picks >= 0

    def _add_provisioned(
        self, totals: ClassTotals, claim: PersistentVolumeClaim, among: npt.NDArray[np.intp], where: fwk.Bool
    ) -> None:
        """Add a claim to be provisioned on the nodes `where`, which is over `among`, if its driver reports capacity."""
        storage_class = self.cluster.storage_classes[class_of_claim(claim)]
        if (
            not where.any()
            or "storage" not in claim.spec.resources.requests
            or not self._reports_capacity(storage_class)
        ):
            return
        if claim.spec.storage_class_name is None:
            raise fwk.ScoreError(
                f"claim {claim.key} has no spec.storageClassName: kube-scheduler panics when it scores it"
            )
        offered = self._available_storage.offer(storage_class.name).capacity[among]
        if (offered[where] < 0).any():
            raise fwk.ScoreError(
                f"a CSIStorageCapacity of class {storage_class.name} has a maximumVolumeSize and no capacity: "
                "kube-scheduler panics when it scores it"
            )
        requested, capacity, here = totals.columns(claim.spec.storage_class_name)
        requested[where] += _bytes(claim.spec.resources.requests)
        capacity[where] = offered[where]
        here |= where

    # ---- Reserve, PreBind

    @fwk.without_skipped
    def reserve(self, state: fwk.CycleState, pod: PodInfo, node: str) -> fwk.Status | None:
        """Reserve the volumes picked on the node, and set the selected node on claims to be provisioned."""
        cycle: VolumeBindingState | None = state.get(self.name)
        row = self.cluster.nodes.rows.get(node)
        if cycle is None or row is None:
            return None
        for claim, picks in cycle.matched:
            if picks[row] >= 0:
                self._take(cycle, self._free.volume(int(picks[row])), claim)
        waiting = cycle.provisioned + [claim for claim, picks in cycle.matched if picks[row] < 0]
        for claim in waiting:
            annotations = {**claim.metadata.annotations, volumes.SELECTED_NODE: node}
            chosen = replace(claim, metadata=replace(claim.metadata, annotations=annotations))
            self._put(cycle, self.cluster.claims, claim.key, chosen)
        return None

    def _take(self, cycle: VolumeBindingState, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        metadata = volume.metadata
        if not volumes.bound_to(volume, claim):
            metadata = replace(metadata, annotations={**metadata.annotations, volumes.BOUND_BY_CONTROLLER: "yes"})
        ref = ObjectReference("PersistentVolumeClaim", claim.namespace, claim.name, claim.metadata.uid)
        taken = replace(volume, metadata=metadata, spec=replace(volume.spec, claim_ref=ref))
        self._put(cycle, self.cluster.volumes, volume.name, taken)
        cycle.static.append((claim.key, volume.name))

    @staticmethod
    def _put(cycle: VolumeBindingState, table: ObjectTable[Any], key: str, new: Any) -> None:
        cycle.undo.append((table, key, table.get(key), new))
        table[key] = new

    def unreserve(self, state: fwk.CycleState, pod: PodInfo, node: str) -> None:
        """Undo Reserve for objects that were not replaced in the meantime."""
        cycle: VolumeBindingState | None = state.get(self.name)
        if cycle is None:
            return
        for table, key, old, new in reversed(cycle.undo):
            if table.get(key) is new:
                table[key] = old
        cycle.undo, cycle.static = [], []

    @fwk.without_skipped
    def pre_bind(self, state: fwk.CycleState, pod: PodInfo, node: str) -> fwk.Status | None:
        """Bind the volumes. This includes the work of the volume controller, which binds claims to the reserved
        volumes.

        Claims to be provisioned keep their selected node and get no volume, because provisioners are not simulated.
        """
        cycle: VolumeBindingState | None = state.get(self.name)
        if cycle is None:
            return None
        for claim_key, volume_name in cycle.static:
            claim, volume = self.cluster.claims.get(claim_key), self.cluster.volumes.get(volume_name)
            if claim is None or volume is None:
                continue
            marks = {volumes.BIND_COMPLETED: "yes", volumes.BOUND_BY_CONTROLLER: "yes"}
            self.cluster.claims[claim_key] = replace(
                claim,
                metadata=replace(claim.metadata, annotations={**claim.metadata.annotations, **marks}),
                spec=replace(claim.spec, volume_name=volume_name),
                status=Phase("Bound"),
            )
            self.cluster.volumes[volume_name] = replace(volume, status=Phase("Bound"))
        cycle.undo, cycle.static = [], []
        return None

    # ---- explanations

    def explain_pre_filter(self, state: fwk.CycleState, view: View) -> Tree:
        parts = []
        for i, name, claim in claims_of(view):
            if claim is None:
                parts.append(
                    volumes.is_missing("PersistentVolumeClaim", f"{view.pod.namespace}/{name}", self.cluster.claims)
                )
                continue
            ephemeral = view.pod.pod.spec.volumes[i].ephemeral is not None
            if self.cluster.release.lost_claim_rejects:
                lost = equal(view.field(claim, "status", "phase"), constant("Lost", "ClaimLost"), f"{name} is lost")
                parts.append(lost)
            deleted = view.field(claim, "metadata", "deletionTimestamp")
            parts.append(opposite(equal(deleted, constant("")), f"{name} is being deleted"))
            if ephemeral and (problem := volumes.not_owned(view.pod, claim)):
                parts.append(constant(True, problem))
            bound = self._explain_bound(view, claim)
            parts.append(
                opposite(some([bound, volumes.waits(view, claim)]), f"{name} is unbound and binds immediately")
            )
        text = next((part.label for part in parts if part.value), "its claims can be used")
        return some(parts).with_text(f"The pod as a whole: {text}")

    @staticmethod
    def _explain_bound(view: View, claim: PersistentVolumeClaim) -> Tree:
        volume = opposite(equal(view.field(claim, "spec", "volumeName"), constant("")), "names a volume")
        marks = view.field(claim, "metadata", "annotations", missing={})
        return every([volume, contains(marks, constant(volumes.BIND_COMPLETED))], f"{claim.name} is bound")

    def explain_reserve(self, state: fwk.CycleState, view: View) -> Tree:
        """Explain what Reserve takes on the node. It never fails, because Filter has already checked the node."""
        cycle: VolumeBindingState | None = state.get(self.name)
        taken: list[Tree] = []
        for claim, picks in cycle.matched if cycle is not None else ():
            if picks[view.row] >= 0:
                volume = self._free.volume(int(picks[view.row]))
                taken.append(view.holds(volume, "metadata", "name", label=f"{volume.name} for {claim.name}"))
            else:
                taken.append(view.holds(claim, "metadata", "name", label=f"{claim.name} is provisioned here"))
        for claim in cycle.provisioned if cycle is not None else ():
            taken.append(view.holds(claim, "metadata", "name", label=f"{claim.name} is provisioned here"))
        text = ", ".join(part.label for part in taken) or "nothing to do"
        return opposite(every(taken, "all can be bound"), "a claim cannot be bound").with_text(f"VolumeBinding: {text}")

    def explain_pre_bind(self, state: fwk.CycleState, view: View) -> Tree:
        """Return the tree of `explain_reserve`."""
        return self.explain_reserve(state, view)

    pod_obstacle = staticmethod(claim_obstacle)

    @classmethod
    def obstacle(cls, context: RejectionContext | None, status: fwk.Status) -> Obstacle:
        kind = causes.STORAGE_CAPACITY if status.reasons == (_REASONS[_NO_SPACE],) else cls.cause
        keys = [key for key, claim in claims(context) if claim and not claim.spec.volume_name] if context else []
        phrase = super().obstacle(context, status).phrase
        if context is not None and keys:
            names = {class_of_claim(claim) for key, claim in claims(context) if claim and key in keys} - {""}
            of_class = f" of class {formatting.listing(sorted(names))}" if names else ""
            phrase = f"have no volume{of_class} for its claim {formatting.listing(keys)}"
            if kind == causes.STORAGE_CAPACITY:
                sizes = [f"{c.spec.resources.requests.get('storage')}" for k, c in claims(context) if c and k in keys]
                phrase = f"have too little storage{of_class} for its claim {keys[0]}, which requests {sizes[0]}"
        return Obstacle(kind, cls.effort, phrase, tuple(keys))

    @classmethod
    def obstacles(
        cls, context: RejectionContext | None, rows: Sequence[int], status: fwk.Status
    ) -> list[tuple[Obstacle, ...]]:
        if status.reasons[:1] not in ((_REASONS[_AFFINITY],), (_OLD_AFFINITY,)):
            whole = status.reasons == UNBOUND_IMMEDIATE.reasons or _REASONS[VOLUME_MISSING] in status.reasons
            one = claim_obstacle(context, status) if whole else cls.obstacle(context, status)
            return [(one,)] * len(rows)
        usual = (Obstacle(causes.VOLUME_ZONE, causes.NEVER, "cannot reach its volume"),)
        bound = list(bound_claims(context)) if context is not None else []
        found = []
        known: dict[tuple[str, ...], tuple[Obstacle, ...]] = {}
        for row in rows:
            lacks: list[tuple[PersistentVolume, Requirement]] = []
            for _, volume in bound if context is not None and row >= 0 else ():
                terms = affinity_terms(volume) or []
                lacks += [(volume, r) for r in missing(context.nodes.nodes[row], terms)]  # type: ignore[union-attr]
            key = tuple(f"{volume.name} {r.key} {r.values}" for volume, r in lacks)
            if key not in known:
                known[key] = (_unreachable(*lacks[0]),) if lacks else usual
            found.append(known[key])
        return found

    @staticmethod
    def rejection_detail(context: RejectionContext, row: int, status: fwk.Status) -> str:
        """Return the volume that is unreachable, otherwise the claims without a suitable volume."""
        node = context.nodes.nodes[row]
        for key, volume in bound_claims(context):
            lacks = missing(node, affinity_terms(volume) or [])
            if lacks:
                return f"volume {volume.name} of claim {key} {unmet_text(node, lacks, 'wants')}"
        waiting = [key for key, claim in claims(context) if claim is not None and not claim.spec.volume_name]
        if not waiting:
            return ""
        what = f"claim{'s' if len(waiting) > 1 else ''} {formatting.listing(waiting)}"
        return f"{'; '.join(status.reasons)} ({what})"

    def explain_filter(self, state: fwk.CycleState, view: View) -> Tree:
        unbound: fwk.Status | None = state.get(f"{self.name}/unbound")
        if unbound is not None:
            return self.explain_pre_filter(state, view).with_text(f"{view.node.name}: {unbound.message}")
        cycle: VolumeBindingState | None = state.get(self.name)
        if cycle is None:
            return some([], "the pod has no claims").with_text("The pod has no claims")
        parts = [self._explain_reach(view, claim) for claim in cycle.bound]
        for claim in cycle.delayed:
            selected = claim.metadata.annotations.get(volumes.SELECTED_NODE)
            if selected is not None:
                chosen = view.field(claim, "metadata", "annotations", volumes.SELECTED_NODE)
                here = equal(chosen, view.field(view.node, "metadata", "name"), f"{claim.name} is provisioned here")
                parts.append(
                    opposite(every([here, self._explain_making(view, claim)]), f"{claim.name} is not provisioned")
                )
        taken: list[str] = []
        for claim, picks in cycle.matched:
            pick = int(picks[view.row])
            volume = self._free.volume(pick) if pick >= 0 else None
            found = self._explain_pick(view, claim, volume)
            usable = found if volume is not None else some([found, self._explain_making(view, claim)])
            parts.append(opposite(usable, f"{claim.name} finds no volume"))
            taken += [volume.name] if volume is not None else []
        texts = [part.label for part in parts if part.value]
        fine = f"its claims find {', '.join(taken)}" if taken else "its claims can be used there"
        return some(parts).with_text(f"{view.node.name}: {'; '.join(texts) or fine}")

    def _explain_reach(self, view: View, claim: PersistentVolumeClaim) -> Tree:
        """Explain whether a bound claim's volume is missing or unreachable from the node."""
        name, node = claim.spec.volume_name, view.node
        volume = self.cluster.volumes.get(name)
        if volume is None:
            return volumes.is_missing("PersistentVolume", name, self.cluster.volumes)
        label = f"{name} cannot be reached"
        terms, owner = volumes.affinity_terms(volume), below(view.field, volume, *_NODE_TERMS)
        migrated = self._migrated(volume)
        if migrated is not None and migrated[view.row]:
            try:
                terms = csi_migration.csi_terms(volume)
            except TranslationError as problem:
                return constant(True, f"could not translate pv: {problem}")
            plain = msgspec.to_builtins(terms)
            owner = lambda *steps: constant(at(plain, steps), f"{name} as a volume of its CSI driver")  # noqa: E731
        if terms is None:
            return opposite(constant(True, f"{name} has no node affinity"), label)
        return opposite(any_term(view, node, terms, owner, by_name=False), label)

    def _explain_pick(self, view: View, claim: PersistentVolumeClaim, volume: PersistentVolume | None) -> Tree:
        """Explain whether an existing volume is suitable; if one was picked, the tree shows why."""
        wanted = class_of_claim(claim)
        if volume is None:
            there = over("count", 0, len(self.cluster.volumes), f"free volumes of class {wanted!r} that suit the node")
            return less(constant(0), there, "a volume is available")
        asks = view.field(claim, "spec", "resources", "requests", "storage", unit=BYTES, missing=0)
        has = view.field(volume, "spec", "capacity", "storage", unit=BYTES, missing=0)
        own = view.field(volume, "spec", "storageClassName", missing=volumes.class_of_volume(volume))
        alike = equal(own, volumes.class_field(view, claim), "the same class")
        parts = [less_equal(asks, has, "large enough"), *([alike] if alike.value else [])]
        terms = volumes.affinity_terms(volume)
        if terms is not None:
            parts.append(any_term(view, view.node, terms, below(view.field, volume, *_NODE_TERMS), by_name=False))
        return every(parts, f"{volume.name} will do")

    def _explain_making(self, view: View, claim: PersistentVolumeClaim) -> Tree:
        """Explain whether the claim's class can provision a volume for the node."""
        found = self.cluster.storage_classes[class_of_claim(claim)]
        by = view.field(found, "provisioner")
        without_provisioner = [
            equal(by, constant(name, label))
            for name, label in (("", "none"), (volumes.NO_PROVISIONER, "NotSupportedProvisioner"))
        ]
        parts = [opposite(some(without_provisioner), f"{found.name} has a provisioner")]
        allowed = [
            every(
                [
                    requirement(view, view.node, wanted, below(_with_operator(view, found), i, j))
                    for j, wanted in enumerate(_node_term(term).match_expressions)
                ]
            )
            for i, term in enumerate(found.allowed_topologies)
        ]
        if allowed:
            # an empty term matches no node
            empty = [i for i, term in enumerate(found.allowed_topologies) if not term.match_label_expressions]
            allowed = [constant(False, "empty term") if i in empty else tree for i, tree in enumerate(allowed)]
            parts.append(some(allowed, f"{found.name} allows the node"))
        if self._reports_capacity(found) and "storage" in claim.spec.resources.requests:
            asks = view.field(claim, "spec", "resources", "requests", "storage", unit=BYTES)
            number = len(self.cluster.capacities)
            largest = int(self._available_storage.offer(found.name).largest[view.row])
            capacity = over(
                "max", largest, number, f"largest volume of {found.name} here, by CSIStorageCapacity", unit=BYTES
            )
            parts.append(less_equal(asks, capacity, "there is capacity"))
        return every(parts, f"{found.name} can provision it")

    def explain_score(self, state: fwk.CycleState, view: View) -> Tree:
        if not self.cluster.release.storage_capacity_scoring:
            tree = constant(0, "StorageCapacityScoring is off")
            return tree.with_text("0: VolumeBinding scores only with a feature gate that is off by default")
        if self.pre_filter(state, view.pod) is None:  # the score follows from what Filter found
            self.filter(state, view.pod)
        cycle: VolumeBindingState | None = state.get(self.name)
        by_class = self._explain_storage(view, cycle) if cycle is not None else {}
        if not by_class:
            return constant(0, "no storage is measured").with_text(
                "0: no claim of the pod takes storage that is measured"
            )
        scores, texts = [], []
        for name, (requests, offers) in by_class.items():
            requested, capacity = total(requests, "requested", BYTES), total(offers, "capacity", BYTES)
            full = constant(MAX_UTILIZATION, "no capacity is left")
            use = full if capacity.value == 0 else share_of(requested, capacity)
            scores.append(shape_score(view, self.name, self._strategy, use).with_label(f"points for {name}"))
            amounts = [formatting.amount("memory", tree.value) for tree in (requested, capacity)]
            texts.append(f"{amounts[0]} of {amounts[1]} of class {name} requested")
        mean = divide(total(scores), constant(len(scores), "storage classes"))
        tree = scores[0] if len(scores) == 1 else rounded(mean)
        if len(scores) > 1:
            texts = [f"{score.value} ({text})" for score, text in zip(scores, texts, strict=True)]
        of = "the mean of " if len(scores) > 1 else ""
        return tree.with_text(f"{tree.value} = {of}{', '.join(texts)}: {view.node.name}")

    def _explain_storage(self, view: View, cycle: VolumeBindingState) -> dict[str, tuple[list[Tree], list[Tree]]]:
        """Return storage class -> what the claims request of it on the node, and what it offers there."""
        found: dict[str, tuple[list[Tree], list[Tree]]] = {}
        steps = ("spec", "resources", "requests", "storage")
        for claim, picks in cycle.matched:
            if picks[view.row] >= 0:
                volume = self._free.volume(int(picks[view.row]))
                requests, offers = found.setdefault(volume.spec.storage_class_name, ([], []))
                requests.append(view.field(claim, *steps, unit=BYTES, missing=0))
                offers.append(view.field(volume, "spec", "capacity", "storage", unit=BYTES, missing=0))
        for claim in () if found else (*cycle.provisioned, *(claim for claim, _ in cycle.matched)):
            storage_class = self.cluster.storage_classes[class_of_claim(claim)]
            if "storage" in claim.spec.resources.requests and self._reports_capacity(storage_class):
                requests, offers = found.setdefault(claim.spec.storage_class_name or "", ([], []))
                requests.append(view.field(claim, *steps, unit=BYTES))
                largest = int(self._available_storage.offer(storage_class.name).capacity[view.row])
                label = f"capacity of {storage_class.name} here, by CSIStorageCapacity"
                offers[:] = [over("max", largest, len(self.cluster.capacities), label, unit=BYTES)]
        return found

    # ---- events that may make a pod schedulable

    sign = staticmethod(signers.volumes)

    def events_to_register(self) -> list[events.EventHint]:
        change = (events.ADD, events.UPDATE)
        return [
            events.registered("StorageClass", *change, hint=self._after_class_change),
            events.registered("PersistentVolumeClaim", *change, hint=own_claim_changed),
            events.registered("PersistentVolume", *change),
            events.registered(events.NODE, events.ADD, events.UPDATE_NODE_LABEL),
            events.registered("CSINode", *change),
            events.registered("CSIDriver", events.UPDATE, hint=self._after_driver_change),
            events.registered("CSIStorageCapacity", *change, hint=self._after_capacity_change),
        ]

    def _after_class_change(self, pod: PodInfo, old: StorageClass | None, new: StorageClass) -> bool:
        return old is None or old.allowed_topologies != new.allowed_topologies

    def _after_driver_change(self, pod: PodInfo, old: CSIDriver, new: CSIDriver) -> bool:
        """Return whether the driver no longer limits volumes by storage capacity."""
        return old.spec.storage_capacity and not new.spec.storage_capacity

    def _after_capacity_change(self, pod: PodInfo, old: CSIStorageCapacity | None, new: CSIStorageCapacity) -> bool:
        """Return whether the capacity has increased."""
        if old is None:
            return True
        return (largest_volume(new) or 0) > (largest_volume(old) or 0)


def _bytes(amounts: Quantities) -> int:
    return quantity.value(amounts["storage"]) if "storage" in amounts else 0


def _with_operator(view: View, found: StorageClass) -> Owner:
    """Return a function that creates leaves for an allowed topology's expressions, all of which have the
    operator In."""
    return lambda i, j, *steps: view.field(found, "allowedTopologies", i, "matchLabelExpressions", j, *steps)


def _node_term(term: TopologySelectorTerm) -> NodeSelectorTerm:
    return NodeSelectorTerm([Requirement(wanted.key, "In", wanted.values) for wanted in term.match_label_expressions])
