"""The sentence about a node and the pods that wait: of a run at its end, and of a scenario as it is."""

import logging
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

logger = logging.getLogger(__name__)

_lock = threading.Lock()  # dry cycles modify a cached cluster, and revert that


def of_run(run: Run, name: str) -> str:
    """Return the sentence about a node at the end of a run; "" while the run is active, or if it cannot be restored."""
    if run.active:
        return ""
    try:
        return remedies.node_summary(run, name)
    except (InputError, NotRecorded) as problem:
        logger.info("Node %s of run %s has no summary: %s", name, run.pk, problem)
        return ""


def of_scenario(scenario: Scenario, name: str) -> str:
    """Return the sentence about a node of a scenario with the default configuration; "" for scenarios in virtual time,
    whose pods are created later, and for those that cannot be simulated."""
    if scenario.time:
        return ""
    try:
        with _lock:
            return summary_of(_simulation(scenario.pk, scenario.created_at), name)
    except InputError as problem:
        logger.info("Node %s of scenario %s has no summary: %s", name, scenario.pk, problem)
        return ""


@lru_cache(maxsize=1)
def _simulation(scenario_id: int, created_at: datetime) -> Simulation:
    # The key contains the time because a database may reuse the number of a deleted scenario.
    scenario = Scenario.objects.get(pk=scenario_id)
    run = Run(scenario=scenario, config=scenario.config or "", **defaults(scenario, in_time=False))
    return build_simulation.start(run).simulation
