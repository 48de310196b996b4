"""Runs an experiment in the processes of one machine."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import active_children, parent_process
from typing import NamedTuple, Self

from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Cell, Check, Done, Result
from scheduler_core.experiments.document import MAX_CELLS, Experiment
from scheduler_core.experiments.question import ExperimentQuestion
from scheduler_core.experiments.questions import QUESTIONS
from scheduler_core.experiments.scenario_input import ScenarioInput

REASON_LENGTH = 500


class Finished(NamedTuple):
    """A finished cell with its number from 1, and the seconds that it took; 0 if an equal cell was computed before."""

    number: int
    done: Done
    seconds: float


def planned(cells: Iterable[Cell], before: int = 0) -> list[Cell]:
    """Return the cells of a round as a list. `before`: the number of cells of earlier rounds. Raises InputError if
    there are too many."""
    found = list(islice(cells, MAX_CELLS - before + 1))
    if before + len(found) > MAX_CELLS:
        raise InputError("experiment", "", f"would have more than {MAX_CELLS:,} cells")
    return found


def run_experiment(
    experiment: Experiment,
    scenarios: Mapping[str, ScenarioInput],
    on_finished: Callable[[Finished], None] = lambda finished: None,
    check: Check = lambda: None,
    workers: int = 1,
) -> Result:
    """Compute all cells and return the summary. `scenarios`: by the key of their reference. `on_finished`: called for
    each cell, in the order of their plan. `check`: raises to stop. `workers`: processes that compute cells, 1 for this
    one; the results are the same. Raises InputError if no cell can be planned; a cell that fails is part of the
    summary."""
    question = QUESTIONS[experiment.spec.question]
    results: dict[str, Done] = {}
    done: list[Done] = []
    cells = planned(question.plan(experiment, scenarios))
    with _Workers(question, scenarios, check, min(workers, len(cells))) as pool:
        while cells:
            addresses = [scenarios[cell.scenario].address_of(cell) for cell in cells]
            new = {address: cell for address, cell in zip(addresses, cells, strict=True) if address not in results}
            computed = pool.compute(list(new.values()))
            for cell, address in zip(cells, addresses, strict=True):
                seconds = 0.0
                if address not in results:
                    results[address], seconds = next(computed)
                one = results[address]._replace(cell=cell)
                done.append(one)
                on_finished(Finished(len(done), one, round(seconds, 3)))
            cells = planned(question.next_round(experiment, done), len(done))
    return question.summarise(experiment, done)


class _Workers:
    """Computes cells, in this process or in others. Leaving the context ends these, also during a computation."""

    def __init__(
        self, question: ExperimentQuestion, scenarios: Mapping[str, ScenarioInput], check: Check, number: int
    ) -> None:
        self._work = question, scenarios, check
        self._pool: ProcessPoolExecutor | None = None
        self._others = active_children()
        if number > 1:
            self._pool = ProcessPoolExecutor(number, initializer=_begin, initargs=(question, dict(scenarios)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            for process in active_children():
                if process not in self._others:
                    process.terminate()
            self._pool.shutdown(cancel_futures=True)  # its thread reaps them; if two did, one could miss the end

    def compute(self, cells: Sequence[Cell]) -> Iterator[tuple[Done, float]]:
        """Yield the results of cells in this order, each with the seconds that it took. Raises InputError if a process
        was killed."""
        if self._pool is None:
            yield from (_computed(*self._work, cell) for cell in cells)
            return
        finished = 0
        try:
            for future in [self._pool.submit(_computed_by_worker, cell) for cell in cells]:
                yield future.result()
                finished += 1
        except BrokenProcessPool:
            of = f"{_name(cells[finished])} or a later one"
            problem = f"a process was killed that computed {of}; fewer workers need less memory"
            raise InputError("experiment", "", problem) from None


def _name(cell: Cell) -> str:
    return "the cell " + ", ".join(f"{name} {text}" for name, text in cell.labels.items())


def _computed(
    question: ExperimentQuestion, scenarios: Mapping[str, ScenarioInput], check: Check, cell: Cell
) -> tuple[Done, float]:
    start = time.perf_counter()
    try:
        done = Done(cell, question.compute(cell, scenarios[cell.scenario], check))
    except InputError as problem:
        done = Done(cell, None, str(problem)[:REASON_LENGTH])
    except Exception as problem:
        problem.add_note(f"in {_name(cell)}")
        raise
    return done, time.perf_counter() - start


# ---- in a process of the pool

_own: list[tuple[ExperimentQuestion, Mapping[str, ScenarioInput], Check]] = []


def _begin(question: ExperimentQuestion, scenarios: Mapping[str, ScenarioInput]) -> None:
    """Prepare a process that computes cells. It ends with its parent, which also handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _own.append((question, scenarios, lambda: None))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _computed_by_worker(cell: Cell) -> tuple[Done, float]:
    return _computed(*_own[0], cell)
