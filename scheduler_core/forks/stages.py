"""The stages of a forked run: its changes, and the cycle or second at which each is applied."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from scheduler_core.errors import InputError
from scheduler_core.forks.mutations import OBJECTS, Change, Edit
from scheduler_core.forks.reconfigure import SETTINGS, reconfigure
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.scenario_run import ScenarioRun


@dataclass(frozen=True)
class Stage:
    """Changes and new values of SETTINGS or `until`, applied before cycle `at` or after all up to second `t`."""

    at: int | None = None
    t: float | None = None
    changes: Sequence[Change] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scheduler_settings(self) -> dict[str, Any]:
        """The changed settings that require a new scheduler."""
        return {name: value for name, value in self.settings.items() if name in SETTINGS}


def decisions(stages: Sequence[Stage]) -> list[Change]:
    """Return the changes that affect only the scheduler and no object."""
    return [change for stage in stages for change in stage.changes if change.operation[0] not in OBJECTS]


def apply_single_pass(simulation: Simulation, stage: Stage, before: Sequence[Stage] = ()) -> None:
    """Apply a stage to a single pass, between two cycles. `before`: the stages already applied. Raises InputError."""
    if stage.scheduler_settings:
        reconfigure(simulation, stage.scheduler_settings)
        apply_again(Edit(simulation), decisions(before))
    Edit(simulation).apply(stage.changes)


def apply_again(edit: Edit, changes: Sequence[Change]) -> None:
    """Apply decisions again to a new scheduler, except those about objects that no longer exist."""
    for change in changes:
        try:
            edit.apply([change])
        except InputError:
            continue


class _VirtualTimeEdit(Edit):
    """An Edit whose pods are those of the simulated API server."""

    def __init__(self, run: ScenarioRun) -> None:
        super().__init__(run.simulation)
        self.run = run

    def find(self, kind: str, key: str) -> Any:
        return self.run.api.pods.get(key) if kind == "Pod" else super().find(kind, key)


def apply_virtual_time(run: ScenarioRun, stage: Stage, before: Sequence[Stage] = ()) -> None:
    """Apply a stage to a run in virtual time, now. Pods that may be affected are tried again. Raises InputError."""
    edit = _VirtualTimeEdit(run)
    queue = run.engine.queue
    if stage.scheduler_settings:
        reconfigure(run.simulation, stage.scheduler_settings, run.engine, run.api.pods)
        apply_again(edit, decisions(before))
    if stage.settings.get("until") is not None:
        run.until = float(stage.settings["until"])
    for number, change in enumerate(stage.changes):
        name, what = change.operation
        try:
            if name in OBJECTS:
                run.change(name, what)
                continue
            edit.apply([change])
            about = {"object": what.plugin} if name != "place" else {"object": f"Pod {what.pod}", "node": what.node}
            pod = getattr(what, "pod", None)
            run.engine.record("scenario.step", step=0, operation=name, **about, **({"pod": pod} if pod else {}))
            queue.activate(_affected_pods(queue.unschedulable, name, what), run.api.pods)
        except InputError as problem:
            raise InputError(f"changes[{number}]", name, problem.problem) from None


def _affected_pods(waiting: Mapping[str, Any], name: str, what: Any) -> list[str]:
    """Return the pods that may benefit from a decision."""
    if name == "weight":
        return []
    if what.pod is not None:
        return [what.pod]
    return [key for key, pod in waiting.items() if what.plugin in pod.rejectors or pod.gating_plugin == what.plugin]


def plan_single_pass(simulation: Simulation, stages: Sequence[Stage], done: int) -> None:
    """Schedule the stages of a single pass, from the one with index `done` on."""
    for number in range(done, len(stages)):
        stage, earlier = stages[number], stages[:number]
        assert stage.at is not None
        action = partial(apply_single_pass, simulation, stage, earlier)
        simulation.stages.setdefault(stage.at, []).append(action)


def plan_virtual_time(run: ScenarioRun, stages: Sequence[Stage], on_stage: Any = lambda number: None) -> None:
    """Schedule all stages in virtual time. `on_stage` is called with the index of a stage before it is applied."""
    engine = run.engine
    for number, stage in enumerate(stages):

        def action(number: int = number, stage: Stage = stage) -> None:
            on_stage(number)
            apply_virtual_time(run, stage, stages[:number])

        if stage.t is not None:
            engine.after_second.append((stage.t, action))
        elif stage.at is not None:
            engine.before_cycle.setdefault(stage.at, []).append(action)
    engine.after_second.sort(key=lambda entry: entry[0])
    if stages and stages[-1].settings.get("until") is not None:
        run.until = float(stages[-1].settings["until"])
