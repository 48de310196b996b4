"""Opens one loss of an experiment as a run: a fork of the run of its scenario, with the changes of the loss."""

from __future__ import annotations

import msgspec

from kubesched_ui.experiments import opened_runs
from kubesched_ui.experiments.models import ExperimentCell
from kubesched_ui.experiments.scenario_inputs import scenario_input
from kubesched_ui.models import MAX_NAME, Run, Scenario, Work
from kubesched_ui.runs import fork_create, suggested_comparisons
from scheduler_core.debugger.mutations import MOST
from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Cell
from scheduler_core.experiments.loaded_cluster import LoadedCluster
from scheduler_core.experiments.node_loss import loss_changes

WHERE = "Loss"


def open_loss(row: ExperimentCell, place: int) -> tuple[Run, bool]:
    """Return the run of a loss, which is created if it does not exist, and True. If the run that it continues has not
    finished, return that one and False. Raises InputError, or ServiceUnavailable if disk space is low."""
    cell = msgspec.convert(row.cell, Cell)
    loss = (row.result or {})["losses"][place]
    scenario = Scenario.objects.filter(pk=row.experiment.scenario_ids.get(cell.scenario)).first()
    if scenario is None:
        raise InputError(WHERE, "scenario", "was deleted")
    if loss["pods"] + len(loss["nodes"]) > MOST:
        problem = f"it moves {loss['pods']:,} pods; a run can have at most {MOST:,} changes"
        raise InputError(WHERE, "", f"cannot be opened as a run: {problem}")
    run = suggested_comparisons.run_with(scenario, opened_runs.settings_of(row, scenario))
    if cell.changes and not run.active:
        run = opened_runs.fork_of(run, cell.changes)
    if run.active:
        return run, False
    if run.state != Work.State.DONE:
        raise InputError(WHERE, "", f"run {run.pk}, from which it would be forked, is {run.state}")
    loaded = LoadedCluster(cell, scenario_input(cell.scenario, scenario.pk), lambda: None)
    mode, at = cell.parameters["mode"], loaded.cycles + 1
    name = f"{run.title} + {mode} of {loss['name']}"[:MAX_NAME]
    there = run.forks.filter(name=name, fork_at=at).exclude(state__in=(Work.State.FAILED, Work.State.CANCELLED))
    if (found := there.order_by("-pk").first()) is not None:
        return found, True
    changes = loss_changes(loaded.continuation(), loss["nodes"], mode)
    return fork_create.create_fork(run, at, None, changes, {}, name), True
