"""Celery task of experiments: plans rounds, computes cells and summarises."""

import time
from collections.abc import Callable

import msgspec
from celery import shared_task
from django.conf import settings

from kubesched_ui.celery import periodic
from kubesched_ui.experiments import opened_runs as opened_runs  # goes on when a worker has finished a run
from kubesched_ui.experiments import planning, queue, services
from kubesched_ui.experiments.models import Experiment, ExperimentCell
from kubesched_ui.experiments.scenario_inputs import scenario_input
from kubesched_ui.work import leases
from kubesched_ui.work.models import LostClaim, Work
from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Cell
from scheduler_core.experiments.questions import QUESTIONS

TURN_S = 1.0  # a message computes further cells up to this time, because a message costs as much as a small cell
CHECK_EVERY_S = 1.0


@shared_task(name=services.COMPUTE, acks_late=True)
def compute_cell() -> None:
    """Do the next jobs of experiments, at least one if there is any. The worker that computes the last cell of a round
    goes on to the next round or the answer, which have no message of their own."""
    end = time.monotonic() + TURN_S
    while do_next_job() and (time.monotonic() < end or Experiment.everything.ready().exists()):
        pass


def do_next_job() -> bool:
    """Plan or summarise an experiment, or compute a cell. Return whether there was such a job."""
    if experiment := queue.claim_experiment(leases.lease_token()):
        advance(experiment)
        return True
    if cell := queue.claim_cell(leases.lease_token()):
        compute(cell)
        return True
    return False


def advance(experiment: Experiment) -> None:
    """Plan the next round of a claimed experiment, or store its answer."""
    with leases.hold(experiment, lambda state, error, _: planning.finish(experiment, state, error)):
        planning.advance(experiment)
    services.wake_workers(settings.EXPERIMENT_MAX_CELLS)


def compute(cell: ExperimentCell) -> None:
    """Compute a claimed cell and store its result, unless an equal cell has been computed meanwhile. A cell that fails
    unexpectedly is tried again."""
    start = time.perf_counter()

    def end(state: str, error: str, unexpected: bool) -> None:
        if unexpected and cell.starts < settings.EXPERIMENT_MAX_ATTEMPTS:
            cell.write(state=Work.State.QUEUED, error=error, worker="")
            services.wake_workers()
        else:
            planning.finish_cell(cell, error, seconds=time.perf_counter() - start)

    with leases.hold(cell, end):
        if known := planning.known_results([cell.address]):
            cell.reused = True
            planning.finish_cell(cell, result=known[cell.address])
            return
        wanted = msgspec.convert(cell.cell, Cell)
        scenario = scenario_input(wanted.scenario, cell.experiment.scenario_ids[wanted.scenario])
        result = QUESTIONS[wanted.question].compute(wanted, scenario, check_of(cell))
        planning.finish_cell(cell, result=result, seconds=time.perf_counter() - start)


def check_of(cell: ExperimentCell) -> Callable[[], None]:
    """Return a function that raises LostClaim or InputError if the computation of the cell must stop."""
    began = last = time.monotonic()

    def check() -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < CHECK_EVERY_S:
            return
        last = now
        if now - began > settings.RUN_TIME_LIMIT_S:
            raise InputError("", "", f"The cell took longer than {settings.RUN_TIME_LIMIT_S:,} s and was stopped.")
        if not cell.held().exists():
            raise LostClaim

    return check


periodic("RUN_SWEEP_EVERY_S")(services.sweep)
