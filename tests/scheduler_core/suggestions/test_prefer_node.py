"""Fixes that make a node the only best one: proved against every other node; ties are named."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.prefer_node import PreferNode, prefer_node
from tests.scheduler_core.recording.core_states import Raw, core_state, params, simulation_of_case
from tests.scheduler_core.suggestions.small_clusters import DEDICATED, node, pod
from tests.scheduler_core.suggestions.suggestion_checks import check_wins, unplaced


@pytest.mark.parametrize("case", [*params("v1.34")[::20], *params("v1.27")[::20]])
def test_each_fix_makes_the_node_the_only_best_one_and_is_minimal(case: Raw) -> None:
    for trace, again in list(unplaced(simulation_of_case(case), "scheduled"))[:2]:
        rewound = again()
        before = core_state(rewound.cluster, set(), set())
        for name in list(rewound.cluster.nodes.names)[:2]:
            winning = prefer_node(rewound, trace.pod, name)
            assert core_state(rewound.cluster, set(), set()) == before, "the search leaves the cluster as it is"
            goes = winning.goes_there and not winning.tied
            assert winning.fixes or goes or winning.answer.kind == "refused", f"{trace.pod} to {name}"
            check_wins(again, trace.pod, name, winning.fixes)


def fixes(wanted: str, *objects: Raw, **settings: Any) -> PreferNode:
    """Return and check the fixes that move the last pod there."""
    simulation = Simulation(list(objects), pods=["default/web"], **{"tie_break": "name"} | settings)
    trace, again = next(iter(unplaced(simulation, "scheduled", "unschedulable")))
    found = prefer_node(again(), trace.pod, wanted)
    check_wins(again, trace.pod, wanted, found.fixes)
    return found


def test_a_tie_names_what_decided_it() -> None:
    found = fixes("b", node("a"), node("b"), node("c", cpu="1"), pod())
    assert (found.goes_there, found.tied) == (False, ["a"])
    assert found.answer.sentence == "b fits and has the same total as a: a was chosen by name."
    assert found.fixes, "what has it win outright"
    found = fixes("a", node("a"), node("b"), node("c", cpu="1"), pod())
    assert (found.goes_there, found.tied) == (True, ["b"])
    assert found.answer.sentence.endswith(", equal with b, decided by name.")
    assert found.fixes, "it went there, but not by its points"


def test_the_only_best_node_needs_no_fix() -> None:
    found = fixes("a", node("a"), node("b"), pod("other", on="b"), pod())
    assert (found.goes_there, found.tied, found.fixes) == (True, [], [])
    assert found.answer.sentence.startswith("Placed on a, the emptiest of 2 nodes that fit, ")


def test_the_seed_of_the_attempt_decides() -> None:
    """The attempt selects between two equal nodes, so it decides the fixes."""
    simulation = Simulation([node("a"), node("b"), pod()], seed=3, tie_break="seed")
    framework = simulation.scheduler.profiles["default-scheduler"]
    notes = set()
    for attempt in range(1, 9):
        framework.picker.begin("default/web", attempt)
        chosen = framework.picker.pick(["a", "b"])
        found = prefer_node(simulation, "default/web", "a", attempt=attempt)
        assert found.goes_there == (chosen == "a")
        notes.add(found.answer.sentence)
    assert notes == {
        "a fits and has the same total as b: b was chosen by the run's seed.",
        "Placed on a, one of 2 nodes that fit, all with the same total, decided by the run's seed.",
    }


def test_a_full_node_needs_a_smaller_request_or_fewer_pods() -> None:
    found = fixes("a", node("a", cpu="1"), node("b"), pod("e", "100m", on="a"), pod(cpu="2"))
    assert found.fixes[0].text.startswith("request 0.9 cpu instead of 2, which a has left")
    full = node("a", cpu="1")
    full["status"]["allocatable"]["pods"] = "1"
    (freed,) = fixes("a", full, node("b"), pod("e", "100m", on="a"), pod(cpu="2")).fixes
    assert (freed.text, freed.places) == ("free 1.1 cpu and a pod slot on a", 0)


def test_a_resource_that_the_profile_ignores_is_not_short() -> None:
    args = {"ignoredResources": ["example.com/gpu"]}
    config = {"profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}]}
    wants = pod(cpu="4")
    wants["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = "1"
    found = fixes("a", node("a"), node("b"), pod("e", on="a"), wants, config=config)
    assert "gpu" not in found.fixes[0].text


def test_a_taint_is_tolerated_and_the_node_preferred() -> None:
    found = fixes("b", node("a"), node("b", taints=(DEDICATED,)), pod())
    assert found.answer.sentence.startswith("b could take the pod after one change: it has the untolerated taint ")
    assert found.fixes[0].text == "tolerate taint dedicated=db:NoSchedule and prefer b in the node affinity (weight 1)"


def test_a_node_that_is_not_evaluated_is_selected() -> None:
    """Enough nodes were found before it. The fix requires this node."""
    many = [node(f"n{i:03}") for i in range(120)]
    small = pod(cpu="1")
    simulation = Simulation([*many, small], tie_break="name", percentage=0)
    trace, again = next(iter(unplaced(simulation, "scheduled", percentage=0)))
    assert trace.looked is not None
    assert not trace.looked[119]
    found = prefer_node(again(), trace.pod, "n119")
    assert found.fixes[0].text == "select kubernetes.io/hostname=n119"
    check_wins(again, trace.pod, "n119", found.fixes)


def test_no_plugin_is_left_out_for_a_node_that_the_profile_excludes() -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "Exists"}]}]}
    args = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    config = {"profiles": [{"pluginConfig": [{"name": "NodeAffinity", "args": args}]}]}
    known = node("a")
    known["metadata"]["labels"]["kubernetes.io/arch"] = "amd64"
    found = fixes("b", known, node("b"), pod("e", on="b"), pod(), config=config)
    assert not any("leave" in remedy.text for remedy in found.fixes)


def test_a_node_without_a_hostname_is_preferred_by_name() -> None:
    plain = node("b")
    del plain["metadata"]["labels"]["kubernetes.io/hostname"]
    found = fixes("b", node("a"), plain, pod("e", on="b"), pod())
    assert found.fixes[0].text == "prefer b in the node affinity (weight 1)"
