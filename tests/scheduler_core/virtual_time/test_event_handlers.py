"""Events that wake pods: in 1.34 (hints), in 1.27 (events and a check of the node), in 1.21 (all pods).

Source: pkg/scheduler/eventhandlers.go of each.
"""

from typing import Any

import pytest

from tests.scheduler_core.build import HOSTNAME, REQUIRED, Raw, node, pod, selector
from tests.scheduler_core.virtual_time_runs import PlayedScenario

BIG: dict[str, Any] = {"requests": {"cpu": "8"}}
NEAR = {"podAffinity": {REQUIRED: [{"labelSelector": selector(app="db"), "topologyKey": HOSTNAME}]}}


def labelled(**labels: str) -> Raw:
    return node("n1", labels=labels)


OLD = {"kind": "Pod", "name": "old", "namespace": "default"}
ANNOTATED = {"kind": "Pod", "name": "a", "namespace": "default", "patch": {"metadata": {"annotations": {"k": "v"}}}}
# what the pod needs, what happens at 20 s, the event that wakes it in 1.34, 1.27 and 1.21 ("" for none)
CASES: dict[str, tuple[Raw, Raw, tuple[str, str, str]]] = {
    "a bigger node": (
        *(BIG, {"update": node("n1", cpu="9")}),
        ("NodeUpdateNodeAllocatable", "NodeAllocatableChange", "NodeAllocatableChange"),
    ),
    "a node not big enough": (BIG, {"update": node("n1", cpu="7")}, ("", "", "NodeAllocatableChange")),
    "a node that has what it wants": (BIG, {"create": node("n2", cpu="9")}, ("NodeAdd", "NodeAdd", "NodeAdd")),
    "a label that does not matter": (BIG, {"update": labelled(x="y")}, ("", "", "NodeLabelChange")),
    "the label": (
        *({"nodeSelector": {"x": "y"}}, {"update": labelled(x="y")}),
        ("NodeUpdateNodeLabel", "NodeLabelChange", "NodeLabelChange"),
    ),
    "another label": ({"nodeSelector": {"x": "y"}}, {"update": labelled(x="z")}, ("", "", "NodeLabelChange")),
    "the pod it wants to be near": (
        *({"affinity": NEAR}, {"create": pod("db", labels={"app": "db"})}),
        ("AssignedPodAdd", "AssignedPodAdd", "AssignedPodAdd"),
    ),
    "some other pod": ({"affinity": NEAR}, {"create": pod("web", labels={"app": "web"})}, ("", "", "")),
    "a pod that ends": (BIG, {"delete": OLD}, ("AssignedPodDelete", "AssignedPodDelete", "AssignedPodDelete")),
    "a new annotation of its own": (BIG, {"patch": ANNOTATED}, ("", "PodUpdate", "PodUpdate")),
}


@pytest.mark.parametrize(("at", "release"), list(enumerate(["1.34", "1.27", "1.21"])))
@pytest.mark.parametrize(("wants", "happens", "woken"), list(CASES.values()), ids=list(CASES))
def test_events_that_wake_a_pod(wants: Raw, happens: Raw, woken: tuple[str, ...], at: int, release: str) -> None:
    objects = [node("n1"), pod("old", on="n1"), pod("a", **wants)]
    timeline = [{"at": 20, **happens}]
    played = PlayedScenario(*objects, timeline=timeline, kubernetes=release, gracePeriods=False, until=25)
    moves = [record.data["event"] for record in played.records_of("queue.moved", "a") if record.time == 20]
    assert moves[:1] == ([woken[at]] if woken[at] else [])


def test_a_pod_that_changes_its_scheduler_leaves_the_queue() -> None:
    given = {"at": 5, "update": pod("a", schedulerName="somebody-else", **BIG)}
    grow = {"at": 10, "update": node("n1", cpu="9")}
    played = PlayedScenario(node("n1"), pod("a", **BIG), timeline=[given, grow])
    assert played.moves("a")[-1][:2] == (5, "gone")
    assert len(played.records_of("attempt")) == 1
