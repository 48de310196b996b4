"""Suggested comparisons: pairs of runs of a scenario that differ in the release or in one scoring setting."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kubesched_ui import current_viewer
from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs.services import RunSettings, create_run, defaults, settings_of
from kubesched_ui.scenarios import podgroups
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


def offered(scenario: Scenario) -> dict[str, Any]:
    """Return the options of a form. `releases`: oldest first; `a`, `b`: the preselected ones, the cluster's own (or the
    oldest) and the newest; `configurations`: (key, label of its button)."""
    names = sorted(RELEASES, key=lambda name: [int(part) for part in name.split(".")])
    own = next((name for name in names if scenario.kubernetes.lstrip("v").startswith(f"{name}.")), names[0])
    return {
        "releases": names,
        "a": own if own != names[-1] else names[0],
        "b": names[-1],
        "configurations": [(key, label) for key, (label, _) in CONFIGURATIONS.items()],
    }


def runs_of(scenario: Scenario, requested: Mapping[str, str]) -> tuple[Run, Run]:
    """Return the two runs; existing runs with the same settings are reused. `requested`: `pair`, the key of a
    configuration, or `a` and `b`, two releases. Raises InputError."""
    key = requested.get("pair", "")
    if key:
        if key not in CONFIGURATIONS:
            raise InputError("Pair", "pair", f"must be one of {', '.join(CONFIGURATIONS)}, got {key[:63]!r}")
        return run_with(scenario, {"config": ""}), run_with(scenario, {"config": CONFIGURATIONS[key][1]})
    names = [requested.get(side, "") for side in ("a", "b")]
    for side, name in zip(("a", "b"), names, strict=True):
        if name not in RELEASES:
            raise InputError("Pair", side, f"must be one of {', '.join(RELEASES)}, got {name[:63]!r}")
    if names[0] == names[1]:
        raise InputError("Pair", "b", f"must differ from a, which is also {names[1]}")
    first, second = (podgroups.suitable_release(scenario, name) for name in names)
    return run_with(scenario, {"release": first}), run_with(scenario, {"release": second})


def run_with(scenario: Scenario, settings: Mapping[str, Any]) -> Run:
    """Return a run with these settings and otherwise the scenario's defaults. Raises InputError."""
    wanted = RunSettings(**{**defaults(scenario), "config": "", **settings})
    there = scenario.runs.filter(parent=None, fork_at=None).exclude(state__in=["failed", "cancelled"])
    if current_viewer.viewer():
        there = there.filter(owner=current_viewer.owner_id())  # other users may delete theirs
    for run in there[:200]:
        if asdict(settings_of(run)) == asdict(wanted):
            return run
    return create_run(scenario, wanted)
