"""A cell of an experiment: one computation, and its result."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from scheduler_core.config.configuration import Configuration
from scheduler_core.config.loader import load
from scheduler_core.config.unknown_plugins import Unknown
from scheduler_core.releases import get_release

Check = Callable[[], None]
"""Called between the steps of a computation, at least once a second; it raises to stop it. It is cheap."""

Result = dict[str, Any]
"""The result of a cell, as JSON data. Its `metrics` are name -> number, as in docs/experiments.md; the other keys are
those of the question."""


class Cell(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One computation of an experiment. Its result depends on these fields and the scenario's content, and on nothing
    else; `labels` are only shown.

    `scenario`: the key of a ScenarioInput. `configuration`: a KubeSchedulerConfiguration; "" for the default of the
    release. `unknown_plugins`: whether plugins that are not built in are an error. `changes`: as those of a fork,
    applied before the first cycle. `parameters`: those of the question, such as the weights of a trial or the nodes
    that are lost.
    """

    question: str
    scenario: str
    release: str
    configuration: str = ""
    unknown_plugins: Unknown = "error"
    seed: int = 0
    changes: list[dict[str, Any]] = []
    virtual_time: bool = False
    until: float | None = None
    parameters: dict[str, Any] = {}
    labels: dict[str, str] = {}

    def loaded(self) -> Configuration:
        """Return the configuration for the release. Raises InputError."""
        return load(self.configuration or None, get_release(self.release), unknown=self.unknown_plugins)


class Done(NamedTuple):
    """A finished cell: its result, or why it failed."""

    cell: Cell
    result: Result | None
    error: str = ""
