"""Archives: compression formats, other files between the objects, file names."""

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubesched_ui.ingest import IngestError, IngestResult, Limits, ingest_files
from kubesched_ui.ingest.yaml_writer import to_yaml
from tests.kubesched_ui.ingest import hostile
from tests.scheduler_core.etcd.bolt_files import database, field, stored

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p1", "namespace": "shop"}}
KEYS = [("Node", "", "n1"), ("Pod", "shop", "p1")]
Members = dict[str, bytes | str | list[Any] | dict[str, Any]]


def bare(obj: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}


def as_bytes(value: Any, name: str) -> bytes:
    if isinstance(value, bytes | str):
        return value if isinstance(value, bytes) else value.encode()
    return (to_yaml(value) if name.endswith((".yaml", ".yml")) else json.dumps(value)).encode()


def packed(members: Members) -> list[tuple[str, bytes]]:
    return [(name, as_bytes(value, name)) for name, value in members.items()]


def tarred(members: Members, mode: str = "w:gz") -> bytes:
    return hostile.tarred(*packed(members), mode=mode)


def zipped(members: Members) -> bytes:
    return hostile.zipped(*packed(members))


def read(data: bytes, name: str = "bundle.tar.gz", limits: Limits | None = None) -> IngestResult:
    return ingest_files([(name, data)], limits)


def listed(*objects: dict[str, Any], kind: str = "") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": f"{kind}List", "items": list(objects)}


SHAPES: dict[str, Members] = {
    "must-gather": {
        "must-gather.local.1/quay-io-x/cluster-scoped-resources/core/nodes/n1.yaml": NODE,
        "must-gather.local.1/quay-io-x/namespaces/shop/core/pods.yaml": listed(bare(POD), kind="Pod"),
        "must-gather.local.1/quay-io-x/namespaces/shop/pods/p1/p1.yaml": POD,
        "must-gather.local.1/quay-io-x/namespaces/shop/pods/p1/c/c/logs/current.log": "{not: [an object",
        "must-gather.local.1/quay-io-x/cluster-scoped-resources/apps.example.org/widgets.yaml": (
            "apiVersion: apps.example.org/v1\nkind: WidgetList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n"
        ),
        "must-gather.local.1/event-filter.html": "<html>",
    },
    "sonobuoy": {
        "resources/cluster/core_v1_nodes.json": listed(NODE, kind="Node"),
        "resources/ns/shop/core_v1_pods.json": [bare(POD)],
        "resources/cluster/metrics.k8s.io_v1beta1_nodes.json": [bare(NODE)],
        "podlogs/shop/p1/logs/c.txt": "I0101 log",
        "plugins/e2e/results/global/junit.xml": "<xml/>",
        "meta/info.json": {"plugins": []},
    },
    "old sonobuoy": {"resources/cluster/Nodes.json": [bare(NODE)], "resources/ns/shop/Pods.json": [bare(POD)]},
    "velero": {
        "metadata/version": "1",
        "resources/nodes/cluster/n1.json": NODE,
        "resources/nodes/v1-preferredversion/cluster/n1.json": NODE,
        "resources/pods/namespaces/shop/p1.json": bare(POD),
    },
    "troubleshoot": {
        "bundle/version.yaml": "apiVersion: troubleshoot.sh/v1beta2\nkind: SupportBundle\nmetadata: {name: x}\n",
        "bundle/cluster-resources/nodes.json": [bare(NODE)],
        "bundle/cluster-resources/pods/shop.json": [bare(POD)],
        "bundle/cluster-resources/pods/logs/shop/p1/c.log": "{}",
        "bundle/cluster-resources/pods-errors.json": "[]",
        "bundle/cluster-resources/auth-cani-list/shop.json": {"status": {"incomplete": False}},
    },
    "insights": {"config/node/n1.json": bare(NODE), "config/pod/shop/p1.json": bare(POD)},
    "kubectl by kind": {"get-nodes.txt": "NAME STATUS\n", "nodes.txt": listed(NODE), "pods": listed(POD)},
}


