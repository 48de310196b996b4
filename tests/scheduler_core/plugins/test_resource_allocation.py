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
