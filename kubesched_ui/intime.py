"""Between stored scenarios and the core's Scenario: what a run in time is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from scheduler_core.duration import seconds
from scheduler_core.errors import InputError
from scheduler_core.scenario import API_VERSION, KIND, TAIL_SECONDS, Scenario, load_scenario
from scheduler_core.scenario_run import PLUGINS, ScenarioRun

if TYPE_CHECKING:
    from kubesched_ui.models import Run

__all__ = ["ABOUT", "PLUGINS", "SCHEDULER", "SNAPSHOT", "check", "document", "scenario_of", "slow_binding", "until_of"]

# Of a Scenario document's spec, what a snapshot has, too; what is the scheduler's; the rest is about time.
ABOUT = ("description", "kubernetes", "config", "objects")
SCHEDULER = ("seed", "tieBreak", "preemption", "percentage")
# The pods of a snapshot are what its controllers made: they must not make them once more.
SNAPSHOT = {"controllers": {"workloads": False}}


def document(time: dict[str, Any], **more: Any) -> Scenario:
    """The core's scenario of a stored one's `time`, without objects; `more`: further fields of its spec."""
    plain = {"apiVersion": API_VERSION, "kind": KIND, "spec": (time or SNAPSHOT) | more}
    return msgspec.convert(plain, Scenario)


def until_of(time: dict[str, Any]) -> float:
    """When a run ends if nothing else is said, in seconds."""
    return document(time).until() if time else TAIL_SECONDS


def check(spec: dict[str, Any]) -> None:
    """Checks what a document says about time, its templates and objects to come included. Raises InputError."""
    plain = {"apiVersion": API_VERSION, "kind": KIND, "spec": spec}
    try:
        scenario = load_scenario(msgspec.json.encode(plain))
        ScenarioRun(scenario)
    except InputError as error:
        path = error.field.partition(": ")[2] if error.field.startswith("line ") else error.field
        where = "" if error.where == "scenario" else f"{error.where}: "
        raise InputError("", path, f"{where}{error.problem}") from None


def scenario_of(run: Run, objects: list[dict[str, Any]]) -> Scenario:
    """The core's scenario of a run: its scenario's objects and time, its own settings."""
    scenario = document(
        run.scenario.time,
        kubernetes=run.release,
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
