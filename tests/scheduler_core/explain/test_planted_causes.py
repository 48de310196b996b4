"""Planted causes: no node takes the pods."""

from __future__ import annotations

import pytest

from tests.scheduler_core.explain.planted.answers import explained
from tests.scheduler_core.explain.planted.causes import CAUSES, planted


@pytest.mark.parametrize("name", CAUSES)
def test_no_node_takes_the_pods(name: str) -> None:
    case = planted(name, 1)
    assert planted(name, 1).objects == case.objects
    found = explained(case.objects)
    assert {found[pod]["result"] for pod in case.pods} <= {"unschedulable", "gated", "error"}
