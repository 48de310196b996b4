"""Operations on experiments: create, wake workers, cancel, recover after the loss of a worker."""

import logging
from typing import Any

from celery import group
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from kombu.exceptions import OperationalError

from kubesched_ui.celery import app
from kubesched_ui.experiments import documents, planning, queue
from kubesched_ui.experiments.models import Experiment, ExperimentCell
from kubesched_ui.housekeeping import disk_space, quota
from kubesched_ui.models import MAX_NAME
from kubesched_ui.work import leases
from kubesched_ui.work.models import Work, silent

logger = logging.getLogger(__name__)

COMPUTE = "kubesched.compute_cell"
QUEUE = "experiments"
MESSAGES_AT_ONCE = 500  # a sweep sends at most as many, since it must be short


def create_experiment(document: str | bytes | dict[str, Any]) -> Experiment:
    """Create a queued experiment from its document: YAML or JSON text, or an object. A worker plans its cells.

    Raises InputError, or ServiceUnavailable if disk space is low, before anything is stored.
    """
    disk_space.check_space()
    parsed, text = documents.parse(document)
    scenarios = documents.scenarios_of(parsed)
    with transaction.atomic():
        quota.check_experiment()
        experiment = Experiment.objects.create(
            scenario=scenarios[0],
            scenarios_total=len(scenarios),
            name=parsed.metadata.name[:MAX_NAME],
            question=parsed.spec.question,
            document=text,
            scenario_ids={one.key: scenario.pk for one, scenario in zip(parsed.spec.scenarios, scenarios, strict=True)},
        )
        transaction.on_commit(wake_workers)
    return experiment


def wake_workers(most: int = 1) -> None:
    """Send a message for each job that waits for a worker and has none, at most `most`. If the broker is unavailable,
    the sweep sends them."""
    try:
        have = messages()
        send(queue.waiting_jobs(have + most) - have)
    except (OperationalError, OSError) as error:
        logger.warning("Experiments wait for the broker: %s", error)


def messages() -> int:
    """Return the number of messages that wait in the broker. Raises OperationalError, OSError."""
    with app.connection_or_acquire() as connection:
        return int(connection.default_channel.queue_declare(QUEUE).message_count)


def send(number: int) -> None:
    """Send messages, each of which wakes one worker. Raises OperationalError, OSError."""
    if number > 0:
        group(app.signature(COMPUTE) for _ in range(number)).apply_async()


def cancel(experiment: Experiment) -> None:
    """Cancel an active experiment and its unfinished cells. Results of finished cells are kept."""
    now = timezone.now()
    with transaction.atomic():
        cancelled = {"state": Work.State.CANCELLED, "cancel_requested": True, "finished_at": now}
        if Experiment.objects.filter(pk=experiment.pk, state__in=Work.ACTIVE).update(**cancelled):
            planning.stop_cells(experiment)
    experiment.refresh_from_db()


def sweep() -> None:
    """Fail work that has lost too many workers, and send messages for jobs that have none. Safe to run in any
    process."""
    experiments = Experiment.everything.filter(state__in=Work.ACTIVE)
    if not experiments.exists():
        return
    experiments.filter(worker="").filter(silent() | Q(heartbeat_at__lt=Now())).update(heartbeat_at=Now())
    often = {"starts__gte": settings.RUN_MAX_STARTS}
    cells = ExperimentCell.objects.filter(**often).defer("cell", "result")
    leases.sweep(experiments.filter(**often), lambda it, why: planning.finish(it, Work.State.FAILED, why))
    leases.sweep(cells, planning.finish_cell)
    wake_workers(MESSAGES_AT_ONCE)
