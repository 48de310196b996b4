"""Helpers for tests of the core in virtual time."""

from typing import Any

import msgspec

from scheduler_core.snapshot.preflight import AS_UPSTREAM, Choices
from scheduler_core.virtual_time.engine import Record
from scheduler_core.virtual_time.scenario import Scenario, load_scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.scheduler_core.build import Raw


def scenario(*objects: Raw, timeline: list[Raw] | None = None, until: Any = 600, **spec: Any) -> Scenario:
    """Return a scenario. `timeline`: entries as in a file."""
    document = {
        "apiVersion": "kubesched.dev/v1alpha1",
        "kind": "Scenario",
        "spec": {"tieBreak": "name", "until": until, "objects": list(objects), "timeline": timeline or [], **spec},
    }
    return load_scenario(msgspec.json.encode(document))


class PlayedScenario:
    """A finished scenario: `run`, or the one of these objects."""

    def __init__(
        self, *objects: Raw, run: ScenarioRun | None = None, choices: Choices = AS_UPSTREAM, **spec: Any
    ) -> None:
        self.run = run or ScenarioRun(scenario(*objects, **spec), choices=choices)
        self.records: list[Record] = list(self.run.run())

    def records_of(self, kind: str, pod: str = "") -> list[Record]:
        """Return the records of a kind, of one pod or of all."""
        return [r for r in self.records if r.kind == kind and (not pod or r.data.get("pod") == f"default/{pod}")]

    def times(self, kind: str, pod: str = "") -> list[float]:
        return [round(record.time, 3) for record in self.records_of(kind, pod)]

    def moves(self, pod: str) -> list[tuple[float, str, str]]:
        """Return (time, queue, cause) of each move of a pod."""
        return [(r.time, r.data["to"], r.data["event"]) for r in self.records_of("queue.moved", pod)]

    def node_of(self, pod: str) -> str:
        """Return the node of a pod at the end, "" for none."""
        key = f"default/{pod}"
        info = self.run.api.pods.get(key)
        return info.node if info is not None and not self.run.api.lifecycle.is_assumed(key) else ""
