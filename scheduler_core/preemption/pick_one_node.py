"""Selects the node on which preemption costs least.

Source: pkg/scheduler/framework/preemption (pickOneNodeForPreemption).
"""

from collections.abc import Callable, Sequence
from operator import attrgetter

from scheduler_core.preemption.victims import Candidate, start_of

PRIORITY_OFFSET = 1 << 31  # makes every priority positive, so that fewer pods always have a lower sum


def _earliest_start(candidate: Candidate) -> float:
    """Return the earliest start of the most important victims. Pods that never started count as the newest."""
    highest = max([v.priority for v in candidate.victims])
    return min([start_of(v) for v in candidate.victims if v.priority == highest])


FEWEST_VIOLATIONS = "fewest budget violations"
HIGHEST_PRIORITY = "lowest highest priority of the victims"
SUM_OF_PRIORITIES = "lowest sum of the victims' priorities"
FEWEST_VICTIMS = "fewest victims"
LATEST_START = "latest start of the most important victims"
RULES: tuple[tuple[str, Callable[[Candidate], float]], ...] = (
    (FEWEST_VIOLATIONS, attrgetter("pdb_violations")),
    (HIGHEST_PRIORITY, lambda c: c.victims[0].priority),
    (SUM_OF_PRIORITIES, lambda c: sum([v.priority for v in c.victims]) + PRIORITY_OFFSET * len(c.victims)),
    (FEWEST_VICTIMS, lambda c: len(c.victims)),
    (LATEST_START, lambda c: -_earliest_start(c)),
)


def costs_of(candidate: Candidate) -> tuple[float, ...]:
    """Return the cost of a candidate by each rule. It changes only with the pods of the node."""
    return tuple([cost(candidate) for _, cost in RULES])


def choose(candidates: Sequence[Candidate]) -> tuple[list[str], str]:
    """Return (the equally good nodes, the rule that decided). The rule is "" if there was one candidate or a tie."""
    costs = [candidate.costs or costs_of(candidate) for candidate in candidates]
    lowest = min(costs)
    best = [candidate.node for candidate, one in zip(candidates, costs, strict=True) if one == lowest]
    if len(best) == len(costs):
        return best, ""
    second = min([one for one in costs if one != lowest])  # of the others, the rules exclude it last
    return best, next(rule for (rule, _), one, other in zip(RULES, lowest, second, strict=True) if one != other)
