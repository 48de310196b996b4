"""Scoring formulas at the edge of int64, where Go's products wrap."""

import numpy as np

from scheduler_core.plugins.resource_allocation import requested_to_capacity_ratio


def test_a_utilization_that_wraps_stays_on_the_shape():
    formula = requested_to_capacity_ratio([(0, 10), (100, 90)])
    allocatable = np.array([(1 << 63) - 1, 1 << 62, 100], np.int64)
    requested = np.array([1 << 58, 1 << 61, 50], np.int64)
    with np.errstate(over="ignore"):
        wrapped = requested * 100 // allocatable
        assert not 0 <= wrapped[0] <= 100 or not 0 <= wrapped[1] <= 100
        assert formula(requested, allocatable).tolist()[2] == 50
        assert set(formula(requested, allocatable).tolist()) <= set(range(10, 91))
