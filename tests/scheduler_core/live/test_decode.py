"""Decoding of what an API server sends: redaction, shared parts, hostile bytes."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest

from scheduler_core.api.objects import Node, Pod
from scheduler_core.api.workloads import Gang, PodGroup
from scheduler_core.errors import InputError
from scheduler_core.live import decode
from scheduler_core.live.kinds import KINDS
from scheduler_core.live.objects import TYPES, Event

SECRET = "hunter2"


def raw_pod(name: str = "web-1", **spec: Any) -> bytes:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": "shop",
                "uid": f"u-{name}",
                "resourceVersion": "7",
                "creationTimestamp": "2026-11-23T11:49:52Z",
                "labels": {"app": "web"},
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": SECRET, "team": "a"},
                "managedFields": [{"manager": SECRET}],
            },
            "spec": {
                "nodeName": f"node-of-{name}",
                "containers": [
                    {
                        "name": "c",
                        "image": "i",
                        "env": [{"name": "PASSWORD", "value": SECRET}],
                        "resources": {"requests": {"cpu": "1"}},
                    }
                ],
                "volumes": [{"name": f"kube-api-access-{name}", "projected": {"defaultMode": 420}}],
                **spec,
            },
            "status": {
                "phase": "Pending",
                "conditions": [
                    {"type": "PodScheduled", "status": "False", "lastTransitionTime": "2026-11-23T11:49:53Z"},
                    {"type": "Ready", "status": "True", "lastTransitionTime": f"2026-11-23T11:50:{len(name):02}Z"},
                ],
            },
        }
    ).encode()


def test_each_watched_kind_has_a_type_and_distinct_paths() -> None:
    assert set(KINDS) <= set(TYPES)
    paths = [path for kind in KINDS.values() for path in kind.paths]
    assert len(paths) == len(set(paths))
    assert list(KINDS)[:2] == ["Node", "Pod"]
    assert not any("secret" in path for path in paths)
    configmaps = [kind for kind in KINDS.values() if "configmap" in kind.path]
    assert [kind.field_selector for kind in configmaps] == ["metadata.name=cluster-autoscaler-status"]
    assert all(kind.consequence.endswith(".") for kind in KINDS.values())
    assert (KINDS["ReplicaSet"].group, KINDS["ReplicaSet"].resource, KINDS["Node"].group) == ("apps", "replicasets", "")


def test_confidential_data_is_not_part_of_an_object() -> None:
    pod = decode.ObjectDecoder("Pod").decode(raw_pod())
    assert SECRET.encode() not in msgspec.json.encode(pod)
    assert pod.metadata.annotations == {"team": "a"}
    assert isinstance(pod, Pod)
    assert pod.spec.node_name == "node-of-web-1"


def test_pods_of_a_template_share_its_parts_and_nothing_else() -> None:
    decoder = decode.ObjectDecoder("Pod")
    one, two = decoder.decode(raw_pod("web-1")), decoder.decode(raw_pod("web-2"))
    other = decoder.decode(raw_pod("db-1", priority=5))
    assert isinstance(one, Pod)
    assert isinstance(two, Pod)
    assert isinstance(other, Pod)
    assert one.spec.containers is two.spec.containers is other.spec.containers
    assert one.metadata.labels is two.metadata.labels
    assert one.status.conditions is two.status.conditions
    assert (one.spec.node_name, two.spec.node_name) == ("node-of-web-1", "node-of-web-2")
    assert [volume.name for volume in two.spec.volumes] == ["kube-api-access-web-2"]
    assert one.spec.volumes[0].projected is two.spec.volumes[0].projected
    assert (one.spec.priority, other.spec.priority) == (None, 5)
    assert one.status.conditions[0].last_transition_time == "2026-11-23T11:49:53Z"


def test_an_object_is_the_same_whether_its_template_is_known_or_not() -> None:
    decoder = decode.ObjectDecoder("Pod", decode.SharedParts(limit=2))
    alone = [decode.ObjectDecoder("Pod").decode(raw_pod(f"web-{n}")) for n in range(3)]
    assert [decoder.decode(raw_pod(f"web-{n}")) for n in range(3)] == alone


def test_parts_of_different_types_with_one_encoding_stay_apart() -> None:
    shared = decode.SharedParts()
    decoder = decode.ObjectDecoder("Node", shared)
    raw = {
        "metadata": {"name": "n", "resourceVersion": "1", "ownerReferences": [{}]},
        "status": {"conditions": [{}], "images": [{}], "capacity": {}, "allocatable": {}},
    }
    node = decoder.decode(json.dumps(raw).encode())
    assert isinstance(node, Node)
    assert type(node.status.conditions[0]).__name__ == "Condition"
    assert type(node.metadata.owner_references[0]).__name__ == "OwnerReference"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"priority":"x"}}', "Pod a: spec.priority"),
        (b'{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"nodeName":"\xff"}}', "Pod a: 'utf-8'"),
        (b'{"metadata":{"name":"a/b","resourceVersion":"1"}}', "metadata.name"),
        (b'{"metadata":{"name":"a","resourceVersion":"1e5"}}', "metadata.resourceVersion"),
        (b'{"metadata":{"name":"a","resourceVersion":"99999999999999999999"}}', "metadata.resourceVersion"),
        (b'{"metadata":{"name":"a\\u0000","resourceVersion":"1"}}', "NUL"),
        (b'{"metadata":{"name":"\\ud800","resourceVersion":"1"}}', "Pod"),
        (b"[]", "Expected `object`"),
        (b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (raw_pod(containers=[{"name": "c", "resources": {"requests": {"cpu": "-1"}}}]), "Pod shop/web-1: spec"),
        (raw_pod(containers=[{"name": "c", "resources": {"requests": {"cpu": 10**30}}}]), "Pod shop/web-1"),
    ],
)
def test_an_object_that_cannot_be_decoded_is_named(raw: bytes, message: str) -> None:
    with pytest.raises(InputError, match="Pod") as error:
        decode.ObjectDecoder("Pod").decode(raw)
    assert message in str(error.value)


def test_any_hostile_object_is_refused_with_a_sentence() -> None:
    source = random.Random(1)
    hostile: list[Any] = [
        None,
        True,
        -1,
        1.5,
        10**30,
        "",
        "x" * 5000,
        "\ud800",
        "\x00",
        "1e999",
        [],
        {},
        [None],
        {"a": None},
    ]

    def changed(value: Any) -> Any:
        if source.random() < 0.02:
            return source.choice(hostile)
        if isinstance(value, dict):
            return {key: changed(member) for key, member in value.items()}
        return [changed(member) for member in value] if isinstance(value, list) else value

    decoder, sentences = decode.ObjectDecoder("Pod"), []
    for _ in range(500):
        raw = bytearray(json.dumps(changed(json.loads(raw_pod()))).encode())
        if source.random() < 0.3:
            raw[source.randrange(len(raw))] = source.randrange(256)
        try:
            assert decoder.decode(bytes(raw)).name
        except InputError as error:
            sentences.append(str(error))
    assert 100 < len(sentences) < 450
    assert all(sentence.startswith("Pod") and len(sentence) < 1000 for sentence in sentences)


def test_null_members_mean_missing_ones() -> None:
    raw = b'{"metadata":{"name":"a","namespace":"b","resourceVersion":"1","labels":null},"spec":{"containers":null}}'
    assert decode.ObjectDecoder("Pod").decode(raw).key == "b/a"
    raw = b'{"metadata":{"name":"e","namespace":"b","resourceVersion":"1"},"firstTimestamp":null,"eventTime":"t"}'
    event = decode.ObjectDecoder("Event").decode(raw)
    assert isinstance(event, Event)
    assert event.time == "t"


@pytest.mark.parametrize(
    ("mode", "expected"), [({"all": {}}, "PodGroup"), ({"single": {}}, "Pod"), ("PodGroup", "PodGroup"), (None, "")]
)
def test_pod_groups_of_both_versions_are_read(mode: Any, expected: str) -> None:
    spec = {"schedulingPolicy": {"gang": {"minCount": 3}}, "disruptionMode": mode}
    raw = {"metadata": {"name": "g", "namespace": "d", "resourceVersion": "1"}, "spec": spec}
    group = decode.ObjectDecoder("PodGroup.scheduling.k8s.io").decode(json.dumps(raw).encode())
    assert isinstance(group, PodGroup)
    assert (group.spec.disruption_mode, group.spec.scheduling_policy.gang) == (expected, Gang(3))


def test_the_identity_of_a_broken_object_is_found() -> None:
    raw = raw_pod().replace(b'"containers": [', b'"containers": ["\xff", ')
    assert decode.identify(raw) == ("shop/web-1", "u-web-1", 7)
    line = b'{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","generateName":"a-",'
    line += b'"namespace":"b","uid":"u","resourceVersion":"12","annotations":{"x":"'
    assert decode.identify_prefix(line) == ("b/a", "u", 12)
    assert decode.line_type(line) == "MODIFIED"
    assert decode.identify_prefix(b"garbage") is None
    assert decode.identify(b'{"metadata":5}') is None


def test_a_bookmark_can_end_the_initial_events() -> None:
    end = b'{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}'
    assert decode.decode_bookmark(msgspec.Raw(end)) == (9, True)
    assert decode.decode_bookmark(msgspec.Raw(b'{"metadata":{"resourceVersion":"9"},"spec":null}')) == (9, False)
    with pytest.raises(InputError):
        decode.decode_bookmark(msgspec.Raw(b'{"metadata":{}}'))
