"""Cells opened as runs: a run with the settings of a cell, and for a cell with changes a fork of it before cycle 1."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Any

from django.dispatch import receiver

from kubesched_ui import current_viewer
from kubesched_ui.current_viewer import OwnerViewer
from kubesched_ui.experiments.models import ExperimentCell
from kubesched_ui.models import Run, Scenario
from kubesched_ui.outages import ServiceUnavailable
from kubesched_ui.runs import fork_create, services, suggested_comparisons
from kubesched_ui.runs.services import RunSettings, defaults
from scheduler_core.errors import InputError

logger = logging.getLogger(__name__)

OF_A_RUN = {"outcomes"}  # parameters of cells that compute one run


def is_run(cell: ExperimentCell) -> bool:
    """Return whether the cell computes one run, and not something that its parameters describe."""
    return set(cell.cell.get("parameters") or {}) <= OF_A_RUN


def is_complete(cell: ExperimentCell) -> bool:
    """Return whether the cell's run exists with its changes."""
    return cell.run is not None and (cell.run.is_fork or not cell.cell.get("changes"))


def open_cell(cell: ExperimentCell) -> Run:
    """Return the run of a cell; an existing one with the same settings is reused. Of a cell with changes, this is the
    run without them until that is finished; then the fork is created. Raises InputError."""
    if not is_run(cell):
        raise InputError(str(cell), "", "does more than one run and cannot be opened as a run")
    if cell.run is not None and is_complete(cell) and current_viewer.can_view(Run, cell.run_id):
        return cell.run
    number = cell.experiment.scenario_ids.get(cell.cell["scenario"])
    scenario = Scenario.objects.filter(pk=number).first()
    if scenario is None:
        raise InputError(str(cell), "scenario", "was deleted")
    run = suggested_comparisons.run_with(scenario, settings_of(cell, scenario))
    if (changes := cell.cell.get("changes")) and not run.active:
        run = fork_of(run, changes)
    cell.run = run
    cell.save(update_fields=["run"])
    return run


def settings_of(cell: ExperimentCell, scenario: Scenario) -> dict[str, Any]:
    """Return the settings of a run that decides as the cell does."""
    content = cell.cell
    wanted: dict[str, Any] = {"release": content["release"], "config": content.get("configuration", "")}
    wanted |= {"seed": content.get("seed", 0)}
    if content.get("virtual_time"):
        until = content.get("until")
        wanted = defaults(scenario, in_time=True) | wanted | ({} if until is None else {"until": until})
    return asdict(RunSettings(**wanted))


def fork_of(run: Run, changes: list[dict[str, Any]]) -> Run:
    """Return a fork of the run with these changes before its first cycle. Raises InputError."""
    for fork in run.forks.filter(fork_at=1).exclude(state__in=["failed", "cancelled"])[:100]:
        if fork.changes == changes:
            return fork
    return fork_create.create_fork(run, 1, None, changes, {})


@receiver(services.run_finished)
def run_is_over(run_id: int, **_: Any) -> None:
    """Create the forks of the cells that waited for this run."""
    for cell in ExperimentCell.objects.filter(run=run_id, run__state=Run.State.DONE).select_related(
        "run", "experiment"
    ):
        if not is_complete(cell):
            with current_viewer.as_viewer(OwnerViewer(cell.run.owner_id if cell.run else None)):
                try:
                    open_cell(cell)
                except (InputError, ServiceUnavailable) as error:
                    logger.warning("%s is not opened with its changes: %s", cell, error)
