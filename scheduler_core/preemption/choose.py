"""Where evicting hurts least.

Source: pkg/scheduler/framework/preemption (pickOneNodeForPreemption).
"""

from collections.abc import Callable, Sequence

from scheduler_core.preemption.victims import Candidate

_PRIORITY_OFFSET = 1 << 31  # makes every priority positive, so that fewer pods always sum to less


def _earliest_start(candidate: Candidate) -> float:
    """When the first of the most important victims started; pods that never did start now."""
    highest = max(v.priority for v in candidate.victims)
    return min(v.start_time or float("inf") for v in candidate.victims if v.priority == highest)


RULES: tuple[tuple[str, Callable[[Candidate], float]], ...] = (
    ("fewest budget violations", lambda c: c.pdb_violations),
    ("lowest highest priority of the victims", lambda c: c.victims[0].priority),
    ("lowest sum of the victims' priorities", lambda c: sum(v.priority + _PRIORITY_OFFSET for v in c.victims)),
    ("fewest victims", lambda c: len(c.victims)),
    ("latest start of the most important victims", lambda c: -_earliest_start(c)),
)


def choose(candidates: Sequence[Candidate]) -> tuple[list[str], str]:
    """(the equally good nodes, the rule that decided); "" when there was nothing to decide or all rules tied."""
    best = list(candidates)
    decided = ""
    for rule, cost in RULES:
        if len(best) == 1:
            break
        costs = [cost(candidate) for candidate in best]
        lowest = min(costs)
        kept = [candidate for candidate, value in zip(best, costs, strict=True) if value == lowest]
        if len(kept) < len(best):
            decided = rule
        best = kept
    return [candidate.node for candidate in best], decided
