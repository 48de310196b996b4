"""The columns of the volume plugins against plain judgements node by node, while the cluster changes at random."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.api import quantity, selectors
from scheduler_core.api.objects import Node, PersistentVolume, PersistentVolumeClaim, Pod, decode
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import Change, CycleState, Status, Verdict, unschedulable
from scheduler_core.plugins import csi_migration
from scheduler_core.plugins import volumes as vol
from scheduler_core.plugins.node_volume_limits import NodeVolumeLimits, limit_key
from scheduler_core.plugins.non_csi_limits import EBSLimits
from scheduler_core.plugins.volume_binding import VolumeBinding
from scheduler_core.plugins.volume_restrictions import VolumeRestrictions
from scheduler_core.releases import get_release
from tests.examples import examples
from tests.scheduler_core.plugins import test_volumes as build

Raw = dict[str, Any]

TOO_MANY = unschedulable(build.TOO_MANY)
ZONES = ("z1", "z2", "z3")
NODES = tuple(f"n{i}" for i in range(5))
CLAIMS = tuple(f"c{i}" for i in range(7))
VOLUMES = tuple(f"v{i}" for i in range(12))
CLASSES = ("local", "late", "now")
MOSTLY_LOCAL = ("local", "local", "local", "late", "late", "now")
DRIVERS = (build.DRIVER, "ebs.csi.aws.com")


# ---------------------------------------------------------------- objects at random


def random_node(random: Random, name: str) -> Raw:
    limits = {limit_key(build.DRIVER): "1"} if random.random() < 0.2 else {}
    if random.random() < 0.3:
        limits["attachable-volumes-aws-ebs"] = str(random.randint(0, 2))
    zones = {key: random.choice(ZONES) for key in (build.ZONE, "topology.ebs.csi.aws.com/zone")}
    return build.node(name, limits, **{key.replace("/", "__"): zone for key, zone in zones.items()})


def random_claim(random: Random, name: str) -> Raw:
    more: Raw = {
        "size": random.choice(("5Gi", "10Gi", "20Gi")),
        "volumeMode": random.choice(("", "", "Filesystem", "Block")),
    }
    if random.random() < 0.3:
        more["selector"] = {"matchLabels": {"disk": random.choice(("fast", "slow"))}}
    if random.random() < 0.2:
        more["annotations"] = {vol.SELECTED_NODE: random.choice(NODES)}
    bound = random.choice((*VOLUMES, "gone")) if random.random() < 0.25 else ""
    return build.claim(name, random.choice(MOSTLY_LOCAL), bound, **more)


def random_volume(random: Random, name: str) -> Raw:
    at: list[Raw | None] = [None, {build.ZONE: random.sample(ZONES, 2)}, build.host(random.choice(NODES))]
    more: Raw = {
        "labels": {"disk": random.choice(("fast", "slow"))},
        "phase": random.choice(("Available",) * 4 + ("Bound",)),
    }
    if random.random() < 0.3:
        claimed = random.choice(CLAIMS)
        more["claimRef"] = {
            "namespace": "default",
            "name": claimed,
            "uid": random.choice(("", f"uid-{claimed}", "old")),
        }
    if random.random() < 0.2:
        more["volumeMode"] = "Block"
    if random.random() < 0.4:
        more["awsElasticBlockStore"] = {"volumeID": f"vol-{random.randint(0, 3)}"}
    else:
        more["csi"] = {"driver": random.choice(DRIVERS), "volumeHandle": f"vol-{random.randint(0, 3)}"}
    size = random.choice(("5Gi", "10Gi", "20Gi", "50Gi"))
    return build.volume(name, random.choice(("local", "local", "local", "late")), size, random.choice(at), **more)


def random_class(random: Random, name: str) -> Raw:
    provisioner = {"local": "kubernetes.io/no-provisioner"}.get(
        name, random.choice((*DRIVERS, "kubernetes.io/aws-ebs"))
    )
    allowed = [{"matchLabelExpressions": [{"key": build.ZONE, "values": random.sample(ZONES, 2)}]}]
    return build.storage_class(
        name, provisioner, name != "now", allowedTopologies=allowed if random.random() < 0.4 else []
    )


def random_csi_node(random: Random, name: str) -> Raw:
    limits = {driver: random.choice((None, 0, 1, 2)) for driver in DRIVERS if random.random() < 0.8}
    migrated = "kubernetes.io/aws-ebs" if random.random() < 0.5 else ""
    raw = build.csi_node(name, migrated)
    raw["spec"]["drivers"] = [{"name": d, "nodeID": name, "allocatable": {"count": n}} for d, n in limits.items()]
    return raw


def random_attachment(random: Random, name: str) -> Raw:
    spec = {
        "attacher": random.choice(DRIVERS),
        "nodeName": random.choice(NODES),
        "source": {"persistentVolumeName": random.choice(VOLUMES)},
    }
    return {"kind": "VolumeAttachment", "metadata": {"name": name}, "spec": spec}


def random_capacity(random: Random, name: str) -> Raw:
    topology = random.choice((None, {}, {"matchLabels": {build.ZONE: random.choice(ZONES)}}))
    return build.capacity(name, topology, capacity=random.choice(("5Gi", "10Gi", "20Gi")))


def random_pod(random: Random, name: str, on: str = "") -> Raw:
    inline: list[Raw] = [
        {"awsElasticBlockStore": {"volumeID": random.choice(("vol-0", "vol-1", "aws://zone/disk"))}},
        {"gcePersistentDisk": {"pdName": random.choice("ab"), "readOnly": random.random() < 0.5}},
        build.rbd(random.choice(("x", "xy", "z")), read_only=random.random() < 0.5),
        {"configMap": {"name": "c"}},
    ]
    wanted = [build.uses(random.choice((*CLAIMS, *CLAIMS, "missing"))) for _ in range(random.randint(0, 3))]
    return build.pod(name, *wanted, *random.sample(inline, random.randint(0, 1)), on=on)


KINDS = {
    "Node": (random_node, NODES),
    "PersistentVolumeClaim": (random_claim, CLAIMS),
    "PersistentVolume": (random_volume, VOLUMES),
    "StorageClass": (random_class, CLASSES),
    "CSINode": (random_csi_node, NODES),
    "VolumeAttachment": (random_attachment, ("a0", "a1", "a2")),
    "CSIStorageCapacity": (random_capacity, ("s0", "s1", "s2")),
}


# ---------------------------------------------------------------- the same, node by node


class PlainLimits(NodeVolumeLimits):
    """NodeVolumeLimits that counts the volumes of every node anew."""

    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        return Verdict.of_statuses([self.plain(row, pod) for row in range(len(self.cluster.nodes))])

    def plain(self, row: int, pod: PodInfo) -> Status | None:
        csi_node = self.cluster.csi_nodes.get(self.cluster.nodes.names[row])
        outcome = self.volumes(row, pod, incoming=True)
        if isinstance(outcome, Status):
            return outcome
        limits = {driver: limit for driver, _ in outcome if (limit := self.plain_limit(row, driver)) is not None}
        if not outcome or not self.any_limit(row):
            return None
        used: set[tuple[str, str]] = set()
        for other in self.cluster.nodes.pods_of(row):
            found = self.volumes(row, other, incoming=False)
            if isinstance(found, Status):
                return found
            used |= found
        attached = set(used)
        for attachment in self.cluster.attachments.values():
            volume = self.cluster.volumes.get(attachment.spec.source.persistent_volume_name)
            if csi_node is None or attachment.spec.node_name != csi_node.name or self.cluster.release.name == "1.27":
                continue
            if volume is not None and volume.spec.csi is not None:
                attached.add((attachment.spec.attacher, volume.spec.csi.volume_handle))
        for driver, limit in limits.items():
            more = sum(of == driver for of, _ in outcome - used)
            if more and more + sum(of == driver for of, _ in attached) > limit:
                return TOO_MANY
        return None

    def volumes(self, row: int, pod: PodInfo, incoming: bool) -> set[tuple[str, str]] | Status:
        csi_node = self.cluster.csi_nodes.get(self.cluster.nodes.names[row])
        try:
            found = [a for a in self._attachments(pod, incoming) if self._counts(a, csi_node)]
        except Exception as failure:
            status = getattr(failure, "status", None)
            assert isinstance(status, Status)
            return status
        problem = next((a.problem for a in found if a.problem), "")
        return Status("Error", (problem,)) if problem else {(a.driver, a.handle) for a in found}

    def any_limit(self, row: int) -> bool:
        node = self.cluster.nodes.nodes[row]
        csi_node = self.cluster.csi_nodes.get(node.name)
        told = [e.allocatable for e in csi_node.spec.drivers] if csi_node is not None else []
        of_node = [key for key in node.status.allocatable if key.startswith("attachable-volumes-")]
        return any(t is not None and t.count is not None for t in told) or (
            self.cluster.release.name == "1.27" and bool(of_node)
        )

    def plain_limit(self, row: int, driver: str) -> int | None:
        node = self.cluster.nodes.nodes[row]
        amount = node.status.allocatable.get(limit_key(driver)) if self.cluster.release.name == "1.27" else None
        limit = None if amount is None else quantity.value(amount)
        csi_node = self.cluster.csi_nodes.get(node.name)
        for entry in csi_node.spec.drivers if csi_node is not None else ():
            if entry.name == driver and entry.allocatable is not None and entry.allocatable.count is not None:
                limit = entry.allocatable.count
        return limit


class PlainDisks(EBSLimits):
    """EBSLimits that counts the disks of every node anew."""

    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        return Verdict.of_statuses(
            [self.filter_node(state, pod, Change(row)) for row in range(len(self.cluster.nodes))]
        )


class PlainRestrictions(VolumeRestrictions):
    """VolumeRestrictions that looks at the pods of every node."""

    def filter(self, state: CycleState, pod: PodInfo) -> Verdict:
        return Verdict.of_statuses(
            [self.filter_node(state, pod, Change(row)) for row in range(len(self.cluster.nodes))]
        )


class PlainBinding:
    """VolumeBinding for one pod on one node: the reasons against it, and the volumes its claims take there."""

    def __init__(self, cluster: Cluster, pod: PodInfo, node: Node) -> None:
        self.cluster, self.node = cluster, node
        self.taken: dict[str, str] = {}  # volume -> claim
        names = [vol.claim_name(pod, volume) for volume in pod.pod.spec.volumes]
        claims = [cluster.claims[f"default/{name}"] for name in names if name is not None]
        found = (
            self.bound([c for c in claims if vol.fully_bound(c)]),
            self.unbound([c for c in claims if not vol.fully_bound(c)]),
        )
        self.reasons = tuple(sorted(filter(None, found), key=lambda reason: reason == build.MISSING_VOLUME))

    def reaches(self, volume: PersistentVolume, as_csi: bool = False) -> bool:
        terms = csi_migration.csi_terms(volume) if as_csi else vol.affinity_terms(volume)
        return terms is None or selectors.any_term_matches(terms, self.node)

    def bound(self, claims: list[PersistentVolumeClaim]) -> str:
        for claim in claims:
            volume = self.cluster.volumes.get(claim.spec.volume_name)
            if volume is None:
                return build.MISSING_VOLUME
            plugin = csi_migration.plugin_of(volume.spec)
            if not self.reaches(volume, csi_migration.announced(self.cluster.csi_nodes.get(self.node.name), plugin)):
                newer = self.cluster.release.volume_affinity_reason_reworded
                return build.AFFINITY if newer else "node(s) had volume node affinity conflict"
        return ""

    def unbound(self, claims: list[PersistentVolumeClaim]) -> str:
        selected = [claim for claim in claims if vol.SELECTED_NODE in claim.metadata.annotations]
        if any(claim.metadata.annotations[vol.SELECTED_NODE] != self.node.name for claim in selected):
            return build.NO_FIT
        waiting = list(selected)
        rest = [claim for claim in claims if claim not in selected]
        for claim in sorted(rest, key=lambda claim: vol.storage(claim.spec.resources.requests)):
            volume = self.find(claim)
            if volume is None:
                waiting.append(claim)
            else:
                self.taken[volume.name] = claim.name
        for claim in waiting:
            reason = self.provision(claim)
            if reason:
                return reason
        return ""

    def find(self, claim: PersistentVolumeClaim) -> PersistentVolume | None:
        best: PersistentVolume | None = None
        size = vol.storage(claim.spec.resources.requests)
        for volume in self.cluster.volumes.values():
            spec, ours = volume.spec, vol.bound_to(volume, claim)
            mode = (spec.volume_mode or "Filesystem") == (claim.spec.volume_mode or "Filesystem")
            if volume.name in self.taken or vol.class_of_volume(volume) != vol.class_of_claim(claim) or not mode:
                continue
            if vol.storage(spec.capacity) < size or (spec.claim_ref is not None and not ours):
                continue
            if ours:
                return volume if self.reaches(volume) else None
            labels = selectors.compile_selector(claim.spec.selector) if claim.spec.selector is not None else None
            if volume.status.phase != "Available" or not set(claim.spec.access_modes) <= set(spec.access_modes):
                continue
            if (labels is not None and not labels.matches(volume.metadata.labels)) or not self.reaches(volume):
                continue
            if best is None or vol.storage(spec.capacity) < vol.storage(best.spec.capacity):
                best = volume
        reserved = [v for v in self.cluster.volumes.values() if vol.bound_to(v, claim) and v.name not in self.taken]
        assert best is None or not any(self.fits_reserved(v, claim) for v in reserved)
        return best

    def fits_reserved(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
        same_mode = (volume.spec.volume_mode or "Filesystem") == (claim.spec.volume_mode or "Filesystem")
        large = vol.storage(volume.spec.capacity) >= vol.storage(claim.spec.resources.requests)
        return same_mode and large and vol.class_of_volume(volume) == vol.class_of_claim(claim)

    def provision(self, claim: PersistentVolumeClaim) -> str:
        storage_class = self.cluster.storage_classes[vol.class_of_claim(claim)]
        labels = self.node.metadata.labels
        if storage_class.provisioner == vol.NO_PROVISIONER:
            return build.NO_FIT
        terms = storage_class.allowed_topologies
        if terms and not any(all(labels.get(r.key) in r.values for r in t.match_label_expressions) for t in terms):
            return build.NO_FIT
        if storage_class.provisioner not in self.cluster.csi_drivers:
            return ""
        size = quantity.value(claim.spec.resources.requests["storage"])
        for capacity in self.cluster.capacities.values():
            topology = capacity.node_topology
            if capacity.storage_class_name != storage_class.name or topology is None or capacity.capacity is None:
                continue
            if quantity.value(capacity.capacity) >= size and topology.match_labels.items() <= labels.items():
                return ""
        return build.NO_SPACE


# ---------------------------------------------------------------- together


class Drill:
    """A cluster that changes, plugins that live as long as it does, and what they should say."""

    def __init__(self, random: Random, release: str) -> None:
        self.random = random
        self.cluster = Cluster(get_release(release))
        self.count = 0
        driver = {"kind": "CSIDriver", "metadata": {"name": build.DRIVER}, "spec": {"storageCapacity": True}}
        self.apply(driver)
        for make, names in KINDS.values():
            for name in names:
                if random.random() < 0.8 or make is random_class:
                    self.apply(make(random, name))
        self.cluster.nodes.refresh()
        self.binding = VolumeBinding(None, self.cluster)
        self.pairs = [
            (cls(None, self.cluster), plain(None, self.cluster))
            for cls, plain in (
                (NodeVolumeLimits, PlainLimits),
                (EBSLimits, PlainDisks),
                (VolumeRestrictions, PlainRestrictions),
            )
        ]

    def apply(self, raw: Raw) -> None:
        obj = decode(raw)
        assert obj is not None
        self.cluster.apply(obj)

    def new_pod(self) -> PodInfo:
        self.count += 1
        pod = decode(random_pod(self.random, f"p{self.count}"))
        assert isinstance(pod, Pod)
        return PodInfo(pod, self.cluster.release)

    def change(self) -> None:
        """One thing comes, goes or changes."""
        kind = self.random.choice(("pod", "pod", "pod", "gone", *KINDS))
        if kind == "pod":
            self.cluster.add_pod(self.new_pod(), self.random.choice(NODES))
        elif kind == "gone":
            if self.cluster.pods:
                self.cluster.remove_pod(self.random.choice(list(self.cluster.pods.values())))
        else:
            make, names = KINDS[kind]
            raw = make(self.random, self.random.choice(names))
            obj = decode(raw)
            assert obj is not None
            if self.random.random() < 0.3 and kind != "StorageClass":
                self.cluster.remove(obj)
            else:
                self.cluster.apply(obj)
        self.cluster.nodes.refresh()

    def check(self) -> None:
        pod = self.new_pod()
        for plugin, plain in self.pairs:
            state: CycleState = CycleState()
            if isinstance(plugin, VolumeRestrictions) and isinstance(plugin.pre_filter(state, pod), Status):
                continue
            for row, name in enumerate(self.cluster.nodes.names):
                said = plugin.filter(state, pod).at(row)
                assert said == plain.filter(state, pod).at(row), (plugin.name, name)
                assert plugin.filter_node is not None
                assert plugin.filter_node(state, pod, Change(row)) == said, (plugin.name, name)
        self.check_binding(pod)

    def check_binding(self, pod: PodInfo) -> None:
        state = CycleState()
        if isinstance(self.binding.pre_filter(state, pod), Status):
            return
        verdict = self.binding.filter(state, pod)
        fits = []
        for row, node in enumerate(self.cluster.nodes.nodes):
            plain, said = PlainBinding(self.cluster, pod, node), verdict.at(row)
            assert (said.reasons if said is not None else ()) == plain.reasons, node.name
            if said is None:
                fits.append((node.name, plain.taken))
        if fits:
            self.place(state, pod, *self.random.choice(fits))

    def place(self, state: CycleState, pod: PodInfo, node: str, taken: dict[str, str]) -> None:
        """Reserve takes what was expected; then it is given back, or the pod runs."""
        before = dict(self.cluster.volumes), dict(self.cluster.claims)
        assert self.binding.reserve(state, pod, node) is None
        changed = {name: v for name, v in self.cluster.volumes.items() if v is not before[0][name]}
        assert {name: v.spec.claim_ref.name for name, v in changed.items() if v.spec.claim_ref is not None} == taken
        if self.random.random() < 0.3:
            self.binding.unreserve(state, pod, node)
            assert (self.cluster.volumes, self.cluster.claims) == before
        else:
            assert self.binding.pre_bind(state, pod, node) is None
            self.cluster.add_pod(pod, node)


@pytest.mark.parametrize("release", ["1.27", "1.34"])
@settings(max_examples=examples(80))
@given(seed=st.integers(0, 1 << 32))
def test_columns_say_what_every_node_would(release: str, seed: int) -> None:
    drill = Drill(Random(seed), release)
    for _ in range(12):
        for _ in range(3):
            drill.check()
        drill.change()


def test_attached_volumes_without_a_pod_count_since_1_32() -> None:
    objects = [build.node("a"), build.csi_node("a", csi_example_com=1), *build.bound_claims("x", "y")]
    attachment = {
        "kind": "VolumeAttachment",
        "metadata": {"name": "lingers"},
        "spec": {"attacher": build.DRIVER, "nodeName": "a", "source": {"persistentVolumeName": "pv-y"}},
    }
    for release, refused in (("1.27", {}), ("1.34", {"a": (build.TOO_MANY,)})):
        world = build.World(*objects, attachment, build.pod("p", build.uses("x")), release=release)
        assert world.judge(NodeVolumeLimits, "p") == refused
    world = build.World(*objects, attachment, build.pod("p", build.uses("x")), build.pod("u", build.uses("y"), on="a"))
    plugin = NodeVolumeLimits(None, world.cluster)
    assert world.judge(NodeVolumeLimits, "p") == {"a": (build.TOO_MANY,)}
    assert plugin.filter(CycleState(), world.pending["p"]).at(0) == TOO_MANY
    world.cluster.remove_pod(world.cluster.pods["default/u"])
    assert plugin.filter(CycleState(), world.pending["p"]).at(0) == TOO_MANY  # detaching takes its time
    lingers = decode(attachment)
    assert lingers is not None
    world.cluster.remove(lingers)
    assert plugin.filter(CycleState(), world.pending["p"]).at(0) is None
