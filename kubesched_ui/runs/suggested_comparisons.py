"""Suggested comparisons: pairs of runs of a scenario that differ in the release or in one scoring setting."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kubesched_ui.models import Run, Scenario, current_viewer
from kubesched_ui.runs import config_resolution, scoring
from kubesched_ui.runs.release_choices import is_release, release_choices
from kubesched_ui.runs.scoring import Scoring
from kubesched_ui.runs.services import (
    RunSettings,
    create_run,
    default_release,
    defaults,
    own_release,
    settings_of,
)
from kubesched_ui.scenarios import podgroups
from scheduler_core.errors import InputError
from scheduler_core.releases import RELEASES

WEIGHTS = {
    "spread": ("Default against PodTopologySpread ×10", {"PodTopologySpread": 10}),
    "balance": ("Default against balanced use ×10", {"NodeResourcesBalancedAllocation": 10}),
    "images": ("Default against ImageLocality ×10", {"ImageLocality": 10}),
}
SCORING = "scoring"


def offered(scenario: Scenario) -> dict[str, Any]:
    """Return the options of a form. `releases`: in groups; `a`, `b`: the preselected ones, the cluster's own (or the
    oldest) and the newest; `configurations`: (key, label of its button); `scoring`: of parts/scoring.html."""
    names = list(RELEASES)
    own = own_release(scenario).partition(" ")[0] or names[0]
    return {
        "releases": release_choices(own),
        "a": own if own != names[-1] else names[0],
        "b": names[-1],
        "configurations": [(key, label) for key, (label, _) in WEIGHTS.items()],
        "scoring": scoring.offered(default_release(scenario)),
    }


def runs_of(scenario: Scenario, requested: Mapping[str, str]) -> tuple[Run, Run]:
    """Return the two runs; existing runs with the same settings are reused.

    `requested`: `pair`, the key of WEIGHTS, or SCORING with the strategies `a` and `b` and the weights of the second
    run; without `pair`, `a` and `b` are releases. Raises InputError.
    """
    key = requested.get("pair", "")
    if key:
        return scored_runs(scenario, *scorings(key, requested))
    names = [requested.get(side, "") for side in ("a", "b")]
    for side, name in zip(("a", "b"), names, strict=True):
        if not is_release(name):
            there = f"{', '.join(RELEASES)} or one of their patch releases"
            raise InputError("Pair", side, f"must be one of {there}, got {name[:63]!r}")
    if names[0] == names[1]:
        raise InputError("Pair", "b", f"must differ from a, which is also {names[1]}")
    first, second = (podgroups.suitable_release(scenario, name).name for name in names)
    return run_with(scenario, {"release": first}), run_with(scenario, {"release": second})


def scorings(key: str, requested: Mapping[str, str]) -> tuple[Scoring, Scoring]:
    """Return the scoring of both runs. Raises InputError."""
    if key in WEIGHTS:
        return Scoring(), Scoring(weights=WEIGHTS[key][1])
    if key != SCORING:
        raise InputError("Pair", "pair", f"must be one of {', '.join((*WEIGHTS, SCORING))}, got {key[:63]!r}")
    return Scoring(scoring.scoring_in(requested, "a").strategy), scoring.scoring_in(requested, "b")


def scored_runs(scenario: Scenario, *of: Scoring) -> tuple[Run, Run]:
    """Return a run of the default configuration with each scoring. Raises InputError."""
    release = str(defaults(scenario)["release"])
    first, second = (scoring.scored("", release, one) for one in of)
    if first == second:
        raise InputError("Pair", "b", "must differ from a: choose another strategy, or a weight")
    return run_with(scenario, {"config": first}), run_with(scenario, {"config": second})


def run_with(scenario: Scenario, settings: Mapping[str, Any]) -> Run:
    """Return a run with these settings and otherwise the scenario's defaults. Raises InputError.

    `config`: by default the default configuration; None is the uploaded one, as in RunSettings.
    """
    wanted = RunSettings(**{**defaults(scenario), "config": "", **settings})
    same = asdict(wanted)
    if wanted.config is None:
        same["config"], _ = config_resolution.chosen(scenario, None, wanted.release, wanted.unknown_plugins)
    there = scenario.runs.filter(parent=None, fork_at=None).exclude(state__in=["failed", "cancelled"])
    if current_viewer.viewer():
        there = there.filter(owner=current_viewer.owner_id())  # other users may delete theirs
    for run in there[:200]:
        if asdict(settings_of(run)) == same:
            return run
    return create_run(scenario, wanted)
