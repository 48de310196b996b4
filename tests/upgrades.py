"""Upgrade previews of random clusters, checked by replaying the causes that they name."""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from scheduler_core.compare.deltas import applied_to
from scheduler_core.compare.inputs import Inputs, Outcome, outcomes
from scheduler_core.compare.upgrade import UpgradeStep, step
from scheduler_core.releases import RELEASES, get_release
from tests.random_clusters import configuration
from tests.scheduler_core.compare.causes import inputs_of

VERSIONS = ("v1", "v1beta3", "v1beta2")  # whose arguments a random profile has


Outcomes = dict[str, Outcome]


class Played(NamedTuple):
    """A run: its inputs and the outcomes of its pods."""

    inputs: Inputs
    outcomes: Outcomes


def outcomes_of(inputs: Inputs) -> Outcomes:
    return outcomes(inputs, lambda: None)


PATCHES = (
    *(("1.19.12", "1.19.13"), ("1.21.5", "1.21.6"), ("1.22.3", "1.22.4"), ("1.25.5", "1.25.6"), ("1.26.1", "1.26.2")),
    *(("1.27.13", "1.27.15"), ("1.28.1", "1.28.5")),
    *(("1.29.4", "1.29.11"), ("1.30.1", "1.30.7"), ("1.31.2", "1.31.8"), ("1.33.3", "1.33.6"), ("1.34.1", "1.34.2")),
    ("1.36.1", "1.36.2"),
)
"""Pairs of patch releases of the same minor release with different behaviours."""


def successive_releases(cluster: dict[str, Any]) -> Iterator[tuple[Played, Played]]:
    """Yield the runs in each two successive releases in which a pod's outcome differs."""
    yield from differing_runs(cluster, pairwise(RELEASES))


def differing_runs(cluster: dict[str, Any], pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[Played, Played]]:
    """Yield the runs in each two releases in which a pod's outcome differs. `pairs`: names of releases."""

    @cache
    def play(release: str, version: str) -> Played:
        config = configuration(cluster["profile"], version)
        inputs = inputs_of({**cluster, "config": config}, release)
        return Played(inputs, outcomes_of(inputs))

    for older, newer in ((get_release(a), get_release(b)) for a, b in pairs):
        both = (v for v in VERSIONS if v in older.api_versions and v in newer.api_versions)
        version = next(both, "") if cluster["profile"] is not None else ""
        a, b = play(older.name, version), play(newer.name, version)
        if a.outcomes != b.outcomes:
            yield a, b


def check_causes(a: Played, b: Played) -> tuple[UpgradeStep, list[str]]:
    """Return the preview, and a line for each pod whose cause is missing or does not give the outcome in b."""
    found, faults, known = step(a.inputs, b.inputs), [], dict[frozenset[int], Outcomes]()
    changed = {one.pod: one for one in found.changed}
    for pod, outcome in b.outcomes.items():
        if a.outcomes.get(pod) != outcome and pod not in changed:
            faults.append(f"{pod}: differs, but is not listed")
    for pod, one in changed.items():
        if not one.cause:
            faults.append(f"{pod}: {one.change} without a cause {found.note}")
            continue
        units = [found.units[i] for i in sorted(one.cause)]
        if one.cause not in known:
            known[one.cause] = outcomes_of(applied_to(a.inputs, b.inputs, units))
        if not one.is_that(known[one.cause].get(pod)) or one.b != b.outcomes.get(pod):
            faults.append(f"{pod}: {[unit.path for unit in units]} does not give {b.outcomes.get(pod)}")
    return found, faults
