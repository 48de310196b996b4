"""Uploads that are no snapshot are rejected with a hint what to run instead."""

import msgspec
import pytest

from kubesched_ui.ingest import IngestError, ingest_files
from tests.kubesched_ui.ingest.test_archives import read, tarred
from tests.scheduler_core.snapshot.wrong_inputs import INPUTS, LIKE_SNAPSHOTS

DESCRIBED = """Name:               n1
Roles:              control-plane
Labels:             beta.kubernetes.io/arch=amd64
                    kubernetes.io/hostname=n1
Annotations:        node.alpha.kubernetes.io/ttl: 0
Taints:             node-role.kubernetes.io/control-plane:NoSchedule
"""
WIDE = """NAMESPACE     NAME      READY   STATUS    RESTARTS      AGE   NODE   NOMINATED NODE   READINESS GATES
kube-system   coredns   1/1     Running   0 (3d ago)    9d    n1     <none>           <none>
"""
NODES = "NAME   STATUS   ROLES    AGE   VERSION\nn1     Ready    <none>   9d    v1.29.1\n"
HELM = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "chart.fullname" . }}
  {{- with .Values.labels }}
  labels: {{- toYaml . | nindent 4 }}
  {{- end }}
"""
TRACE = {"version": 2, "config": {"trackedObjects": {"apps/v1.Deployment": {}}}, "events": [], "index": {}}


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("node.txt", DESCRIBED, "`kubectl describe`"),
        ("pods.txt", WIDE, "is a table"),
        ("nodes.txt", NODES, "is a table"),
        (
            "top.txt",
            "NAME  CPU(cores)  CPU%  MEMORY(bytes)  MEMORY%\nn1    100m        5%    1Gi            20%\n",
            "table",
        ),
        ("names.txt", "pod/web-1\npod/web-2\ndeployment.apps/web\n", "is a list of names"),
        ("deployment.yaml", HELM, "`helm template RELEASE CHART`"),
        ("one.yaml", "kind: Pod\nmetadata: {name: {{ .Values.name }} }\n", "`helm template RELEASE CHART`"),
        ("trace.mp", msgspec.msgpack.encode(TRACE), "SimKube trace"),
        ("trace.json", msgspec.json.encode(TRACE), "SimKube trace"),
        ("a.json", "Error from server (Forbidden): nodes is forbidden", "error message of kubectl: Error from server"),
        ("a.json", "<!DOCTYPE html><html>", "web page"),
        ("notes.md", "# Nodes\n\n```yaml\nkind: Node\nmetadata: {name: n}\n```\n", "is Markdown"),
    ],
)
def test_the_hint_names_the_right_input(name: str, data: str | bytes, message: str) -> None:
    with pytest.raises(IngestError) as caught:
        ingest_files([(name, data.encode() if isinstance(data, str) else data)])
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{name}: ")
    assert str(caught.value).count(message) == 1


@pytest.mark.parametrize("name", INPUTS)
def test_an_upload_says_what_a_file_is(name: str) -> None:
    data, says = INPUTS[name]
    with pytest.raises(IngestError) as caught:
        ingest_files([(name, data)])
    assert says in str(caught.value)
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("name", LIKE_SNAPSHOTS)
def test_snapshots_that_look_like_something_else_are_read(name: str) -> None:
    assert ingest_files([("a.txt", LIKE_SNAPSHOTS[name].encode())]).counts == {"Node": 1}


@pytest.mark.parametrize("name", ["config", "admin.conf", "config.json", "sorted.json"])
def test_nothing_of_a_kubeconfig_is_stored(name: str) -> None:
    node = b"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
    with pytest.raises(IngestError, match="is a kubeconfig"):
        ingest_files([("node.yaml", node), (name, INPUTS[name][0])])
    found = read(tarred({"node.yaml": node, name: INPUTS[name][0]}))
    assert found.counts == {"Node": 1}
    with pytest.raises(IngestError, match="is a kubeconfig"):
        ingest_files([("a.yaml", node + b"---\napiVersion: v1\nkind: Config\nusers: []\n")])


def test_json_files_are_not_checked_as_yaml() -> None:
    with pytest.raises(IngestError, match=r"a\.json, document 1: is not JSON as its name says, and not YAML in line 2"):
        ingest_files([("a.json", b"hello: [")])
    with pytest.raises(IngestError, match=r"a\.yaml, document 1: is not valid YAML in line 2"):
        ingest_files([("a.yaml", b"hello: [")])


def test_braces_in_strings_are_not_a_template() -> None:
    pod = 'kind: Pod\nmetadata: {name: p, annotations: {a: "{{ .Values.x }}"}}\nspec: {nodeName: node}\n'
    assert ingest_files([("a.yaml", pod.encode())]).counts == {"Pod": 1}
