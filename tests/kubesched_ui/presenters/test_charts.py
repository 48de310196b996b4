"""Charts are plain JSON."""

import json
from typing import Any

import pytest

from kubesched_ui.presenters import charts, experiment_charts
from kubesched_ui.presenters.cycle_presenter import score_rows


def test_score_bars_add_up_to_the_totals_with_the_best_node_first() -> None:
    scored = {"P": {"weight": 2, "raw": {"a": 3, "b": 4}, "normalized": {"a": 30, "b": 40}}}
    scored["Q"] = {"weight": 1, "raw": {"a": 0, "b": 0}, "normalized": {"a": 60, "b": 0}}
    figure = charts.score_bars(score_rows({"score": scored, "total": {"a": 120, "b": 80}, "selected": "a"}))
    assert [(row["node"], row["total"], row["chosen"]) for row in figure["rows"]] == [
        ("a", 120, True),
        ("b", 80, False),
    ]
    assert [part["width"] for part in figure["rows"][0]["parts"]] == [50, 50]
    assert [part["title"] for part in figure["rows"][1]["parts"]] == ["P: 80 (raw 4, normalized 40, weight 2)"]
    assert figure["rows"][1]["parts"][0]["width"] == pytest.approx(200 / 3)
    assert [plugin for plugin, _ in figure["plugins"]] == ["P", "Q"]


def test_nodes_with_a_long_common_prefix_have_distinct_labels() -> None:
    names = [f"gke-production-europe-west1-pool-standard-{i}" for i in range(3)]
    part = {"weight": 1, "raw": dict.fromkeys(names, 5), "normalized": dict.fromkeys(names, 50)}
    rows = score_rows({"score": {"P": part}, "total": dict.fromkeys(names, 50), "selected": names[0]})
    figure = charts.score_bars(rows)
    assert len({row["label"] for row in figure["rows"]}) == 3
    assert {row["node"] for row in figure["rows"]} == set(names)


def test_score_bars_of_nothing() -> None:
    assert charts.score_bars([]) == {"plugins": [], "left_out": [], "suffix": "", "rows": []}


def test_a_histogram_counts_every_value_in_bins_of_round_width() -> None:
    figure = charts.histogram({"A": [0.0, 4.9, 5, 99, 100, 130], "B": []}, "cpu", "nodes", "%", least=5)
    one, other = figure["data"]
    assert dict(zip(one["x"], one["y"], strict=True)) == dict.fromkeys(range(0, 135, 5), 0) | {
        0: 2,
        5: 1,
        95: 1,
        100: 1,
        130: 1,
    }
    assert sum(other["y"]) == 0
    assert one["text"][1] == "5 to 10%"
    assert json.loads(json.dumps(figure)) == figure
    large = charts.histogram({"pods": [10**9, 3]}, "points", "pods")["data"][0]
    assert (len(large["x"]) <= charts.BINS, sum(large["y"])) == (True, 2)
    empty = charts.histogram({"pods": []}, "points", "pods")
    assert empty["data"][0]["y"] == [0]
    assert empty["layout"]["annotations"][0]["text"] == "No pods have this value"


def test_large_equal_scores_are_left_out() -> None:
    def score(a: int, b: int, weight: int = 1) -> dict[str, Any]:
        return {"weight": weight, "raw": {"a": a, "b": b}, "normalized": {"a": a, "b": b}}

    scored = {"Avoid": score(10, 10, 10000), "Least": score(4, 2), "Same": score(3, 3)}
    totals = {"a": 100007, "b": 100005}
    figure = charts.score_bars(score_rows({"score": scored, "total": totals, "selected": "a"}))
    assert figure["left_out"] == [("Avoid", 100000)]
    assert [name for name, _ in figure["plugins"]] == ["Least", "Same"]
    assert [round(sum(part["width"] for part in row["parts"])) for row in figure["rows"]] == [100, 71]
    one = charts.score_bars(score_rows({"score": scored, "total": totals | {"b": 50}, "selected": "a"})[:1])
    assert one["left_out"] == []


def test_names_below_bars_keep_what_differs() -> None:
    names = [f"ip-10-{'host-' * 9}{number}.example.com" for number in range(3)]
    axis = experiment_charts.stacked_bars(names, {"pods": [1, 2, 3]}, "node", "pods")["layout"]["xaxis"]
    labels = list(axis["labelalias"].values())
    assert [label[-1] for label in labels] == ["0", "1", "2"]
    assert max(map(len, labels)) <= experiment_charts.MAX_BAR_LABEL
    both = [f"{'a' * 30}{end}" for end in ("b" * 30 + "1", "c" * 30 + "2")]  # nothing in common is long enough to cut
    axis = experiment_charts.stacked_bars(both, {"pods": [1, 2]}, "node", "pods")["layout"]["xaxis"]
    assert [label[-1] for label in axis["labelalias"].values()] == ["1", "2"]
    assert {len(label) for label in axis["labelalias"].values()} == {experiment_charts.MAX_BAR_LABEL}
