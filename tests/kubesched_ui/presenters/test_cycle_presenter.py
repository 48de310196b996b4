"""Presenter of a cycle: small cycles by hand, and invariants on every conformance case."""

from collections.abc import Iterator
from typing import Any

import pytest

from kubesched_ui.presenters.cycle_presenter import (
    ALSO,
    HOT,
    LATE,
    OLD_POINTS,
    PASS,
    decisive_point,
    duel,
    matrix,
    preemption,
    score_rows,
    steps,
)
from tests.conformance import golden_decisions, golden_sets


def status(plugin: str, *reasons: str) -> dict[str, Any]:
    return {"plugin": plugin, "code": "Unschedulable", "reasons": list(reasons)}


CYCLE = {
    "filter": {"b": status("NodeName", "no"), "c": status("NodeName", "no"), "d": status("NodeResourcesFit", "full")},
    "filter_all": {
        "b": {"NodeName": status("", "no"), "NodeResourcesFit": status("", "full")},
        "c": {"NodeName": status("", "no"), "NodeResourcesFit": status("", "full")},
        "d": {"NodeResourcesFit": status("", "full")},
    },
    "filter_order": ["NodeName", "NodeResourcesFit", "InterPodAffinity"],
    "feasible": ["a"],
    "selected": "a",
}


def golden() -> Iterator[tuple[list[str], dict[str, Any]]]:
    """Yield (nodes, cycle) of the conformance cases. Those of 1.16 have no plugins."""
    for name in golden_sets():
        if name.startswith("v1.") and name != "v1.16":
            for case in golden_decisions(name).values():
                yield from ((case["node_order"], cycle) for cycle in case["cycles"])


def test_the_matrix_groups_nodes_of_equal_verdicts() -> None:
    groups = matrix(CYCLE, ["a", "b", "c", "d", "e"]).groups
    assert [(g.state, g.nodes) for g in groups] == [
        ("feasible", ["a"]),
        ("refused", ["b", "c"]),
        ("refused", ["d"]),
        ("unseen", ["e"]),
    ]
    assert groups[0].chosen
    assert [[cell.kind for cell in g.cells] for g in groups[:3]] == [
        [PASS, PASS, PASS],
        [HOT, ALSO, LATE],
        [PASS, HOT, LATE],
    ]


def test_matrix_counts() -> None:
    found = matrix(CYCLE, ["a", "b", "c", "d", "e"])
    assert (found.feasible, found.refused, found.looked_at, found.nodes) == (1, 3, 4, 5)


def test_invariants_of_every_case() -> None:
    """Each node is in one group, scores add up to totals, and differences to the margin between two nodes."""
    cases, rows, duels = 0, 0, 0
    for nodes, cycle in golden():
        cases += 1
        found = matrix(cycle, nodes)
        assert sorted(name for group in found.groups for name in group.nodes) == sorted(nodes)
        refused = {name for group in found.groups if group.state == "refused" for name in group.nodes}
        assert refused == set(cycle["filter"])
        for group in found.groups:
            hot = [cell.plugin for cell in group.cells if cell.kind == HOT]
            assert hot == ([group.plugin] if group.plugin else [])
        scored = score_rows(cycle)
        rows += len(scored)
        assert all(sum(cell.weighted for cell in row.cells) == row.total for row in scored)
        if match := duel(scored):
            duels += 1
            assert sum(difference for _, _, difference, _ in match.lines) == match.margin >= 0
            assert match.node == cycle["selected"]
    assert cases
    assert rows
    assert duels


def test_comparison_with_another_node() -> None:
    scored = {"weight": 2, "raw": {"a": 9, "b": 8, "c": 1}, "normalized": {"a": 9, "b": 8, "c": 1}}
    rows = score_rows({"score": {"P": scored}, "total": {"a": 18, "b": 16, "c": 2}, "selected": "a"})
    assert [(m.other, m.margin) for m in (duel(rows), duel(rows, "c"), duel(rows, "gone")) if m] == [
        ("b", 2),
        ("c", 16),
        ("b", 2),
    ]


@pytest.mark.parametrize(
    ("cycle", "result", "point", "state"),
    [
        ({"preenqueue": status("SchedulingGates")}, "gated", "preenqueue", "reject"),
        ({"preenqueue": status("SchedulingGates")}, "gated", "filter", "none"),
        ({"prefilter": status("VolumeBinding")}, "unschedulable", "prefilter", "reject"),
        (CYCLE, "scheduled", "filter", "pass"),
        (CYCLE, "scheduled", "score", "skip"),
        (CYCLE, "scheduled", "postbind", "pass"),
        ({"filter": CYCLE["filter"], "feasible": []}, "unschedulable", "filter", "reject"),
        (CYCLE | {"reserve": status("VolumeBinding")}, "unschedulable", "reserve", "reject"),
        (CYCLE | {"reserve": status("VolumeBinding")}, "unschedulable", "bind", "none"),
        (CYCLE | {"prebind": status("VolumeBinding")}, "unschedulable", "permit", "pass"),
        (CYCLE, "waiting", "permit", "wait"),
        (CYCLE, "waiting", "bind", "none"),
    ],
)
def test_steps(cycle: dict[str, Any], result: str, point: str, state: str) -> None:
    assert {step.key: step.state for step in steps(cycle, result, 5)}[point] == state


def test_steps_after_the_cycle_are_included() -> None:
    after = {"permit": ("pass", "after 20 s"), "bind": ("pass", "a"), "postbind": ("pass", "")}
    found = {step.key: (step.state, step.figure) for step in steps(CYCLE, "waiting", 5, after)}
    assert found["permit"] == ("pass", "after 20 s")
    assert found["reserve"] == ("pass", "")
    assert found["postbind"] == ("pass", "")


def test_the_first_panel_to_open() -> None:
    assert decisive_point(CYCLE, "waiting") == "permit"
    assert decisive_point({"preenqueue": status("SchedulingGates")}, "gated") == "preenqueue"
    assert decisive_point(CYCLE, "scheduled") == "filter"
    assert decisive_point(CYCLE | {"total": {"a": 1}}, "scheduled") == "score"


def test_preemption_lists_the_nominated_node_first() -> None:
    candidates = {
        "a": {"victims": ["x/1", "x/2"], "pdb_violations": 0},
        "b": {"victims": ["x/3"], "pdb_violations": 1},
        "c": {"victims": ["x/4"], "pdb_violations": 0},
    }
    cycle = {
        "postfilter": {"nominated_node": "c", "candidates": candidates, "rejected": {"d": status("NodeName", "no")}}
    }
    found = preemption(cycle, {"x/1": 5, "x/2": 1, "x/3": 0, "x/4": 2})
    assert found
    assert [c.node for c in found.candidates] == ["c", "a", "b"]
    assert [c.highest for c in found.candidates] == [2, 5, 0]
    assert found.rejected == [("NodeName", "no", ["d"])]


def test_only_candidate() -> None:
    cycle = {"postfilter": {"nominated_node": "a", "candidates": {"a": {"victims": ["x/1"], "pdb_violations": 0}}}}
    found = preemption(cycle, {})
    assert found
    assert found.rule == "the only candidate"
    assert found.candidates[0].highest is None
    assert preemption({}, {}) is None


def test_releases_without_a_framework_have_other_points() -> None:
    found = steps(CYCLE, "scheduled", 5, points=OLD_POINTS)
    assert [step.label for step in found] == ["Predicates", "Preemption", "Priorities", "Assume", "Bind"]
