"""Objects of a stored snapshot are the same as objects that are decoded one by one."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from scheduler_core.api.objects import Object, Pod, decode
from scheduler_core.cluster.pod_info import pod_infos
from scheduler_core.errors import InputError
from scheduler_core.releases import get_release
from scheduler_core.snapshot import defaults, stored_objects
from scheduler_core.snapshot.stored_objects import StoredObjects, refuse_repetition

Raw = dict[str, Any]
RELEASE = get_release("1.34")


def pod(name: str, node: str = "", uid: str = "", status: Raw | None = None, **spec: Any) -> Raw:
    metadata = {"name": name, "namespace": "shop", "labels": {"app": "web"}} | ({"uid": uid} if uid else {})
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    spec = {"containers": containers, **spec} | ({"nodeName": node} if node else {})
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return made if status is None else made | {"status": status}


def node(name: str, status: Raw) -> Raw:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def running(minute: int) -> Raw:
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": f"2026-01-01T00:{minute:02}:00Z"}
    return {"phase": "Running", "startTime": f"2026-01-01T00:{minute:02}:00Z", "conditions": [condition]}


def cases() -> Iterator[Raw]:
    selector = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone", "matchLabelKeys": ["app"]}
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [selector]}}
    for number in range(3):
        name = str(number)
        yield pod(f"bound-{name}", f"node-{name}", f"u{name}", running(number))
        yield pod(f"same-time-{name}", f"node-{name}", f"v{name}", running(7))
        yield pod(f"pending-{name}")
        yield pod(f"pending-with-status-{name}", status={"phase": "Pending"})
        yield pod(f"empty-status-{name}", status={})
        yield pod(f"labels-of-selectors-{name}", affinity=rule)
        yield pod(f"limits-{name}", resources={"limits": {"cpu": "2"}})
        yield pod(f"limits-of-a-stored-pod-{name}", uid=f"w{name}", resources={"limits": {"cpu": "2"}})
        yield pod(f"selects-{name}", nodeSelector={"nodeName": name})
        yield pod(f"selects-and-bound-{name}", f"node-{name}", nodeSelector={"nodeName": name})
        yield pod(f"escaped-{name}", f"node\\{name}")
        token, other = f"kube-api-access-abcd{name}", f"kube-api-access-wxyz{name}"
        for volumes in ([token], ["data", token], [token, "data"], [token, other], [token, token], [f"{token}-x"]):
            both = [{"name": volume, "projected": {"sources": []}} for volume in volumes]
            yield pod(f"mounts-{name}", f"node-{name}", f"u{name}", running(number), volumes=both)
            yield pod(f"mounts-pending-{name}", "", f"u{name}", volumes=both)
            yield pod(f"mounts-written-{name}", volumes=both)
            yield pod(f"mounts-on-{name}", token, f"u{name}", volumes=both)
            yield pod(f"mounts-and-selects-{name}", f"node-{name}", f"u{name}", volumes=both, nodeSelector={"a": token})
            yield pod(f"mounts-itself-{name}", f"node-{name}", f"u{name}", volumes=[both[0] | {"csi": {"a": token}}])
        for at in (f"node-{name}", "node-0", token, ""):
            term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [at]}]}
            more = {"matchExpressions": [{"key": "metadata.name", "operator": "In", "values": [at]}]}
            for terms in ([term], [term, term], [more], [more | term]):
                affinity = {
                    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
                }
                volumes = [{"name": token, "projected": {}}]
                yield pod(f"of-daemon-{name}", f"node-{name}", f"u{name}", affinity=affinity, volumes=volumes)
                yield pod(f"of-volume-{name}", f"node-{name}", f"u{name}", volumes=[{"name": "v", "csi": terms[0]}])
                yield pod(f"of-daemon-pending-{name}", "", f"u{name}", affinity=affinity, volumes=volumes)
                yield pod(f"of-daemon-written-{name}", f"node-{name}", affinity=affinity, volumes=volumes)
        yield pod(f"null-{name}", tolerations=None)
        yield pod(f"null-in-status-{name}", status={"phase": "Running", "conditions": None})
    yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}}
    for allocatable in ({"cpu": "4"}, {"cpu": None}, None):
        yield node("n", {"capacity": {"cpu": "8"}, "allocatable": allocatable, "images": [{"names": ["i"]}]})
    yield {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r"}, "spec": {"selector": {}}}
    yield {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": {"spec": {}}}}


def decoded(raw: Raw, counts: Counter[str]) -> Object | None:
    for what, times, _ in defaults.fill(raw, RELEASE):
        counts[what] += times
    return decode(raw)


@pytest.fixture(params=["texts in common", "other texts"])
def texts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read pods by what their texts have in common, or as a whole."""
    if request.param == "other texts":
        monkeypatch.setattr(stored_objects, "MAX_TEXTS", 0)


