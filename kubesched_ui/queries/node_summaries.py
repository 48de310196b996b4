"""The sentence about a node and the pods that wait: of a run at a timepoint, and of a scenario as it is."""

import threading
from datetime import datetime
from functools import lru_cache

from kubesched_ui.models import Run, Scenario
from kubesched_ui.queries import remedies
from kubesched_ui.queries.recording_cache import NotRecorded
from kubesched_ui.runs import build_simulation
from kubesched_ui.runs.services import defaults
from scheduler_core.debugger.node_demand import summary_of
from scheduler_core.errors import InputError
from scheduler_core.simulation import Simulation

_lock = threading.Lock()  # dry cycles modify a cached cluster, and revert that


def of_run(run: Run, name: str, moment: int) -> str:
    """Return the sentence about a node at a timepoint of a run, or why there is none."""
    if run.active:
        return "When the run has ended, this page says what keeps the pending pods from the node."
    try:
        return remedies.node_summary(run, name, moment)
    except (InputError, NotRecorded) as problem:
        return _unknown(problem)


def of_scenario(scenario: Scenario, name: str) -> str:
    """Return the sentence about a node of a scenario with the default configuration, or why there is none."""
    if scenario.time:
        return "The pods of this scenario come in virtual time: the page of the node in a run says what it takes."
    try:
        with _lock:
            return summary_of(_simulation(scenario.pk, scenario.created_at), name)
    except InputError as problem:
        return _unknown(problem)


def _unknown(problem: Exception) -> str:
    return f"What keeps the pending pods from the node is not known: {str(problem).rstrip('.')}."


@lru_cache(maxsize=1)
def _simulation(scenario_id: int, created_at: datetime) -> Simulation:
    # The key contains the time because a database may reuse the number of a deleted scenario.
    scenario = Scenario.objects.get(pk=scenario_id)
    run = Run(scenario=scenario, config=scenario.config or "", **defaults(scenario, in_time=False))
    return build_simulation.start(run).simulation
