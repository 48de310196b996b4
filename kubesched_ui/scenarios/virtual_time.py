"""Converts stored scenarios to Scenario documents of the core, the inputs of runs with virtual time."""

from typing import Any

import msgspec

from kubesched_ui.models import Run
from scheduler_core.virtual_time.scenario import API_VERSION, KIND, TAIL_SECONDS, Scenario


def document(time: dict[str, Any], **more: Any) -> Scenario:
    """Return the core's scenario for the `time` of a stored one, without objects. `more`: further fields of its
    spec."""
    plain = {"apiVersion": API_VERSION, "kind": KIND, "spec": time | more}
    return msgspec.convert(plain, Scenario)


def default_end(time: dict[str, Any]) -> float:
    """Return the default end of a run in virtual seconds."""
    return document(time).until() if time else TAIL_SECONDS


def scenario_of(run: Run, objects: list[dict[str, Any]]) -> Scenario:
    """Return the core's scenario for a run: the objects and `time` of its scenario with the settings of the run."""
    scenario = document(
        run.scenario.time,
        kubernetes=run.release,
        featureGates={},  # the release includes them
        config=run.config or None,
        seed=run.seed,
        tieBreak=run.tie_break,
        preemption=run.preemption,
        percentage=run.percentage,
        until=run.until,
    )
    scenario.spec.objects = objects
    return scenario
