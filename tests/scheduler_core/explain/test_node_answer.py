"""Why a pod did not go to a node: rejected, not evaluated, or with a lower score."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scheduler_core.api.objects import decode_all
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.errors import InputError
from scheduler_core.explain import NodeAnswer, explain_node
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import node, pod

TAINTS = (("dedicated", "a", "NoSchedule"),)


def answer_for(wanted: str, *objects: Any, **more: Any) -> NodeAnswer:
    """Return the answer about the last pod, from the cluster before its cycle."""
    simulation, before = (Simulation(list(objects), pods=["default/new"], tie_break="name", **more) for _ in range(2))
    (trace,) = simulation.run()
    (decoded,) = decode_all([objects[-1]])
    return explain_node(trace, wanted, before, PodInfo(decoded, before.cluster.release))


def test_rejected_with_quantities_and_further_rejections() -> None:
    found = answer_for(
        "n1", node("n1", cpu="2", taints=TAINTS), node("n2"), pod("old", on="n1", requests={"cpu": "1500m"}),
        pod("new", requests={"cpu": "1"}),
    )  # fmt: skip
    assert (found.kind, found.point, found.plugin) == ("refused", "filter", "TaintToleration")
    assert found.sentence == (
        "n1 could take the pod after 2 changes: it has the untolerated taint dedicated=a:NoSchedule; "
        "it is short by 0.5 cpu (requests 1, 0.5 of 2 free)."
    )
    assert [one.plugin for one in found.objections] == ["TaintToleration", "NodeResourcesFit"]
    assert "requests 1, " in found.objections[1].detail


def test_not_evaluated_names_the_end_of_the_search_and_the_verdict() -> None:
    nodes = [node(f"n{i:03}", taints=TAINTS if i == 118 else ()) for i in range(120)]
    found = answer_for("n119", *nodes, pod("new"), percentage=0)
    assert found.kind == "not_evaluated"
    assert found.sentence == (
        "n119 was not evaluated: the search ended after 100 of 120 nodes, with 100 feasible nodes "
        "(percentageOfNodesToScore). It passes every Filter plugin."
    )
    assert (
        "n118 could take the pod after one change: it has the untolerated taint dedicated=a:NoSchedule"
        in answer_for("n118", *nodes, pod("new"), percentage=0).sentence
    )


def test_outscored_by_plugin() -> None:
    found = answer_for("n2", node("n1"), node("n2"), pod("old", on="n2", requests={"cpu": "2"}), pod("new"))
    assert (found.kind, found.point) == ("outscored", "score")
    assert found.duel is not None
    assert (found.duel.winner, found.duel.other) == ("n1", "n2")
    margin = found.duel.margin
    assert found.sentence == (
        f"n2 fits, but it is not the emptiest: n1 is {margin} ahead of n2 (NodeResourcesFit {margin})."
    )
    assert found.plugin == found.duel.differences[0].plugin


def test_tied_and_chosen() -> None:
    tied = answer_for("n2", node("n1"), node("n2"), pod("new"))
    assert (tied.kind, tied.sentence) == ("tied", "n2 fits and has the same total as n1: n1 was chosen by name.")
    chosen = answer_for("n1", node("n1"), node("n2"), pod("old", on="n2", requests={"cpu": "2"}), pod("new"))
    assert chosen.kind == "chosen"
    assert chosen.sentence.startswith("Placed on n1, the emptiest of 2 nodes that fit, ")


def test_a_node_without_the_resource_never_takes_the_pod() -> None:
    found = answer_for("n2", node("n1", more={"example.com/gpu": "1"}), node("n2", unschedulable=True),
                       pod("new", requests={"example.com/gpu": "1"}))  # fmt: skip
    assert found.sentence == "n2 cannot take the pod: it has no example.com/gpu."
    assert {one.words for one in found.objections} == {"is cordoned", "has no example.com/gpu"}


def test_excluded_by_prefilter() -> None:
    terms = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    found = answer_for("n2", node("n1"), node("n2"), pod("new", affinity=affinity))
    assert (found.kind, found.plugin) == ("refused", "NodeAffinity")
    assert found.sentence == "n2 cannot take the pod: it is not n1."


def test_outside_the_domain_of_a_pod_group() -> None:
    simulation = Simulation([node("n1"), node("n2"), pod("new")], tie_break="name")
    (trace,) = simulation.run()
    trace.subset = trace.placement = trace.feasible = np.array([0])
    found = explain_node(trace, "n2", names=["n1", "n2"])
    assert found.kind == "excluded"
    assert found.sentence == "n2 cannot take the pod: it is outside the domain that the pod's group was tried in."


def test_rejected_before_any_node() -> None:
    found = answer_for("n1", node("n1"), pod("new", schedulingGates=[{"name": "a"}]))
    assert (found.kind, found.point, found.plugin) == ("pod", "preenqueue", "SchedulingGates")
    assert found.sentence == "It waits until the scheduling gate a is removed."


def test_a_nominated_pod_tries_its_node_first() -> None:
    new = pod("new")
    new["status"] = {"nominatedNodeName": "n2"}
    assert answer_for("n1", node("n1"), node("n2"), new).sentence == (
        "n1 was not evaluated: only n2 was, because the pod is nominated to it and fits. It passes every Filter plugin."
    )


def test_a_change_that_places_the_pod_is_named() -> None:
    simulation = Simulation([node("n1"), node("n2"), pod("old", on="n2"), pod("new")], tie_break="name")
    simulation.scheduler.places["default/new"] = "n2"
    (trace,) = simulation.run()
    found = explain_node(trace, "n1", names=["n1", "n2"])
    assert "more points, but a change of the fork places the pod on n2" in found.sentence


def test_an_unknown_node_is_named() -> None:
    with pytest.raises(InputError, match="Node n9: does not exist at that timepoint"):
        answer_for("n9", node("n1"), pod("new"))
