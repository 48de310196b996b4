"""Scale of the priorities.

Source: pkg/scheduler/api (MaxPriority), pkg/scheduler/algorithm/priorities/reduce.go.
"""

import numpy as np

from scheduler_core.framework import interface as fwk
from scheduler_core.provenance.tree import Tree, constant

MAX_PRIORITY = 10


def max_priority() -> Tree:
    return constant(MAX_PRIORITY, "MaxPriority")


def normalized(scores: fwk.Int64, reverse: bool) -> fwk.Int64:
    """Scale scores to 0..10 by the highest one; `reverse` inverts the order (upstream NormalizeReduce)."""
    highest = int(scores.max()) if len(scores) else 0
    if highest == 0:
        return np.full_like(scores, MAX_PRIORITY) if reverse else scores
    scaled: fwk.Int64 = MAX_PRIORITY * scores // highest
    return MAX_PRIORITY - scaled if reverse else scaled
