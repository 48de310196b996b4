"""On the conformance cases beside the tests every tree comes to what was recorded, evaluated apart from its builder.

All cases: scripts/check_provenance.py.
"""

import gzip
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from tests.scheduler_core.provenance.cases import check

GOLDEN = Path(__file__).parents[2] / "golden"
SAMPLED = 9  # of so many cases one; every kind is among them, since there are ten of each


@pytest.mark.parametrize("release", ["v1.34", "v1.27"])
def test_every_tree_comes_to_what_was_recorded(release: str) -> None:
    counts: Counter[str] = Counter()
    with gzip.open(GOLDEN / release / "cases.jsonl.gz") as lines:
        for number, line in enumerate(lines):
            if number % SAMPLED == 0:
                assert list(check(msgspec.json.decode(line), counts=counts)) == []
    spoken = {key.split()[1] for key in counts if key.startswith("filter ")}
    assert {"NodeResourcesFit", "TaintToleration", "NodeUnschedulable", "NodeName"} <= spoken
    points = {
        "preenqueue",
        "filter",
        "raw",
        "normalized",
        "weighted",
        "total",
        "preemption",
        "reserve",
        "prebind",
        "bind",
    }
    assert points == {key.split()[0] for key in counts}
