"""Cells opened as runs: a run with the settings of a cell, and forks of it with the changes of the cell and with what
the cell does besides its run (`scheduler_core.experiments.cell_runs`)."""

import logging
from dataclasses import asdict
from typing import Any

import msgspec
from django.dispatch import receiver

from kubesched_ui.experiments.models import ExperimentCell
from kubesched_ui.experiments.scenario_inputs import scenario_input
from kubesched_ui.models import MAX_NAME, Run, Scenario, current_viewer
from kubesched_ui.models.current_viewer import OwnerViewer
from kubesched_ui.runs import fork_create, services, suggested_comparisons
from kubesched_ui.runs.services import RunSettings, defaults
from kubesched_ui.runtime.outages import ServiceUnavailable
from kubesched_ui.work.models import Work
from scheduler_core.errors import InputError
from scheduler_core.experiments import cell_runs
from scheduler_core.experiments.cell import Cell
from scheduler_core.experiments.cell_runs import CellRun, has_fork

logger = logging.getLogger(__name__)

UNFINISHED = "A computation without a result does not open as a run."


def cell_of(row: ExperimentCell) -> Cell:
    """Return the cell of a row."""
    return msgspec.convert(row.cell, Cell)


def why_not(row: ExperimentCell, place: int | None = None) -> str:
    """Return why no run represents a cell, or the loss `place` of it; "" if one may."""
    cell = cell_of(row)
    if row.state == Work.State.FAILED or (cell.question in cell_runs.CELL_RUNS and row.state != Work.State.DONE):
        return UNFINISHED
    return cell_runs.why_not(cell, row.metrics, place)


def is_complete(row: ExperimentCell) -> bool:
    """Return whether the cell's run exists with all its changes."""
    if row.run is None:
        return False
    cell = cell_of(row)
    return len(row.run.stages) >= bool(cell.changes) + has_fork(cell, row.result or {})


def open_cell(row: ExperimentCell) -> Run:
    """Return the run of a cell; an existing one is reused. If a fork is to follow, this is the run that it begins from,
    until that is finished. Raises InputError, or ServiceUnavailable if disk space is low."""
    if row.run is not None and is_complete(row) and current_viewer.can_view(Run, row.run_id):
        return row.run
    row.run, _ = open_run(row)
    row.save(update_fields=["run"])
    return row.run


def open_run(row: ExperimentCell, place: int | None = None) -> tuple[Run, bool]:
    """Return the run of a cell, or of the loss `place` of it, and True; if the run that a fork begins from has not
    finished, that one and False. Existing runs are reused. Raises InputError, or ServiceUnavailable if disk space is
    low."""
    if problem := why_not(row, place):
        raise InputError(str(row), "", problem)
    cell = cell_of(row)
    scenario = Scenario.objects.filter(pk=row.experiment.scenario_ids.get(cell.scenario)).first()
    if scenario is None:
        raise InputError(str(row), "scenario", "was deleted")
    settings, forks = settings_of(cell, scenario), list[CellRun]()
    if cell.changes:
        forks.append(CellRun({}, "", lambda: cell.changes, at_end=False))
    if cell.question in cell_runs.CELL_RUNS:
        result = row.result or {}
        more = cell_runs.run_of(cell, result, scenario_input(cell.scenario, scenario.pk), place or 0)
        settings |= more.settings
        forks += [more] * has_fork(cell, result)
    run = suggested_comparisons.run_with(scenario, settings)
    for fork in forks:
        if run.active:
            return run, False
        if run.state != Work.State.DONE:
            raise InputError(str(row), "", f"run {run.pk}, from which it would be forked, is {run.state}")
        run = fork_of(run, fork)
    return run, True


def settings_of(cell: Cell, scenario: Scenario) -> dict[str, Any]:
    """Return the settings of a run that decides as the cell does."""
    wanted: dict[str, Any] = {"release": cell.release, "config": cell.configuration, "seed": cell.seed}
    wanted["unknown_plugins"] = cell.unknown_plugins
    if cell.virtual_time:
        wanted = defaults(scenario, in_time=True) | wanted | ({} if cell.until is None else {"until": cell.until})
    return asdict(RunSettings(**wanted))


def fork_of(run: Run, wanted: CellRun) -> Run:
    """Return a fork of the run with these changes, an existing one if there is. Raises InputError."""
    changes, at = cell_runs.checked(wanted.changes()), run.cycles_done + 1 if wanted.at_end else 1
    for fork in run.forks.filter(fork_at=at).exclude(state__in=[Work.State.FAILED, Work.State.CANCELLED])[:100]:
        if fork.changes == changes:
            return fork
    settings = {} if wanted.preemption else {"preemption": False}
    name = fork_create.named_by_change(run, wanted.name) if wanted.name else ""
    return fork_create.create_fork(run, at, None, changes, settings, name[:MAX_NAME])


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
