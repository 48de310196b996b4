"""Reading of objects: required fields, ignored kinds, errors (more in test_broken_input)."""

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.api.objects import (
    GROUPS,
    KINDS,
    Node,
    Pod,
    decode,
    decode_all,
    decode_valid,
    describe,
    kind_of,
    timestamp,
)
from scheduler_core.errors import InputError
from tests.clusters import CLUSTERS, read_snapshot
from tests.scheduler_core.build import REQUIRED, Raw, node, pod


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_name_is_the_only_required_field(kind: str) -> None:
    for group in ("", *GROUPS.get(kind, ())):  # without an apiVersion the kind is enough
        made = decode({"apiVersion": group and f"{group}/v1", "kind": kind, "metadata": {"name": "x"}})
        assert type(made) is KINDS[kind]
        assert made.name == "x"
    assert decode({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "x"}}) is None, "of another group"
    for metadata in ({}, {"name": ""}, {"name": None}):
        with pytest.raises(InputError) as caught:
            decode({"kind": kind, "metadata": metadata})
        assert caught.value.where.startswith(kind)
        assert caught.value.field == "metadata.name"


@pytest.mark.parametrize("name", ["a/b", "..", ".", "a%2Fb", "a\nb", "a\0b"])
def test_a_name_must_be_a_path_segment(name: str) -> None:
    for field, metadata in (("name", {"name": name}), ("namespace", {"name": "a", "namespace": name})):
        with pytest.raises(InputError, match="cannot be a name") as caught:
            decode({"kind": "Pod", "metadata": metadata})
        assert caught.value.field == f"metadata.{field}"


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_valid_object_is_decoded_from_json_as_from_a_dict(name: str) -> None:
    for raw in read_snapshot(name):
        if (obj := decode(raw)) is not None:
            assert decode_valid(msgspec.json.encode(raw), kind_of(type(obj))) == obj


def test_nulls_and_a_missing_namespace_are_decoded_from_json() -> None:
    raw: Raw = {"kind": "Pod", "metadata": {"name": "a", "labels": None}, "spec": {"containers": [None]}}
    assert decode_valid(msgspec.json.encode(raw), "Pod") == decode(raw)
    written: Raw = {"kind": "Node", "metadata": {"name": "a"}}
    assert decode_valid(msgspec.json.encode(written), "Node") == decode(written)
    with pytest.raises(InputError, match="spec"):
        decode_valid(b'{"kind": "Pod", "metadata": {"name": "a"}, "spec": 7}', "Pod")


def test_kinds_that_the_scheduler_ignores_are_skipped() -> None:
    others = [{"kind": "Secret", "metadata": {"name": 7}}, {"kind": "Event"}, {"kind": "PodList", "items": []}]
    assert [decode(raw) for raw in others] == [None, None, None]
    assert [obj.name for obj in decode_all([*others, node("n")])] == ["n"]


def test_namespaced_objects_get_the_default_namespace() -> None:
    made = decode(pod("p", namespace=""))
    assert made is not None
    assert (made.namespace, made.key) == ("default", "default/p")
    (bare,) = decode_all([node("n")])
    assert (bare.namespace, bare.key) == ("", "n")


def test_field_names_are_camel_case_where_go_uses_capitals() -> None:
    raw = pod(
        "p",
        on="n",
        ports=({"hostIP": "10.0.0.1", "hostPort": 80, "protocol": "UDP"},),
        schedulerName="mine",
        terminationGracePeriodSeconds=5,
        volumes=[{"awsElasticBlockStore": {"volumeID": "v"}}, {"azureDisk": {"diskURI": "d"}}, {"downwardAPI": {}}],
        affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 3}]}},
    )
    made = decode(raw)
    assert isinstance(made, Pod)
    port = made.spec.containers[0].ports[0]
    assert (port.host_ip, port.host_port, port.protocol) == ("10.0.0.1", 80, "UDP")
    assert (made.spec.node_name, made.spec.scheduler_name) == ("n", "mine")
    disk, azure, downward = made.spec.volumes
    assert disk.aws_elastic_block_store is not None
    assert disk.aws_elastic_block_store.volume_id == "v"
    assert azure.azure_disk is not None
    assert azure.azure_disk.disk_uri == "d"
    assert downward.downward_api == {}
    assert made.spec.affinity is not None
    assert made.spec.affinity.node_affinity is not None
    assert [term.weight for term in made.spec.affinity.node_affinity.preferred] == [3]


