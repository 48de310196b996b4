"""Short ways to have something happen in time, for the tests of the core."""

from typing import Any

import msgspec

from scheduler_core.snapshot.preflight import AS_UPSTREAM, Choices
from scheduler_core.virtual_time.engine import Record
from scheduler_core.virtual_time.scenario import Scenario, load_scenario
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.scheduler_core.build import Raw


def scenario(*objects: Raw, timeline: list[Raw] | None = None, until: Any = 600, **spec: Any) -> Scenario:
    """A scenario; `timeline`: entries as in a file."""
    document = {
        "apiVersion": "kubesched.dev/v1alpha1",
        "kind": "Scenario",
        "spec": {"tieBreak": "name", "until": until, "objects": list(objects), "timeline": timeline or [], **spec},
    }
    return load_scenario(msgspec.json.encode(document))


class Played:
    """A scenario that was run to its end: `run`, or the one of these objects."""

    def __init__(
        self, *objects: Raw, run: ScenarioRun | None = None, choices: Choices = AS_UPSTREAM, **spec: Any
    ) -> None:
        self.run = run or ScenarioRun(scenario(*objects, **spec), choices=choices)
        self.records: list[Record] = list(self.run.run())

    def of(self, kind: str, pod: str = "") -> list[Record]:
        """The records of a kind, of one pod or of all."""
        return [r for r in self.records if r.kind == kind and (not pod or r.data.get("pod") == f"default/{pod}")]

    def times(self, kind: str, pod: str = "") -> list[float]:
        return [round(record.time, 3) for record in self.of(kind, pod)]

    def moves(self, pod: str) -> list[tuple[float, str, str]]:
        """(time, where to, why) of each move of a pod."""
        return [(r.time, r.data["to"], r.data["event"]) for r in self.of("queue.moved", pod)]

    def node_of(self, pod: str) -> str:
        """Where a pod is bound at the end; "" if nowhere."""
        key = f"default/{pod}"
        info = self.run.api.pods.get(key)
        return info.node if info is not None and not self.run.api.lifecycle.is_assumed(key) else ""
