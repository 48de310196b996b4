"""One decision in 200 of the recordings is replaced by a wrong one: all of these are reported, and no other.

A node is wrong if the pod does not fit there, or if its score is lower than that of the real node on the state before
the decision. A node with the score of the real one is no wrong decision: the scheduler chooses among them at random.
"""

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scheduler_core.live import recorded_folder
from scheduler_core.live.ordering import in_order
from scheduler_core.live.watch_events import DELETED, Item, WatchEvent
from scheduler_core.releases import get_release
from scheduler_core.shadow.judge import Judge
from scheduler_core.shadow.judgement import Judgement
from tests.recordings import LIVE_A, LIVE_B, LIVE_MOST

RELEASE = get_release("1.36")
pytestmark = pytest.mark.long


class WrongNodes(Judge):
    """Collects the wrong nodes of each decision: resourceVersion -> (infeasible ones, worse ones)."""

    configuration_name = "default"

    def _decide(self, judgement: Judgement, pod: Any) -> Any:
        evaluation = self._candidates[self.configuration_name].evaluator.evaluate(pod)
        rows, names = evaluation.rows, self.mirror.cluster.nodes.names
        total = evaluation.total(rows)
        mine = None if total is None else total[rows == self.mirror.cluster.nodes.rows[judgement.node]]
        worse = [] if mine is None or not len(mine) else evaluation.names(rows[total < mine])
        infeasible = sorted({*names} - {*evaluation.names(rows)})
        self.wrong = {**getattr(self, "wrong", {}), judgement.resource_version: (infeasible, worse)}
        return super()._decide(judgement, pod)


def items_of(folder: Path) -> list[Item]:
    items = [item for item in recorded_folder.read(folder) if item.kind != "Event"]
    return list(in_order(iter(items), {item.kind for item in items}))


def replaced(items: list[Item], plan: dict[int, str], always: bool) -> list[Item]:
    """Replace the nodes of bindings. `always`: also in all later changes of the pod."""
    moved: dict[str, tuple[str, int]] = {}
    found = []
    for item in items:
        if isinstance(item, WatchEvent) and item.kind == "Pod":
            if item.resource_version in plan:
                moved[item.key] = plan[item.resource_version], item.resource_version
            node, version = moved.get(item.key, ("", 0))
            if node and (always or item.resource_version == version):
                spec = msgspec.structs.replace(item.object.spec, node_name=node)  # type: ignore[attr-defined]
                item = item._replace(object=msgspec.structs.replace(item.object, spec=spec))
            if item.type == DELETED:
                moved.pop(item.key, None)
        found.append(item)
    return found


def judged(judge: Judge, items: list[Item]) -> list[Judgement]:
    return [*(judgement for item in items for judgement in judge.feed(item)), *judge.finish()]


def reported(items: list[Item]) -> set[int]:
    """The decisions that are not explained."""
    return {one.resource_version for one in judged(Judge(RELEASE), items) if one.node and not one.explained}


@pytest.mark.parametrize("always", [False, True], ids=["binding", "always"])
@pytest.mark.parametrize("folder", [LIVE_A, LIVE_B, LIVE_MOST], ids=["live-a", "live-b", "live-most"])
def test_all_wrong_decisions_and_no_others_are_reported(folder, always):
    items = items_of(folder)
    judge = WrongNodes(RELEASE)
    judge.configuration_name = "MostAllocated" if folder is LIVE_MOST else "default"
    decisions = [one for one in judged(judge, items) if one.node]
    for seed in range(4):
        rng = random.Random(f"{folder.name} {seed}")
        plan = {}
        for decision in rng.sample(decisions, len(decisions) // 200):
            infeasible, worse = judge.wrong[decision.resource_version]
            plan[decision.resource_version] = rng.choice(rng.choice([one for one in (infeasible, worse, worse) if one]))
        assert reported(replaced(items, plan, always)) == set(plan), f"seed {seed}"