def test_quantities_may_be_numbers() -> None:
    made = decode(node("n", cpu=4, memory=1e9, pods=110))
    assert isinstance(made, Node)
    assert made.status.allocatable == {"cpu": 4, "memory": 1e9, "pods": 110}


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (pod("p", namespace="a"), "Pod a/p"),
        (node("n"), "Node n"),
        ({"kind": "Pod"}, "Pod without a name"),
        ({"metadata": {"name": "x"}}, "object x"),
        ({"kind": "Pod", "metadata": {"name": 5}}, "Pod without a name"),
        ({"kind": "Pod", "metadata": {"name": "\ud800"}}, "Pod \\ud800"),
        ({"kind": "Pod", "metadata": {"name": "\x1b[31m"}}, "Pod \\x1b[31m"),
        ([], "object of type list"),
        (None, "object of type NoneType"),
        ({"kind": "K" * 500, "metadata": {"name": "n" * 500}}, f"{'K' * 64} {'n' * 256}"),
    ],
)
def test_errors_name_objects_briefly(raw: object, name: str) -> None:
    assert describe(raw) == name


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0.0),
        ("1970-01-01T00:00:00Z", 0.0),
        ("2026-02-01T00:00:00Z", 1769904000.0),
        ("2026-02-01T02:00:00+02:00", 1769904000.0),
        ("2026-02-01T00:00:00.250000Z", 1769904000.25),
    ],
)
def test_timestamps(text: str, seconds: float) -> None:
    assert timestamp(text) == seconds


@given(st.text(max_size=30))
def test_any_string_is_a_timestamp_or_rejected_by_name(text: str) -> None:
    try:
        assert isinstance(timestamp(text, "Pod default/p", "status.startTime"), float)
    except InputError as error:
        described = str(error)
        if not described.startswith("Pod default/p: status.startTime: not a time"):
            raise


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@given(st.sampled_from(sorted(KINDS)), st.dictionaries(st.sampled_from(["spec", "status", "value"]), json_values))
def test_any_value_is_an_object_or_rejected_by_name(kind: str, rest: Raw) -> None:
    try:
        assert decode({"kind": kind, "metadata": {"name": "x"}, **rest}) is not None
    except InputError as error:
        if not error.where.startswith(kind):
            raise


BY_NAME = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}


@pytest.mark.parametrize(
    ("metadata", "terms", "placed_by"),
    [
        ({"annotations": {"kubernetes.io/config.mirror": "5e8f"}}, [], "kubelet"),
        ({"ownerReferences": [{"kind": "Node", "name": "n1"}]}, [], "kubelet"),
        ({"ownerReferences": [{"kind": "DaemonSet", "name": "agent"}]}, [], "DaemonSet controller"),
        ({"ownerReferences": [{"kind": "DaemonSet", "name": "agent"}]}, [BY_NAME], ""),
        ({"ownerReferences": [{"kind": "ReplicaSet", "name": "web"}]}, [], ""),
        ({}, [], ""),
    ],
)
def test_the_scheduler_that_placed_a_pod(metadata: Raw, terms: list[Raw], placed_by: str) -> None:
    there = pod("p", on="n1", affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}} if terms else {})
    there["metadata"] |= metadata
    made = decode(there)
    assert isinstance(made, Pod)
    assert made.placed_by == placed_by


@pytest.mark.parametrize(
    ("owner", "stays"),
    [
        ({"apiVersion": "apps/v1", "controller": True}, True),
        ({"apiVersion": "extensions/v1beta1", "controller": True}, True),
        ({"controller": True}, True),
        ({"apiVersion": "apps/v1"}, False),
        ({"apiVersion": "apps.kruise.io/v1alpha1", "controller": True}, False),
    ],
)
def test_a_drain_skips_the_pods_of_daemon_sets_of_kubernetes(owner: Raw, stays: bool) -> None:
    there = pod("p", on="n1", affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [BY_NAME]}}})
    there["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "agent"} | owner]
    made = decode(there)
    assert isinstance(made, Pod)
    assert made.stays_in_drain == stays


@pytest.mark.parametrize(("name", "kubelet", "controller"), [("v1.17__kublr", 33, 0), ("v1.11__rancher", 0, 15)])
def test_the_schedulers_that_placed_the_pods_of_a_real_cluster(name: str, kubelet: int, controller: int) -> None:
    (path,) = (path for path in CLUSTERS if path.name.startswith(name))
    pods = [obj for obj in decode_all(read_snapshot(path)) if isinstance(obj, Pod) and obj.spec.node_name]
    counted = Counter(one.placed_by for one in pods)
    assert (counted["kubelet"], counted["DaemonSet controller"]) == (kubelet, controller)
    assert counted[""], "the others move"


def test_integers_beyond_64_bits_are_quantities() -> None:
    raw = pod("p", requests={"memory": 10**40})
    assert msgspec.msgpack.encode(decode(raw))
    assert decode(raw) == decode(pod("p", requests={"memory": str(10**40)}))
