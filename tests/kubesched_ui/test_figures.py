"""Figures are plain JSON that Plotly's schema would take, of data given."""

import json
from typing import Any

from kubesched_ui import figures
from kubesched_ui.cycleview import score_rows


def pods(count: int, result: str = "scheduled") -> list[dict[str, Any]]:
    names = [{"position": i, "namespace": "d", "name": f"p{i}"} for i in range(count)]
    return [pod | {"result": result, "score": i + 1 if result == "scheduled" else None} for i, pod in enumerate(names)]


def test_score_bars_stack_to_the_totals_best_on_top() -> None:
    scored = {"P": {"weight": 2, "raw": {"a": 3, "b": 4}, "normalized": {"a": 30, "b": 40}}}
    figure = figures.score_bars(score_rows({"score": scored, "total": {"a": 60, "b": 80}, "selected": "b"}))
    assert figure["layout"]["barmode"] == "stack"
    assert figure["layout"]["yaxis"]["ticktext"] == ["a", "b ★"]
    assert figure["layout"]["yaxis"]["tickvals"] == figure["data"][0]["y"] == [0, 1]
    assert figure["data"][0]["x"] == [60, 80]
    assert figure["data"][0]["customdata"] == [[3, 30, 2], [4, 40, 2]]


def test_nodes_with_long_names_of_one_beginning_have_a_bar_each_and_labels_that_differ() -> None:
    names = [f"gke-production-europe-west1-pool-standard-{i}" for i in range(3)]
    part = {"weight": 1, "raw": dict.fromkeys(names, 5), "normalized": dict.fromkeys(names, 50)}
    rows = score_rows({"score": {"P": part}, "total": dict.fromkeys(names, 50), "selected": names[0]})
    figure = figures.score_bars(rows)
    assert len(set(figure["data"][0]["y"])) == 3
    assert len(set(figure["layout"]["yaxis"]["ticktext"])) == 3
    assert set(figure["data"][0]["text"]) == set(names)


def test_score_bars_of_nothing() -> None:
    assert figures.score_bars([])["data"] == []


def test_timeline_has_a_bar_a_pod_with_its_address() -> None:
    figure = figures.timeline(pods(3) + pods(2, "unschedulable"), lambda pod: f"/x/{pod['name']}")
    assert [trace["name"] for trace in figure["data"]] == ["placed", "no node"]
    assert figure["data"][0]["customdata"] == ["/x/p0", "/x/p1", "/x/p2"]
    assert all(height < 0 for height in figure["data"][1]["y"])


def test_timeline_of_many_pods_counts_each_once() -> None:
    many = pods(7001) + pods(2999, "unschedulable")
    figure = figures.timeline(many, lambda pod: "")
    assert sum(sum(trace["y"]) for trace in figure["data"]) == len(many)
    assert all(len(trace["x"]) <= 400 for trace in figure["data"])


def test_utilisation_merges_columns_beyond_its_bound() -> None:
    names = [f"n{i}" for i in range(2500)]
    figure = figures.utilisation(names, [("cpu", [50.0] * 2500), ("pods", [10.0] * 2500)], lambda name: f"/n/{name}")
    heat = figure["data"][0]
    assert len(heat["x"]) <= 1000
    assert {value for row in heat["z"] for value in row} == {50.0, 10.0}
    assert len(heat["customdata"][0]) == len(heat["x"])


def test_figures_are_json() -> None:
    for figure in (figures.timeline(pods(2), lambda pod: ""), figures.utilisation(["a"], [("cpu", [1])], str)):
        assert json.loads(json.dumps(figure)) == figure
