"""Uploads that are no snapshot are rejected with a hint what to run instead."""

import msgspec
import pytest

from kubesched_ui.ingest import IngestError, ingest_files

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


def test_json_files_are_not_checked_as_yaml() -> None:
    with pytest.raises(IngestError, match=r"a\.json, document 1: is not JSON as its name says, and not YAML in line 2"):
        ingest_files([("a.json", b"hello: [")])
    with pytest.raises(IngestError, match=r"a\.yaml, document 1: is not valid YAML in line 2"):
        ingest_files([("a.yaml", b"hello: [")])


def test_braces_in_strings_are_not_a_template() -> None:
    pod = 'kind: Pod\nmetadata: {name: p, annotations: {a: "{{ .Values.x }}"}}\nspec: {nodeName: node}\n'
    assert ingest_files([("a.yaml", pod.encode())]).counts == {"Pod": 1}
