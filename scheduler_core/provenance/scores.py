"""Values over the scores of all feasible nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, divide_int, highest, multiply, over, subtract


def max_node_score() -> Tree:
    return constant(100, "MaxNodeScore")


def extreme(
    view: View, scores: npt.NDArray[np.int64], function: str, counted: npt.NDArray[np.bool_] | None = None
) -> Tree:
    """Return the highest (`max`) or lowest (`min`) score with a node that has it. `counted`: bool, the scores that
    count."""
    rows: Any = np.arange(len(view.cluster.nodes))[view.rows]
    if counted is not None:
        rows, scores = rows[counted], scores[counted]
    place = int(scores.argmax() if function == "max" else scores.argmin())
    label = f"{'highest' if function == 'max' else 'lowest'} raw score of {len(scores)} feasible nodes"
    return over(function, int(scores[place]), len(scores), label, view.cluster.nodes.names[int(rows[place])])


def by_highest(
    view: View, raw: Tree, scores: npt.NDArray[np.int64], reverse: bool, scale: Callable[[], Tree] = max_node_score
) -> Tree:
    """Return the tree of `default_normalize`. `scale`: the score of the best nodes."""
    most = extreme(view, scores, "max")
    divisor = most if most.value else highest([most, constant(1, "not to divide by zero")])
    scaled = divide_int(multiply(scale(), raw), divisor, "share of the highest score")
    name, value = view.node.name, raw.value
    parts = "hundredths" if scale().value == 100 else "tenths"
    if reverse:
        tree = subtract(scale(), scaled, "the lower the better")
        return tree.with_text(
            f"{tree.value} = {scale().value} less {value} of {most.value}, the highest raw score, in {parts}: {name}"
        )
    return scaled.with_text(f"{scaled.value} = {value} of {most.value}, the highest raw score, in {parts}: {name}")
