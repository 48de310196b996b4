"""Every supported upload format."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesched_ui.ingest import IngestError, IngestResult, ingest_files
from kubesched_ui.ingest.formats import scenario_document
from kubesched_ui.ingest.redact import notes
from kubesched_ui.ingest.yaml_writer import to_yaml
from tests.clusters import CLUSTERS
from tests.examples import selection
from tests.kubesched_ui.clusters import ingested
from tests.kubesched_ui.ingest.hostile import tarred, zipped

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4"}}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p1", "namespace": "shop"},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}]},
}
LIST = {"apiVersion": "v1", "kind": "List", "items": [NODE, POD]}
NODE_LIST = {"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "n1"}}]}
POD_LIST = {"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "p1", "namespace": "shop"}}]}
KEYS = [("Node", "", "n1"), ("Pod", "shop", "p1")]


def read(data: bytes | str, name: str = "cluster.json") -> IngestResult:
    return ingest_files([(name, data.encode() if isinstance(data, str) else data)])


def text(value: object) -> str:
    return json.dumps(value)


def pretty(value: object) -> str:
    return json.dumps(value, indent=4) + "\n"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("list.json", text(LIST)),
        ("list.yaml", to_yaml(LIST)),
        ("array.json", text([NODE, POD])),
        ("two documents.yaml", f"---\n{to_yaml(NODE)}---\n{to_yaml(POD)}---\n"),
        ("comment first.yaml", f"# a cluster\n---\n# a node\n{to_yaml(NODE)}\n---\n{to_yaml(POD)}...\n"),
        ("kubectl one after the other.json", pretty(NODE) + pretty(POD)),
        ("lines.jsonl", text(NODE) + "\n" + text(POD)),
        ("json with separators.yaml", f"---\n{pretty(NODE)}---\n{pretty(POD)}"),
        ("json, then yaml", f"{pretty(NODE)}---\n{to_yaml(POD)}"),
        ("yaml, then json", f"{to_yaml(NODE)}---\n{pretty(POD)}"),
        ("flow.yaml", "{apiVersion: v1, kind: List, items: [{kind: Node, metadata: {name: n1}},"
         " {kind: Pod, metadata: {name: p1, namespace: shop}}]}"),
        ("lists.json", text({"kind": "List", "items": [NODE_LIST, POD_LIST]})),
        ("export.json", text({"pods": [POD], "nodes": [NODE], "pvs": None, "pvcs": [], "schedulerConfig": None})),
        ("bare export.yaml", to_yaml({"nodes": NODE_LIST["items"], "pods": POD_LIST["items"]})),
        ("utf-8 with a mark.json", b"\xef\xbb\xbf" + text(LIST).encode()),
        ("powershell.yaml", ("\ufeff" + to_yaml(LIST)).replace("\n", "\r\n").encode("utf-16-le")),
        ("utf-16 be.json", text(LIST).encode("utf-16-be")),
        ("utf-16 le.json", text(LIST).encode("utf-16-le")),
        ("list.json.gz", gzip.compress(text(LIST).encode())),
        ("two members.json.gz", gzip.compress(text(NODE).encode()) + gzip.compress(text(POD).encode())),
        ("misnamed.json", gzip.compress(text(LIST).encode())),
        ("parts.zip", zipped(("a.json", text(NODE)), ("b/c.yaml", to_yaml(POD)))),
        ("parts.tar.gz", tarred(("x/a.json", text(NODE)), ("x/y/b.yml", to_yaml(POD)))),
        ("parts.tgz", tarred(("./a.json", text(NODE)), ("./b.json", text(POD)))),
        ("scenario.yaml", to_yaml(scenario_document("My cluster", [NODE, POD], "Look here"))),
        ("scenario.json", text(scenario_document("My cluster", [NODE, POD]))),
        ("no extension", text(LIST)),
        ("arrays.json", text([[NODE], [POD]])),
        ("dump.txt", f"Cluster info dumped to standard output\n{pretty(NODE)}{pretty(POD)}"),
        ("script.txt", f"=== nodes ===\n{pretty(NODE)}=== pods ===\n{pretty(POD)}"),
        ("shell.txt", f"$ kubectl get no -o json\n{pretty(NODE)}$ kubectl get po -o json\n{pretty(POD)}"),
        ("warned.yaml", f"Warning: policy/v1beta1 is deprecated\n{to_yaml(NODE)}---\n{to_yaml(POD)}"),
    ],
)  # fmt: skip
def test_formats_are_read(name: str, data: bytes | str) -> None:
    result = read(data, name)
    assert sorted(result.records) == KEYS
    assert result.warnings == []
    for obj in result.objects:
        assert obj["apiVersion"] == "v1"
        assert obj["kind"] in ("Node", "Pod")


def test_several_files_are_one_cluster(tmp_path: Path) -> None:
    path = tmp_path / "n.json"
    path.write_text(text(NODE))
    result = ingest_files([("n.json", path), ("p.yaml", to_yaml(POD).encode())])
    assert list(result.records) == KEYS


def test_json_and_yaml_give_the_same_objects() -> None:
    assert read(to_yaml(LIST), "a.yaml").objects == read(text(LIST)).objects


def test_a_scenario_keeps_its_metadata() -> None:
    config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    result = read(to_yaml(scenario_document("My cluster", [NODE], "Look here", "v1.30.1", config)), "s.yaml")
    assert (result.name, result.description) == ("My cluster", "Look here")
    assert (result.kubernetes, result.config) == ("v1.30.1", config)


def test_the_simulator_configuration_is_stored_as_yaml() -> None:
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "parallelism": 8}
    result = read(text({"nodes": [NODE], "schedulerConfig": config}))
    assert result.config == to_yaml(config)
    assert result.counts == {"Node": 1}


def test_a_configuration_next_to_the_objects_is_stored() -> None:
    result = read(f"{to_yaml(NODE)}---\napiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
    assert "KubeSchedulerConfiguration" in result.config
    assert result.counts == {"Node": 1}


def test_the_most_common_kubelet_version_is_the_version() -> None:
    nodes = [
        {"kind": "Node", "metadata": {"name": f"n{i}"}, "status": {"nodeInfo": {"kubeletVersion": v}}}
        for i, v in enumerate(("v1.29.1", "v1.30.0", "v1.30.0"))
    ]
    assert read(text(nodes)).kubernetes == "v1.30.0"


def test_the_last_duplicate_wins() -> None:
    second = {**POD, "spec": {"nodeName": "n1"}}
    result = read(text([NODE, POD, second]))
    assert [obj["spec"]["nodeName"] for obj in result.objects if obj["kind"] == "Pod"] == ["n1"]
    (warning,) = result.warnings
    assert (warning.code, warning.kind, warning.namespace, warning.name) == ("duplicate", "Pod", "shop", "p1")
    assert "item 3 (Pod shop/p1)" in warning.message


def test_unknown_kinds_are_counted() -> None:
    others = [
        {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i"}},
        {"apiVersion": "metal.example.org/v1", "kind": "Node", "metadata": {"name": "another kind of node"}},
        {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "e"}},
    ]
    more = [{**other, "metadata": {"name": "another"}} for other in others]
    result = read(text([NODE, *others, *more, *others]))
    assert result.counts == {"Node": 1}
    assert result.unknown == {"Ingress.networking.k8s.io": 2, "Node.metal.example.org": 2, "Endpoints": 2}


def test_an_upload_of_unknown_kinds_only_is_rejected_by_name() -> None:
    with pytest.raises(IngestError, match=r"no object that the scheduler uses, only 1 Ingress"):
        read('{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"i"}}')


def test_a_cluster_without_nodes_gives_a_warning() -> None:
    assert [w.code for w in read(text(POD)).warnings] == ["no-nodes"]


def test_pods_on_missing_nodes_give_a_warning() -> None:
    pods = [{"kind": "Pod", "metadata": {"name": f"p{i}"}, "spec": {"nodeName": "gone"}} for i in range(2)]
    (warning,) = read(text([NODE, *pods])).warnings
    assert (warning.code, warning.name) == ("missing-node", "gone")
    assert warning.message == "2 pods are on node gone, which is not in the upload"


def test_a_dump_folder_as_an_archive() -> None:
    members = {
        "dump/nodes.json": text(NODE_LIST),
        "dump/shop/pods.json": text(POD_LIST),
        "dump/shop/p1/logs.txt": "secret log",
        "dump/shop/replication-controllers.json": text({"items": None}),
        "dump/shop/broken.json": '{"kind": ',
        "__MACOSX/dump/._nodes.json": "\0\0",
    }
    result = read(tarred(*members.items()), "dump.tar.gz")
    assert sorted(result.records) == KEYS
    assert [w.code for w in result.warnings] == ["unreadable-member", "skipped-file"]
    assert "dump.tar.gz/dump/shop/broken.json" in result.warnings[0].message
    assert "2 files were skipped" in result.warnings[1].message


def test_a_dump_on_one_stream_with_logs() -> None:
    stream = (
        pretty(NODE_LIST)
        + pretty(POD_LIST)
        + "==== START logs for container c of pod shop/p1 ====\n{not json\n: nor yaml\n"
        + "==== END logs for container c of pod shop/p1 ====\n"
    )
    result = read(stream, "dump.txt")
    assert sorted(result.records) == KEYS
    assert notes(result.dropped) == ["1 container log"]


OLD_NODES = """
SelfLink: /api/v1/nodes
ResourceVersion: "1"
Items:
- name: n1
  creationTimestamp: "2017-05-01T00:00:00Z"
  labels: {Kubernetes.io/Hostname: n1}
  Spec:
    PodCIDR: 10.2.0.0/24
    ProviderID: x://1
    Unschedulable: true
    Taints: [{Key: Dedicated, Value: "", Effect: NoSchedule, TimeAdded: null}]
  Status:
    Allocatable: {cpu: "4", example.org/GPU: "1"}
    NodeInfo: {OSImage: Linux, KubeletVersion: v1.6.2, SystemUUID: u}
    Images: [{Names: ["Example.org/A:1"], SizeBytes: 5}]
