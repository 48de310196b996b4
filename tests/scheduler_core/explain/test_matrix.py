"""The matrix of nodes and plugins, the extension points and the preemption of recorded cycles."""

import numpy as np
import pytest

from scheduler_core.cycle.trace import CycleTrace, PostFilterTrace
from scheduler_core.explain.matrix import ALSO, DECISIVE, LATE, NOT_EVALUATED, PASSES, matrix_of
from scheduler_core.explain.points import decisive_point, point_results
from scheduler_core.explain.preemption import in_order, preemption_of, rejected_nodes
from scheduler_core.explain.scores import against, best_places, ranking
from scheduler_core.framework.interface import UNRESOLVABLE, UNSCHEDULABLE, Status, Verdict
from scheduler_core.framework.score_columns import Score

NODES = ["a", "b", "c", "d", "e"]
NO, FULL = Status(UNSCHEDULABLE, ("no",)), Status(UNSCHEDULABLE, ("full",))


def rows(*numbers):
    return np.array(numbers, np.intp)


def verdict(*codes, statuses):
    return Verdict(np.array(codes, np.uint16), statuses)


def cycle(**more):
    """Return a cycle in which a is chosen, b and c have a wrong name and are full, d is full, e is not evaluated."""
    verdicts = {
        "NodeName": verdict(0, 1, 1, 0, 0, statuses=(NO,)),
        "NodeResourcesFit": verdict(0, 1, 1, 1, 1, statuses=(FULL,)),
        "InterPodAffinity": Verdict(),
    }
    fields = {"nodes": 5, "verdicts": verdicts, "looked": np.array([1, 1, 1, 1, 0], np.bool_), "feasible": rows(0)}
    fields |= {"node": "a", "selected_row": 0, "result": "scheduled"}
    return CycleTrace("x/p", **(fields | more))


def test_nodes_of_equal_verdicts_are_one_group():
    found = matrix_of(cycle(), NODES)
    assert [(g.state, g.plugin, g.nodes, g.chosen) for g in found.groups] == [
        ("feasible", "", ["a"], True),
        ("refused", "NodeName", ["b", "c"], False),
        ("refused", "NodeResourcesFit", ["d"], False),
        ("unseen", "", ["e"], False),
    ]
    assert [[cell.kind for cell in g.cells] for g in found.groups] == [
        [PASSES, PASSES, PASSES],
        [DECISIVE, ALSO, LATE],
        [PASSES, DECISIVE, LATE],
        [NOT_EVALUATED, ALSO, NOT_EVALUATED],
    ]
    assert (found.feasible, found.looked_at, found.nodes) == (1, 4, 5)


def test_statuses_that_differ_in_their_code_are_two_groups():
    """Preemption helps on one node and not on the other."""
    statuses = FULL, Status(UNRESOLVABLE, ("full",))
    trace = CycleTrace("x/p", nodes=3, verdicts={"NodeResourcesFit": verdict(1, 2, 1, statuses=statuses)})
    groups = matrix_of(trace, NODES[:3]).groups
    assert [(g.code, g.nodes) for g in groups] == [(UNSCHEDULABLE, ["a", "c"]), (UNRESOLVABLE, ["b"])]


def test_nodes_that_prefilter_left_out():
    trace = cycle(looked=None, subset=rows(0, 3), subset_status=Status(UNRESOLVABLE, ("elsewhere",)))
    found = matrix_of(trace, NODES)
    assert [(g.plugin, g.reasons, g.nodes) for g in found.groups] == [
        ("", (), ["a"]),
        ("", ("elsewhere",), ["b", "c"]),
        ("", ("elsewhere",), ["e"]),
        ("NodeResourcesFit", ("full",), ["d"]),
    ]
    assert found.looked_at == 5


def test_nodes_outside_the_placement_of_a_group():
    found = matrix_of(cycle(looked=None, subset=rows(0, 1), placement=rows(0, 1)), NODES)
    assert [(g.state, g.heading, g.nodes) for g in found.groups] == [
        ("feasible", "fit the pod", ["a"]),
        ("refused", "no", ["b"]),
        ("unseen", "are outside the domain that its group was tried in", ["c", "d", "e"]),
    ]
    assert found.groups[2].cells[0].kind == NOT_EVALUATED


