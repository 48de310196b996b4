"""Values over the scores of all feasible nodes."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_core.provenance.context import View
from scheduler_core.provenance.tree import Tree, constant, divide_int, highest, multiply, over, subtract


def max_node_score(highest: int = 100) -> Tree:
    """Return the leaf of the highest score: 100, or 10 for a priority of 1.16."""
    return constant(highest, "MaxNodeScore" if highest == 100 else "MaxPriority")


def parts(max_score: int) -> str:
    """Return the name of the parts that a score counts."""
    return "hundredths" if max_score == 100 else "tenths"


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


def by_highest(view: View, raw: Tree, scores: npt.NDArray[np.int64], reverse: bool, max_score: int = 100) -> Tree:
    """Return the tree of `default_normalize`."""
    scale = partial(max_node_score, max_score)
    most = extreme(view, scores, "max")
    divisor = most if most.value else highest([most, constant(1, "not to divide by zero")])
    scaled = divide_int(multiply(scale(), raw), divisor, "share of the highest score")
    name, value = view.node.name, raw.value
    of_highest = f"{value} of {most.value}, the highest raw score, in {parts(max_score)}: {name}"
    if reverse:
        tree = subtract(scale(), scaled, "lower raw scores are better")
        return tree.with_text(f"{tree.value} = {max_score} less {of_highest}")
    return scaled.with_text(f"{scaled.value} = {of_highest}")
