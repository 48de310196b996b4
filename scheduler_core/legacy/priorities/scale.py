"""Scale of the priorities.

Source: pkg/scheduler/api (MaxPriority), pkg/scheduler/algorithm/priorities/reduce.go.
"""

import numpy as np

from scheduler_core.framework.interface import Int64
from scheduler_core.provenance.tree import Tree, constant

MAX_PRIORITY = 10


def max_priority() -> Tree:
    return constant(MAX_PRIORITY, "MaxPriority")


def normalized(scores: Int64, reverse: bool) -> Int64:
    """Scale scores to 0..10 by the highest one; `reverse` inverts the order (upstream NormalizeReduce)."""
    highest = int(scores.max()) if len(scores) else 0
    if highest == 0:
        return np.full_like(scores, MAX_PRIORITY) if reverse else scores
    scaled: Int64 = MAX_PRIORITY * scores // highest
    return MAX_PRIORITY - scaled if reverse else scaled
