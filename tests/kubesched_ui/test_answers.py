"""The sentence that a pod page begins with."""

from typing import Any

import pytest

from kubesched_ui.answers import agree, answer, listing, phrase
from kubesched_ui.cycleview import matrix


def status(plugin: str, *reasons: str) -> dict[str, Any]:
    return {"plugin": plugin, "code": "Unschedulable", "reasons": list(reasons)}


def say(cycle: dict[str, Any], result: str, nodes: list[str], **more: Any) -> str:
    return answer(cycle, result, matrix(cycle, nodes), **more)


def scores(**totals: int) -> dict[str, Any]:
    """A cycle in which NodeResourcesFit gave these scores, with weight 1."""
    raw = {"weight": 1, "raw": totals, "normalized": totals}
    return {"feasible": list(totals), "score": {"NodeResourcesFit": raw}, "total": totals}


def test_winner_runner_up_and_the_plugin_that_decided() -> None:
    cycle = scores(n3=80, n7=43) | {"selected": "n3", "best": ["n3"]}
    assert (
        say(cycle, "scheduled", ["n3", "n7"])
        == "Placed on n3 with 80, 37 ahead of n7, because of NodeResourcesFit (+37)."
    )


@pytest.mark.parametrize(("tie_break", "how"), [("name", "by name"), ("seed", "by the run's seed")])
def test_tie(tie_break: str, how: str) -> None:
    cycle = scores(a=5, b=5, c=1) | {"selected": "a", "best": ["a", "b"]}
    said = say(cycle, "scheduled", ["a", "b", "c"], tie_break=tie_break)
    assert said == f"Placed on a with 5, the same as 1 other node; chosen {how}."


def test_only_one_node_fits() -> None:
    cycle = {
        "feasible": ["a"],
        "selected": "a",
        "filter": {"b": status("NodeUnschedulable", "node(s) were unschedulable")},
    }
    assert say(cycle, "scheduled", ["a", "b"]) == "Placed on a, the only one that fits: 1 is cordoned."


def test_no_node_fits_names_the_closest() -> None:
    lack = {f"n{i}": status("NodeResourcesFit", "Insufficient cpu") for i in range(5)}
    taint = {f"m{i}": status("TaintToleration", "node(s) had untolerated taint {dedicated: a}") for i in range(4)}
    cycle = {"feasible": [], "filter": lack | taint}
    said = say(cycle, "unschedulable", [*lack, *taint], closest=lambda nodes: f"{nodes[-1]}, short by 250m cpu")
    assert said == "No node fits: 5 lack cpu (closest: n4, short by 250m cpu), 4 refuse it by taint dedicated=a."


def test_preemption_makes_room() -> None:
    found = {"status": {"code": "Success"}, "nominated_node": "a", "candidates": {"a": {"victims": ["x/y"]}}}
    cycle = {"feasible": [], "filter": {"a": status("NodeResourcesFit", "Insufficient cpu")}, "postfilter": found}
    said = say(cycle, "unschedulable", ["a"])
    assert said.endswith("It will get room on a by evicting 1 pod.")


def test_may_not_preempt() -> None:
    refused = {"status": status("DefaultPreemption", "preemption: not eligible due to preemptionPolicy=Never.")}
    cycle = {"feasible": [], "filter": {"a": status("NodeResourcesFit", "Insufficient cpu")}, "postfilter": refused}
    assert say(cycle, "unschedulable", ["a"]).endswith("It may not preempt: preemptionPolicy=Never.")


@pytest.mark.parametrize(
    ("cycle", "result", "said"),
    [
        (
            {"preenqueue": status("SchedulingGates", "waiting")},
            "gated",
            "Not queued: SchedulingGates holds it back (waiting).",
        ),
        (
            {"prefilter": status("VolumeBinding", "no claim")},
            "unschedulable",
            "VolumeBinding refused the pod before any node",
        ),
        ({"error": "it broke"}, "error", "The cycle ended in an error: it broke"),
        (
            {"selected": "a", "reserve": status("VolumeBinding", "taken")},
            "unschedulable",
            "a was chosen, but VolumeBinding",
        ),
        ({}, "unschedulable", "There are no nodes to place it on."),
    ],
)
def test_other_ends(cycle: dict[str, Any], result: str, said: str) -> None:
    assert say(cycle, result, []).startswith(said)


def test_many_reasons_are_summed_up() -> None:
    cycle = {"feasible": [], "filter": {f"n{i}": status("X", f"reason {i}") for i in range(9)}}
    assert say(cycle, "unschedulable", list(cycle["filter"])).endswith("5 for 5 other reasons.")


def test_phrases() -> None:
    assert (
        phrase(["Insufficient cpu", "Insufficient memory", "Too many pods"])
        == "lack cpu, memory and room for another pod"
    )
    assert phrase(["node(s) had untolerated taint {a: }"]) == "refuse it by taint a"
    assert phrase(["something new"]) == "refuse it (something new)"
    assert agree(1, "lack cpu") == "lacks cpu"
    assert agree(1, "would break it") == "would break it"
    assert agree(2, "lack cpu") == "lack cpu"
    assert listing(["a", "b", "c"]) == "a, b and c"
