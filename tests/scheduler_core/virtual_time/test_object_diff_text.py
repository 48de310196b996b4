"""Text of the changes of an update, and the scenario step that caused each record."""

from typing import Any

import pytest

from scheduler_core.api.objects import decode
from scheduler_core.virtual_time.engine import Record
from scheduler_core.virtual_time.object_diff_text import MOST, changes
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.virtual_time_runs import PlayedScenario


def diff_text(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str]]:
    before, after = decode(old), decode(new)
    assert before is not None
    assert after is not None
    return [(change["of"], change["text"]) for change in changes(before, after)]


def plain_node(**parts: Any) -> dict[str, Any]:
    status = {"allocatable": parts.get("allocatable", {"cpu": "4"}), "conditions": parts.get("conditions", [])}
    spec = {"taints": parts.get("taints", []), "unschedulable": parts.get("unschedulable", False)}
    metadata = {"name": "n1", "labels": parts.get("labels", {}), "annotations": parts.get("annotations", {})}
    return {"kind": "Node", "metadata": metadata, "spec": spec, "status": status}


TAINT = {"key": "dedicated", "value": "a", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, {}, []),
        ({}, {"taints": [TAINT]}, [("taint", "taint dedicated=a:NoSchedule added")]),
        ({"taints": [TAINT]}, {}, [("taint", "taint dedicated=a:NoSchedule removed")]),
        ({"taints": [TAINT]}, {"taints": [TAINT | {"value": "b"}]}, [("taint", "taint dedicated:NoSchedule: a → b")]),
        ({"labels": {"zone": "a"}}, {"labels": {"zone": "b"}}, [("label", "label zone: a → b")]),
        ({"labels": {"zone": "a"}}, {"labels": {"disk": ""}},
         [("label", "label zone=a removed"), ("label", "label disk= added")]),
        ({}, {"unschedulable": True}, [("cordon", "cordoned")]),
        ({"unschedulable": True}, {}, [("cordon", "uncordoned")]),
        ({}, {"allocatable": {"cpu": "8"}}, [("allocatable", "cpu 4 → 8")]),
        ({}, {"allocatable": {"cpu": "4000m", "nvidia.com/gpu": "8"}}, [("allocatable", "nvidia.com/gpu none → 8")]),
        ({"allocatable": {"memory": "8Gi"}}, {"allocatable": {"memory": "8704Mi"}},
         [("allocatable", "memory 8Gi → 8.5Gi")]),
        ({"conditions": [{"type": "Ready", "status": "True"}]},
         {"conditions": [{"type": "Ready", "status": "Unknown"}]}, [("condition", "condition Ready: True → Unknown")]),
        ({}, {"annotations": {"a": "x" * 500}}, [("annotation", "annotation a=" + "x" * 77 + "… added")]),
    ],
)  # fmt: skip
def test_changes_of_a_node(old: dict[str, Any], new: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert diff_text(plain_node(**old), plain_node(**new)) == expected


def test_many_changes_are_counted() -> None:
    found = diff_text(plain_node(), plain_node(labels={f"l{i}": "" for i in range(100)}))
    assert len(found) == MOST
    assert found[-1][1] == "and 61 more changes"


def test_changes_of_a_pod() -> None:
    gated = pod("web", schedulingGates=[{"name": "example.com/quota"}])
    assert diff_text(gated, pod("web")) == [("gate", "gate example.com/quota removed")]
    dying = pod("web")
    dying["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert diff_text(pod("web"), dying) == [("termination", "is terminating")]


def roots(played: PlayedScenario, kind: str) -> list[Any]:
    """Return for each record of a kind the number of the scenario step that caused it, or None."""
    by_seq: dict[int, Record] = {record.seq: record for record in played.records}

    def root(record: Record) -> Any:
        while record.kind != "scenario.step":
            if not record.cause:
                return None
            record = by_seq[record.cause]
        return record.data["step"]

    return [root(record) for record in played.records_of(kind)]


def deployment(replicas: int) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "site"}}, "spec": pod("x")["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "site"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "site"}, "spec": spec}


def test_a_step_is_the_cause_of_its_consequences() -> None:
    evict = {"node": "n1", "key": "broken", "effect": "NoExecute"}
    timeline = [{"at": 5, "cordon": "n2"}, {"at": 10, "taint": evict}, {"at": 60, "uncordon": "n2"}]
    played = PlayedScenario(node("n1"), node("n2"), deployment(1), timeline=timeline, until=100)
    assert [(r.time, r.data["step"], r.data["operation"]) for r in played.records_of("scenario.step")] == [
        (5, 1, "cordon"), (10, 2, "taint"), (60, 3, "uncordon"),
    ]  # fmt: skip
    changed = [", ".join(c["text"] for c in r.data["what"]) for r in played.records_of("node.changed")]
    unschedulable = "taint node.kubernetes.io/unschedulable:NoSchedule"
    assert changed == ["cordoned", f"{unschedulable} added", "taint broken:NoExecute added", "uncordoned",
                       f"{unschedulable} removed"]  # fmt: skip
    assert roots(played, "node.changed") == [1, 1, 2, 3, 3]
    assert played.times("pod.evicted") == [10]
    assert roots(played, "pod.evicted") == [2]
    assert played.times("pod.deleted") == [40]  # after its grace period
    assert roots(played, "pod.deleted") == [2]
    assert roots(played, "pod.created") == [None, 2]  # the Deployment replaces it
    woken = [r for r in played.records_of("queue.moved") if r.data["event"] == "NodeUpdateNodeTaint"]
    assert {r.time for r in woken} == {60}


def test_a_countdown_has_the_step_that_started_it_as_its_root() -> None:
    stays = pod("web", tolerations=[{"key": "broken", "operator": "Exists", "tolerationSeconds": 20}])
    timeline = [{"at": 10, "taint": {"node": "n1", "key": "broken", "effect": "NoExecute"}}]
    played = PlayedScenario(node("n1"), stays, timeline=timeline, gracePeriods=False)
    assert (played.times("pod.evicted"), roots(played, "pod.evicted")) == ([30], [1])


def test_a_finishing_pod_has_no_step_as_its_cause() -> None:
    brief = pod("web")
    brief["metadata"]["annotations"] = {"kubesched.dev/duration": "10s"}
    played = PlayedScenario(node("n1"), timeline=[{"at": 5, "create": brief}])
    assert roots(played, "pod.created") == [1]
    assert roots(played, "pod.deleted") == [None]


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ({"create": node("n1")}, "Node n1: exists already and is not changed"),
        ({"update": node("n7")}, "Node n7: does not exist"),
        ({"create": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}},
         "ConfigMap c: the scheduler does not use objects of this kind"),
        ({"patch": {"kind": "Gizmo", "name": "g", "patch": {}}},
         "Gizmo g: the scheduler does not use objects of this kind"),
        ({"drain": "n9"}, "Node n9: does not exist"),
    ],
)  # fmt: skip
def test_an_impossible_step_gives_a_warning(step: dict[str, Any], says: str) -> None:
    played = PlayedScenario(node("n1"), timeline=[{"at": 5, **step}])
    (done,), (warned,) = played.records_of("scenario.step"), played.records_of("warning")
    assert (warned.data["message"], warned.cause) == (says, done.seq)
