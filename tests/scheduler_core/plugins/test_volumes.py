"""Volume plugins in cases that the conformance cases lack: missing objects, releases, default limits."""

from typing import Any

import pytest

from scheduler_core.api.objects import decode_all
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.framework.interface import (
    ERROR,
    SKIPPED,
    UNRESOLVABLE,
    UNSCHEDULABLE,
    CycleState,
    NodePodsChange,
    Plugin,
    PreFilterPlugin,
    PreFilterResult,
    Status,
)
from scheduler_core.plugins.node_volume_limits import NodeVolumeLimits, limit_key
from scheduler_core.plugins.non_csi_limits import EBSLimits, GCEPDLimits
from scheduler_core.plugins.volume_binding import VolumeBinding
from scheduler_core.plugins.volume_restrictions import VolumeRestrictions
from scheduler_core.plugins.volume_zone import VolumeZone
from scheduler_core.releases import get_release
from tests.scheduler_core.build import claim, volume

Raw = dict[str, Any]

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
DRIVER = "csi.example.com"
AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
MISSING_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
TOO_MANY = "node(s) exceed max volume count"
DISK = "node(s) had no available disk"
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
OLD_IN_USE = "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"


# ---------------------------------------------------------------- builders


def node(name: str, allocatable: Raw | None = None, **labels: str) -> Raw:
    named = {"kubernetes.io/hostname": name, **{key.replace("__", "/"): value for key, value in labels.items()}}
    return {"kind": "Node", "metadata": {"name": name, "labels": named}, "status": {"allocatable": allocatable or {}}}


def zoned(name: str, zone: str) -> Raw:
    raw = node(name)
    raw["metadata"]["labels"][ZONE] = zone
    return raw


