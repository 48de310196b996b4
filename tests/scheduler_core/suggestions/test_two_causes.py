"""Pods that two causes keep from all nodes: the sentence names both, and each suggested fix does what it says."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest

from scheduler_core.explain.answer import Answer
from scheduler_core.explain.render import render
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.answers import answers_of
from tests.scheduler_core import build
from tests.scheduler_core.suggestions.applied_commands import placed_with

Raw = dict[str, Any]
PORT = {"containerPort": 80, "hostPort": 8080, "protocol": "TCP"}


def selector(nodes: list[Raw], running: list[Raw], pod: Raw) -> None:
    pod["spec"]["nodeSelector"] = {"disk": "ssd"}


def requests(name: str, amount: str) -> Callable[[list[Raw], list[Raw], Raw], None]:
    def plant(nodes: list[Raw], running: list[Raw], pod: Raw) -> None:
        pod["spec"]["containers"][0]["resources"]["requests"][name] = amount

    return plant


def taint(nodes: list[Raw], running: list[Raw], pod: Raw) -> None:
    for node in nodes:
        node["spec"]["taints"] = [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]


def host_port(nodes: list[Raw], running: list[Raw], pod: Raw) -> None:
    for one in (*running, pod):
        one["spec"]["containers"][0]["ports"] = [PORT]


def near(side: str, app: str) -> Callable[[list[Raw], list[Raw], Raw], None]:
    def plant(nodes: list[Raw], running: list[Raw], pod: Raw) -> None:
        term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": build.HOSTNAME}
        pod["spec"].setdefault("affinity", {})[side] = {build.REQUIRED: [term]}

    return plant


def spread(nodes: list[Raw], running: list[Raw], pod: Raw) -> None:
    selects = {"labelSelector": {"matchLabels": {"app": "web"}}, "whenUnsatisfiable": "DoNotSchedule"}
    pod["spec"]["topologySpreadConstraints"] = [{"maxSkew": 1, "topologyKey": "zome", **selects}]


def claim(nodes: list[Raw], running: list[Raw], pod: Raw) -> None:
    pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


def gate(nodes: list[Raw], running: list[Raw], pod: Raw) -> None:
    pod["spec"]["schedulingGates"] = [{"name": "example.com/quota"}]


def cordon(nodes: list[Raw], running: list[Raw], pod: Raw) -> None:
    for node in nodes:
        node["spec"]["unschedulable"] = True


PLANTED: dict[str, tuple[Callable[[list[Raw], list[Raw], Raw], None], str]] = {
    "selector": (selector, "disk=ssd"),
    "cpu": (requests("cpu", "9"), "cpu"),
    "memory": (requests("memory", "7Gi"), "memory"),
    "device": (requests("example.com/fpga", "1"), "example.com/fpga"),
    "taint": (taint, "dedicated=db"),
    "port": (host_port, "host port 8080/TCP"),
    "affinity": (near("podAffinity", "cache"), "near"),
    "anti-affinity": (near("podAntiAffinity", "run"), "away from"),
    "spread": (spread, "zome"),
    "claim": (claim, "PersistentVolumeClaim default/data"),
    "gate": (gate, "gate example.com/quota"),
    "cordon": (cordon, "cordoned"),
}
OTHER_WORDS = {"affinity": "required affinity", "cpu": "request of 9 cpu"}


def planted(*names: str) -> list[Raw]:
    nodes = [build.node(f"n{i}", zone=f"z{i}") for i in range(3)]
    usual = {"cpu": "1", "memory": "2Gi"}
    running = [build.pod(f"r{i}", on=f"n{i}", labels={"app": "run"}, requests=dict(usual)) for i in range(3)]
    pod = build.pod("p", labels={"app": "web"}, requests=dict(usual))
    for name in names:
        PLANTED[name][0](nodes, running, pod)
    return [*nodes, *running, pod]


def answer(objects: list[Raw]) -> Answer:
    simulation = Simulation(objects, release="1.34", preemption=False)
    list(simulation.run())
    (found,) = answers_of(simulation)
    return found.answer


@pytest.mark.parametrize("names", list(combinations(PLANTED, 2)), ids="-".join)
def test_both_causes_are_named_and_fixes_place_what_they_say(names: tuple[str, str]) -> None:
    found = answer(planted(*names))
    for name in names:
        assert PLANTED[name][1] in found.sentence or OTHER_WORDS.get(name, "-") in found.sentence, found.sentence
    for fix in found.fixes:
        shows = fix.command.startswith(("kubectl describe", "kubectl get nodes"))
        placed = placed_with(planted(*names), fix.changes, [found.pod]) if not shows else 0
        assert placed == fix.places, fix.text
        assert fix.places or shows or "this alone places no pod" in fix.remark, fix.text


def test_a_fix_of_two_changes_says_both() -> None:
    """The node that the selector wants does not exist, and the request exceeds every node."""
    (first,) = answer(planted("selector", "cpu")).fixes
    assert first.text == (
        "request 3 cpu instead of 9 (no node has more than 4), which n0 has left and label node n0 disk=ssd"
    )
    assert (first.kind, first.places) == ("requests", 1)
    assert first.command.startswith("kubectl label node n0 --overwrite disk=ssd && kubectl get pod p")


def test_two_changes_of_a_node() -> None:
    (first,) = answer(planted("selector", "cordon")).fixes
    assert first.text == "uncordon n0 and label node n0 disk=ssd"
    assert first.command == "kubectl uncordon n0 && kubectl label node n0 --overwrite disk=ssd"


def test_a_fix_that_places_no_pod_says_what_is_left() -> None:
    found = answer(planted("gate", "claim"))
    assert found.sentence == (
        "It waits until the scheduling gate example.com/quota is removed. "
        "Even then, its PersistentVolumeClaim default/data does not exist. 3 nodes could take it then (n0, n1, n2)."
    )
    assert [(rung.changes, rung.text) for rung in found.ladder] == [(2, "3 nodes could take the pod after admission")]
    (first,) = found.fixes
    assert first.remark.endswith("this alone places no pod: Its PersistentVolumeClaim default/data does not exist")


def test_what_a_removal_of_a_gate_by_hand_does() -> None:
    nodes = [build.node("n1")]
    remarks = {
        "example.com/quota": "a removal by hand bypasses this",
        "kueue.x-k8s.io/topology": "a removal by hand bypasses this",
        "kueue.x-k8s.io/admission": "Kueue deletes the pod if it is removed by hand before",
    }
    for name, remark in remarks.items():
        (first,) = answer([*nodes, build.pod("p", schedulingGates=[{"name": name}])]).fixes
        assert first.remark.endswith(remark)


@pytest.mark.parametrize(
    ("cause", "words"),
    [("gate", "3 nodes could take the pod after admission"), ("claim", "3 nodes could take the pod then")],
)
def test_no_node_takes_a_pod_now_that_waits_for_something_else(cause: str, words: str) -> None:
    found = answer(planted(cause))
    assert [(rung.changes, rung.text) for rung in found.ladder] == [(1, words)]
    assert words.endswith(f"could take the pod {found.ladder[0].when}")
    assert "the pod now" not in render(found)
