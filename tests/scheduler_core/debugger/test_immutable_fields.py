"""Which fields of a pod the API server lets change in place."""

from typing import Any

import pytest

from scheduler_core.api.objects import Pod, decode
from scheduler_core.debugger.suggestions.immutable_fields import changes_immutable
from tests.scheduler_core.build import pod

OLD = {"key": "dedicated", "operator": "Equal", "value": "bd", "effect": "NoSchedule"}
MORE = {"key": "spot", "operator": "Exists"}


def is_immutable(spec: dict[str, Any], patched: dict[str, Any]) -> bool:
    found = decode(pod("web", **spec))
    assert isinstance(found, Pod)
    return changes_immutable(found, {"spec": patched})


@pytest.mark.parametrize(
    ("spec", "patched"),
    [
        ({}, {"nodeSelector": None}),
        ({}, {"affinity": {"nodeAffinity": None}}),
        ({}, {"topologySpreadConstraints": []}),
        ({}, {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}),
        ({}, {"priorityClassName": "high"}),
        ({"tolerations": [OLD]}, {"tolerations": [{**OLD, "value": "db"}]}),
    ],
)
def test_fields_that_cannot_change(spec: dict[str, Any], patched: dict[str, Any]) -> None:
    assert is_immutable(spec, patched)


@pytest.mark.parametrize(
    ("spec", "patched"),
    [
        ({"schedulingGates": [{"name": "wait"}]}, {"schedulingGates": None}),
        ({"tolerations": [OLD]}, {"tolerations": [OLD, MORE]}),
        ({}, {"tolerations": [MORE]}),
        ({}, {}),
    ],
)
def test_fields_that_change_in_place(spec: dict[str, Any], patched: dict[str, Any]) -> None:
    assert not is_immutable(spec, patched)
