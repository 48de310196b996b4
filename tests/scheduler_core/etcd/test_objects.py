"""Databases of etcd as snapshots: a real one, small ones, and damaged ones."""

from __future__ import annotations

import gzip
import json
import lzma
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.errors import InputError
from scheduler_core.etcd.keyspace import Keyspace
from scheduler_core.etcd.objects import objects
from scheduler_core.snapshot.files import read_snapshot
from tests.scheduler_core.etcd.bolt_files import PAGE, Revision, custom, database, field, stored

DATA = Path(__file__).parent
META = field(1, "web") + field(3, "shop")
POD = stored("v1", "Pod", field(1, META), field(2, field(10, "n1")))


@cache
def real() -> bytes:
    """The file of a member of Kubernetes 1.36.2, compacted and defragmented."""
    return lzma.decompress((DATA / "etcd.db.xz").read_bytes())


def read(*changes: Revision) -> tuple[list[dict[str, Any]], list[str]]:
    notes: list[str] = []
    return list(objects(database(changes), "etcd.db", notes)), notes


def without_null(value: Any) -> Any:
    """Return a value of kubectl without what etcd does not hold: null, and the owners of fields."""
    if isinstance(value, dict):
        kept = {key: without_null(held) for key, held in value.items() if key != "managedFields"}
        return {key: held for key, held in kept.items() if held is not None}
    return [without_null(held) for held in value] if isinstance(value, list) else value


def test_a_real_database_holds_what_kubectl_printed() -> None:
    notes: list[str] = []
    found = {(obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]): obj
             for obj in objects(real(), "etcd.db", notes)}  # fmt: skip
    printed = json.loads(gzip.decompress((DATA / "cluster.json.gz").read_bytes()))["items"]
    assert len(printed) == 202
    assert notes == []
    for obj in printed:
        own = found[obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]]
        if obj["kind"] == "PersistentVolumeClaim":  # the API server fills in what is not stored
            own["status"].setdefault("phase", "Pending")
        if obj["kind"] == "PodGroup":
            own["spec"].setdefault("disruptionMode", "Pod")
        assert own == without_null(obj)


def test_the_newest_revision_counts() -> None:
    moved = stored("v1", "Pod", field(1, META), field(2, field(10, "n2")))
    gone = stored("v1", "Pod", field(1, field(1, "gone")))
    found, _ = read(("/registry/pods/shop/web", POD), ("/registry/pods/gone", gone), ("/registry/pods/shop/web", moved),
                    ("/registry/pods/gone", None))  # fmt: skip
    metadata = {"name": "web", "namespace": "shop", "resourceVersion": "4"}
    assert found == [{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n2"}}]


def test_empty_values_are_as_in_go() -> None:
    """An empty text without a pointer is none; behind a pointer it is one, as the class "" of a claim is."""
    claim = stored("v1", "PersistentVolumeClaim", field(1, META), field(2, field(5, "")), field(3, field(1, "")))
    toleration = field(1, "") + field(2, "Exists") + field(5, 0)
    pod = stored("v1", "Pod", field(1, META), field(2, field(22, toleration) + field(11, 0) + field(25, 2**64 - 10)))
    found, _ = read(("/registry/persistentvolumeclaims/shop/web", claim), ("/registry/pods/shop/web", pod))
    assert found[0]["spec"] == {"storageClassName": ""}
    assert found[0]["status"] == {}
    assert found[1]["spec"] == {"tolerations": [{"operator": "Exists", "tolerationSeconds": 0}], "priority": -10}


def test_secrets_are_not_decoded() -> None:
    secret = custom(apiVersion="v1", kind="Secret", data={"token": "s3cr3t"})
    found, notes = read(("/registry/secrets/shop/a", secret), ("/registry/configmaps/shop/a", POD),
                        ("/kubernetes.io/secrets/shop/a", secret), ("/registry/example.com/a", secret))  # fmt: skip
    assert found == []
    assert notes == []


def test_custom_resources_are_read() -> None:
    quota = custom(apiVersion="scheduling.x-k8s.io/v1alpha1", kind="ElasticQuota", metadata={"name": "a"}, spec={})
    found, _ = read(("/registry/scheduling.x-k8s.io/elasticquotas/shop/a", quota))
    assert (found[0]["kind"], found[0]["metadata"]) == ("ElasticQuota", {"name": "a", "resourceVersion": "2"})


def test_what_is_left_out_is_named() -> None:
    newer = stored("v1", "Pod", field(1, META), field(2, field(900, 1)))
    found, notes = read(
        ("/registry/pods/shop/web", newer),
        ("/registry/nodes/a", b"k8s:enc:aescbc:v1:key1:..."),
        ("/registry/pods/shop/cut", POD[:-1]),
        ("/registry/pods/shop/text", stored("v1", "Pod", field(1, 5))),
        ("/registry/example.com/things/a", b'{"kind": "Thing'),
        ("/registry/pods/shop/kind", POD.replace(b"Pod", b"P\x8ad", 1)),
    )
    assert [obj["metadata"]["name"] for obj in found] == ["web"]
    assert notes == [
        "/registry/example.com/things/a is not valid JSON, and was left out",
        "/registry/pods/shop/cut ends in the middle of a field, and was left out",
        "/registry/pods/shop/kind holds no valid value: 'utf-8' codec can't decode byte 0x8a in position 1: "
        "invalid start byte, and was left out",
        "/registry/pods/shop/text holds a number where a text or an object is expected, and was left out",
        "1 encrypted nodes were left out",
        "fields that are newer than Kubernetes 1.37 were left out: PodSpec 900",
    ]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (real()[: 600 * PAGE], "is an incomplete database of etcd: page 812 is missing"),
        (real()[: 2 * PAGE], "is an incomplete database of etcd: page 812 is missing"),
        (real()[:64], "is a damaged database of etcd: neither of its two meta pages is valid"),
        (real()[: 812 * PAGE] + bytes(PAGE) + real()[813 * PAGE :], "is a damaged database of etcd, in page 812"),
        (
            database([]).replace(b"key", b"kex"),
            "is a bbolt file without the bucket 'key', so it is no database of etcd",
        ),
    ],
)
def test_damaged_files_are_explained(data: bytes, says: str) -> None:
    with pytest.raises(InputError) as problem:
        read_snapshot(data, "etcd.db")
    assert str(problem.value) == f"etcd.db: {says}"


@given(st.data())
def test_any_bytes_are_read_or_refused(data: st.DataObject) -> None:
    whole = bytearray(database([("/registry/pods/shop/web", POD), ("/registry/pods/shop/web", None)], 2))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(2 * PAGE, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with suppress(InputError):
        list(objects(bytes(whole[: data.draw(st.integers(3 * PAGE, len(whole)))]), "etcd.db", []))


def test_values_are_parts_of_the_database_and_no_copies() -> None:
    data = database([("/registry/pods/shop/p", POD)])
    (change,) = Keyspace(data).changes()
    assert change.value == POD
    assert change.value is not None
    assert change.value.obj is data
