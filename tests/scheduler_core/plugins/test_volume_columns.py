"""Columns of the volume plugins after random changes equal those of a new cluster."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.api.objects import decode_all
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import (
    CycleState,
    FilterPlugin,
    NodePodsChange,
    PreFilterPlugin,
    Status,
    unschedulable,
)
from scheduler_core.plugins import volumes as vol
from scheduler_core.plugins.node_volume_limits import NodeVolumeLimits, limit_key
from scheduler_core.plugins.non_csi_limits import EBSLimits
from scheduler_core.plugins.volume_binding import VolumeBinding
from scheduler_core.plugins.volume_restrictions import VolumeRestrictions
from scheduler_core.plugins.volume_zone import VolumeZone
from scheduler_core.releases import get_release
from tests.examples import examples, selection
from tests.scheduler_core.build import Raw, info
from tests.scheduler_core.plugins import test_volumes as build

TOO_MANY = unschedulable(build.TOO_MANY)
PLUGINS: tuple[type[FilterPlugin], ...] = (
    *(NodeVolumeLimits, EBSLimits, VolumeRestrictions, VolumeZone),
    VolumeBinding,
)
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


class ChangingCluster:
    """A cluster that changes, with plugins that exist as long as it does."""

    def __init__(self, random: Random, release: str) -> None:
        self.random = random
        self.cluster = Cluster(get_release(release))
        self.count = 0
        self.apply({"kind": "CSIDriver", "metadata": {"name": build.DRIVER}, "spec": {"storageCapacity": True}})
        for make, names in KINDS.values():
            for name in names:
                if random.random() < 0.8 or make is random_class:
                    self.apply(make(random, name))
        self.cluster.nodes.refresh()
        self.plugins = [cls(None, self.cluster) for cls in PLUGINS]

    def apply(self, raw: Raw) -> None:
        self.cluster.apply(*decode_all([raw]))

    def new_pod(self) -> PodInfo:
        self.count += 1
        return info(random_pod(self.random, f"p{self.count}"), self.cluster.release.name)

    def change(self) -> None:
        """Add, remove or replace one object."""
        kind = self.random.choice(("pod", "pod", "pod", "gone", *KINDS))
        if kind == "pod":
            self.cluster.add_pod(self.new_pod(), self.random.choice(NODES))
        elif kind == "gone":
            if self.cluster.pods:
                self.cluster.remove_pod(self.random.choice(list(self.cluster.pods.values())))
        else:
            make, names = KINDS[kind]
            (obj,) = decode_all([make(self.random, self.random.choice(names))])
            if self.random.random() < 0.3 and kind != "StorageClass":
                self.cluster.remove(obj)
            else:
                self.cluster.apply(obj)
        self.cluster.nodes.refresh()

    def rebuilt(self) -> Cluster:
        """Return a new cluster of the same objects."""
        made = Cluster(self.cluster.release)
        for name in self.cluster.nodes.names:
            made.apply(self.cluster.nodes.nodes[self.cluster.nodes.rows[name]])
        for obj in self.cluster.others():
            made.apply(obj)
        for running in self.cluster.pods.values():
            made.add_pod(PodInfo(running.pod, made.release), running.node)
        made.nodes.refresh()
        return made

    def check(self) -> None:
        """Compare the verdicts of old and new plugins for a new pod, which may run then."""
        pod, fresh = self.new_pod(), self.rebuilt()
        assert fresh.nodes.names == self.cluster.nodes.names
        for old in self.plugins:
            new, state, new_state = type(old)(None, fresh), CycleState(), CycleState()
            if isinstance(old, PreFilterPlugin):
                first = old.pre_filter(state, pod)
                assert first == new.pre_filter(new_state, pod)
                if isinstance(first, Status):
                    continue
            verdict, expected = old.filter(state, pod), new.filter(new_state, pod)
            for row, name in enumerate(self.cluster.nodes.names):
                assert verdict.at(row) == expected.at(row), (old.name, name)
                assert old.filter_node is None or old.filter_node(state, pod, NodePodsChange(row)) == expected.at(row)
            fits = [name for row, name in enumerate(self.cluster.nodes.names) if verdict.at(row) is None]
            if isinstance(old, VolumeBinding) and isinstance(new, VolumeBinding) and fits:
                node = self.random.choice(fits)
                before = dict(self.cluster.volumes), dict(self.cluster.claims)
                assert old.reserve(state, pod, node) is new.reserve(new_state, pod, node) is None
                assert (self.cluster.volumes, self.cluster.claims) == (fresh.volumes, fresh.claims)
                if self.random.random() < 0.3:
                    old.unreserve(state, pod, node)
                    assert (self.cluster.volumes, self.cluster.claims) == before
                else:
                    assert old.pre_bind(state, pod, node) is None
                    self.cluster.add_pod(pod, node)


@pytest.mark.parametrize("release", selection(["1.34", "1.27"], 2))
@settings(max_examples=examples(80))
@given(seed=st.integers(0, 1 << 32))
def test_old_plugins_have_the_verdicts_of_new_ones(release: str, seed: int) -> None:
    drill = ChangingCluster(Random(seed), release)
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
    world.cluster.remove(*decode_all([attachment]))
    assert plugin.filter(CycleState(), world.pending["p"]).at(0) is None
