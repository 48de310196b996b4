"""Upgrade previews of random clusters name a sufficient cause for each difference.

`scripts/try_upgrades.py` tries many more.
"""

import pytest

from tests.examples import selection
from tests.random_clusters import random_cluster
from tests.upgrades import check_causes, successive_releases

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", selection(range(40), 40))
def test_causes(seed: int) -> None:
    faults = {}
    for a, b in successive_releases(random_cluster(seed)):
        step, wrong = check_causes(a, b)
        assert step.changed
        if wrong:
            faults[b.inputs.release.name] = wrong
    assert not faults