@pytest.mark.parametrize("name", SHAPES)
def test_layouts_of_archives(name: str) -> None:
    for data, file in ((tarred(SHAPES[name]), "b.tar.gz"), (zipped(SHAPES[name]), "b.zip")):
        result = read(data, file)
        assert sorted(result.records) == KEYS
        assert {w.code for w in result.warnings} <= {"skipped-file"}


def test_ignored_files_of_a_must_gather_are_counted() -> None:
    result = read(tarred(SHAPES["must-gather"]))
    assert result.unknown == {"Widget.apps.example.org": 2}
    assert [w.message for w in result.warnings] == [
        "bundle.tar.gz: 2 files were skipped: neither the name nor the first bytes suggest JSON or YAML"
    ]


def test_node_metrics_are_not_nodes() -> None:
    assert read(tarred(SHAPES["sonobuoy"])).unknown == {"Node.metrics.k8s.io": 1}


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.tar.bz2", lambda m: tarred(m, "w:bz2")),
        ("a.tar.xz", lambda m: tarred(m, "w:xz")),
        ("a.tar", lambda m: tarred(m, "w")),
        ("a.json.xz", lambda m: lzma.compress(json.dumps([NODE, POD]).encode())),
        ("a.json.bz2", lambda m: bz2.compress(json.dumps([NODE, POD]).encode())),
        ("a.tar.gz", lambda m: tarred({"inner.tar.xz": tarred(m, "w:xz"), "inner.zip": zipped({"n.json": NODE})})),
        ("a.zip", lambda m: zipped({"inner.tgz": tarred(m), "p.json.bz2": bz2.compress(json.dumps(POD).encode())})),
    ],
)
def test_compression_formats(name: str, pack: Callable[[Members], bytes]) -> None:
    assert sorted(read(pack({"nodes.json": listed(NODE), "pods.json": listed(POD)}), name).records) == KEYS


def test_windows_names() -> None:
    result = read(zipped({"dump\\nodes.json": [bare(NODE)], "dump\\shop\\pods.json": [bare(POD)]}), "dump.zip")
    assert sorted(result.records) == KEYS


def test_logs_do_not_count_towards_limits() -> None:
    limits = replace(Limits(), max_text=5_000, max_bytes=50_000, max_ratio=2, ratio_from=1_000)
    log = b"I0101 line\n" * 20_000
    members: Members = {f"logs/{i}.log": log for i in range(20)} | {"nodes.json": [NODE], "pods.json": [POD]}
    for data, name in ((tarred(members), "a.tgz"), (zipped(members), "a.zip")):
        assert sorted(read(data, name, limits).records) == KEYS


def test_an_unreadable_member_does_not_reject_the_archive() -> None:
    deep = b"{}"
    for _ in range(9):
        deep = gzip.compress(deep)
    members: Members = {
        "cut.tgz": tarred({"a.json": NODE})[:60],
        "deep.gz": deep,
        "old.tar.zst": b"\x28\xb5\x2f\xfd",
        "broken.json": "{",
        "nodes.json": [NODE],
        "cut.zip": zipped({"a.json": NODE})[:40],
        "pods.json": [POD],
    }
    result = read(tarred(members))
    assert sorted(result.records) == KEYS
    messages = " ".join(w.message for w in result.warnings)
    assert [w.code for w in result.warnings] == ["unreadable-member"] * 5
    for word in ("damaged gz", "nested more than 3 deep", "zstd archive", "broken.json", "damaged zip"):
        assert word in messages


def test_files_without_objects_give_one_warning() -> None:
    members: Members = {f"meta/{i}.json": {"info": i} for i in range(380)} | {"nodes.json": [NODE]}
    (warning,) = read(tarred(members)).warnings
    assert (warning.code, warning.message) == ("skipped-file", "bundle.tar.gz: 380 files contain no Kubernetes object")