"""
OLD_PODS = """
Items:
- name: p1
  namespace: shop
  ownerReferences: [{kind: ReplicaSet, name: r, uid: u, apiVersion: extensions/v1beta1}]
  Spec:
    NodeName: n1
    NodeSelector: {Disk: SSD}
    DNSPolicy: ClusterFirst
    SecurityContext: {HostNetwork: true, SELinuxOptions: null}
    Volumes: [{Name: v, GCEPersistentDisk: {PDName: d, FSType: ext4}, NFS: null}]
    Containers:
    - Name: c
      Image: i
      Env: [{Name: PASSWORD, Value: hunter2, ValueFrom: null}]
      Ports: [{HostPort: 80, ContainerPort: 80, HostIP: "", Protocol: TCP}]
      Resources: {Limits: null, Requests: {cpu: 100m}}
      LivenessProbe: {HTTPGet: {Path: /, Port: 80}}
    Affinity:
      PodAntiAffinity:
        RequiredDuringSchedulingIgnoredDuringExecution:
        - {LabelSelector: {matchLabels: {App: X}}, TopologyKey: h, Namespaces: null}
        PreferredDuringSchedulingIgnoredDuringExecution: null
  Status: {Phase: Running, HostIP: 10.0.0.1, QOSClass: Burstable}
