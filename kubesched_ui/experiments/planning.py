"""Progress of an experiment in the database: its rounds of cells, the results of cells, and the answer.

Each step is a transaction that checks the lease first. So a worker that was lost and still works writes nothing, and
another worker that repeats a step neither stores a cell twice nor counts one twice.
"""

import logging
from collections.abc import Iterable
from itertools import islice

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from kubesched_ui.experiments import documents
from kubesched_ui.experiments.models import Experiment, ExperimentCell
from kubesched_ui.experiments.scenario_inputs import scenario_input
from kubesched_ui.work.models import LostClaim, Work
from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Cell, Done, Result
from scheduler_core.experiments.questions import QUESTIONS
from scheduler_core.experiments.scenario_input import ScenarioInput

logger = logging.getLogger(__name__)

BATCH = 200  # cells of one transaction
ANSWER_MAX_BYTES = 20_000_000


def advance(experiment: Experiment) -> None:
    """Plan the next round of a claimed experiment or, if there is none, store the answer; then release it. Raises
    LostClaim, InputError."""
    question = QUESTIONS[experiment.question]
    document, _ = documents.parse(experiment.document)
    planned = experiment.round if experiment.planned else max(experiment.round - 1, 0)
    scenarios = {key: scenario_input(key, number) for key, number in experiment.scenario_ids.items()}
    if planned == 0:
        store_round(experiment, 1, question.plan(document, scenarios), scenarios)
        return
    done = done_cells(experiment, planned)
    assert len(done) == experiment.cells_done + experiment.cells_failed, "each cell is over, and counted once"
    if following := question.next_round(document, done):
        store_round(experiment, planned + 1, following, scenarios)
        return
    if not done:
        raise InputError(documents.WHERE, "spec", "the document has no cells")
    if all(one.result is None for one in done):
        raise InputError("", "", f"All cells failed. The first one: {done[0].error}")
    answer = question.summarise(document, done)
    if (size := len(msgspec.json.encode(answer))) > ANSWER_MAX_BYTES:
        raise InputError("", "", f"The answer has {size:,} bytes, which is more than {ANSWER_MAX_BYTES:,}.")
    finish(experiment, Work.State.DONE, answer=answer)


def done_cells(experiment: Experiment, rounds: int) -> list[Done]:
    """Return the finished cells of the first rounds in the order of the plan."""
    rows = ExperimentCell.objects.filter(experiment=experiment, round__lte=rounds).order_by("number")
    return [
        Done(msgspec.convert(row.cell, Cell), row.result if row.state == Work.State.DONE else None, row.error)
        for row in rows.only("cell", "result", "state", "error").iterator(chunk_size=500)
    ]


def store_round(
    experiment: Experiment, number: int, cells: Iterable[Cell], scenarios: dict[str, ScenarioInput]
) -> None:
    """Store the cells of a round that are not stored yet, and release the experiment. Cells whose result is known are
    done at once. Raises LostClaim, InputError."""
    experiment.write(round=number, planned=False)
    stored = ExperimentCell.objects.filter(experiment=experiment)
    before = stored.filter(round__lt=number).count()
    have = stored.count() - before  # another worker was lost after it had stored these
    position = before + have
    following = islice(cells, have, None)
    while batch := list(islice(following, BATCH)):
        if position + len(batch) > settings.EXPERIMENT_MAX_CELLS:
            problem = f"needs more than {settings.EXPERIMENT_MAX_CELLS:,} cells, which is the limit"
            raise InputError(documents.WHERE, "spec", problem)
        rows = [
            ExperimentCell(
                experiment=experiment,
                number=position + index,
                round=number,
                address=scenarios[cell.scenario].address_of(cell),
                cell=msgspec.to_builtins(cell),
                labels=cell.labels,
            )
            for index, cell in enumerate(batch, 1)
        ]
        store(experiment, rows)
        position += len(batch)
    experiment.write(planned=True, worker="", starts=0)


def store(experiment: Experiment, rows: list[ExperimentCell]) -> None:
    """Insert cells, those with a known result as done. Raises LostClaim."""
    known = known_results(row.address for row in rows)
    size = 0
    for row in rows:
        if (result := known.get(row.address)) is not None:
            row.state, row.result, row.metrics = Work.State.DONE, result, metrics_of(result)
            row.reused, row.finished_at = True, timezone.now()
            size += len(msgspec.json.encode(row.result))
    reused = sum(row.reused for row in rows)
    with transaction.atomic():
        experiment.write(
            cells_total=F("cells_total") + len(rows),
            cells_done=F("cells_done") + reused,
            cells_reused=F("cells_reused") + reused,
            result_bytes=F("result_bytes") + size,
        )
        ExperimentCell.objects.bulk_create(rows)


def known_results(addresses: Iterable[str]) -> dict[str, Result]:
    """Return address -> result for the cells that were computed before, for any user: who knows all that an address is
    made of may know its result."""
    rows = ExperimentCell.objects.filter(address__in=list(addresses), state=Work.State.DONE).order_by()
    return {
        address: result for address, result in rows.values_list("address", "result").iterator() if result is not None
    }


def metrics_of(result: Result | None) -> dict[str, float]:
    """Return name -> number of the metrics of a result."""
    found = (result or {}).get("metrics") or {}
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


def finish_cell(cell: ExperimentCell, error: str = "", result: Result | None = None, seconds: float = 0.0) -> None:
    """Store the result of a claimed cell, or why it failed, and count it. Raises LostClaim."""
    size = len(msgspec.json.encode(result)) if result is not None else 0
    if size > settings.EXPERIMENT_RESULT_MAX_BYTES:
        most = settings.EXPERIMENT_RESULT_MAX_BYTES
        error, result = f"The result has {size:,} bytes, which is more than {most:,}.", None
    elif size and cell.experiment.result_bytes + size > settings.EXPERIMENT_MAX_BYTES:
        error, result = f"The results of the experiment have more than {settings.EXPERIMENT_MAX_BYTES:,} bytes.", None
    done = result is not None
    values = {"seconds": seconds, "reused": cell.reused, "result": result, "metrics": metrics_of(result)}
    with transaction.atomic():
        # The experiment is locked first, as wherever both are written.
        counted = Experiment.everything.filter(pk=cell.experiment_id, state=Work.State.RUNNING).update(
            cells_done=F("cells_done") + int(done),
            cells_failed=F("cells_failed") + int(not done),
            cells_reused=F("cells_reused") + int(done and cell.reused),
            seconds=F("seconds") + seconds,
            result_bytes=F("result_bytes") + (size if done else 0),
        )
        if not counted:
            raise LostClaim
        cell.end(Work.State.DONE if done else Work.State.FAILED, error, worker="", **values)


def finish(experiment: Experiment, state: str, error: str = "", **values: object) -> None:
    """End a claimed experiment. Raises LostClaim."""
    with transaction.atomic():
        experiment.end(state, error, worker="", **values)
        stop_cells(experiment)


def stop_cells(experiment: Experiment) -> None:
    """Cancel the cells of an experiment that has ended. The workers of those in computation notice it in a second."""
    cells = ExperimentCell.objects.filter(experiment=experiment, state__in=Work.ACTIVE)
    cells.update(state=Work.State.CANCELLED, cancel_requested=True, finished_at=timezone.now(), worker="")
