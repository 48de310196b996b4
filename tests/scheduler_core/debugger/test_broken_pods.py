"""Pods of real clusters, broken as people break them: each remedy places the pod, and what undoes the break is first.

The clusters are cut down to what the scheduler looks at; `scripts/check_remedies_real.py` runs over whole ones.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from scheduler_core.debugger.suggestions.search import remedies
from scheduler_core.simulation import Simulation
from tests.clusters import read_snapshot
from tests.scheduler_core.debugger.breaking import WAYS, Broken, breaks
from tests.scheduler_core.debugger.remedied import check, stuck

CLUSTERS = sorted((Path(__file__).parent / "clusters").glob("*.json.gz"))


@cache
def broken(path: Path) -> dict[str, Broken]:
    return {one.kind: one for one in breaks(read_snapshot(path))}


def test_there_are_enough() -> None:
    assert len(CLUSTERS) * len(WAYS) >= 60


@pytest.mark.parametrize("kind", WAYS)
@pytest.mark.parametrize("path", CLUSTERS, ids=lambda path: path.name.partition(".")[0])
def test_each_remedy_places_the_pod_and_the_undoing_is_first(path: Path, kind: str) -> None:
    one = broken(path)[kind]
    simulation = Simulation(one.objects, pods=[one.pod], tie_break="name", preemption=False)
    trace, again = next(iter(stuck(simulation)))
    found = remedies(again(), trace.pod)
    assert found, trace.message
    assert any(one.undoes(remedy.changes) for remedy in found[:2]), [remedy.text for remedy in found]
    check(again, trace.pod, found)
