"""Suggested fixes as diffs of what a person edits."""

from typing import Any

from kubesched_ui.presenters.fix_diff import diff_of, template_of
from scheduler_core.api.objects import Pod, decode
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.releases import NEWEST, get_release

ADDED = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
SPEC: dict[str, Any] = {
    "containers": [
        {"name": "main", "image": "a", "resources": {"requests": {"cpu": "4", "memory": "1Gi"}}},
        {"name": "log", "image": "b"},
    ],
    "tolerations": [ADDED],
}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0", "namespace": "default"}, "spec": SPEC}


def text(before: dict[str, Any], patch: Any) -> list[str]:
    return [f"{line.mark}{line.text}" for line in diff_of(before, patch)]


def template() -> dict[str, Any]:
    pod = decode(POD)
    assert isinstance(pod, Pod)
    return template_of(PodInfo(pod, get_release(NEWEST)), POD, "Deployment")


def test_a_new_toleration_is_added_to_the_template() -> None:
    """Those that admission adds to each pod are no part of it."""
    patch = {"spec": {"template": {"spec": {"tolerations": [{"key": "gpu", "operator": "Exists"}]}}}}
    assert text(template(), patch) == [
        " spec:",
        "   template:",
        "     spec:",
        "-      tolerations: []",
        "+      tolerations:",
        "+      - key: gpu",
        "+        operator: Exists",
    ]


def test_only_the_changed_container_and_fields_are_listed() -> None:
    less = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}
    found = text(template(), {"spec": {"template": {"spec": less}}})
    assert [line for line in found if line[0] != " "] == ["-            cpu: '4'", "+            cpu: '2'"]
    assert not [line for line in found if "log" in line or "memory" in line or "image" in line]
    assert "       - name: main" in found


def test_a_removed_field() -> None:
    node = {"kind": "Node", "metadata": {"name": "n1"}, "spec": {"unschedulable": True, "taints": []}}
    assert text(node, {"spec": {"unschedulable": None}}) == [" spec:", "-  unschedulable: true"]


def test_a_field_of_an_empty_part() -> None:
    assert text({"spec": {}}, {"spec": {"priority": 1}}) == [" spec:", "+  priority: 1"]


def test_no_patch() -> None:
    assert text({"spec": {}}, None) == []
