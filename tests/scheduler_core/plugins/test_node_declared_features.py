"""NodeDeclaredFeatures: pods without required features, and releases of the plugin."""

from typing import Any

import pytest

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import node, pod


def tried(spec: dict[str, Any], release: str = "1.36", **run: Any) -> CycleTrace:
    """Run the cycle of a pod on nodes without declared features."""
    return next(Simulation([node("n1"), node("n2"), pod("p", **spec)], release=release, **run).run())


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"hostNetwork": True},
        {"hostUsers": False},
        {"hostNetwork": True, "hostUsers": True},
        {"containers": [{"name": "c", "restartPolicyRules": [{"action": "Restart"}]}]},
    ],
)
def test_pods_without_required_features_are_skipped(spec: dict[str, Any]) -> None:
    assert "NodeDeclaredFeatures" in tried(spec).skipped_filter


def test_in_1_35_it_is_off_and_in_1_34_it_does_not_exist() -> None:
    spec = {"hostNetwork": True, "hostUsers": False}
    config = {"profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "NodeDeclaredFeatures"}]}}}]}
    assert "NodeDeclaredFeatures" in tried(spec, "1.35", config=config).skipped_filter
    assert len(tried(spec, "1.35").feasible_rows()) == 2
    with pytest.raises(InputError, match=r"NodeDeclaredFeatures.*1\.35 and newer"):
        tried(spec, "1.34", config=config)
