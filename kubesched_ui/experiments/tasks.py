"""Celery task of experiments: plans rounds, computes cells and summarises."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from celery import shared_task
from django.conf import settings

from kubesched_ui.celery import periodic
from kubesched_ui.event_log.log import LostClaim
from kubesched_ui.experiments import opened_runs as opened_runs  # goes on when a worker has finished a run
from kubesched_ui.experiments import planning, queue, services
from kubesched_ui.experiments.models import Experiment, ExperimentCell
from kubesched_ui.experiments.scenario_inputs import scenario_input
from kubesched_ui.models import Work, WorkQuerySet
from kubesched_ui.outages import DATABASE
from kubesched_ui.runs import leases
from kubesched_ui.runs.tasks import Heartbeat
from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Cell
from scheduler_core.experiments.questions import QUESTIONS

logger = logging.getLogger(__name__)

TURN_S = 1.0  # a message computes further cells up to this time, because a message costs as much as a small cell
CHECK_EVERY_S = 1.0

leases.HELD += [Experiment, ExperimentCell]


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


@contextmanager
def lease(work: Experiment | ExperimentCell, held: WorkQuerySet[Any]) -> Iterator[None]:
    """Send heartbeats for claimed work. The work ends if another worker has it, and waits if the database fails."""
    with Heartbeat(held, f"{work._meta.model_name}-{work.pk}"):
        try:
            yield
        except LostClaim:
            logger.info("%s was cancelled or taken over by another worker", work)
        except DATABASE as error:
            logger.warning("%s waits for the database: %s", work, error)
            leases.release_on_outage(work)


def advance(experiment: Experiment) -> None:
    """Plan the next round of a claimed experiment, or store its answer."""
    with lease(experiment, Experiment.everything.held(experiment)):
        try:
            planning.advance(experiment)
        except InputError as error:
            planning.finish(experiment, Work.State.FAILED, str(error))
        except (LostClaim, *DATABASE):
            raise
        except Exception as error:
            logger.exception("%s failed", experiment)
            planning.finish(experiment, Work.State.FAILED, internal(error))
    services.wake_workers(settings.EXPERIMENT_MAX_CELLS)


def compute(cell: ExperimentCell) -> None:
    """Compute a claimed cell and store its result, unless an equal cell has been computed meanwhile."""
    with lease(cell, ExperimentCell.objects.held(cell)):
        if known := planning.known_results([cell.address]):
            cell.reused = True
            planning.finish_cell(cell, result=known[cell.address])
            return
        start = time.perf_counter()
        try:
            wanted = msgspec.convert(cell.cell, Cell)
            scenario = scenario_input(wanted.scenario, cell.experiment.scenario_ids[wanted.scenario])
            result = QUESTIONS[wanted.question].compute(wanted, scenario, check_of(cell))
            planning.finish_cell(cell, result=result, seconds=time.perf_counter() - start)
            return
        except InputError as problem:
            error = str(problem)
        except (LostClaim, *DATABASE):
            raise
        except Exception as problem:
            logger.exception("%s failed", cell)
            error = internal(problem)
            if cell.starts < settings.EXPERIMENT_MAX_ATTEMPTS:
                retry(cell, error)
                return
        planning.finish_cell(cell, error, seconds=time.perf_counter() - start)


def retry(cell: ExperimentCell, error: str) -> None:
    """Let a worker try a cell again."""
    ExperimentCell.objects.held(cell).update(state=Work.State.QUEUED, error=error, worker="")
    services.wake_workers()


def internal(error: Exception) -> str:
    """Return a sentence about an unexpected exception."""
    return f"Internal error ({type(error).__name__}); see the worker log for details."


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
        if not ExperimentCell.objects.held(cell).exists():
            raise LostClaim

    return check


periodic("RUN_SWEEP_EVERY_S")(services.sweep)
