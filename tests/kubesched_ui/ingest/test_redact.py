"""Secrets are removed from uploads."""

import json
from typing import Any

import pytest

from kubesched_ui.ingest.redact import notes
from tests.kubesched_ui.clusters import ingested

SECRET = "hunter2"


def spec(**more: Any) -> dict[str, Any]:
    env = [{"name": "A", "value": SECRET}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "k"}}}]
    return {
        "containers": [{"name": "c", "env": env, "args": ["--verbose"]}],
        "initContainers": [{"name": "i", "env": env}],
        "ephemeralContainers": [{"name": "e", "env": env}],
        **more,
    }


def meta(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "managedFields": [{"manager": SECRET}],
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": SECRET, "kept": "yes"},
    }


def template() -> dict[str, Any]:
    return {"metadata": meta("t"), "spec": spec()}


@pytest.mark.parametrize(
    "obj",
    [
        {"kind": "Pod", "metadata": meta("x"), "spec": spec()},
        *(
            {"apiVersion": v, "kind": k, "metadata": meta("x"), "spec": {"template": template()}}
            for v, k in (
                ("apps/v1", "Deployment"),
                ("extensions/v1beta1", "ReplicaSet"),
                ("apps/v1", "StatefulSet"),
                ("apps/v1", "DaemonSet"),
                ("batch/v1", "Job"),
                ("v1", "ReplicationController"),
            )
        ),
        {
            "apiVersion": "batch/v1beta1",
            "kind": "CronJob",
            "metadata": meta("x"),
            "spec": {"jobTemplate": {"metadata": meta("j"), "spec": {"template": template()}}},
        },
        {"kind": "Pod", "metadata": meta("x"), "spec": {"containers": [{"name": "c", "env": {"A": SECRET}}]}},
        {"kind": "Pod", "metadata": meta("x"), "spec": {"containers": [{"name": "c", "env": [SECRET, [SECRET]]}]}},
        {"kind": "Secret", "apiVersion": "v1", "metadata": meta("x"), "data": {"p": SECRET}},
        {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta("x"), "data": {"p": SECRET}},
        {"kind": "SecretList", "apiVersion": "v1", "items": [{"metadata": meta("x"), "stringData": {"p": SECRET}}]},
        {"kind": "Foo", "apiVersion": "example.org/v1", "metadata": meta("x"), "spec": {"p": SECRET}},
    ],
    ids=lambda obj: obj["kind"],
)
def test_no_secret_is_stored(obj: dict[str, Any]) -> None:
    node = {"kind": "Node", "metadata": {"name": "n"}}
    result = ingested(node, obj)
    assert SECRET not in json.dumps(result.objects)
    assert all(SECRET not in warning.message for warning in result.warnings)
    assert result.dropped or result.unknown


def test_removed_fields_give_a_warning() -> None:
    pods = [{"kind": "Pod", "metadata": meta(f"p{i}"), "spec": spec(nodeName="n")} for i in range(2)]
    objects = [{"kind": "Node", "metadata": {"name": "n"}}, *pods, {"kind": "Secret", "metadata": {"name": "s"}}]
    result = ingested(*objects)
    assert notes(result.dropped) == [
        "1 Secret",
        "12 values of environment variables",
        "2 managedFields lists",
        "2 last-applied-configuration annotations",
    ]


def test_other_fields_are_kept() -> None:
    pod = {"kind": "Pod", "metadata": meta("p"), "spec": spec()}
    (kept,) = ingested(pod).objects
    assert kept["metadata"]["annotations"] == {"kept": "yes"}
    assert kept["spec"]["containers"] == [{"name": "c", "env": [{"name": "A"}, {"name": "B"}], "args": ["--verbose"]}]
