"""Commands change a scenario as kubectl and the API server would, or are refused with the reason."""

import copy
from typing import Any

import pytest

from kubesched_ui.lessons.commands import apply_command
from kubesched_ui.lessons.errors import Unknown

NODE: dict[str, Any] = {
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"disk": "hdd"}},
    "spec": {"unschedulable": True, "taints": [{"key": "team", "value": "data", "effect": "NoSchedule"}]},
}
POD: dict[str, Any] = {"kind": "Pod", "metadata": {"name": "web"}, "spec": {"schedulingGates": [{"name": "a.b/c"}]}}
SITE: dict[str, Any] = {"kind": "Deployment", "metadata": {"name": "site"}, "spec": {"replicas": 1}}
SPEC = {"objects": [NODE, POD], "timeline": [{"at": 5, "create": SITE}]}


@pytest.mark.parametrize(
    ("command", "place", "value"),
    [
        ("kubectl uncordon n1", ("objects", 0, "spec", "unschedulable"), False),
        ("kubectl cordon node/n1", ("objects", 0, "spec", "taints", 1, "key"), "node.kubernetes.io/unschedulable"),
        ("kubectl taint node n1 team=data:NoSchedule-", ("objects", 0, "spec", "taints"), []),
        ("kubectl taint nodes n1 team-", ("objects", 0, "spec", "taints"), []),
        ("kubectl taint node n1 new=1:NoExecute", ("objects", 0, "spec", "taints", 1, "effect"), "NoExecute"),
        ("kubectl label node n1 disk=ssd --overwrite", ("objects", 0, "metadata", "labels"), {"disk": "ssd"}),
        ("kubectl label node n1 disk-", ("objects", 0, "metadata", "labels"), {}),
        ("kubectl delete pod/web", ("objects",), [NODE]),
        ("kubectl scale deployment site --replicas 3", ("timeline", 0, "create", "spec", "replicas"), 3),
        (
            """kubectl patch pod web -p '{"spec": {"schedulingGates": []}}'""",
            ("objects", 1, "spec"),
            {"schedulingGates": []},
        ),
    ],
)
def test_a_command_changes_the_scenario(command: str, place: tuple[Any, ...], value: object) -> None:
    spec: Any = copy.deepcopy(SPEC)
    apply_command(spec, command)
    for step in place:
        spec = spec[step]
    assert spec == value


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("rm -rf /", "Enter a command that begins with kubectl"),
        ("kubectl exec web ls", "Enter a command that begins with kubectl"),
        ("kubectl delete pod 'web", "not complete"),
        ("kubectl delete pod other", 'Pod "other" not found'),
        ("kubectl delete secret web", "The kinds are"),
        ("kubectl delete pod web --force", "--force is not known"),
        ("kubectl label node n1 disk=ssd", r"already has a value \(hdd\), and --overwrite is false"),
        ("kubectl taint node n1 other:NoSchedule-", 'taint "other" not found'),
        ("kubectl scale pod web --replicas=2", "Scale a Deployment"),
        ("""kubectl patch pod web -p '{"spec": {"nodeName": "n1"}}'""", "refuses to change this field"),
        ("""kubectl patch pod web -p '{"metadata": {"name": "x"}}'""", "cannot change the kind or the name"),
        ("""kubectl patch node n1 -p '{"status": {"allocatable": {"cpu": "64"}}}'""", "ignores the status"),
        ("kubectl patch pod web -p '{'", "not valid JSON"),
        (f"kubectl delete pod {'x' * 300}", "more than 300 characters"),
    ],
)
def test_a_command_is_refused_with_the_reason(command: str, reason: str) -> None:
    spec: Any = copy.deepcopy(SPEC)
    with pytest.raises(Unknown, match=reason):
        apply_command(spec, command)
    assert spec["objects"] == SPEC["objects"]
