"""The volume plugins on small clusters, in both releases."""

from typing import Any

import pytest

from scheduler_core.api.objects import decode_all
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import (
    ERROR,
    SKIPPED,
    UNRESOLVABLE,
    UNSCHEDULABLE,
    Change,
    CycleState,
    Plugin,
    PreFilterPlugin,
    PreFilterResult,
    Status,
)
from scheduler_core.plugins import csi_migration
from scheduler_core.plugins.node_volume_limits import NodeVolumeLimits, limit_key
from scheduler_core.plugins.non_csi_limits import AzureDiskLimits, EBSLimits, GCEPDLimits
from scheduler_core.plugins.volume_binding import VolumeBinding
from scheduler_core.plugins.volume_restrictions import VolumeRestrictions
from scheduler_core.plugins.volume_zone import VolumeZone
from scheduler_core.releases import get_release

Raw = dict[str, Any]

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
DRIVER = "csi.example.com"
NO_FIT = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
MISSING_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
TOO_MANY = "node(s) exceed max volume count"
DISK = "node(s) had no available disk"
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
OLD_IN_USE = "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
ALL_PLUGINS: tuple[type[Plugin], ...] = (
    VolumeRestrictions,
    EBSLimits,
    GCEPDLimits,
    NodeVolumeLimits,
    AzureDiskLimits,
    VolumeBinding,
    VolumeZone,
)


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


