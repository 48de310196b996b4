"""Pods of real clusters with typical mistakes: each fix does what it says, and undoing the mistake comes first.

The clusters contain only what the scheduler reads.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.answers import answers_of
from tests.clusters import read_snapshot
from tests.examples import selection
from tests.scheduler_core.suggestions.broken_pods import WAYS, BrokenPod, broken_pods
from tests.scheduler_core.suggestions.suggestion_checks import outcome, unplaced

CLUSTERS = sorted((Path(__file__).parent / "clusters").glob("*.json.gz"))


@cache
def broken(path: Path) -> dict[str, BrokenPod]:
    return {one.kind: one for one in broken_pods(read_snapshot(path))}


def test_there_are_enough_broken_pods() -> None:
    assert len(CLUSTERS) * len(WAYS) >= 60


@pytest.mark.parametrize("kind", WAYS)
@pytest.mark.parametrize("path", selection(CLUSTERS, 2), ids=lambda path: path.name.partition(".")[0])
def test_each_fix_does_what_it_says_and_undoing_the_mistake_comes_first(path: Path, kind: str) -> None:
    one = broken(path)[kind]
    simulation = Simulation(one.objects, pods=[one.pod], tie_break="name", preemption=False)
    trace, again = next(iter(unplaced(simulation)))
    (alike,) = answers_of(again(), only={trace.pod})
    found = alike.answer.fixes
    assert found, trace.message
    if kind == "unknown device":  # no cluster has such a device, and none is dropped from the request
        assert not found[0].places
        return
    assert any(one.undoes(fix.changes) for fix in found[:2]), [fix.text for fix in found]
    for fix in found:
        assert not fix.places or outcome(again, trace.pod, fix.changes), fix.text
