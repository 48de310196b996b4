"""Tune: weights of score plugins and scoring strategies that improve an aim, a mix of aims, or their Pareto front.

A trial is a configuration, and its cells are runs: one for each scenario, seed and set of changes. The trials of a
round are chosen by Optuna's Tree-structured Parzen Estimator from all trials before. The study is rebuilt from the
finished cells in each round, and the sampler's seed comes from the document's seed and the round, so the same document
gives the same trials.

Source: Bergstra et al., "Algorithms for hyper-parameter optimization", NeurIPS 2011; Ozaki et al., "Multiobjective
tree-structured Parzen estimator", JAIR 73 (2022).
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from scheduler_core.cluster.formatting import amount, listing
from scheduler_core.errors import refuse
from scheduler_core.experiments.cell import Cell, Check, Done, Result
from scheduler_core.experiments.compare import Metrics, metrics_of
from scheduler_core.experiments.document import MAX_CELLS, Experiment, ExperimentSpec, cells_of
from scheduler_core.experiments.parameters import TuneAim, TuneParameters
from scheduler_core.experiments.question import ExperimentQuestion
from scheduler_core.experiments.run_cell import result_of, run_of
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.experiments.tuned_configuration import RATIO, Choices, SearchSpace, choices_of
from scheduler_core.metrics.catalog import PENDING_BY, metric_of
from scheduler_core.metrics.pareto import pareto_front

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution

GIVEN = 0  # the trial of the given configuration
MAX_FRONT = 50  # points of the front whose configuration is part of the answer


@dataclass
class TrialResult:
    """A trial. `metrics`: the means over its cells; {} if one failed. `cells`: their positions in the plan."""

    number: int
    round: int
    configuration: str
    metrics: dict[str, float] = field(default_factory=dict)
    cells: list[int] = field(default_factory=list)
    error: str = ""

    def values(self, aims: Sequence[TuneAim]) -> list[float] | None:
        """Return the values of the aims; None if the trial has not all of them."""
        found = [self.metrics.get(aim.metric) for aim in aims]
        return None if None in found else [float(value) for value in found if value is not None]


class Tune(ExperimentQuestion):
    """The question tune. A cell is a run with the configuration of a trial."""

    name = "tune"
    section = TuneParameters
    required = "it names the aims"
    in_virtual_time = True

    def check(self, spec: ExperimentSpec) -> None:
        for name in ("releases", "configurations"):
            number = len(getattr(spec, name))
            refuse(number != 1, f"spec.{name}", "must have one entry: tune varies the configuration itself")
        tune = spec.section(TuneParameters)
        cells = spec.size * tune.trials
        problem = f"{tune.trials} trials would have {cells:,} cells; at most {MAX_CELLS:,} are allowed"
        refuse(cells > MAX_CELLS, "spec.tune.trials", problem)
        SearchSpace.create(tune, spec.configurations[0].text, spec.releases[0], spec.unknown_plugins)

    def plan(self, experiment: Experiment, scenarios: Mapping[str, ScenarioInput]) -> Iterator[Cell]:
        """Yield the cells of the first round: the given configuration, the other strategies with its weights, and
        random trials."""
        parameters, space = _parameters(experiment), _space(experiment)
        first = [experiment.spec.configurations[0].text]
        first += [space.configuration(choices) for choices in space.first_choices()]
        first = first[: parameters.trials]
        first += self._suggestions(experiment, [], 0, min(parameters.batch, parameters.trials) - len(first))
        yield from _cells(experiment, first, 0, 0)

    def next_round(self, experiment: Experiment, done: Sequence[Done]) -> Sequence[Cell]:
        parameters = _parameters(experiment)
        trials = trials_of(done, parameters.aims)
        turn, number = trials[-1].round + 1, min(parameters.batch, parameters.trials - len(trials))
        found = self._suggestions(experiment, trials, turn, number)
        return list(_cells(experiment, found, len(trials), turn))

    def compute(self, cell: Cell, scenario: ScenarioInput, check: Check) -> Result:
        return result_of(run_of(scenario, cell, check))

    def summarise(self, experiment: Experiment, done: Sequence[Done]) -> Result:
        return _Summary(experiment, trials_of(done, _parameters(experiment).aims)).result()

    def _suggestions(self, experiment: Experiment, trials: Sequence[TrialResult], turn: int, number: int) -> list[str]:
        """Return the configurations of the next trials."""
        if number <= 0:
            return []
        space = _space(experiment)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constant_liar is experimental
            study = _study(space, trials, _seed(experiment, turn))
            return [space.configuration(_choose(study.ask(), space)) for _ in range(number)]


def _parameters(experiment: Experiment) -> TuneParameters:
    return experiment.spec.section(TuneParameters)


def _space(experiment: Experiment) -> SearchSpace:
    spec = experiment.spec
    return SearchSpace.create(
        _parameters(experiment), spec.configurations[0].text, spec.releases[0], spec.unknown_plugins
    )


def _seed(experiment: Experiment, turn: int) -> int:
    """Return the sampler's seed of a round."""
    first = next(iter(experiment.spec.each_seed))
    return random.Random(f"tune/{first}/{turn}").getrandbits(32)