"""


def test_old_dumps_of_internal_types() -> None:
    nodes, pods = (text(yaml.safe_load(document)) for document in (OLD_NODES, OLD_PODS))
    result = read(zipped(("d/nodes.json", nodes), ("d/shop/pods.json", pods)), "d.zip")
    assert result.warnings == []
    assert result.kubernetes == "v1.6.2"
    node, pod = result.objects
    assert node["metadata"]["labels"] == {"Kubernetes.io/Hostname": "n1"}
    assert node["spec"] == {
        "podCIDR": "10.2.0.0/24",
        "providerID": "x://1",
        "unschedulable": True,
        "taints": [{"key": "Dedicated", "effect": "NoSchedule"}],
    }
    assert node["status"]["allocatable"] == {"cpu": "4", "example.org/GPU": "1"}
    assert node["status"]["nodeInfo"]["osImage"] == "Linux"
    assert node["status"]["images"] == [{"names": ["Example.org/A:1"], "sizeBytes": 5}]
    spec = pod["spec"]
    assert spec["hostNetwork"] is True
    assert (spec["nodeName"], spec["nodeSelector"], spec["dnsPolicy"]) == ("n1", {"Disk": "SSD"}, "ClusterFirst")
    assert spec["volumes"] == [{"name": "v", "gcePersistentDisk": {"pdName": "d", "fsType": "ext4"}}]
    (container,) = spec["containers"]
    assert container["env"] == [{"name": "PASSWORD"}]
    assert container["ports"] == [{"hostPort": 80, "containerPort": 80, "protocol": "TCP"}]
    assert container["resources"] == {"requests": {"cpu": "100m"}}
    assert container["livenessProbe"] == {"httpGet": {"path": "/", "port": 80}}
    assert spec["affinity"]["podAntiAffinity"] == {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"App": "X"}}, "topologyKey": "h"}
        ]
    }
    assert pod["status"] == {"phase": "Running", "hostIP": "10.0.0.1", "qosClass": "Burstable"}
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"


def read_object(obj: dict[str, Any]) -> dict[str, Any]:
    return ingested(obj).objects[0]


@pytest.mark.parametrize(
    ("old", "kind", "current"),
    [
        ("policy/v1beta1", "PodDisruptionBudget", "policy/v1"),
        ("extensions/v1beta1", "Deployment", "apps/v1"),
        ("extensions/v1beta1", "DaemonSet", "apps/v1"),
        ("apps/v1beta1", "StatefulSet", "apps/v1"),
        ("apps/v1beta2", "ReplicaSet", "apps/v1"),
        ("batch/v2alpha1", "CronJob", "batch/v1"),
        ("storage.k8s.io/v1beta1", "StorageClass", "storage.k8s.io/v1"),
        ("storage.k8s.io/v1beta1", "CSINode", "storage.k8s.io/v1"),
        ("storage.k8s.io/v1alpha1", "CSIStorageCapacity", "storage.k8s.io/v1"),
        ("scheduling.k8s.io/v1alpha1", "PriorityClass", "scheduling.k8s.io/v1"),
        ("resource.k8s.io/v1beta1", "ResourceClaim", "resource.k8s.io/v1"),
        ("", "Node", "v1"),
    ],
)
def test_old_api_versions_become_current(old: str, kind: str, current: str) -> None:
    obj = read_object({"apiVersion": old, "kind": kind, "metadata": {"name": "x"}})
    assert (obj["apiVersion"], obj["kind"]) == (current, kind)
    assert list(obj)[:2] == ["apiVersion", "kind"]


def test_namespaces_are_set_for_namespaced_kinds() -> None:
    assert read_object({"kind": "Pod", "metadata": {"name": "x"}})["metadata"]["namespace"] == "default"
    assert "namespace" not in read_object({"kind": "Node", "metadata": {"name": "x", "namespace": "y"}})["metadata"]


def test_an_empty_selector_of_an_old_budget_matches_nothing() -> None:
    budget = {"kind": "PodDisruptionBudget", "metadata": {"name": "x"}, "spec": {"selector": {}, "minAvailable": 1}}
    assert read_object({"apiVersion": "policy/v1beta1", **budget})["spec"] == {"minAvailable": 1}
    assert read_object({"apiVersion": "policy/v1", **budget})["spec"] == {"selector": {}, "minAvailable": 1}


def test_an_old_workload_selects_the_labels_of_its_template() -> None:
    workload = {
        "kind": "ReplicaSet",
        "metadata": {"name": "x"},
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}}},
    }
    old = read_object({"apiVersion": "extensions/v1beta1", **workload})
    assert old["spec"]["selector"] == {"matchLabels": {"a": "b"}}
    assert "selector" not in read_object({"apiVersion": "apps/v1", **workload})["spec"]


@pytest.mark.parametrize("path", selection(CLUSTERS, 2), ids=lambda path: path.name)
def test_real_cluster(path: Path) -> None:
    result = ingest_files([(path.name, path)])
    assert result.counts["Node"] >= 1
    assert result.counts["Pod"] >= 1
    assert result.kubernetes.startswith(path.name.partition("__")[0])
    assert [w.message for w in result.warnings if w.code != "missing-node"] == []
    assert not result.unknown


def test_objects_with_generate_name_are_named() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "sample-"}, "spec": {"template": {}}}
    job["spec"]["template"]["spec"] = {"containers": [{"name": "c", "image": "i"}]}  # type: ignore[index]
    data = json.dumps({"apiVersion": "v1", "kind": "List", "items": [job, job]}).encode()
    result = ingest_files([("jobs.json", data)])
    names = [name for _, _, name in result.records]
    assert len(set(names)) == 2
    assert all(name.startswith("sample-") and len(name) == 12 for name in names)
    assert "name from generateName (2 workloads)" in result.filled.message
    assert list(ingest_files([("jobs.json", data)]).records) == list(result.records)
