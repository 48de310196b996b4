"""Charts are plain JSON."""

import json

import pytest

from kubesched_ui.presenters import charts, experiment_charts
from scheduler_core.explain.answer import Points, Ranked


def ranked(node: str, *scores: tuple[str, int, int, int]) -> Ranked:
    """Return a node with the scores (plugin, weight, raw, normalized)."""
    points = [
        Points(plugin, weight, raw, normalized, weight * normalized) for plugin, weight, raw, normalized in scores
    ]
    return Ranked(node, sum(one.weighted for one in points), points)


def test_score_bars_add_up_to_the_totals_with_the_best_node_first() -> None:
    best = [ranked("a", ("P", 2, 3, 30), ("Q", 1, 0, 60)), ranked("b", ("P", 2, 4, 40), ("Q", 1, 0, 0))]
    figure = charts.score_bars(best, "a")
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
    figure = charts.score_bars([ranked(name, ("P", 1, 5, 50)) for name in names])
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
    best = [
        ranked("a", ("Avoid", 10000, 10, 10), ("Least", 1, 4, 4), ("Same", 1, 3, 3)),
        ranked("b", ("Avoid", 10000, 10, 10), ("Least", 1, 2, 2), ("Same", 1, 3, 3)),
    ]
    figure = charts.score_bars(best)
    assert figure["left_out"] == [("Avoid", 100000)]
    assert [name for name, _ in figure["plugins"]] == ["Least", "Same"]
    assert [round(sum(part["width"] for part in row["parts"])) for row in figure["rows"]] == [100, 71]
    one = charts.score_bars(best[:1])
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
