"""Edge cases of scoring formulas: resources without score, and int64 overflow as in Go."""

import numpy as np

from scheduler_core.plugins.resource_allocation import requested_to_capacity_ratio
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import node, pod


def test_a_resource_with_score_0_is_ignored_by_requested_to_capacity_ratio():
    strategy = {"type": "RequestedToCapacityRatio", "resources": [{"name": "cpu"}, {"name": "memory"}]}
    strategy["requestedToCapacityRatio"] = {
        "shape": [{"utilization": 50, "score": 0}, {"utilization": 100, "score": 10}]
    }
    profile = {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]}
    objects = [node("n1"), node("n2", memory="4Gi"), pod("p", requests={"cpu": "3", "memory": "1Gi"})]
    (trace,) = Simulation(objects, config={"profiles": [profile]}).run()
    assert trace.scores["NodeResourcesFit"].raw.tolist() == [50, 50]


def test_an_overflowing_utilization_stays_on_the_shape():
    formula = requested_to_capacity_ratio([(0, 10), (100, 90)])
    allocatable = np.array([(1 << 63) - 1, 1 << 62, 100], np.int64)
    requested = np.array([1 << 58, 1 << 61, 50], np.int64)
    with np.errstate(over="ignore"):
        wrapped = requested * 100 // allocatable
        assert not 0 <= wrapped[0] <= 100 or not 0 <= wrapped[1] <= 100
        assert formula(requested, allocatable).tolist()[2] == 50
        assert set(formula(requested, allocatable).tolist()) <= set(range(10, 91))


def test_amounts_that_may_overflow_score_other_nodes_as_before():
    nodes = [node(f"n{i}", cpu=f"{i + 3}", memory=f"{7 * i + 5}Gi") for i in range(8)]
    small = [pod(f"p{i}", requests={"cpu": f"{i * 37 + 11}m", "memory": f"{i * 53 + 7}Mi"}) for i in range(6)]
    huge = pod("huge", requests={"memory": "100Ti"}, on="elsewhere")
    plain, mixed = (
        list(Simulation([*nodes, *more, *small], release="1.34").run()) for more in ([], [node("elsewhere"), huge])
    )
    for one, other in zip(plain, mixed, strict=True):
        for plugin in ("NodeResourcesFit", "NodeResourcesBalancedAllocation"):
            shown = dict(zip(other.feasible_rows().tolist(), other.scores[plugin].raw.tolist(), strict=True))
            assert [shown[row] for row in range(8)] == one.scores[plugin].raw.tolist()
