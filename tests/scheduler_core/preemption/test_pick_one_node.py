"""The node on which preemption costs least, and the rule that decides it."""

from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.preemption.pick_one_node import RULES, choose
from scheduler_core.preemption.victims import Candidate

NAMES = [rule for rule, _ in RULES]
COSTS = st.tuples(*[st.integers(0, 2)] * len(RULES))


@given(st.lists(COSTS, min_size=1, max_size=8))
def test_one_rule_after_the_other_excludes_candidates(costs: list[tuple[float, ...]]) -> None:
    left, decided = dict(enumerate(costs)), ""
    for place, rule in enumerate(NAMES):
        lowest = min(one[place] for one in left.values())
        kept = {number: one for number, one in left.items() if one[place] == lowest}
        decided = rule if len(kept) < len(left) else decided
        left = kept
    candidates = [Candidate(f"n{number}", (), 0, one) for number, one in enumerate(costs)]
    assert choose(candidates) == ([f"n{number}" for number in left], decided)
