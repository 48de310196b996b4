"""NodeResourcesFit with many short resources: both encodings of their combinations agree."""

import pytest

from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import node, pod


@pytest.mark.parametrize("kinds", [2, 11, 12, 30])
def test_every_short_resource_is_named(kinds: int) -> None:
    names = [f"example.com/r{i}" for i in range(kinds)]
    all_of_them = dict.fromkeys(names, "1")
    nodes = [node("fits", more=all_of_them), node("none"), node("odd", more=dict.fromkeys(names[1::2], "1"))]
    simulation = Simulation([*nodes, pod("p", requests=all_of_them)])
    (trace,) = simulation.run()
    recorded = trace.golden(simulation.nodes)
    assert recorded["feasible"] == ["fits"]
    assert set(recorded["filter"]["none"]["reasons"]) == {f"Insufficient {name}" for name in names}
    assert set(recorded["filter"]["odd"]["reasons"]) == {f"Insufficient {name}" for name in names[::2]}
    assert recorded["filter"]["none"]["code"] == "UnschedulableAndUnresolvable"


@pytest.mark.parametrize("release", ["1.16", "1.17", "1.25", "1.26"])
def test_a_request_of_none_of_an_extended_resource(release: str) -> None:
    """a is overcommitted, b is not, c does not have the resource; no node has the other one."""
    gpu = "example.com/gpu"
    nodes = [node("a", more={gpu: "1"}), node("b", more={gpu: "1"}), node("c")]
    wants = pod("p", requests={gpu: "0", "example.com/other": "0"})
    simulation = Simulation([*nodes, pod("q", on="a", requests={gpu: "2"}), wants], release=release)
    (trace,) = simulation.run()
    rejected = [name for name in "abc" if name not in trace.golden(simulation.nodes)["feasible"]]
    assert rejected == ([] if release == "1.26" else ["a"])
