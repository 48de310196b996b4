"""Figures are plain JSON, of data given."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesched_ui.reading import figures
from kubesched_ui.reading.cycleview import score_rows


def pods(count: int, result: str = "scheduled") -> list[dict[str, Any]]:
    names = [{"position": i, "namespace": "d", "name": f"p{i}"} for i in range(count)]
    return [pod | {"result": result, "score": i + 1 if result == "scheduled" else None} for i, pod in enumerate(names)]


def test_score_bars_stack_to_the_totals_best_on_top() -> None:
    scored = {"P": {"weight": 2, "raw": {"a": 3, "b": 4}, "normalized": {"a": 30, "b": 40}}}
    scored["Q"] = {"weight": 1, "raw": {"a": 0, "b": 0}, "normalized": {"a": 60, "b": 0}}
    figure = figures.score_bars(score_rows({"score": scored, "total": {"a": 120, "b": 80}, "selected": "a"}))
    assert [(row["node"], row["total"], row["chosen"]) for row in figure["rows"]] == [
        ("a", 120, True),
        ("b", 80, False),
    ]
    assert [part["width"] for part in figure["rows"][0]["parts"]] == [50, 50]
    assert [part["title"] for part in figure["rows"][1]["parts"]] == ["P: 80 (raw 4, normalised 40, weight 2)"]
    assert figure["rows"][1]["parts"][0]["width"] == pytest.approx(200 / 3)
    assert [plugin for plugin, _ in figure["plugins"]] == ["P", "Q"]


def test_nodes_with_long_names_of_one_beginning_have_a_bar_each_and_labels_that_differ() -> None:
    names = [f"gke-production-europe-west1-pool-standard-{i}" for i in range(3)]
    part = {"weight": 1, "raw": dict.fromkeys(names, 5), "normalized": dict.fromkeys(names, 50)}
    rows = score_rows({"score": {"P": part}, "total": dict.fromkeys(names, 50), "selected": names[0]})
    figure = figures.score_bars(rows)
    assert len({row["label"] for row in figure["rows"]}) == 3
    assert {row["node"] for row in figure["rows"]} == set(names)


def test_score_bars_of_nothing() -> None:
    assert figures.score_bars([]) == {"plugins": [], "rows": []}


def timeline(given: list[dict[str, Any]]) -> figures.Bars:
    return figures.timeline(given, lambda pod: f"/x/{pod['name']}", lambda before: f"/from/{before}")


def test_timeline_has_a_column_a_pod_with_its_address() -> None:
    figure = timeline(pods(3) + pods(2, "unschedulable"))
    assert figure["scores"] == [1, 2, 3, None, None]
    assert figure["rows"] == [
        {"name": "placed", "kind": "scheduled", "shares": [1, 1, 1, 0, 0]},
        {"name": "no node", "kind": "unschedulable", "shares": [0, 0, 0, 1, 1]},
    ]
    assert figure["address"][:3] == ["/x/p0", "/x/p1", "/x/p2"]
    assert figure["text"][2:4] == ["d/p2: placed, score 3", "d/p0: no node"]


def test_a_pod_that_was_not_scored_has_no_score() -> None:
    only = {"position": 0, "namespace": "d", "name": "p", "result": "scheduled", "score": None}
    figure = timeline([only])
    assert figure["scores"] == [None]
    assert figure["text"] == ["d/p: placed, not scored: one node fitted"]


@given(st.lists(st.tuples(st.sampled_from(sorted(figures.NAMES)), st.none() | st.integers(0, 10**6)), max_size=900))
def test_timeline_of_any_run_invents_nothing(outcomes: list[tuple[str, int | None]]) -> None:
    given_pods = [
        {"position": i, "namespace": "d", "name": f"p{i}", "result": result, "score": score}
        for i, (result, score) in enumerate(outcomes)
    ]
    figure = timeline(given_pods)
    assert figure["pods"] == len(given_pods)
    columns, size = len(figure["scores"]), figure["size"]
    assert columns <= 300
    assert (columns - 1) * size < len(given_pods) <= columns * size or not given_pods
    assert len(figure["text"]) == len(figure["address"]) == columns
    for row in figure["rows"]:
        assert sum(row["shares"]) * size == pytest.approx(sum(result == row["kind"] for result, _ in outcomes))
    scores = [score for _, score in outcomes if score is not None]
    for shown in figure["scores"]:
        assert shown is None or min(scores) <= shown <= max(scores)


def test_timeline_of_many_pods_aggregates_and_leads_to_them() -> None:
    figure = timeline(pods(7001) + pods(2999, "unschedulable"))
    assert figure["size"] == 34
    assert len(figure["scores"]) == 295
    assert figure["text"][205] == "pods 6,971 to 7,004: 31 placed, 3 no node"
    assert figure["address"][205] == "/from/6970"
    assert figure["y"] == "mean score"


def test_utilisation_merges_columns_beyond_its_bound() -> None:
    names = [f"n{i}" for i in range(2500)]
    figure = figures.utilisation(names, [("cpu", [50.0] * 2500), ("pods", [10.0] * 2500)], lambda name: f"/n/{name}")
    heat = figure["data"][0]
    assert len(heat["x"]) <= 1000
    assert {value for row in heat["z"] for value in row} == {50.0, 10.0}
    assert len(heat["columns"]["customdata"]) == len(heat["columns"]["text"]) == len(heat["x"])


def test_figures_are_json() -> None:
    for figure in (timeline(pods(2)), figures.utilisation(["a"], [("cpu", [1])], str)):
        assert json.loads(json.dumps(figure)) == figure