def _cells(experiment: Experiment, configurations: Iterable[str], first: int, turn: int) -> Iterator[Cell]:
    """Yield the cells of trials: those of the grid, with the configuration of the trial."""
    grid = list(cells_of(experiment))
    for number, configuration in enumerate(configurations, first):
        name = grid[0].labels["configuration"] if number == GIVEN else f"trial {number}"
        for cell in grid:
            labels = {**cell.labels, "configuration": name, "trial": str(number), "round": str(turn)}
            yield msgspec.structs.replace(cell, configuration=configuration, parameters={}, labels=labels)


def trials_of(done: Sequence[Done], aims: Sequence[TuneAim]) -> list[TrialResult]:
    """Return the trials in order, with the means of their cells' metrics."""
    none_pending = {aim.metric: 0.0 for aim in aims if aim.metric.startswith(PENDING_BY)}
    found: dict[int, TrialResult] = {}
    metrics, values = metrics_of(done), dict[int, list[Metrics]]()
    for position, one in enumerate(done):
        number = int(one.cell.labels["trial"])
        trial = found.setdefault(number, TrialResult(number, int(one.cell.labels["round"]), one.cell.configuration))
        trial.cells.append(position)
        values.setdefault(number, [])
        if one.result is None:
            trial.error = trial.error or one.error
        else:
            values[number].append(metrics[position])
    for number, trial in found.items():
        if not trial.error:
            trial.metrics = none_pending | _means(values[number])
    return [found[number] for number in sorted(found)]


def _means(of: Sequence[Metrics]) -> dict[str, float]:
    """Return the mean of each metric that all cells have."""
    found = {}
    for name in dict.fromkeys(name for metrics in of for name in metrics):
        numbers = [metrics.get(name) for metrics in of]
        if None not in numbers:
            found[name] = sum(number for number in numbers if number is not None) / len(numbers)
    return found


# ---- the study


