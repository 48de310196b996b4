"""Experiment documents (`apiVersion: kubesched.dev/v1alpha1, kind: Experiment`).

docs/experiments.md describes the format. docs/experiment.schema.json is its JSON schema, generated from these structs.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from scheduler_core.experiments import parameters
from scheduler_core.releases import NEWEST
from scheduler_core.virtual_time.scenario import Duration, Meta, StrictStruct

KIND = "Experiment"
MAX_CELLS = 10_000

QuestionName = Literal["compare", "noise", "capacity", "loss", "buy", "tune", "moves", "packing"]


class ScenarioReference(StrictStruct, kw_only=True):
    """A scenario: a stored one by its number, or a file next to the document (only on the command line)."""

    id: int | None = None
    file: str | None = None
    name: str = ""


class NamedConfiguration(StrictStruct, kw_only=True):
    """A KubeSchedulerConfiguration, as text or object, under the name that results show. Without `config`, the default
    of the release."""

    name: str
    config: str | dict[str, Any] | None = None


class NamedChanges(StrictStruct, kw_only=True):
    """Changes as those of a fork, applied before the first cycle."""

    name: str
    changes: list[dict[str, Any]] = []


class SeedRange(StrictStruct, kw_only=True):
    """`count` seeds from `first` on."""

    first: int = 0
    count: int


class ExperimentSpec(StrictStruct, kw_only=True):
    """A grid of runs, and the question that they answer: every scenario with every release, configuration, seed and set
    of changes."""

    question: QuestionName = "compare"
    scenarios: list[ScenarioReference]
    releases: list[str] = [NEWEST]
    configurations: list[NamedConfiguration] = msgspec.field(
        default_factory=lambda: [NamedConfiguration(name="default")]
    )
    seeds: SeedRange | list[int] = [0]
    changes: list[NamedChanges] = msgspec.field(default_factory=lambda: [NamedChanges(name="unchanged")])
    virtual_time: bool = False
    until: Duration | None = None
    noise: parameters.NoiseParameters | None = None
    capacity: parameters.CapacityParameters | None = None
    loss: parameters.LossParameters | None = None
    buy: parameters.BuyParameters | None = None
    tune: parameters.TuneParameters | None = None
    moves: parameters.MovesParameters | None = None
    packing: parameters.PackingParameters | None = None


class Experiment(StrictStruct, kw_only=True):
    api_version: Literal["kubesched.dev/v1alpha1"]
    kind: Literal["Experiment"]
    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: ExperimentSpec
