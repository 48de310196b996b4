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
