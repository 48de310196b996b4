"""Preemption in 1.16: victims computed from columns equal those computed with the predicates."""

import random
from typing import Any

import pytest

from scheduler_core.legacy.victim_fast_path import PreemptionNodes
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import Raw, node, pod


def crowded(seed: int) -> list[Raw]:
    """Return full nodes, pods of several priorities, and budgets with and without allowed disruptions."""
    chance = random.Random(seed)
    objects = [node(f"n{i}", cpu="4", memory="8Gi", pods=chance.randint(4, 9)) for i in range(6)]
    for i in range(40):
        requests = {"cpu": f"{chance.randint(1, 15) * 100}m", "memory": f"{chance.randint(1, 20) * 100}Mi"}
        spec = {"priority": chance.choice((0, 0, 5, 50)), "nodeName": f"n{chance.randrange(6)}"}
        started = {"phase": "Running", "startTime": f"2026-01-01T00:{chance.randrange(60):02d}:00Z"}
        labels = {"app": chance.choice("abc")}
        objects.append(pod(f"runs-{i}", requests=requests, labels=labels, status=started, **spec))
    for app, allowed in (("a", 0), ("b", 1)):
        budget = {"kind": "PodDisruptionBudget", "metadata": {"name": app, "namespace": "default"}}
        selector = {"matchLabels": {"app": app}}
        objects.append({**budget, "spec": {"selector": selector}, "status": {"disruptionsAllowed": allowed}})
    for i in range(6):
        requests = {"cpu": f"{chance.randint(5, 40) * 100}m", "memory": f"{chance.randint(1, 60) * 100}Mi"}
        objects.append(pod(f"waits-{i}", requests=requests, priority=chance.choice((10, 100))))
    return objects


@pytest.mark.parametrize("seed", range(12))
def test_columns_and_predicates_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> list[Any]:
        traces = Simulation(crowded(seed), release="1.16", tie_break="name").run()
        return [(t.pod, t.node, t.victims, t.postfilter and t.postfilter.candidates) for t in traces]

    by_numbers = found()
    assert any(victims for _, _, victims, _ in by_numbers)
    made = PreemptionNodes.__init__

    def by_predicates(self: PreemptionNodes, *args: Any) -> None:
        made(self, *args)
        self.by_numbers = False

    monkeypatch.setattr(PreemptionNodes, "__init__", by_predicates)
    assert found() == by_numbers
