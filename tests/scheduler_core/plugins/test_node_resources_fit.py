"""NodeResourcesFit over many short resources: both ways of numbering their combinations say the same."""

from typing import Any

import pytest

from scheduler_core.simulation import Simulation


def node(name: str, amounts: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": {"cpu": "4", "memory": "4Gi", "pods": "10", **amounts}},
    }


@pytest.mark.parametrize("kinds", [2, 11, 12, 30])
def test_every_short_resource_is_named(kinds: int) -> None:
    names = [f"example.com/r{i}" for i in range(kinds)]
    nodes = [
        node("fits", dict.fromkeys(names, "1")),
        node("none", {}),
        node("odd", {name: "1" for i, name in enumerate(names) if i % 2}),
    ]
    resources = {"requests": dict.fromkeys(names, "1"), "limits": dict.fromkeys(names, "1")}
    spec = {"containers": [{"name": "c", "resources": resources}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    simulation = Simulation([*nodes, pod])
    (trace,) = simulation.run()
    said = trace.golden(simulation.nodes)
    assert said["feasible"] == ["fits"]
    assert set(said["filter"]["none"]["reasons"]) == {f"Insufficient {name}" for name in names}
    assert set(said["filter"]["odd"]["reasons"]) == {f"Insufficient {name}" for name in names[::2]}
    assert said["filter"]["none"]["code"] == "UnschedulableAndUnresolvable"
