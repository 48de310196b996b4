"""Steps of a cycle agree with the conformance cases for every node."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.search.cycle_steps import cycle_data, cycle_until, ranges
from tests.conformance import golden_cases
from tests.scheduler_core.recording.core_states import Raw, simulation_of_case

CASES = golden_cases("v1.34")[::40]


def rows_of(pairs: list[list[int]]) -> list[int]:
    return [row for first, last in pairs for row in range(first, last + 1)]


def refused(cycle: Raw, names: list[str]) -> Raw:
    """Return node -> the decisive plugin and its reasons, from the steps."""
    found: Raw = {}
    for filters in cycle["filters"]:
        for decisive_entry in filters["decisive"]:
            found |= {
                names[row]: (filters["plugin"], decisive_entry["reasons"]) for row in rows_of(decisive_entry["rows"])
            }
    for entry in cycle["nominated"]:
        name, decisive_entry = names[entry["row"]], entry["status"]
        found.pop(name, None)
        if decisive_entry:
            found[name] = (decisive_entry["plugin"], decisive_entry["reasons"])
    if cycle["left_out"]:
        found |= {names[row]: ("", cycle["left_out"]["reasons"]) for row in rows_of(cycle["left_out"]["rows"])}
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_steps_agree_with_the_conformance_format(case: Raw) -> None:
    simulation = simulation_of_case(case)
    names = list(simulation.nodes)
    for trace in simulation.run():
        golden, cycle = trace.golden(names), cycle_data(trace)
        assert cycle == cycle_data(CycleTrace.decode(trace.encode()))
        if trace.preenqueue or trace.prefilter:
            assert cycle["rejected"]["reasons"] == list((trace.preenqueue or trace.prefilter).reasons)  # type: ignore[union-attr]
            continue
        wanted = {n: (s.get("plugin", ""), s["reasons"]) for n, s in golden["filter"].items()}
        assert refused(cycle, names) == wanted
        assert [names[row] for row in rows_of(cycle["feasible"])] == golden["feasible"]
        if "total" in golden:
            assert cycle["total"] == [golden["total"][name] for name in golden["feasible"]]
        for plugin, score in golden.get("score", {}).items():
            scores = cycle_data(trace, plugin)["scores"]
            assert scores["raw"] == [score["raw"][name] for name in golden["feasible"]]
            assert scores["normalized"] == [score["normalized"][name] for name in golden["feasible"]]
            assert cycle["weights"][plugin] == score["weight"]
        check_steps(cycle, golden, trace)


def check_steps(cycle: Raw, golden: Raw, trace: CycleTrace) -> None:
    order = ["preenqueue", "prefilter", "filter", "postfilter", "prescore", "score", "reserve", "permit", "bind"]
    points = [order.index(step["point"]) for step in cycle["steps"] if step["point"] != "prebind"]
    assert points == sorted(points)
    filters = [step["plugin"] for step in cycle["steps"] if step["point"] == "filter" and step["plugin"]]
    assert filters == list(trace.verdicts)
    scored = [step["plugin"] for step in cycle["steps"] if step["point"] == "score" and step["plugin"]]
    assert scored == list(golden.get("score", {}))
    tried = [step["node"] for step in cycle["steps"] if step["point"] == "postfilter" and step["node"]]
    assert tried == list(golden.get("postfilter", {}).get("candidates", {}))


def test_extension_points_of_a_plugin_without_scores() -> None:
    trace = next(trace for trace in simulation_of_case(CASES[0]).run())
    with pytest.raises(InputError, match="gave no scores"):
        cycle_data(trace, "Nobody")


@pytest.mark.parametrize("case", CASES[:12], ids=lambda case: case["name"])
def test_the_first_steps_tell_nothing_of_later_ones(case: Raw) -> None:
    for trace in simulation_of_case(case).run():
        whole = cycle_data(trace)
        for shown in range(len(whole["steps"]) + 1):
            part = cycle_until(trace, shown)
            seen, hidden = whole["steps"][:shown], whole["steps"][shown:]
            assert part["steps"] == seen
            plugins = {step["plugin"] for step in seen}
            assert {one["plugin"] for one in part["filters"]} | set(part["points"]) <= plugins
            later = {step["point"] for step in hidden}
            if "filter" in later:
                assert part["feasible"] == part["unlooked"] == []
            if later & {"score", "prescore"} or not seen:
                assert part["total"] == []
            if "reserve" in later:
                assert part["node"] == ""
            if "postfilter" in later:
                assert part["victims"] == []
                nodes = {one["node"] for one in (part["postfilter"] or {"candidates": []})["candidates"]}
                assert nodes == {step["node"] for step in seen if step["point"] == "postfilter"}
        assert {key: part[key] for key in ("rejected", "nominated", "left_out", "feasible", "total", "victims")} == {
            key: whole[key] for key in ("rejected", "nominated", "left_out", "feasible", "total", "victims")
        }
        assert part["node"] == trace.node


@pytest.mark.parametrize(("rows", "pairs"), [([], []), ([4], [[4, 4]]), ([0, 1, 2, 5, 7, 8], [[0, 2], [5, 5], [7, 8]])])
def test_ranges(rows: list[int], pairs: Any) -> None:
    assert ranges(rows) == pairs
