"""Upgrade previews of random clusters name a sufficient cause for each difference.

`--hypothesis-profile=exhaustive -m ""` tries a thousand.
"""

import pytest

from tests.examples import at_least, selection
from tests.random_clusters import random_cluster, with_other_hostnames
from tests.upgrades import PATCHES, check_causes, differing_runs, successive_releases

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", selection(range(at_least(40)), 40))
def test_causes(seed: int) -> None:
    faults = {}
    for a, b in successive_releases(random_cluster(seed)):
        step, wrong = check_causes(a, b)
        assert step.changed
        if wrong:
            faults[b.inputs.release.name] = wrong
    assert not faults


@pytest.mark.parametrize("seed", selection(range(at_least(40)), 40))
def test_causes_between_patch_releases(seed: int) -> None:
    for a, b in differing_runs(with_other_hostnames(random_cluster(seed)), PATCHES):
        step, wrong = check_causes(a, b)
        assert step.changed
        assert not wrong, b.inputs.release.name
