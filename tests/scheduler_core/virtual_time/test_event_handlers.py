"""Which event wakes whom: in v1.34 (hints), in v1.27 (events alone, with a look at the node), in v1.21 (everybody).

Source: pkg/scheduler/eventhandlers.go of each.
"""

from typing import Any

import pytest

from tests.scheduler_core.build import HOSTNAME, Raw, node, pod
from tests.scheduler_core.timed import Played

BIG: dict[str, Any] = {"requests": {"cpu": "8"}}
NEAR = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": HOSTNAME}
        ]
    }
}


def labelled(**labels: str) -> Raw:
    return node("n1", labels=labels)


CASES: list[tuple[str, Raw, Raw, dict[str, str]]] = [
    # what the pod wants, what happens at 20 s; release -> the event that wakes it ("" for none)
    (
        "a bigger node",
        pod("a", **BIG),
        {"update": node("n1", cpu="9")},
        {"1.34": "NodeUpdateNodeAllocatable", "1.27": "NodeAllocatableChange"},
    ),
    (
        "a node not big enough",
        pod("a", **BIG),
        {"update": node("n1", cpu="7")},
        {"1.34": "", "1.27": "", "1.21": "NodeAllocatableChange"},
    ),
    (
        "a node that has what it wants",
        pod("a", **BIG),
        {"create": node("n2", cpu="9")},
        {"1.34": "NodeAdd", "1.27": "NodeAdd"},
    ),
    (
        "a label that does not matter",
        pod("a", **BIG),
        {"update": labelled(x="y")},
        {"1.34": "", "1.27": "", "1.21": "NodeLabelChange"},
    ),
    (
        "the label",
        pod("a", nodeSelector={"x": "y"}),
        {"update": labelled(x="y")},
        {"1.34": "NodeUpdateNodeLabel", "1.27": "NodeLabelChange"},
    ),
    (
        "another label",
        pod("a", nodeSelector={"x": "y"}),
        {"update": labelled(x="z")},
        {"1.34": "", "1.27": "", "1.21": "NodeLabelChange"},
    ),
    (
        "the pod it wants to be near",
        pod("a", affinity=NEAR),
        {"create": pod("db", labels={"app": "db"})},
        {"1.34": "AssignedPodAdd", "1.27": "AssignedPodAdd"},
    ),
    (
        "some other pod",
        pod("a", affinity=NEAR),
        {"create": pod("web", labels={"app": "web"})},
        {"1.34": "", "1.27": ""},
    ),
    (
        "a pod that ends",
        pod("a", **BIG),
        {"delete": {"kind": "Pod", "name": "old", "namespace": "default"}},
        {"1.34": "AssignedPodDelete", "1.27": "AssignedPodDelete"},
    ),
    (
        "a new annotation of its own",
        pod("a", **BIG),
        {
            "patch": {
                "kind": "Pod",
                "name": "a",
                "namespace": "default",
                "patch": {"metadata": {"annotations": {"k": "v"}}},
            }
        },
        {"1.34": "", "1.27": "PodUpdate"},
    ),
]


@pytest.mark.parametrize("release", ["1.34", "1.27", "1.21"])
@pytest.mark.parametrize(("what", "waiting", "happens", "woken"), CASES, ids=[case[0] for case in CASES])
def test_what_wakes_a_pod(what: str, waiting: Raw, happens: Raw, woken: dict[str, str], release: str) -> None:
    played = Played(
        node("n1"),
        pod("old", on="n1"),
        waiting,
        timeline=[{"at": 20, **happens}],
        kubernetes=release,
        gracePeriods=False,
        until=25,
    )
    moves = [record.data["event"] for record in played.of("queue.moved", "a") if record.time == 20]
    label = woken.get(release, woken["1.27"])
    assert moves[:1] == ([label] if label else [])


def test_a_pod_that_is_given_to_another_scheduler_leaves_the_queue() -> None:
    given = {"at": 5, "update": pod("a", schedulerName="somebody-else", **BIG)}
    grow = {"at": 10, "update": node("n1", cpu="9")}
    played = Played(node("n1"), pod("a", **BIG), timeline=[given, grow])
    assert played.moves("a")[-1][:2] == (5, "gone")
    assert len(played.of("attempt")) == 1
