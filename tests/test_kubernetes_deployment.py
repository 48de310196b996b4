"""The manifests of deploy/kubernetes and the chart of deploy/chart, rendered by real kubectl and helm."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kubesched_ui import __version__
from kubesched_ui.clusters import connections
from kubesched_ui.management.commands.run import Command
from kubesched_ui.runtime import env
from scheduler_core.errors import InputError
from scheduler_core.live.discovery import AKS_CONFIGURATION, OPENSHIFT_SCHEDULER
from scheduler_core.live.kinds import KINDS, WatchedKind
from tests import kubernetes_tools
from tests.strict_files import yaml_document, yaml_documents

ROOT = Path(__file__).parents[1]
CHART, BASE = ROOT / "deploy" / "chart", ROOT / "deploy" / "kubernetes"
READ = {"get", "list", "watch"}
ANTI_AFFINITY = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "kubernetes.io/hostname"}
VALUES: dict[str, dict[str, Any]] = {
    "default": {},
    "namespaces": {"rbac": {"namespaces": ["team-a", "team-b"]}},
    "bound elsewhere": {"rbac": {"create": False}, "serviceAccount": {"create": False, "name": "reader"}},
    "external": {
        "database": {"url": "postgres://kubesched@postgres.db:5433/kubesched"},
        "redis": {"url": "redis://valkey.db:6380/0"},
        "envSecrets": ["kubesched"],
        "env": {"KUBESCHED_REGISTER": "oidc"},
        "persistence": {"enabled": False},
    },
    "ingress": {
        "hosts": ["kubesched.example.com"],
        "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "kubesched-tls", "annotations": {"a": "b"}},
        "networkPolicy": {"from": [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}]},
        "service": {"annotations": {"a": "b"}},
    },
    "clusters": {
        "clusters": [
            {"name": "here", "inCluster": True, "follow": "always"},
            {"name": "staging", "context": "staging", "kubeconfig": "/kubeconfigs/staging"},
        ],
        "kubeconfigSecret": "kubeconfigs",
        "networkPolicy": {"enabled": False},
    },
    "placed": {
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [ANTI_AFFINITY]}},
        "podAnnotations": {"a": "b"},
        "podLabels": {"team": "a"},
        "priorityClassName": "high",
        "imagePullSecrets": [{"name": "registry"}],
        "persistence": {"storageClassName": "fast", "size": "1Ti"},
    },
    "OpenShift": {
        "podSecurityContext": {"runAsUser": None, "runAsGroup": None, "fsGroup": None},
        "rbac": {
            "configMaps": [{"namespace": "openshift-kube-scheduler", "name": name} for name in ("config", "config-7")]
        },
        "persistence": {"existingClaim": "data"},
    },
}

Objects = list[dict[str, Any]]


def rendered(release: str = "1.37", **values: Any) -> Objects:
    """Return the objects of the chart, in the namespace kubesched."""
    command = [
        kubernetes_tools.helm(release),
        "template",
        "kubesched",
        CHART,
        "--namespace",
        "kubesched",
        "--values",
        "-",
    ]
    done = subprocess.run(command, input=json.dumps(values), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [obj for obj in yaml_documents(done.stdout) if obj]


def base() -> Objects:
    """Return the objects of the files that the kustomization lists, without its transformations."""
    files = yaml_document((BASE / "kustomization.yaml").read_text())["resources"]
    return [obj for file in files for obj in yaml_documents((BASE / file).read_text())]


def of_kind(objects: Objects, kind: str) -> dict[str, Any]:
    (found,) = [obj for obj in objects if obj["kind"] == kind]
    return found


def granted(*roles: Mapping[str, Any]) -> dict[tuple[str, str], set[str]]:
    """Return (group, resource) -> verbs of the rules without resourceNames."""
    rules = [rule for role in roles for rule in role["rules"] if "resourceNames" not in rule]
    return {
        (group, resource): set(rule["verbs"])
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def named(*roles: Mapping[str, Any]) -> set[tuple[str, str, str, tuple[str, ...]]]:
    """Return (group, resource, name, verbs) of the rules with resourceNames."""
    rules = [rule for role in roles for rule in role["rules"] if "resourceNames" in rule]
    return {
        (group, resource, name, tuple(rule["verbs"]))
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule["resourceNames"]
    }


def problems(value: Any, type_name: str, path: str) -> Iterator[str]:
    """Yield the fields of an object that its type in the API does not have, or that have another type."""
    from kubernetes_asyncio.client import models  # takes 0.5 s, which the fast tests do not need

    if match := re.fullmatch(r"list\[(.*)\]", type_name):
        if not isinstance(value, list):
            yield f"{path}: must be a list"
            return
        for number, item in enumerate(value):
            yield from problems(item, match[1], f"{path}[{number}]")
    elif match := re.fullmatch(r"dict\(str, (.*)\)", type_name):
        for key, item in value.items():
            yield from problems(item, match[1], f"{path}.{key}")
    elif cls := getattr(models, type_name, None):
        fields = {name: cls.openapi_types[field] for field, name in cls.attribute_map.items()}
        for name, item in value.items():
            if name not in fields:
                yield f"{path}.{name}: unknown field"
            else:
                yield from problems(item, fields[name], f"{path}.{name}")
    elif type_name in ("str", "int", "bool") and type(value).__name__ != type_name:
        yield f"{path}: must be {type_name}, is {value!r}"


def check(objects: Objects) -> None:
    """Check what holds for all rendered objects."""
    versions = {"v1": "V1", "apps/v1": "V1", "rbac.authorization.k8s.io/v1": "V1", "networking.k8s.io/v1": "V1"}
    for obj in objects:
        assert list(problems(obj, versions[obj["apiVersion"]] + obj["kind"], obj["kind"])) == []
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", obj["metadata"]["name"])
        assert ("namespace" in obj["metadata"]) == (not obj["kind"].startswith(("Cluster", "Namespace")))
        assert obj["kind"] != "Secret"
    for role in (obj for obj in objects if obj["kind"] in ("Role", "ClusterRole")):
        for rule in role["rules"]:
            assert set(rule["verbs"]) <= READ
            names = (*rule["apiGroups"], *rule["resources"], *rule.get("resourceNames", ()))
            assert not any("*" in name or "/" in name or name == "secrets" for name in names)
            assert "nonResourceURLs" not in rule
            if "configmaps" in rule["resources"]:
                autoscaler = rule["resourceNames"] == ["cluster-autoscaler-status"]
                assert rule["resourceNames"]
                assert rule["verbs"] == (["get", "list", "watch"] if autoscaler else ["get"])
    check_pod(of_kind(objects, "Deployment"))


def check_pod(deployment: Mapping[str, Any]) -> None:
    """Check the pod: restricted by the Pod Security Standards, no writable root file system, settings that exist."""
    spec = deployment["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not any(spec.get(name) for name in ("hostNetwork", "hostPID", "hostIPC", "initContainers"))
    kinds = {kind for volume in spec["volumes"] for kind in volume if kind != "name"}
    assert kinds <= {"emptyDir", "persistentVolumeClaim", "configMap", "secret"}
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert {"/data", "/tmp"} <= mounted
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in spec["volumes"]}
    # A Service that is called kubesched would otherwise set KUBESCHED_PORT.
    assert spec["enableServiceLinks"] is False
    variables = {entry["name"]: entry["value"] for entry in container["env"]}
    assert {name.removeprefix("KUBESCHED_") for name in variables} <= set(env.VARIABLES)
    assert variables["KUBESCHED_VAR_DIR"].startswith("/data/")
    python, manage, command, *words = container["command"]
    assert (python, manage, command) == ("python", "manage.py", "run")
    assert Command().create_parser("manage.py", "run").parse_args(words).console
    assert container["ports"][0]["containerPort"] == 8000
    start, live = container["startupProbe"], container["livenessProbe"]
    assert start["periodSeconds"] * start["failureThreshold"] >= 3600  # the database of a large installation migrates
    assert live["periodSeconds"] * live["failureThreshold"] >= 600  # the web process in it starts again
    assert all(container[f"{kind}Probe"]["timeoutSeconds"] >= 5 for kind in ("startup", "liveness", "readiness"))
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["strategy"]["type"] == "Recreate"


def test_the_role_of_the_manifests_has_the_kinds_that_are_read() -> None:
    role = of_kind(base(), "ClusterRole")
    assert granted(role) == read_by(kind for kind in KINDS.values() if kind.kind != "ConfigMap")
    assert named(role) == {tuple_of(path) for path in (OPENSHIFT_SCHEDULER, AKS_CONFIGURATION)}


def read_by(kinds: Iterable[WatchedKind]) -> dict[tuple[str, str], set[str]]:
    """Return what a role must grant, as of `granted`."""
    return {(group, kind.resource): READ for kind in kinds for group in kind.groups}


def tuple_of(path: str) -> tuple[str, str, str, tuple[str, ...]]:
    """Return the rule that lets a path be read."""
    _, _, group, _, resource, name = path.split("/")
    return group, resource, name, ("get",)


def test_the_manifests_are_of_this_version() -> None:
    assert yaml_document((CHART / "Chart.yaml").read_text())["appVersion"] == __version__
    assert yaml_document((BASE / "kustomization.yaml").read_text())["images"] == [
        {"name": "kubesched", "newTag": __version__}
    ]


@pytest.mark.long
def test_checks_find_what_they_look_for() -> None:
    wrong = {"metadata": {"nam": "a"}, "spec": {"replicas": "1", "template": {"spec": {"containers": {}}}}}
    assert list(problems(wrong, "V1Deployment", "D")) == [
        "D.metadata.nam: unknown field",
        "D.spec.replicas: must be int, is '1'",
        "D.spec.template.spec.containers: must be a list",
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", VALUES)
def test_the_chart_renders(name: str) -> None:
    objects = rendered(**VALUES[name])
    check(objects)
    names = {(obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]) for obj in objects}
    assert len(names) == len(objects)


@pytest.mark.long
@pytest.mark.parametrize("release", kubernetes_tools.KUBECTL_RELEASES)
def test_helm_accepts_the_chart(release: str) -> None:
    for values in VALUES.values():
        command = [kubernetes_tools.helm(release), "lint", "--strict", CHART, "--values", "-"]
        done = subprocess.run(command, input=json.dumps(values), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.long
def test_rights_on_namespaces_alone(tmp_path: Path, settings: Any) -> None:
    objects = rendered(**VALUES["namespaces"])
    roles = [obj for obj in objects if obj["kind"] == "Role"]
    assert [role["metadata"]["namespace"] for role in roles] == ["team-a", "team-b"]
    assert not [obj for obj in objects if obj["kind"].startswith("ClusterRole")]
    for role in roles:
        assert granted(role) == read_by(kind for kind in KINDS.values() if kind.namespaced)
    settings.CLUSTERS_FILE = str(tmp_path / "clusters.yaml")
    Path(settings.CLUSTERS_FILE).write_text(of_kind(objects, "ConfigMap")["data"]["clusters.yaml"])
    found = connections.configured()
    assert [one.text for one in found.values()] == [
        "in the cluster, namespace team-a",
        "in the cluster, namespace team-b",
    ]
    kinds = found["team-a"].kinds
    assert kinds["Pod"].paths == ("/api/v1/namespaces/team-a/pods",)
    assert kinds["ResourceClaim"].paths[1] == "/apis/resource.k8s.io/v1beta2/namespaces/team-a/resourceclaims"
    assert kinds["Node"] == KINDS["Node"]
    assert {(kind.group, kind.resource) for kind in kinds.values()} == {(k.group, k.resource) for k in KINDS.values()}


@pytest.mark.parametrize("namespace", ["a/b", "A", "..", "a" * 64, 5, ""])
def test_a_namespace_of_the_clusters_file_is_a_name(namespace: Any, tmp_path: Path, settings: Any) -> None:
    settings.CLUSTERS_FILE = str(tmp_path / "clusters.yaml")
    Path(settings.CLUSTERS_FILE).write_text(json.dumps({"clusters": [{"name": "a", "namespace": namespace}]}))
    if namespace == "":
        assert connections.configured()["a"].kinds == KINDS
        return
    with pytest.raises(InputError, match=r"clusters.yaml: clusters\[0\].namespace: must be"):
        connections.configured()


@pytest.mark.long
def test_values_reach_the_objects() -> None:
    objects = rendered(**VALUES["external"])
    ports = [port["port"] for port in of_kind(objects, "NetworkPolicy")["spec"]["egress"][0]["ports"]]
    assert ports == [53, 53, 5353, 5353, 443, 6443, 5433, 6380]
    pod = of_kind(objects, "Deployment")["spec"]["template"]["spec"]
    assert {"emptyDir": {}, "name": "data"} in pod["volumes"]
    assert {"name": "KUBESCHED_REGISTER", "value": "oidc"} in pod["containers"][0]["env"]
    assert pod["containers"][0]["envFrom"] == [{"secretRef": {"name": "kubesched"}}]
    assert not [obj for obj in objects if obj["kind"] == "PersistentVolumeClaim"]
    objects = rendered(**VALUES["OpenShift"])
    (role,) = [one for one in objects if one["kind"] == "Role" and one["metadata"]["namespace"] != "kube-system"]
    assert named(role) == {("", "configmaps", name, ("get",)) for name in ("config", "config-7")}
    context = of_kind(objects, "Deployment")["spec"]["template"]["spec"]["securityContext"]
    assert not {"runAsUser", "runAsGroup", "fsGroup"} & context.keys()
    objects = rendered(**VALUES["clusters"])
    file = yaml_document(of_kind(objects, "ConfigMap")["data"]["clusters.yaml"])
    assert file["clusters"] == VALUES["clusters"]["clusters"]
    assert not [obj for obj in rendered(**VALUES["bound elsewhere"]) if "Role" in obj["kind"] or "Acc" in obj["kind"]]


@pytest.mark.long
def test_an_ingress_needs_hosts() -> None:
    command = [kubernetes_tools.helm(), "template", CHART, "--set", "ingress.enabled=true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "ingress.enabled needs hosts" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("release", kubernetes_tools.KUBECTL_RELEASES)
def test_the_manifests_equal_the_chart(release: str) -> None:
    """Except for the namespace, labels about helm, and the order of rules."""
    command = [kubernetes_tools.kubectl(release), "kustomize", BASE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    objects = yaml_documents(done.stdout)
    check(objects)
    assert normalized(objects) == normalized(rendered(release))


def normalized(objects: Objects) -> dict[tuple[str, str], Any]:
    """Return (kind, name) -> object without what may differ."""
    found = {}
    for obj in objects:
        metadata = {key: value for key, value in obj["metadata"].items() if key != "labels"}
        selected = {"app.kubernetes.io/instance": "kubesched", "app.kubernetes.io/name": "kubesched"}
        assert selected.items() <= obj["metadata"]["labels"].items()
        rest = {**obj, "metadata": metadata}
        if "rules" in obj:
            rest["rules"] = sorted(granted(obj).items()), sorted(named(obj))
        if obj["kind"] != "Namespace":
            found[obj["kind"], metadata["name"]] = rest
    return found