@pytest.mark.usefixtures("texts")
def test_stored_objects_are_decoded_objects_with_defaults() -> None:
    counts, stored = Counter[str](), StoredObjects(RELEASE)
    for text in (json.dumps(raw, separators=(",", ":")).encode() for raw in cases()):
        expected, found = decoded(json.loads(text), counts), stored.decoded(text)
        assert found == expected
        assert found is None or msgspec.json.encode(found) == msgspec.json.encode(expected)
    assert stored.filled.counts == counts
    assert [raw["kind"] for raw in stored.workloads] == ["ReplicaSet", "Job"]


def test_pods_of_a_template_share_parts_but_not_their_specs() -> None:
    stored = StoredObjects(RELEASE)
    one, two = (stored.decoded(msgspec.json.encode(pod(name, name, "u", running(1)))) for name in ("a", "b"))
    assert one.spec.containers is two.spec.containers  # type: ignore[union-attr]
    assert one.metadata.labels is two.metadata.labels  # type: ignore[union-attr]
    assert one.status is two.status  # type: ignore[union-attr]
    assert (one.spec.node_name, two.spec.node_name) == ("a", "b")  # type: ignore[union-attr]


@pytest.mark.usefixtures("texts")
def test_pods_with_a_volume_of_their_own_share_the_rest() -> None:
    stored, pods = StoredObjects(RELEASE), list[Pod]()
    for number, name in enumerate("abc"):
        token = {"name": f"kube-api-access-abcd{name}", "projected": {"sources": []}}
        found = stored.decoded(msgspec.json.encode(pod(name, name, "u", running(number), volumes=[token])))
        assert isinstance(found, Pod)
        pods.append(found)
    _, two, three = pods
    assert two.spec.containers is three.spec.containers
    assert [one.spec.node_name for one in pods] == ["a", "b", "c"]
    assert [one.spec.volumes[0].name for one in pods] == [f"kube-api-access-abcd{name}" for name in "abc"]
    infos = pod_infos(pods, RELEASE)
    assert infos[1].requests is infos[2].requests
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    other = stored.decoded(msgspec.json.encode(pod("d", "d", "u", running(4), volumes=[claim])))
    assert isinstance(other, Pod)
    assert [len(info.volumes) for info in pod_infos([*pods, other], RELEASE)] == [0, 0, 0, 1]
    assert [len(info.volumes) for info in pod_infos([other, *pods], RELEASE)] == [1, 0, 0, 0]


def test_pods_of_a_daemon_set_share_all_but_their_node_and_volume() -> None:
    stored = StoredObjects(RELEASE)

    def read(name: str, node: str) -> Pod:
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
        volumes = [{"name": f"kube-api-access-0000{name}", "projected": {"sources": []}}]
        found = stored.decoded(msgspec.json.encode(pod(name, node, name, affinity=affinity, volumes=volumes)))
        assert isinstance(found, Pod)
        return found

    one, two, three = read("a", "m"), read("b", "n"), read("c", "n")
    assert one.spec.containers is two.spec.containers
    assert one.spec.volumes[0].projected is two.spec.volumes[0].projected
    assert two.spec.affinity is three.spec.affinity
    assert msgspec.json.encode(one.spec.affinity).replace(b'"m"', b'"n"') == msgspec.json.encode(two.spec.affinity)


@pytest.mark.usefixtures("texts")
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"status": {"startTime": "soon"}}, "status.startTime"),
        ({"metadata": {"name": "x%"}}, "metadata.name"),
        ({"spec": {"overhead": {"cpu": "much"}}}, "spec.overhead"),
    ],
)
def test_an_invalid_object_of_an_earlier_version_is_named(change: Raw, field: str) -> None:
    stored = StoredObjects(RELEASE)
    stored.decoded(msgspec.json.encode(pod("a", "n", "u", running(1))))
    with pytest.raises(InputError) as error:
        stored.decoded(msgspec.json.encode(pod("a", "n", "u", running(1)) | change))
    assert error.value.field.startswith(field)
    assert error.value.where.startswith("Pod ")


@pytest.mark.parametrize("one", [node("x%", {"allocatable": {"cpu": "1"}}), node("n", {"allocatable": {"cpu": "-1"}})])
def test_an_invalid_node_of_an_earlier_version_is_refused_as_by_decode(one: Raw) -> None:
    with pytest.raises(InputError) as expected:
        decode(one)
    with pytest.raises(InputError) as error:
        StoredObjects(RELEASE).decoded(msgspec.json.encode(one))
    assert str(error.value) == str(expected.value)


def test_two_objects_with_a_name_are_refused() -> None:
    one = decode(pod("a"))
    assert one is not None
    with pytest.raises(InputError, match="occurs twice"):
        refuse_repetition([one, one])
