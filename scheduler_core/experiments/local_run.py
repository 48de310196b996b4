"""Runs an experiment in the processes of one machine."""

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing import Pipe, Process, parent_process
from multiprocessing.connection import Connection, wait
from typing import NamedTuple, Self, cast

from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Cell, Done, Result
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
    workers: int = 1,
) -> Result:
    """Compute all cells and return the summary. `scenarios`: by the key of their reference. `on_finished`: called for
    each cell, in the order of their plan. `workers`: processes that compute cells, 1 for this
    one; the results are the same. Raises InputError if no cell can be planned; a cell that fails is part of the
    summary."""
    question = QUESTIONS[experiment.spec.question]
    results: dict[str, Done] = {}
    done: list[Done] = []
    cells = planned(question.plan(experiment, scenarios))
    with _Workers(question, scenarios, min(workers, len(cells))) as pool:
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
    """Computes cells, in this process or in others. Leaving the context ends these, also during a computation.

    Only the calling thread speaks to them: Ctrl-C can raise in it at any point, and another thread would then wait for
    ever for a lock that it holds.
    """

    def __init__(self, question: ExperimentQuestion, scenarios: Mapping[str, ScenarioInput], number: int) -> None:
        self._work = question, scenarios
        self._number = number
        self._processes: dict[Connection, Process] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with _interrupted_later():
            for process in self._processes.values():
                process.terminate()
            for process in self._processes.values():
                process.join()

    def compute(self, cells: Sequence[Cell]) -> Iterator[tuple[Done, float]]:
        """Yield the results of cells in this order, each with the seconds that it took. Raises InputError if a process
        was killed."""
        if self._number <= 1:
            yield from (_computed(*self._work, cell) for cell in cells)
            return
        if not self._processes:
            self._start()
        rest = iter(range(len(cells)))
        current: dict[Connection, int] = {}
        computed: dict[int, tuple[Done, float] | Exception] = {}

        def send(connection: Connection) -> None:
            for current[connection] in islice(rest, 1):
                with suppress(OSError):  # it was killed: it sends nothing either
                    connection.send(cells[current[connection]])

        for connection in self._processes:
            send(connection)
        for number in range(len(cells)):
            while number not in computed:
                for connection in cast(list[Connection], wait(list(current))):
                    sent = current.pop(connection)
                    computed[sent] = _received(connection, cells[sent])
                    send(connection)
            result = computed.pop(number)
            if isinstance(result, Exception):
                raise result
            yield result

    def _start(self) -> None:
        with _interrupted_later():  # the processes inherit this: Ctrl-C is for the parent
            for _ in range(self._number):
                connection, other_end = Pipe()
                process = Process(target=_compute_for_parent, args=(other_end, *self._work), daemon=True)
                process.start()
                self._processes[connection] = process
                other_end.close()


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Postpone Ctrl-C until the end of a block, so that no process is forgotten."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _received(connection: Connection, cell: Cell) -> tuple[Done, float] | Exception:
    try:
        return cast(tuple[Done, float] | Exception, connection.recv())
    except (EOFError, OSError):
        problem = f"a process was killed that computed {_name(cell)}; fewer workers need less memory"
        raise InputError("experiment", "", problem) from None


def _name(cell: Cell) -> str:
    return "the cell " + ", ".join(f"{name} {text}" for name, text in cell.labels.items())


def _computed(question: ExperimentQuestion, scenarios: Mapping[str, ScenarioInput], cell: Cell) -> tuple[Done, float]:
    start = time.perf_counter()
    try:
        done = Done(cell, question.compute(cell, scenarios[cell.scenario], lambda: None))
    except InputError as problem:
        done = Done(cell, None, str(problem)[:REASON_LENGTH])
    except Exception as problem:
        problem.add_note(f"in {_name(cell)}")
        raise
    return done, time.perf_counter() - start


# ---- in another process


def _compute_for_parent(
    connection: Connection, question: ExperimentQuestion, scenarios: Mapping[str, ScenarioInput]
) -> None:
    """Receive cells and send their results or exceptions, until the parent ends."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError):
        while True:
            cell = connection.recv()
            try:
                result: tuple[Done, float] | Exception = _computed(question, scenarios, cell)
            except Exception as problem:
                problem.add_note(traceback.format_exc())  # the parent's has no line of this process
                result = problem
            connection.send(result)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