def test_duplicates_of_list_items_give_no_warning() -> None:
    result = read(tarred({"nodes.json": listed(NODE), "nodes/n1.json": NODE}))
    assert result.counts == {"Node": 1}
    assert result.warnings == []


@pytest.mark.parametrize(
    "value",
    [
        {"/api/v1/nodes": listed(bare(NODE), kind="Node"), "/api/v1/namespaces/shop/pods": listed(POD)},
        {"config/node/n1.json": bare(NODE), "config/pod/shop/p1.json": bare(POD), "config/id": "x"},
        {"/registry/minions/n1": NODE, "/registry/pods/shop/p1": POD},
        {"nodes": listed(NODE), "pods": listed(POD)},
        {"nodes": {"items": [bare(NODE)]}, "pods": [bare(POD)]},
    ],
)
def test_objects_in_a_map_by_path_or_kind(value: dict[str, Any]) -> None:
    result = ingest_files([("all.json", json.dumps(value).encode())])
    assert sorted(result.records) == KEYS
    assert result.warnings == []


@pytest.mark.parametrize(
    "version",
    [
        {"major": "1", "minor": "20", "gitVersion": "v1.20.4", "platform": "linux/amd64"},
        {"info": {"major": "1", "gitVersion": "v1.20.4"}, "string": "v1.20.4"},
        {"clientVersion": {"gitVersion": "v1.31.0"}, "serverVersion": {"gitVersion": "v1.20.4"}},
    ],
)
def test_the_server_version_is_read(version: dict[str, Any]) -> None:
    assert read(tarred({"serverversion.json": version, "nodes.json": [NODE]})).kubernetes == "v1.20.4"


def test_a_folder_named_after_a_kind_does_not_turn_other_files_into_objects() -> None:
    result = read(tarred({"nodes.json": [NODE], "nodes/n1/sysctl.json": {"vm.swappiness": {"value": 1}}}))
    assert result.counts == {"Node": 1}
    assert result.warnings[0].message == "bundle.tar.gz: 1 file contains no Kubernetes object"


def test_reading_reports_progress(tmp_path: Path) -> None:
    path = tmp_path / "a.tgz"
    path.write_bytes(tarred({f"{i}.json": {**NODE, "metadata": {"name": f"n{i}"}} for i in range(200)}))
    seen: list[tuple[int, int]] = []
    ingest_files([("a.tgz", path)], watch=lambda done, objects: seen.append((done, objects)))
    assert seen[-1][0] == path.stat().st_size
    assert seen == sorted(seen)


def test_databases_of_etcd_are_read_alone_and_in_archives() -> None:
    meta = field(1, field(1, "p1") + field(3, "shop"))
    pod = stored("v1", "Pod", meta, field(2, field(2, field(1, "c") + field(2, "web:1"))))
    content = database(
        [
            ("/registry/minions/n1", stored("v1", "Node", field(1, field(1, "n1")))),
            ("/registry/pods/shop/p1", pod),
            ("/registry/pods/shop/cut", pod[:-1]),
        ]
    )
    log = "is no database"
    for name, upload in {
        "snapshot.db": content,
        "snapshot.db.gz": gzip.compress(content),
        "dump.tar.gz": tarred({"member/snap/db": content, "state.db": log}),
    }.items():
        result = ingest_files([(name, upload)])
        assert sorted(result.records) == KEYS, name
        messages = [warning.message for warning in result.warnings if warning.code == "cleaned"]
        assert messages == [f"{name}{'/member/snap/db' if 'tar' in name else ''}: /registry/pods/shop/cut ends in the "
                            "middle of a field, and was left out"], name  # fmt: skip


def test_a_damaged_database_of_etcd_is_refused_with_the_reason() -> None:
    with pytest.raises(IngestError, match=r"^a\.db: is an incomplete database of etcd: page 3 is missing$"):
        ingest_files([("a.db", database([])[: 2 * 4096])])
