"""Answers about a node and the pods that wait: of a run at a timepoint, and of a scenario as it is; the quotas of a
scenario."""

import threading
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

from kubesched_ui.models import Run, Scenario
from kubesched_ui.queries import remedies
from kubesched_ui.queries.recording_cache import NotRecorded
from kubesched_ui.runs import build_simulation
from kubesched_ui.runs.services import defaults
from scheduler_core.errors import InputError
from scheduler_core.explain.answer import Answer, NodeAnswer
from scheduler_core.explain.quotas import QuotaPicture, picture_of
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.answers import answer_now, node_answer_now
from scheduler_core.suggestions.node_demand import summary_of

LARGE = 20_000
"""Pods of a scenario from which on a page opens before its sentence about the node is known, which takes seconds."""

_lock = threading.Lock()  # dry cycles modify a cached cluster, and revert that


def loads_later(scenario: Scenario, query: Mapping[str, str]) -> bool:
    """Return whether the page loads the sentence about a node afterwards, with `summary` in the query."""
    return scenario.counts.get("Pod", 0) > LARGE and "summary" not in query


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


def ladder_of_pod(scenario: Scenario, key: str) -> Answer | None:
    """Return the answer about a pending pod (namespace/name) of a scenario as it is, with its whole ladder; None if no
    such pod waits for a profile. Raises InputError."""
    with _lock:
        simulation = _of_pods(scenario)
        pod = next((pod for pod in simulation.pending if pod.key == key and not pod.node), None)
        if pod is None or pod.pod.spec.scheduler_name not in simulation.scheduler.profiles:
            return None
        return answer_now(simulation, pod, whole_ladder=True)


def quotas(scenario: Scenario) -> QuotaPicture | None:
    """Return the quotas of a scenario as it is; None if it has none. Raises InputError."""
    with _lock:
        return picture_of(_of_pods(scenario).cluster)


def node_answer(scenario: Scenario, key: str, node: str) -> NodeAnswer:
    """Return why a pending pod of a scenario would, or would not, go to a node. Raises InputError."""
    with _lock:
        return node_answer_now(_of_pods(scenario), key, node)


def _of_pods(scenario: Scenario) -> Simulation:
    if scenario.time:
        raise InputError("This scenario", "", "has pods that come in virtual time; a run says which nodes take them")
    return _simulation(scenario.pk, scenario.created_at)


def _unknown(problem: Exception) -> str:
    return f"What keeps the pending pods from the node is not known: {str(problem).rstrip('.')}."


@lru_cache(maxsize=1)
def _simulation(scenario_id: int, created_at: datetime) -> Simulation:
    # The key contains the time because a database may reuse the number of a deleted scenario.
    scenario = Scenario.objects.get(pk=scenario_id)
    run = Run(scenario=scenario, config=scenario.config or "", **defaults(scenario, in_time=False))
    return build_simulation.start(run).simulation