def test_an_error_leaves_no_verdicts():
    found = matrix_of(cycle(error="boom", node="", feasible=rows()), NODES)
    assert [(g.state, g.nodes) for g in found.groups] == [("unseen", NODES)]


@pytest.mark.parametrize(
    ("more", "points", "decisive"),
    [
        ({"preenqueue": Status(UNRESOLVABLE, (), "SchedulingGates"), "result": "gated"}, ["preenqueue"], "preenqueue"),
        (
            {"prefilter": Status(UNRESOLVABLE, (), "VolumeBinding"), "feasible": rows(), "result": "unschedulable"},
            ["preenqueue", "prefilter"],
            "prefilter",
        ),
        (
            {"feasible": rows(), "node": "", "result": "unschedulable", "postfilter": PostFilterTrace(NO)},
            ["preenqueue", "prefilter", "filter", "postfilter"],
            "filter",
        ),
        ({"result": "waiting", "permit_waits": {"P": 9.0}}, ["reserve", "permit"], "permit"),
        ({"result": "unschedulable", "reserve": NO}, ["reserve"], "reserve"),
        ({"result": "unschedulable", "prebind": NO}, ["reserve", "permit", "prebind"], "prebind"),
        ({}, ["reserve", "permit", "prebind", "bind", "postbind"], "filter"),
        ({"group": "x/g", "result": "unschedulable"}, ["reserve", "permit"], "permit"),
        ({"group": "x/g", "result": "unschedulable", "nominated_node": "a"}, ["reserve", "permit"], "permit"),
    ],
)
def test_points_end_where_the_cycle_ended(more, points, decisive):
    results = point_results(cycle(**more))
    if points[0] == "reserve":
        points = ["preenqueue", "prefilter", "filter", "prescore", "score", *points]
    assert list(results) == points
    assert decisive_point(results) == decisive


def scored(**more):
    columns = {"P": Score(2, np.array([9, 8, 1]), np.array([9, 8, 1])), "Q": Score(1, *[np.array([1, 3, 17])] * 2)}
    return cycle(feasible=rows(0, 1, 2), verdicts={}, looked=None, made_scores=columns, **more)


def test_scores_of_a_cycle():
    trace = scored()
    assert [(one.node, one.total) for one in ranking(trace, NODES, None)] == [("a", 19), ("b", 19), ("c", 19)]
    assert point_results(trace)["score"] == ("pass", "best 19")
    assert decisive_point(point_results(trace)) == "score"
    chosen = scored(node="c", selected_row=2)
    assert best_places(chosen, NODES) == [2, 0, 1]
    assert best_places(chosen, NODES, undecided=True) == [0, 1, 2]


def test_comparison_with_another_node():
    trace = scored()
    found = [against(trace, NODES), against(trace, NODES, "c"), against(trace, NODES, "gone")]
    assert [(one.other, one.margin, one.totals) for one in found] == [
        ("b", 0, (19, 19)),
        ("c", 0, (19, 19)),
        ("b", 0, (19, 19)),
    ]
    assert [one.difference for one in found[1].differences] == [16, -16]
    assert against(cycle(), NODES) is None


def test_preemption_lists_the_nominated_node_first():
    candidates = {"a": (["x/1", "x/2"], 0), "b": (["x/3"], 1), "c": (["x/4"], 0)}
    post = PostFilterTrace(NO, "c", candidates, [(NO.by("NodeName"), rows(3))], rule="fewest victims")
    trace = cycle(feasible=rows(), node="", postfilter=post, victims=["x/4"])
    found = preemption_of(trace)
    assert [one.node for one in in_order(found, {"x/1": 5, "x/2": 1, "x/3": 0, "x/4": 2})] == ["c", "a", "b"]
    assert rejected_nodes(trace, NODES) == [("NodeName", "no", ["d"])]
    assert (found.nominated_node, found.victims, found.rule) == ("c", ["x/4"], "fewest victims")


def test_one_candidate_needs_no_rule():
    found = preemption_of(cycle(postfilter=PostFilterTrace(NO, "a", {"a": (["x/1"], 0)})))
    assert found.rule == "the only candidate"
    assert preemption_of(cycle()) is None
