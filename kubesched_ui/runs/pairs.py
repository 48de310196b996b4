"""Runs of a scenario that differ in one thing, to be compared: two releases, two ways to score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs.lifecycle import RunSettings, create_run, defaults, settings_of
from scheduler_core.errors import InputError
from scheduler_core.releases import RELEASES

_HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
_STRATEGY = """- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]
"""


def _weight(plugin: str, weight: int) -> str:
    return f"- plugins:\n    multiPoint:\n      enabled: [{{name: {plugin}, weight: {weight}}}]\n"


CONFIGURATIONS = {
    "most-allocated": ("Default against MostAllocated", _HEAD + _STRATEGY),
    "spread": ("Default against PodTopologySpread ×10", _HEAD + _weight("PodTopologySpread", 10)),
    "balance": ("Default against balanced use ×10", _HEAD + _weight("NodeResourcesBalancedAllocation", 10)),
    "images": ("Default against ImageLocality ×10", _HEAD + _weight("ImageLocality", 10)),
}


def offered() -> list[tuple[str, str]]:
    """(key, what it says on its button)."""
    names = sorted(RELEASES, key=lambda name: [int(part) for part in name.split(".")])
    steps = list(pairwise(names))
    if len(names) > 2:
        steps.append((names[0], names[-1]))
    releases = [(f"release-{older}-{newer}", f"{older} against {newer}") for older, newer in reversed(steps)]
    return [*releases, *((key, label) for key, (label, _) in CONFIGURATIONS.items())]


def runs_of(scenario: Scenario, key: str) -> tuple[Run, Run]:
    """The two runs, those that there are already where their settings are the same. Raises InputError."""
    if key in CONFIGURATIONS:
        return run_with(scenario, {"config": ""}), run_with(scenario, {"config": CONFIGURATIONS[key][1]})
    if key not in dict(offered()):
        raise InputError("Pair", "", f"must be one of {', '.join(key for key, _ in offered())}")
    _, older, newer = key.split("-")
    return run_with(scenario, {"release": older}), run_with(scenario, {"release": newer})


def run_with(scenario: Scenario, settings: Mapping[str, Any]) -> Run:
    """A run with these settings and otherwise those that suit the scenario. Raises InputError."""
    wanted = RunSettings(**{**defaults(scenario), "config": "", **settings})
    for run in scenario.runs.filter(parent=None, fork_at=None).exclude(state__in=["failed", "cancelled"])[:200]:
        if asdict(settings_of(run)) == asdict(wanted):
            return run
    return create_run(scenario, wanted)