def pod(name: str, *volumes: Raw, on: str = "", namespace: str = "default") -> Raw:
    named = [{"name": f"v{i}", **volume} for i, volume in enumerate(volumes)]
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    return {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": on, "volumes": named}}


def uses(claim: str) -> Raw:
    return {"persistentVolumeClaim": {"claimName": claim}}


def csi(name: str, handle: str = "", driver: str = DRIVER) -> Raw:
    return volume(name, phase="Bound", csi={"driver": driver, "volumeHandle": handle or f"h-{name}"})


def storage_class(name: str, provisioner: str = DRIVER, late: bool = True, **more: Any) -> Raw:
    mode = "WaitForFirstConsumer" if late else "Immediate"
    return {
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    } | more


def csi_node(name: str, migrated: str = "", **limits: int | None) -> Raw:
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": migrated} if migrated else {}
    drivers = [
        {"name": driver.replace("_", "."), "nodeID": name, "allocatable": {"count": count}}
        for driver, count in limits.items()
    ]
    return {"kind": "CSINode", "metadata": {"name": name, "annotations": annotations}, "spec": {"drivers": drivers}}


class World:
    """A cluster and its waiting pods by name."""

    def __init__(self, *raws: Raw, release: str = "1.34") -> None:
        self.cluster = Cluster(get_release(release))
        self.pending = {info.name: info for info in self.cluster.load(decode_all(raws))}
        self.state = CycleState()

    def pre_filter(self, plugin: Plugin, name: str) -> Status | PreFilterResult | None:
        self.state = CycleState()
        assert isinstance(plugin, PreFilterPlugin)
        return plugin.pre_filter(self.state, self.pending[name])

    def judge(self, cls: type[Plugin], name: str) -> dict[str, tuple[str, ...]] | str:
        """Return the reasons of the nodes that the plugin rejects, or the status of PreFilter."""
        plugin: Any = cls(None, self.cluster)
        self.state = CycleState()
        if isinstance(plugin, PreFilterPlugin):
            result = self.pre_filter(plugin, name)
            if result is SKIPPED:
                return "Skip"
            if isinstance(result, Status):
                return result.message
        verdict = plugin.filter(self.state, self.pending[name])
        found = {}
        for row, node_name in enumerate(self.cluster.nodes.names):
            status = verdict.at(row)
            if plugin.filter_node is not None:
                assert plugin.filter_node(self.state, self.pending[name], NodePodsChange(row)) == status
            if status is not None:
                found[node_name] = status.reasons
        return found


# ---------------------------------------------------------------- missing objects


@pytest.mark.parametrize("release", ["1.27", "1.34"])
@pytest.mark.parametrize(
    ("objects", "plugin", "message"),
    [
        ([], VolumeRestrictions, 'persistentvolumeclaim "c" not found'),
        ([], VolumeBinding, 'persistentvolumeclaim "c" not found'),
        ([], VolumeZone, 'persistentvolumeclaim "c" not found'),
        ([claim("c")], VolumeBinding, "pod has unbound immediate PersistentVolumeClaims"),
        ([claim("c")], VolumeZone, "PersistentVolumeClaim had no pv name and storageClass name"),
        ([claim("c", "gone")], VolumeBinding, "pod has unbound immediate PersistentVolumeClaims"),
        ([claim("c", "gone")], VolumeZone, 'storageclass.storage.k8s.io "gone" not found'),
        ([claim("c", "now"), storage_class("now", late=False)], VolumeZone, "PersistentVolume had no name"),
        ([claim("c", volume="gone")], VolumeZone, 'persistentvolume "gone" not found'),
        (
            [claim("c", volume="gone", phase="Lost")],
            VolumeBinding,
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "gone"',
        ),
        (
            [claim("c", volume="v", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            VolumeBinding,
            'persistentvolumeclaim "c" is being deleted',
        ),
        # the controller, not the scheduler, binds a claim that names its volume
        (
            [claim("c", "late", volumeName="v"), storage_class("late")],
            VolumeBinding,
            "pod has unbound immediate PersistentVolumeClaims",
        ),
    ],
)
def test_pre_filter_rejects(objects: list[Raw], plugin: type[Plugin], message: str, release: str) -> None:
    world = World(node("a"), pod("p", uses("c")), *objects, release=release)
    result = world.pre_filter(plugin(None, world.cluster), "p")
    assert isinstance(result, Status)
    assert (result.code, result.message) == (UNRESOLVABLE, message)


def test_limits_on_missing_claims() -> None:
    reason = ('looking up PVC default/c: persistentvolumeclaim "c" not found',)
    for release, cls, code in (
        ("1.34", NodeVolumeLimits, UNRESOLVABLE),
        ("1.27", NodeVolumeLimits, ERROR),
        ("1.27", EBSLimits, ERROR),
    ):
        world = World(node("a"), pod("p", uses("c")), release=release)
        plugin: Any = cls(None, world.cluster)
        assert plugin.filter(CycleState(), world.pending["p"]).at(0) == Status(code, reason)


# ---------------------------------------------------------------- VolumeRestrictions

GCE = {"gcePersistentDisk": {"pdName": "d"}}
GCE_RO = {"gcePersistentDisk": {"pdName": "d", "readOnly": True}}
EBS = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
EBS_RO = {"awsElasticBlockStore": {"volumeID": "vol-1", "readOnly": True}}


def iscsi(iqn: str, read_only: bool = False) -> Raw:
    return {"iscsi": {"targetPortal": "t", "iqn": iqn, "lun": 0, "readOnly": read_only}}


def rbd(monitors: str, image: str = "i", pool: str = "rbd", read_only: bool = False) -> Raw:
    return {"rbd": {"monitors": list(monitors), "image": image, "pool": pool, "readOnly": read_only}}


@pytest.mark.parametrize("release", ["1.27", "1.34"])
@pytest.mark.parametrize(
    ("used", "wanted", "clash"),
    [
        (GCE, GCE, True),
        (GCE, GCE_RO, True),
        (GCE_RO, GCE_RO, False),
        (GCE, {"gcePersistentDisk": {"pdName": "other"}}, False),
        (EBS_RO, EBS_RO, True),
        (iscsi("a"), iscsi("a"), True),
        (iscsi("a", True), iscsi("a", True), False),
        (iscsi("a"), iscsi("b"), False),
        (rbd("xy"), rbd("yz"), True),
        (rbd("xy"), rbd("z"), False),
        (rbd("x"), rbd("x", image="j"), False),
        (rbd("x"), rbd("x", pool="q"), False),
        (rbd("x", read_only=True), rbd("x", read_only=True), False),
    ],
)
def test_disks_with_a_single_writer(used: Raw, wanted: Raw, clash: bool, release: str) -> None:
    world = World(node("a"), node("b"), pod("user", used, on="a"), pod("p", wanted), release=release)
    assert world.judge(VolumeRestrictions, "p") == ({"a": (DISK,)} if clash else {})


def test_a_disk_conflict_ends_with_the_pod_that_uses_the_disk() -> None:
    world = World(node("a"), pod("user", EBS, on="a"), pod("p", EBS), pod("q", EBS))
    plugin = VolumeRestrictions(None, world.cluster)
    assert world.pre_filter(plugin, "p") is None
    user, p, q = world.cluster.pods["default/user"], world.pending["p"], world.pending["q"]
    assert plugin.filter_node(world.state, p, NodePodsChange(0)) == Status(UNSCHEDULABLE, (DISK,))
    assert plugin.filter_node(world.state, p, NodePodsChange(0, removed=[user])) is None
    assert plugin.filter_node(world.state, p, NodePodsChange(0, added=[q], removed=[user])) == Status(
        UNSCHEDULABLE, (DISK,)
    )
    world.cluster.remove_pod(user)
    assert world.judge(VolumeRestrictions, "p") == {}


@pytest.mark.parametrize(("release", "reason"), [("1.27", OLD_IN_USE), ("1.34", IN_USE)])
def test_read_write_once_pod(release: str, reason: str) -> None:
    only = claim("c", volume="v", accessModes=["ReadWriteOncePod"])
    world = World(node("a"), node("b"), only, pod("user", uses("c"), on="a"), pod("p", uses("c")), release=release)
    assert world.judge(VolumeRestrictions, "p") == {"a": (reason,), "b": (reason,)}
    plugin = VolumeRestrictions(None, world.cluster)
    assert world.pre_filter(plugin, "p") is None
    user = world.cluster.pods["default/user"]
    assert plugin.filter_node(world.state, world.pending["p"], NodePodsChange(0, removed=[user])) is None
    world.cluster.remove_pod(user)
    assert world.judge(VolumeRestrictions, "p") == ("Skip" if release == "1.34" else {})


def test_read_write_once_pod_counts_users_on_existing_nodes_only() -> None:
    only = claim("c", volume="v", accessModes=["ReadWriteOncePod"])
    world = World(node("a"), only, pod("lost", uses("c"), on="gone"), pod("p", uses("c")))
    assert world.judge(VolumeRestrictions, "p") == "Skip"


# ---------------------------------------------------------------- limits


def bound_claims(*names: str) -> list[Raw]:
    return [raw for name in names for raw in (claim(name, volume=f"pv-{name}"), csi(f"pv-{name}"))]


def test_limits_of_the_node_object_count_before_1_31() -> None:
    key = limit_key(DRIVER)
    objects = [node("a", {key: "0"}), *bound_claims("x"), pod("p", uses("x"))]
    assert World(*objects, release="1.27").judge(NodeVolumeLimits, "p") == {"a": (TOO_MANY,)}
    assert World(*objects).judge(NodeVolumeLimits, "p") == {}


def test_long_driver_names_are_hashed() -> None:
    name = "a" * 60
    assert limit_key(DRIVER) == "attachable-volumes-csi-csi.example.com"
    assert len(limit_key(name)) == 62
    assert limit_key(name).startswith("attachable-volumes-csi-" + "a" * 23)


@pytest.mark.parametrize(
    ("release", "inline", "plugin", "driver", "migrated", "counts"),
    [
        ("1.34", EBS, "kubernetes.io/aws-ebs", "ebs_csi_aws_com", False, True),
        ("1.27", EBS, "kubernetes.io/aws-ebs", "ebs_csi_aws_com", False, True),
        ("1.23", EBS, "kubernetes.io/aws-ebs", "ebs_csi_aws_com", True, True),
        ("1.22", EBS, "kubernetes.io/aws-ebs", "ebs_csi_aws_com", True, False),
        ("1.34", GCE, "kubernetes.io/gce-pd", "pd_csi_storage_gke_io", False, True),
        ("1.27", GCE, "kubernetes.io/gce-pd", "pd_csi_storage_gke_io", False, False),
        ("1.27", GCE, "kubernetes.io/gce-pd", "pd_csi_storage_gke_io", True, True),
        ("1.34", {"azureDisk": {"diskName": "d", "diskURI": "u"}}, "", "disk_csi_azure_com", False, True),
        ("1.34", {"cinder": {"volumeID": "c"}}, "", "cinder_csi_openstack_org", False, True),
        (
            "1.34",
            {"portworxVolume": {"volumeID": "c"}},
            "kubernetes.io/portworx-volume",
            "pxd_portworx_com",
            True,
            True,
        ),
        ("1.34", {"portworxVolume": {"volumeID": "c"}}, "", "pxd_portworx_com", False, False),
        (
            "1.27",
            {"portworxVolume": {"volumeID": "c"}},
            "kubernetes.io/portworx-volume",
            "pxd_portworx_com",
            True,
            False,
        ),
        ("1.34", {"azureFile": {"secretName": "s", "shareName": "n"}}, "", "file_csi_azure_com", False, False),
        ("1.34", {"vsphereVolume": {"volumePath": "p"}}, "", "csi_vsphere_vmware_com", False, False),
    ],
)
def test_in_tree_volumes_count_for_the_migrated_driver(
    release: str, inline: Raw, plugin: str, driver: str, migrated: bool, counts: bool
) -> None:
    limited = csi_node("a", migrated=plugin if migrated else "", **{driver: 0})
    world = World(node("a"), node("bare"), limited, pod("p", inline), release=release)
    assert world.judge(NodeVolumeLimits, "p") == ({"a": (TOO_MANY,)} if counts else {})


def test_an_untranslatable_inline_volume_is_an_error_where_it_would_be_migrated() -> None:
    bad = {"awsElasticBlockStore": {"volumeID": "aws://zone/disk"}}
    world = World(node("a"), node("b"), csi_node("a", ebs_csi_aws_com=1), pod("p", bad))
    result = world.judge(NodeVolumeLimits, "p")
    assert list(result) == ["a"]
    assert "converting volume(v0) from inline to csi" in result["a"][0]  # type: ignore[index]


def test_in_tree_limits() -> None:
    disks = [{"gcePersistentDisk": {"pdName": f"d{i}"}} for i in range(17)]
    objects = [node("a"), node("b", {"attachable-volumes-gce-pd": "1"}), node("c", {"attachable-volumes-gce-pd": "20"})]
    world = World(*objects, pod("p", *disks), pod("q", disks[0]), pod("u", disks[1], on="b"), release="1.27")
    assert world.judge(GCEPDLimits, "p") == {"a": (TOO_MANY,), "b": (TOO_MANY,)}
    assert world.judge(GCEPDLimits, "q") == {"b": (TOO_MANY,)}
    plugin = GCEPDLimits(None, world.cluster)
    change = NodePodsChange(world.cluster.nodes.rows["b"], removed=[world.cluster.pods["default/u"]])
    assert plugin.filter_node(CycleState(), world.pending["q"], change) is None
    assert world.judge(EBSLimits, "p") == {}


def test_ebs_limit_by_instance_type_and_migration() -> None:
    disks = [{"awsElasticBlockStore": {"volumeID": f"vol-{i}"}} for i in range(26)]
    nitro = node("nitro", **{"node.kubernetes.io__instance-type": "m5.large"})
    world = World(nitro, node("old"), node("moved"), csi_node("moved"), pod("p", *disks), release="1.27")
    assert world.judge(EBSLimits, "p") == {"nitro": (TOO_MANY,)}


@pytest.mark.parametrize(
    ("release", "limited"), [("1.18", ["old", "moved"]), ("1.22", ["old", "moved"]), ("1.23", ["old"])]
)
def test_in_tree_limits_apply_next_to_a_csi_driver_until_1_22(release: str, limited: list[str]) -> None:
    disks = [{"awsElasticBlockStore": {"volumeID": f"vol-{i}"}} for i in range(40)]
    world = World(node("old"), node("moved"), csi_node("moved"), pod("p", *disks), release=release)
    assert world.judge(EBSLimits, "p") == dict.fromkeys(limited, (TOO_MANY,))


# ---------------------------------------------------------------- NodeVolumeLimits: missing drivers


def csi_driver(prevents: bool = True) -> Raw:
    spec = {"preventPodSchedulingIfMissing": prevents}
    return {"kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": spec}


NOT_INSTALLED = f"{DRIVER} CSI driver is not installed on the node"


@pytest.mark.parametrize(
    ("release", "driver", "rejects"),
    [
        ("1.37", csi_driver(), True),
        ("1.36 VolumeLimitScaling=true", csi_driver(), True),
        ("1.36", csi_driver(), False),
        ("1.37 VolumeLimitScaling=false", csi_driver(), False),
        ("1.37", csi_driver(prevents=False), False),
        ("1.37", storage_class("unused"), False),
    ],
)
@pytest.mark.parametrize("bound", [True, False])
def test_a_driver_that_prevents_this_must_be_installed(release: str, driver: Raw, rejects: bool, bound: bool) -> None:
    """`a` has the driver, `b` another one, `c` no CSINode. An unbound claim counts for its class's provisioner."""
    nodes = [node(name) for name in "abc"]
    there = [csi_node("a", csi_example_com=5), csi_node("b", other_example_com=5)]
    volumes = [csi("pv"), claim("c", volume="pv")] if bound else [storage_class("late"), claim("c", cls="late")]
    world = World(*nodes, *there, driver, *volumes, pod("p", uses("c")), release=release)
    expected = {"b": (NOT_INSTALLED,), "c": (NOT_INSTALLED,)} if rejects else {}
    assert world.judge(NodeVolumeLimits, "p") == expected
    assert NodeVolumeLimits(None, world.cluster).filter(world.state, world.pending["p"]).statuses in (
        (),
        (Status(UNSCHEDULABLE, (NOT_INSTALLED,)),),
    )


# ---------------------------------------------------------------- VolumeBinding: bound claims


def test_a_deleted_bound_volume() -> None:
    there = volume("v", at={ZONE: ["z1"]}, phase="Bound")
    nodes = [zoned("a", "z1"), zoned("b", "z2")]
    world = World(*nodes, there, claim("c", volume="v"), claim("d", volume="gone"), pod("p", uses("c"), uses("d")))
    assert world.judge(VolumeBinding, "p") == {"a": (MISSING_VOLUME,), "b": (AFFINITY,)}


@pytest.mark.parametrize(
    ("terms", "fits"),
    [
        ([], set()),
        ([{}], set()),
        ([{"matchExpressions": [{"key": "gpu", "operator": "DoesNotExist"}]}], {"a", "b"}),
        ([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}], set()),
        ([{"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["a"]}]}], {"a", "b"}),
        (
            [
                {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z1", "z1", "nowhere"]}]},
                {
                    "matchExpressions": [
                        {"key": ZONE, "operator": "Exists"},
                        {"key": ZONE, "operator": "In", "values": ["z2"]},
                    ]
                },
            ],
            {"a", "b"},
        ),
    ],
)
def test_volume_affinity_uses_labels_only(terms: list[Raw], fits: set[str]) -> None:
    pv = volume("v", phase="Bound")
    pv["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    world = World(zoned("a", "z1"), zoned("b", "z2"), pv, claim("c", volume="v"), pod("p", uses("c")))
    assert set(world.judge(VolumeBinding, "p")) == {"a", "b"} - fits


def test_an_untranslatable_bound_volume_is_an_error() -> None:
    pv = volume("v", phase="Bound", awsElasticBlockStore={"volumeID": "aws://x/y"})
    objects = [node("a"), node("b"), csi_node("a", migrated="kubernetes.io/aws-ebs")]
    world = World(*objects, pv, claim("c", volume="v"), pod("p", uses("c")))
    world.judge(VolumeBinding, "p")
    status = VolumeBinding(None, world.cluster).filter(world.state, world.pending["p"]).at(0)
    assert status is not None
    assert status.code == ERROR
    assert status.message.startswith("could not translate pv")


# ---------------------------------------------------------------- VolumeBinding: unbound claims


def host(*names: str) -> Raw:
    return {"kubernetes.io/hostname": list(names)}


def capacity(name: str, topology: Raw | None, cls: str = "late", **amounts: str) -> Raw:
    raw = {
        "kind": "CSIStorageCapacity",
        "metadata": {"name": name, "namespace": "kube-system"},
        "storageClassName": cls,
    }
    return raw | amounts | ({"nodeTopology": topology} if topology is not None else {})


@pytest.mark.parametrize("release", ["1.17", "1.20", "1.21"])
def test_storage_capacity_counts_from_1_21(release: str) -> None:
    driver = {"kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": {"storageCapacity": True}}
    here = capacity("a", {"matchLabels": {"kubernetes.io/hostname": "a"}}, capacity="20Gi")
    objects = [driver, here, storage_class("late"), claim("c", cls="late")]
    world = World(node("a"), node("b"), *objects, pod("p", uses("c")), release=release)
    too_small = {"b": ("node(s) did not have enough free storage",)}
    assert world.judge(VolumeBinding, "p") == (too_small if release == "1.21" else {})
