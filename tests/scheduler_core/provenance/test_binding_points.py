"""Provenance of the results of PreEnqueue, Reserve, Permit, PreBind and Bind."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler_core.search.provenance import NotDecided, Question
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.provenance.cases import explained
from tests.scheduler_core.provenance.evaluate import nodes as values
from tests.scheduler_core.provenance.evaluate import problems

ENABLED = {"enabled": [{"name": "Coscheduling"}]}
ALONE = ENABLED | {"disabled": [{"name": "*"}]}
COSCHEDULING = {"profiles": [{"plugins": {"multiPoint": ENABLED, "queueSort": ALONE}}]}
GROUP = {"scheduling.x-k8s.io/pod-group": "g"}


def group(least: int, timeout: int | None = None) -> dict[str, Any]:
    spec = {"minMember": least} | ({"scheduleTimeoutSeconds": timeout} if timeout else {})
    return {"kind": "PodGroup", "metadata": {"name": "g", "namespace": "default"}, "spec": spec}


def first(objects: list[Any], point: str, plugin: str, **settings: Any) -> dict[str, Any]:
    """Return the tree of the result of the first cycle, evaluated and compared with the objects."""
    tree: dict[str, Any] = msgspec.to_builtins(explained(objects, Question(point, "", plugin), **settings))
    known = {(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for o in objects}
    assert list(problems(tree, known)) == []
    return tree


def test_gates() -> None:
    held = pod("p") | {"spec": pod("p")["spec"] | {"schedulingGates": [{"name": "quota"}]}}
    tree = first([node("n1"), held], "preenqueue", "SchedulingGates")
    assert (tree["value"], tree["text"]) == (True, "The pod waits for quota to be removed")
    assert "quota" in [value["value"] for value in values(tree)]


@pytest.mark.parametrize(("timeout", "source", "seconds"), [(25, "field", 25), (None, "argument", 60)])
def test_permit_has_the_waiting_time_of_a_pod(timeout: int | None, source: str, seconds: float) -> None:
    members = [pod("a", labels=GROUP), pod("b", labels=GROUP)]
    tree = first([node("n1"), group(2, timeout), *members], "permit", "Coscheduling", config=COSCHEDULING)
    assert (tree["value"], tree["unit"], tree["op"]) == (seconds, "s", "if")
    assert tree["text"] == f"1 of 2 pods of default/g have a node: it waits for the other pods, {seconds} s at most"
    assert tree["args"][1]["op"] == source


def test_permit_rejects_pods_of_a_missing_group() -> None:
    settings = {"config": COSCHEDULING}
    tree = first([node("n1"), pod("a", labels=GROUP)], "permit", "Coscheduling", **settings)
    assert (tree["value"], tree["text"]) == (True, "There is no PodGroup default/g")


def test_plugins_that_never_reject_and_plugins_that_did_not_run() -> None:
    objects = [node("n1"), pod("p")]
    assert first(objects, "bind", "DefaultBinder")["value"] is False
    assert first(objects, "reserve", "VolumeBinding")["text"] == "VolumeBinding: nothing to do"
    settings = {"config": COSCHEDULING}
    alone = [node("n1"), pod("a", labels=GROUP)]
    with pytest.raises(NotDecided, match="did not run"):
        first(alone, "bind", "DefaultBinder", **settings)