def _study(space: SearchSpace, trials: Sequence[TrialResult], seed: int) -> optuna.Study:
    """Return a study in memory that knows the finished trials."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
    parameters, aims, dimensions = space.parameters, space.parameters.aims, space.dimensions()
    if parameters.front:
        names = {"higher": optuna.study.StudyDirection.MAXIMIZE, "lower": optuna.study.StudyDirection.MINIMIZE}
        study = optuna.create_study(sampler=sampler, directions=[names[aim.direction] for aim in aims])
    else:
        study = optuna.create_study(sampler=sampler, direction="minimize")
    for trial in trials:
        values = trial.values(aims)
        if values is None or trial.number == GIVEN:
            continue
        if not parameters.front:
            values = [mix(aims, values, trials[GIVEN].values(aims))]
        choices = choices_of(trial.configuration, space)
        distributions = {name: _distribution(dimensions[name]) for name in choices}
        study.add_trial(optuna.trial.create_trial(params=choices, distributions=distributions, values=values))
    return study


def _choose(trial: optuna.Trial, space: SearchSpace) -> Choices:
    """Let a new trial choose."""
    for name, values in space.dimensions().items():
        if not isinstance(values, range):
            trial.suggest_categorical(name, values)
        elif not name.startswith("shape:") or trial.params["strategy"] == RATIO:
            trial.suggest_int(name, values[0], values[-1], step=values.step)
    return trial.params


def _distribution(values: range | Sequence[str]) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, IntDistribution

    if isinstance(values, range):
        return IntDistribution(values[0], values[-1], step=values.step)
    return CategoricalDistribution(values)


def mix(aims: Sequence[TuneAim], values: Sequence[float], given: Sequence[float] | None) -> float:
    """Return the weighted sum of the relative changes against the given configuration; lower is better. A single aim
    counts as it is, and a change from 0 counts absolutely."""
    total = 0.0
    for number, (aim, value) in enumerate(zip(aims, values, strict=True)):
        sign = -1.0 if aim.direction == "higher" else 1.0
        if len(aims) == 1:
            return sign * value
        base = given[number] if given is not None else 0.0
        total += aim.weight * sign * (value - base) / (abs(base) or 1.0)
    return total


# ---- the answer


class _Summary:
    def __init__(self, experiment: Experiment, trials: Sequence[TrialResult]) -> None:
        self.parameters, self.trials = _parameters(experiment), trials
        self.space = _space(experiment)
        self.aims = self.parameters.aims
        self.given = trials[GIVEN]
        self.base = self.given.values(self.aims)

    def result(self) -> Result:
        rows = [self._row(trial) for trial in self.trials]
        known = [(trial, values) for trial in self.trials if (values := trial.values(self.aims)) is not None]
        data: Result = {"aims": [self._aim(aim) for aim in self.aims], "mixed": not self.parameters.front}
        if not known:
            failed = next((trial.error for trial in self.trials if trial.error), "no trial has all metrics of the aims")
            return {"answer": f"Not answered: {failed}", "trials": rows, **data}
        best = min(known, key=lambda one: (mix(self.aims, one[1], self.base), one[0].number))[0]
        directions = [aim.direction for aim in self.aims]
        front = [known[place][0] for place in pareto_front([values for _, values in known], directions)]
        return {
            "answer": self._sentence(best, front),
            "metrics": {aim.metric: best.metrics[aim.metric] for aim in self.aims},
            **data,
            "trials": rows,
            "best": best.number,
            "front": [trial.number for trial in front],
            "configuration": self._text(best),
            "costs": self._costs(best),
            "choices": {
                str(trial.number): {"configuration": self._text(trial), "costs": self._costs(trial)}
                for trial in self._distinct(front)[:MAX_FRONT]
            },
        }

    def _distinct(self, front: Sequence[TrialResult]) -> list[TrialResult]:
        """Return one trial of the front for each combination of values."""
        found: dict[tuple[float, ...], TrialResult] = {}
        for trial in front:
            found.setdefault(tuple(trial.values(self.aims) or ()), trial)
        return list(found.values())

    def _text(self, trial: TrialResult) -> str:
        """Return the configuration of a trial to copy; for the default of the release, one that says the same."""
        return trial.configuration or self.space.default_text()

    def _aim(self, aim: TuneAim) -> dict[str, Any]:
        shown = metric_of(aim.metric)._replace(better=aim.direction)
        return {"metric": aim.metric, "weight": aim.weight, **shown._asdict()}

    def _row(self, trial: TrialResult) -> dict[str, Any]:
        values = trial.values(self.aims)
        return {
            "trial": trial.number,
            "round": trial.round,
            "values": values,
            "mix": None if values is None else mix(self.aims, values, self.base),
            "choices": choices_of(trial.configuration, self.space) if trial.number != GIVEN else {},
            "cells": trial.cells,
            "error": trial.error,
        }

    def _costs(self, best: TrialResult) -> list[dict[str, Any]]:
        """Return each metric of the given configuration and of the best trial, with which values are better."""
        given = self.given.metrics
        aims = {aim.metric: aim.direction for aim in self.aims}
        found = []
        for name in dict.fromkeys((*aims, *given, *best.metrics)):
            metric = metric_of(name)
            metric = metric._replace(better=aims.get(name, metric.better))
            before, after = given.get(name), best.metrics.get(name)
            values = {"given": before, "best": after, "change": _change(before, after, metric.better)}
            found.append({"metric": name, **metric._asdict(), "aim": name in aims, **values})
        return found

    def _sentence(self, best: TrialResult, front: Sequence[TrialResult]) -> str:
        tried = f"{len(self.trials)} configurations"
        if self.parameters.front:
            points = self._distinct(front)
            if len(points) == 1:
                return f"Of {tried}, trial {points[0].number} is best in every aim: {self._changes(points[0])}."
            names = listing([metric_of(aim.metric).title for aim in self.aims])
            return f"Of {tried}, {len(points)} are a Pareto front of {names}: each surpasses the others in an aim."
        if best.number == GIVEN or self.base is None:
            return f"None of {tried} is better than the given one: {self._changes(best)}."
        return f"The best of {tried} changes {self._changes(best)}."

    def _changes(self, best: TrialResult) -> str:
        parts = []
        for aim, value in zip(self.aims, best.values(self.aims) or (), strict=True):
            title = metric_of(aim.metric).title
            before = self.given.metrics.get(aim.metric)
            if best.number == GIVEN or before is None:
                parts.append(f"{title} {value_text(aim.metric, value)}")
            else:
                parts.append(f"{title} from {value_text(aim.metric, before)} to {value_text(aim.metric, value)}")
        return ", ".join(parts)


def _change(before: float | None, after: float | None, better: str | None) -> str:
    """Return "better", "worse", "equal" or "" (unknown, or the metric has no direction)."""
    if before is None or after is None:
        return ""
    if abs(before - after) <= 1e-9 * max(1.0, abs(before)):
        return "equal"
    if better is None:
        return ""
    return "better" if (after > before) == (better == "higher") else "worse"


def value_text(metric: str, number: float) -> str:
    """Return the value of a metric as text: `1,204`, `0.832`, `17.4%`, `7.01` cores of cpu, `8Gi` of memory."""
    if metric_of(metric).unit == "share":
        return f"{100 * number:.3g}%"
    if metric.startswith("stranded:"):
        return amount(metric.partition(":")[2], round(number))
    return f"{number:,.0f}" if float(number).is_integer() or abs(number) >= 1_000 else f"{number:,.3g}"
