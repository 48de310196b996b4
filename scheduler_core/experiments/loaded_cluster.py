"""The cluster of a cell at the end of its run, from which any number of continuations begin."""

from functools import partial

from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.experiments.cell import Cell, Check
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.forks.mutations import Edit, read_changes
from scheduler_core.forks.prefix import prefix_of, resume, simulation_from
from scheduler_core.forks.stages import Stage, apply_again, decisions
from scheduler_core.recording.recording import Recorder
from scheduler_core.simulation import Simulation


class LoadedCluster:
    """The run of a cell, played to its end once. `end`: its simulation, which must not be changed. `cycles`: number of
    its cycles. `check`: called between cycles. Raises InputError."""

    def __init__(self, cell: Cell, scenario: ScenarioInput, check: Check) -> None:
        self._seed = cell.seed
        self._decisions = decisions([Stage(at=1, changes=read_changes(cell.changes))])
        self.end = simulation = scenario.simulation(cell)
        self._last: list[CycleTrace] = []  # the cycles that opportunistic batching continues
        recorder = Recorder(simulation)
        for trace in simulation.run():
            check()
            recorder.cycle(trace)
            if trace.preenqueue is not None:
                continue
            if not trace.node or trace.batch_hint != trace.node:
                self._last.clear()
            self._last.append(trace)
        recorder.rest()
        simulation.cluster.journal.entries = None
        self.cycles = simulation.scheduler.cycles
        recording, facts, objects = recorder.read_back()
        self._fetch = objects.__getitem__
        self._prefix = prefix_of(recording, facts, self._fetch, self.cycles + 1)

    def continuation(self) -> Simulation:
        """Return a new simulation at the end of the run, as a fork before the next cycle has it."""
        end = self.end
        make = partial(Simulation, release=end.release, config=end.configuration, seed=self._seed, timer=lambda: 0)
        start = end.scheduler.next_start_index
        simulation = simulation_from(self._prefix, self._fetch, make, end.release, (), start)
        resume(simulation, self._prefix, self._fetch, reversed(self._last))
        apply_again(Edit(simulation), self._decisions)
        return simulation