def claim(name: str, cls: str = "", volume: str = "", size: str = "10Gi", **more: Any) -> Raw:
    annotations = {**({"pv.kubernetes.io/bind-completed": "yes"} if volume else {}), **more.pop("annotations", {})}
    status = {"phase": more.pop("phase", "Bound" if volume else "Pending")}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "annotations": annotations}
    metadata |= more.pop("metadata", {})
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "volumeName": volume,
        **more,
    }
    if cls:
        spec["storageClassName"] = cls
    return {"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, "status": status}


def volume(name: str, cls: str = "", size: str = "10Gi", at: Raw | None = None, **more: Any) -> Raw:
    metadata = {"name": name, "labels": more.pop("labels", {})}
    phase = more.pop("phase", "Available")
    spec = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": cls, **more}
    if at is not None:
        terms = [{"matchExpressions": [{"key": k, "operator": "In", "values": v} for k, v in at.items()]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return {"kind": "PersistentVolume", "metadata": metadata, "spec": spec, "status": {"phase": phase}}


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
    """A cluster and, by name, the pods that wait."""

    def __init__(self, *raws: Raw, release: str = "1.34") -> None:
        self.cluster = Cluster(get_release(release))
        self.pending = {info.name: info for info in self.cluster.load(decode_all(raws))}
        self.state = CycleState()

    def pre_filter(self, plugin: Plugin, name: str) -> Status | PreFilterResult | None:
        self.state = CycleState()
        assert isinstance(plugin, PreFilterPlugin)
        return plugin.pre_filter(self.state, self.pending[name])

    def judge(self, cls: type[Plugin], name: str) -> dict[str, tuple[str, ...]] | str:
        """Node -> reasons of the nodes that the plugin refuses; or what PreFilter said instead."""
        plugin: Any = cls(None, self.cluster)
        self.state = CycleState()
        if isinstance(plugin, PreFilterPlugin):
            said = self.pre_filter(plugin, name)
            if said is SKIPPED:
                return "Skip"
            if isinstance(said, Status):
                return said.message
        verdict = plugin.filter(self.state, self.pending[name])
        found = {}
        for row, node_name in enumerate(self.cluster.nodes.names):
            status = verdict.at(row)
            if plugin.filter_node is not None:
                assert plugin.filter_node(self.state, self.pending[name], Change(row)) == status
            if status is not None:
                found[node_name] = status.reasons
        return found

    def place(self, name: str, on: str) -> None:
        """Filter, Reserve and PreBind by VolumeBinding, then the pod runs."""
        plugin = VolumeBinding(None, self.cluster)
        said = self.judge(VolumeBinding, name)
        assert said == "Skip" or on not in said
        info = self.pending.pop(name)
        assert plugin.reserve(self.state, info, on) is None
        assert plugin.pre_bind(self.state, info, on) is None
        self.cluster.add_pod(info, on)


# ---------------------------------------------------------------- pods without volumes


@pytest.mark.parametrize("release", ["1.27", "1.34"])
def test_pods_without_claims_and_disks_pass_everywhere(release: str) -> None:
    world = World(
        node("a"), pod("bare"), pod("mounts", {"configMap": {"name": "c"}}, {"emptyDir": {}}), release=release
    )
    for cls in ALL_PLUGINS:
        skips = cls in (VolumeBinding, VolumeZone) or (release == "1.34" and cls not in (VolumeBinding, VolumeZone))
        for name in ("bare", "mounts"):
            assert world.judge(cls, name) == ("Skip" if skips else {}), cls.name


# ---------------------------------------------------------------- what is missing never crashes


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
        # a claim that names its volume is bound by the controller, not by the scheduler
        (
            [claim("c", "late", volumeName="v"), storage_class("late")],
            VolumeBinding,
            "pod has unbound immediate PersistentVolumeClaims",
        ),
    ],
)
def test_pre_filter_rejects(objects: list[Raw], plugin: type[Plugin], message: str, release: str) -> None:
    world = World(node("a"), pod("p", uses("c")), *objects, release=release)
    said = world.pre_filter(plugin(None, world.cluster), "p")
    assert isinstance(said, Status)
    assert (said.code, said.message) == (UNRESOLVABLE, message)


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


def test_ephemeral_volumes_need_a_claim_of_their_own() -> None:
    ephemeral = {"name": "data", "ephemeral": {"volumeClaimTemplate": {}}}
    waiting = World(node("a"), pod("p", ephemeral))
    assert waiting.judge(VolumeBinding, "p") == (
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-data"'
    )
    foreign = World(node("a"), pod("p", ephemeral), claim("p-data", volume="v"))
    assert (
        foreign.judge(VolumeBinding, "p") == "PVC default/p-data was not created for pod default/p (pod is not owner)"
    )
    owner = {"ownerReferences": [{"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}]}
    own = World(node("a"), pod("p", ephemeral), claim("p-data", volume="v", metadata=owner), csi("v"))
    assert own.judge(VolumeBinding, "p") == {}
    assert own.judge(VolumeRestrictions, "p") == "Skip"
    assert own.judge(VolumeZone, "p") == "Skip"


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
def test_disks_that_only_one_pod_may_write(used: Raw, wanted: Raw, clash: bool, release: str) -> None:
    world = World(node("a"), node("b"), pod("user", used, on="a"), pod("p", wanted), release=release)
    assert world.judge(VolumeRestrictions, "p") == ({"a": (DISK,)} if clash else {})


def test_disk_conflict_goes_with_the_pod_that_holds_the_disk() -> None:
    world = World(node("a"), pod("user", EBS, on="a"), pod("p", EBS), pod("q", EBS))
    plugin = VolumeRestrictions(None, world.cluster)
    assert world.pre_filter(plugin, "p") is None
    user, p, q = world.cluster.pods["default/user"], world.pending["p"], world.pending["q"]
    assert plugin.filter_node(world.state, p, Change(0)) == Status(UNSCHEDULABLE, (DISK,))
    assert plugin.filter_node(world.state, p, Change(0, removed=[user])) is None
    assert plugin.filter_node(world.state, p, Change(0, added=[q], removed=[user])) == Status(UNSCHEDULABLE, (DISK,))
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
    assert plugin.filter_node(world.state, world.pending["p"], Change(0, removed=[user])) is None
    world.cluster.remove_pod(user)
    assert world.judge(VolumeRestrictions, "p") == ("Skip" if release == "1.34" else {})


def test_read_write_once_pod_counts_users_on_existing_nodes_only() -> None:
    only = claim("c", volume="v", accessModes=["ReadWriteOncePod"])
    world = World(node("a"), only, pod("lost", uses("c"), on="gone"), pod("p", uses("c")))
    assert world.judge(VolumeRestrictions, "p") == "Skip"


# ---------------------------------------------------------------- limits


def bound_claims(*names: str) -> list[Raw]:
    return [raw for name in names for raw in (claim(name, volume=f"pv-{name}"), csi(f"pv-{name}"))]


def test_csi_limits_count_every_volume_once() -> None:
    objects = [node("a"), node("b"), node("c"), csi_node("a", csi_example_com=2), csi_node("b", csi_example_com=1)]
    objects += [csi_node("c", other=1), *bound_claims("x", "y", "z")]
    objects += [pod("u", uses("x"), on="a"), pod("w", uses("x"), on="a"), pod("o", uses("y"), on="b")]
    world = World(*objects, pod("one", uses("z")), pod("two", uses("y"), uses("z")), pod("same", uses("x"), uses("x")))
    assert world.judge(NodeVolumeLimits, "one") == {"b": (TOO_MANY,)}
    assert world.judge(NodeVolumeLimits, "two") == {"a": (TOO_MANY,), "b": (TOO_MANY,)}
    assert world.judge(NodeVolumeLimits, "same") == {"b": (TOO_MANY,)}
    plugin = NodeVolumeLimits(None, world.cluster)
    other = world.cluster.pods["default/o"]
    row = world.cluster.nodes.rows["b"]
    assert plugin.filter_node(CycleState(), world.pending["one"], Change(row, removed=[other])) is None
    added = Change(world.cluster.nodes.rows["a"], added=[world.pending["two"]])
    assert plugin.filter_node(CycleState(), world.pending["one"], added) is None  # z is there already


def test_claims_without_a_volume_count_for_their_provisioner() -> None:
    objects = [
        node("a"),
        csi_node("a", csi_example_com=1),
        storage_class("late"),
        claim("c", "late"),
        claim("d", "late"),
    ]
    world = World(*objects, pod("one", uses("c")), pod("two", uses("c"), uses("d")), pod("twice", uses("c"), uses("c")))
    assert world.judge(NodeVolumeLimits, "one") == {}
    assert world.judge(NodeVolumeLimits, "two") == {"a": (TOO_MANY,)}
    assert world.judge(NodeVolumeLimits, "twice") == {}


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
def test_in_tree_volumes_count_for_the_driver_that_took_over(
    release: str, inline: Raw, plugin: str, driver: str, migrated: bool, counts: bool
) -> None:
    limited = csi_node("a", migrated=plugin if migrated else "", **{driver: 0})
    world = World(node("a"), node("bare"), limited, pod("p", inline), release=release)
    assert world.judge(NodeVolumeLimits, "p") == ({"a": (TOO_MANY,)} if counts else {})


def test_an_in_tree_volume_and_its_csi_twin_are_one() -> None:
    in_tree = volume("pv-e", phase="Bound", awsElasticBlockStore={"volumeID": "aws://us-east-1a/vol-1"})
    objects = [node("a"), csi_node("a", ebs_csi_aws_com=1), claim("e", volume="pv-e"), in_tree]
    objects += [claim("twin", volume="pv-t"), csi("pv-t", "vol-1", "ebs.csi.aws.com"), pod("u", uses("twin"), on="a")]
    world = World(*objects, pod("p", uses("e")), pod("q", {"awsElasticBlockStore": {"volumeID": "vol-2"}}))
    assert world.judge(NodeVolumeLimits, "p") == {}
    assert world.judge(NodeVolumeLimits, "q") == {"a": (TOO_MANY,)}


def test_an_untranslatable_inline_volume_is_an_error_where_it_would_be_migrated() -> None:
    bad = {"awsElasticBlockStore": {"volumeID": "aws://zone/disk"}}
    world = World(node("a"), node("b"), csi_node("a", ebs_csi_aws_com=1), pod("p", bad))
    said = world.judge(NodeVolumeLimits, "p")
    assert list(said) == ["a"]
    assert "converting volume(v0) from inline to csi" in said["a"][0]  # type: ignore[index]


def test_in_tree_limits() -> None:
    disks = [{"gcePersistentDisk": {"pdName": f"d{i}"}} for i in range(17)]
    objects = [node("a"), node("b", {"attachable-volumes-gce-pd": "1"}), node("c", {"attachable-volumes-gce-pd": "20"})]
    world = World(*objects, pod("p", *disks), pod("q", disks[0]), pod("u", disks[1], on="b"), release="1.27")
    assert world.judge(GCEPDLimits, "p") == {"a": (TOO_MANY,), "b": (TOO_MANY,)}
    assert world.judge(GCEPDLimits, "q") == {"b": (TOO_MANY,)}
    plugin = GCEPDLimits(None, world.cluster)
    change = Change(world.cluster.nodes.rows["b"], removed=[world.cluster.pods["default/u"]])
    assert plugin.filter_node(CycleState(), world.pending["q"], change) is None
    assert world.judge(EBSLimits, "p") == {}


def test_ebs_limit_by_instance_type_and_migration() -> None:
    disks = [{"awsElasticBlockStore": {"volumeID": f"vol-{i}"}} for i in range(26)]
    nitro = node("nitro", **{"node.kubernetes.io__instance-type": "m5.large"})
    world = World(nitro, node("old"), node("moved"), csi_node("moved"), pod("p", *disks), release="1.27")
    assert world.judge(EBSLimits, "p") == {"nitro": (TOO_MANY,)}


def test_in_tree_claims_count_by_class_or_volume() -> None:
    cls = storage_class("disk", "kubernetes.io/azure-disk")
    pv = volume("pv-d", phase="Bound", azureDisk={"diskName": "d", "diskURI": "u"})
    objects = [
        node("a", {"attachable-volumes-azure-disk": "1"}),
        cls,
        claim("c", "disk"),
        claim("d", volume="pv-d"),
        pv,
    ]
    world = World(*objects, pod("p", uses("c"), uses("d")), pod("q", uses("c")), release="1.27")
    assert world.judge(AzureDiskLimits, "p") == {"a": (TOO_MANY,)}
    assert world.judge(AzureDiskLimits, "q") == {}


# ---------------------------------------------------------------- VolumeBinding: bound claims


@pytest.mark.parametrize(
    ("release", "reason"), [("1.27", "node(s) had volume node affinity conflict"), ("1.34", AFFINITY)]
)
def test_bound_volumes_must_be_in_reach(release: str, reason: str) -> None:
    there = volume("v", at={ZONE: ["z1", "z2"]}, phase="Bound")
    nodes = [zoned("a", "z1"), zoned("b", "z2"), zoned("c", "z3"), node("d")]
    world = World(*nodes, there, claim("c", volume="v"), pod("p", uses("c")), release=release)
    assert world.judge(VolumeBinding, "p") == {"c": (reason,), "d": (reason,)}


def test_a_bound_volume_that_is_gone() -> None:
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
def test_volume_affinity_sees_labels_alone(terms: list[Raw], fits: set[str]) -> None:
    pv = volume("v", phase="Bound")
    pv["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    world = World(zoned("a", "z1"), zoned("b", "z2"), pv, claim("c", volume="v"), pod("p", uses("c")))
    assert set(world.judge(VolumeBinding, "p")) == {"a", "b"} - fits


def test_local_volumes_narrow_the_nodes_in_1_27() -> None:
    objects = [node("a"), node("b"), claim("c", volume="v"), volume("v", at={"kubernetes.io/hostname": ["a", "x"]})]
    objects += [
        claim("d", volume="w"),
        volume("w", at={"kubernetes.io/hostname": ["a", "b"]}),
        pod("p", uses("c"), uses("d")),
    ]
    old, new = World(*objects, release="1.27"), World(*objects)
    assert old.pre_filter(VolumeBinding(None, old.cluster), "p") == PreFilterResult(frozenset({"a"}))
    assert new.pre_filter(VolumeBinding(None, new.cluster), "p") is None


@pytest.mark.parametrize(
    ("pv", "fits"),
    [
        # the zone in the affinity is the driver's own topology key on migrated nodes
        (volume("v", at={ZONE: ["z1"]}, phase="Bound", awsElasticBlockStore={"volumeID": "vol-1"}), {"old", "new"}),
        (volume("v", at={BETA_ZONE: ["z1"]}, phase="Bound", awsElasticBlockStore={"volumeID": "vol-1"}), {"new"}),
        # without affinity, the zone label is added
        (
            volume("v", labels={ZONE: "z1__z9"}, phase="Bound", awsElasticBlockStore={"volumeID": "v"}),
            {"old", "new", "far"},
        ),
        (volume("v", phase="Bound", azureDisk={"diskName": "d", "diskURI": "u"}), {"old", "new", "far", "odd"}),
    ],
)
def test_migrated_volumes_are_placed_by_the_drivers_topology(pv: Raw, fits: set[str]) -> None:
    plugins = "kubernetes.io/aws-ebs,kubernetes.io/azure-disk"
    key = "topology.ebs.csi.aws.com__zone"
    nodes = [zoned("old", "z1"), node("new", **{key: "z1"}), zoned("far", "z2"), node("odd", **{key: "z2"})]
    objects = [csi_node("new", migrated=plugins), csi_node("odd", migrated=plugins), csi_node("far")]
    world = World(*nodes, *objects, pv, claim("c", volume="v"), pod("p", uses("c")))
    assert set(world.judge(VolumeBinding, "p")) == {"old", "new", "far", "odd"} - fits


def test_an_untranslatable_bound_volume_is_an_error() -> None:
    pv = volume("v", phase="Bound", awsElasticBlockStore={"volumeID": "aws://x/y"})
    objects = [node("a"), node("b"), csi_node("a", migrated="kubernetes.io/aws-ebs")]
    world = World(*objects, pv, claim("c", volume="v"), pod("p", uses("c")))
    world.judge(VolumeBinding, "p")
    status = VolumeBinding(None, world.cluster).filter(world.state, world.pending["p"]).at(0)
    assert status is not None
    assert status.code == ERROR
    assert status.message.startswith("could not translate pv")


@pytest.mark.parametrize(
    ("zones", "handle"),
    [
        ({}, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
        ({ZONE: "us-east1-a"}, "projects/UNSPECIFIED/zones/us-east1-a/disks/d"),
        ({BETA_ZONE: "us-east1-a__us-east1-b"}, "projects/UNSPECIFIED/regions/us-east1/disks/d"),
        ({ZONE: "us-east1-a__us-west1-b"}, None),
        ({ZONE: "a__b"}, None),
    ],
)
def test_handles_of_gce_disks(zones: dict[str, str], handle: str | None) -> None:
    [pv] = decode_all([volume("v", labels=zones, gcePersistentDisk={"pdName": "d"})])
    if handle is None:
        with pytest.raises(csi_migration.TranslationError):
            csi_migration.handle(pv.spec, pv.metadata.labels)  # type: ignore[attr-defined]
    else:
        assert csi_migration.handle(pv.spec, pv.metadata.labels) == handle  # type: ignore[attr-defined]


# ---------------------------------------------------------------- VolumeBinding: claims that wait for their pod

LOCAL = storage_class("local", "kubernetes.io/no-provisioner")
LATE = storage_class("late")


def host(*names: str) -> Raw:
    return {"kubernetes.io/hostname": list(names)}


@pytest.mark.parametrize(
    ("pv", "fits"),
    [
        (volume("v", "local", at=host("a")), True),
        (volume("v", "local", "9Gi", host("a")), False),
        (volume("v", "other", at=host("a")), False),
        (volume("v", "local", at=host("a"), phase="Released"), False),
        (volume("v", "local", at=host("a"), accessModes=["ReadOnlyMany"]), False),
        (volume("v", "local", at=host("a"), volumeMode="Block"), False),
        (volume("v", "local", at=host("a"), volumeMode="Filesystem"), True),
        (volume("v", "local", at=host("a"), volumeAttributesClassName="fast"), False),
        (volume("v", "local", at=host("a"), claimRef={"namespace": "default", "name": "other"}), False),
        (volume("v", "local", at=host("a"), claimRef={"namespace": "default", "name": "c"}, phase="Bound"), True),
        (volume("v", "local", at=host("a"), claimRef={"namespace": "default", "name": "c", "uid": "older"}), False),
    ],
)
def test_static_binding_finds_a_volume(pv: Raw, fits: bool) -> None:
    world = World(node("a"), node("b"), LOCAL, claim("c", "local"), pv, pod("p", uses("c")))
    assert world.judge(VolumeBinding, "p") == ({} if fits else {"a": (NO_FIT,)}) | {"b": (NO_FIT,)}


def test_static_binding_honours_the_claims_selector() -> None:
    wanted = claim("c", "local", selector={"matchLabels": {"disk": "fast"}})
    slow, fast = volume("s", "local", at=host("a")), volume("f", "local", at=host("b"), labels={"disk": "fast"})
    world = World(node("a"), node("b"), LOCAL, wanted, slow, fast, pod("p", uses("c")))
    assert world.judge(VolumeBinding, "p") == {"a": (NO_FIT,)}


def test_a_volume_reserved_for_the_claim_is_the_only_choice() -> None:
    mine = volume("mine", "local", "100Gi", host("b"), claimRef={"namespace": "default", "name": "c"})
    world = World(
        node("a"), node("b"), LOCAL, claim("c", "local"), volume("v", "local", at=host("a")), mine, pod("p", uses("c"))
    )
    assert world.judge(VolumeBinding, "p") == {"a": (NO_FIT,)}


def test_the_smallest_volume_that_fits_is_taken_and_gone_for_the_next_pod() -> None:
    pvs = [volume("big", "local", "50Gi", host("a")), volume("small", "local", "20Gi", host("a"))]
    world = World(
        node("a"),
        LOCAL,
        *pvs,
        *(claim(name, "local") for name in "cde"),
        *(pod(f"p{name}", uses(name)) for name in "cde"),
    )
    world.place("pc", "a")
    bound = world.cluster.claims["default/c"]
    assert (bound.spec.volume_name, bound.status.phase) == ("small", "Bound")
    ref = world.cluster.volumes["small"].spec.claim_ref
    assert ref is not None
    assert (ref.name, ref.uid) == ("c", "uid-c")
    world.place("pd", "a")
    assert world.cluster.claims["default/d"].spec.volume_name == "big"
    assert world.judge(VolumeBinding, "pe") == {"a": (NO_FIT,)}


def test_two_claims_of_a_pod_share_no_volume() -> None:
    claims = [claim("large", "local", size="20Gi"), claim("little", "local", size="5Gi")]
    pvs = [volume("v1", "local", "20Gi", host("a", "b")), volume("v2", "local", "10Gi", host("a"))]
    world = World(node("a"), node("b"), LOCAL, *claims, *pvs, pod("p", uses("large"), uses("little")))
    assert world.judge(VolumeBinding, "p") == {"b": (NO_FIT,)}
    world.place("p", "a")
    assert world.cluster.claims["default/little"].spec.volume_name == "v2"
    assert world.cluster.claims["default/large"].spec.volume_name == "v1"


def test_unreserve_gives_everything_back() -> None:
    objects = [node("a"), LOCAL, LATE, volume("v", "local", at=host("a")), claim("c", "local"), claim("d", "late")]
    world = World(*objects, pod("p", uses("c"), uses("d")), pod("q", uses("c")))
    before = dict(world.cluster.claims), dict(world.cluster.volumes)
    plugin, info = VolumeBinding(None, world.cluster), world.pending["p"]
    assert world.judge(VolumeBinding, "p") == {}
    state = world.state
    assert plugin.reserve(state, info, "a") is None
    assert world.cluster.volumes["v"].spec.claim_ref is not None
    assert world.cluster.claims["default/d"].metadata.annotations["volume.kubernetes.io/selected-node"] == "a"
    plugin.unreserve(state, info, "a")
    assert (world.cluster.claims, world.cluster.volumes) == before
    plugin.unreserve(state, info, "a")
    assert world.judge(VolumeBinding, "q") == {}


def test_a_provisioner_serves_what_no_volume_does() -> None:
    world = World(node("a"), node("b"), LATE, claim("c", "late"), pod("p", uses("c")), pod("q", uses("c")))
    assert world.judge(VolumeBinding, "p") == {}
    world.place("p", "b")
    assert world.judge(VolumeBinding, "q") == {"a": (NO_FIT,)}  # the claim's node is selected now


@pytest.mark.parametrize(
    ("topologies", "fits"),
    [
        ([], {"a", "b", "c"}),
        ([{}], set()),
        ([{"matchLabelExpressions": [{"key": ZONE, "values": ["z1"]}]}], {"a"}),
        ([{"matchLabelExpressions": [{"key": ZONE, "values": ["z1"]}, {"key": REGION, "values": ["r"]}]}], set()),
        ([{"matchLabelExpressions": [{"key": ZONE, "values": [z]}]} for z in ("z1", "z2")], {"a", "b"}),
        ([{"matchLabelExpressions": [{"key": ZONE, "values": []}]}], set()),
    ],
)
def test_allowed_topologies(topologies: list[Raw], fits: set[str]) -> None:
    cls = storage_class("late", allowedTopologies=topologies)
    world = World(zoned("a", "z1"), zoned("b", "z2"), node("c"), cls, claim("c", "late"), pod("p", uses("c")))
    assert world.judge(VolumeBinding, "p") == dict.fromkeys({"a", "b", "c"} - fits, (NO_FIT,))


def capacity(name: str, topology: Raw | None, cls: str = "late", **amounts: str) -> Raw:
    raw = {
        "kind": "CSIStorageCapacity",
        "metadata": {"name": name, "namespace": "kube-system"},
        "storageClassName": cls,
    }
    return raw | amounts | ({"nodeTopology": topology} if topology is not None else {})


@pytest.mark.parametrize("tracked", [True, False])
def test_storage_capacity(tracked: bool) -> None:
    driver = {"kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": {"storageCapacity": tracked}}
    zones = {zone: {"matchLabels": {ZONE: zone}} for zone in ("z1", "z2", "z3", "z4")}
    capacities = [
        capacity("c1", zones["z1"], capacity="10Gi"),
        capacity("c2", zones["z2"], capacity="9Gi"),
        capacity("c3", zones["z3"], capacity="100Gi", maximumVolumeSize="5Gi"),
        capacity("c4", zones["z4"], capacity="100Gi", cls="other"),
        capacity("c5", None, capacity="100Gi"),
        capacity("c6", {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z5"]}]}, capacity="1Ti"),
    ]
    nodes = [zoned(f"n{i}", f"z{i}") for i in range(1, 6)]
    world = World(*nodes, LATE, driver, *capacities, claim("c", "late"), pod("p", uses("c")))
    short = {f"n{i}": (NO_SPACE,) for i in (2, 3, 4)}
    assert world.judge(VolumeBinding, "p") == (short if tracked else {})


def test_reasons_of_bound_and_waiting_claims_add_up() -> None:
    there = volume("v", at={ZONE: ["z1"]}, phase="Bound")
    objects = [zoned("a", "z1"), zoned("b", "z2"), LOCAL, there, claim("c", volume="v"), claim("d", "local")]
    world = World(*objects, pod("p", uses("c"), uses("d")))
    assert world.judge(VolumeBinding, "p") == {"a": (NO_FIT,), "b": (AFFINITY, NO_FIT)}


def test_volume_binding_scores_nothing_by_default() -> None:
    for release, said in (("1.34", SKIPPED), ("1.27", None)):
        world = World(node("a"), node("b"), pod("p"), release=release)
        plugin, info = VolumeBinding(None, world.cluster), world.pending["p"]
        assert plugin.pre_score(world.state, info, slice(None)) is said
        assert plugin.score(world.state, info, slice(None)).tolist() == [0, 0]


# ---------------------------------------------------------------- VolumeZone


@pytest.mark.parametrize(
    ("labels", "release", "refused"),
    [
        ({ZONE: "z1"}, "1.34", {"b", "regional"}),
        ({ZONE: "z1__z2"}, "1.34", {"regional"}),
        ({ZONE: "z1, __z2"}, "1.34", {"a", "regional"}),
        ({ZONE: "z1____z2"}, "1.34", None),
        ({REGION: "r"}, "1.34", {"a", "b"}),
        ({BETA_ZONE: "z1"}, "1.34", {"b", "regional"}),
        ({BETA_ZONE: "z1"}, "1.27", {"a", "b", "regional"}),
        ({}, "1.34", None),
    ],
)
def test_zone_labels_of_bound_volumes(labels: dict[str, str], release: str, refused: set[str] | None) -> None:
    regional = node("regional")
    regional["metadata"]["labels"][REGION] = "r"
    nodes = [zoned("a", "z1"), zoned("b", "z2"), node("bare"), regional]
    world = World(*nodes, volume("v", labels=labels), claim("c", volume="v"), pod("p", uses("c")), release=release)
    reason = ("node(s) had no available volume zone",)
    assert world.judge(VolumeZone, "p") == ("Skip" if refused is None else dict.fromkeys(refused, reason))


def test_zones_wait_with_the_claim() -> None:
    world = World(zoned("a", "z1"), LATE, claim("c", "late"), pod("p", uses("c")))
    assert world.judge(VolumeZone, "p") == "Skip"


# ---------------------------------------------------------------- the index of volume users


def test_users_of_volumes_are_known_by_node() -> None:
    world = World(
        node("a"), pod("u", uses("c"), on="a"), pod("m", {"configMap": {"name": "x"}}, on="a"), pod("p", uses("c"))
    )
    users = world.cluster.volume_users
    assert [info.name for info in users.on("a")] == ["u"]
    assert users.claim_used("default/c", {"a"})
    assert not users.claim_used("default/c", {"b"})
    info: PodInfo = world.pending["p"]
    world.cluster.add_pod(info, "a")
    world.cluster.remove_pod(world.cluster.pods["default/u"])
    assert [found.name for found in users.on("a")] == ["p"]
    world.cluster.remove_pod(info)
    assert not users.by_node
    assert not users.claim_used("default/c", {"a"})
