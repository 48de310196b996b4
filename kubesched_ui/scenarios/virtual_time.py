"""Between stored scenarios and the core's Scenario: what a run in time is made of."""

from __future__ import annotations

from typing import Any

import msgspec

from kubesched_ui.models import Run
from scheduler_core.api.duration import seconds
from scheduler_core.virtual_time.scenario import API_VERSION, KIND, TAIL_SECONDS, Scenario


def document(time: dict[str, Any], **more: Any) -> Scenario:
    """The core's scenario of a stored one's `time`, without objects; `more`: further fields of its spec."""
    plain = {"apiVersion": API_VERSION, "kind": KIND, "spec": time | more}
    return msgspec.convert(plain, Scenario)


def until_of(time: dict[str, Any]) -> float:
    """When a run ends if nothing else is said, in seconds."""
    return document(time).until() if time else TAIL_SECONDS


def scenario_of(run: Run, objects: list[dict[str, Any]]) -> Scenario:
    """The core's scenario of a run: its scenario's objects and time, its own settings."""
    scenario = document(
        run.scenario.time,
        kubernetes=run.release,
        featureGates={},  # which are with the release
        config=run.config or None,
        seed=run.seed,
        tieBreak=run.tie_break,
        preemption=run.preemption,
        percentage=run.percentage,
        until=run.until,
    )
    scenario.spec.objects = objects
    return scenario


def slow_binding(run: Run) -> bool:
    """Whether binding takes time."""
    return seconds(document(run.scenario.time).spec.binding.seconds) > 0
