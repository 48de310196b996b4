"""Pods of real clusters with typical mistakes: each fix places the pod, and undoing the mistake comes first.

The clusters contain only what the scheduler reads. `scripts/check_remedies_real.py` uses whole clusters.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from scheduler_core.debugger.suggestions.search import remedies
from scheduler_core.simulation import Simulation
from tests.clusters import read_snapshot
from tests.scheduler_core.debugger.broken_pods import WAYS, BrokenPod, broken_pods
from tests.scheduler_core.debugger.suggestion_checks import check, unplaced

CLUSTERS = sorted((Path(__file__).parent / "clusters").glob("*.json.gz"))


@cache
def broken(path: Path) -> dict[str, BrokenPod]:
    return {one.kind: one for one in broken_pods(read_snapshot(path))}


def test_there_are_enough_broken_pods() -> None:
    assert len(CLUSTERS) * len(WAYS) >= 60


@pytest.mark.parametrize("kind", WAYS)
@pytest.mark.parametrize("path", CLUSTERS, ids=lambda path: path.name.partition(".")[0])
def test_each_fix_places_the_pod_and_undoing_the_mistake_comes_first(path: Path, kind: str) -> None:
    one = broken(path)[kind]
    simulation = Simulation(one.objects, pods=[one.pod], tie_break="name", preemption=False)
    trace, again = next(iter(unplaced(simulation)))
    found = remedies(again(), trace.pod)
    if kind == "unknown device":  # no cluster has such a device, and none is dropped from the request
        assert not found
        return
    assert found, trace.message
    assert any(one.undoes(remedy.changes) for remedy in found[:2]), [remedy.text for remedy in found]
    check(again, trace.pod, found)
