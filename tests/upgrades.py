"""Upgrade previews of random clusters, checked by playing what they name as causes."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from scheduler_core.debugger.compare.deltas import applied_to, deltas_of
from scheduler_core.debugger.compare.inputs import Inputs, Outcome, outcomes
from scheduler_core.debugger.compare.upgrade import UpgradeStep, step
from scheduler_core.releases import RELEASES
from tests.random_clusters import configuration
from tests.scheduler_core.debugger.causes import inputs_of

VERSIONS = ("v1", "v1beta3", "v1beta2")  # whose arguments a random profile has


def played(inputs: Inputs) -> dict[str, Outcome]:
    return outcomes(inputs, lambda: None)


def successive_releases(cluster: dict[str, Any]) -> Iterator[tuple[Inputs, Inputs]]:
    """Yield the inputs of each two successive releases in which a pod's outcome differs."""
    for older, newer in pairwise(RELEASES.values()):
        both = (v for v in VERSIONS if v in older.api_versions and v in newer.api_versions)
        config = configuration(cluster["profile"], next(both, ""))
        a = inputs_of({**cluster, "config": config}, older.name)
        b = replace(a, release=newer)
        if played(a) != played(b):
            yield a, b


def check_causes(a: Inputs, b: Inputs) -> tuple[UpgradeStep, list[str]]:
    """Return the preview, and a line for each pod whose cause is missing or does not give the outcome in b."""
    found = step(a, b)
    before, after, units = played(a), played(b), deltas_of(a, b)
    changed = {one.pod: one for one in found.changed}
    faults = [
        f"{pod}: differs, but is not listed" for pod in after if before.get(pod) != after[pod] and pod not in changed
    ]
    known: dict[frozenset[int], dict[str, Outcome]] = {}
    for pod, one in changed.items():
        if not one.cause:
            faults.append(f"{pod}: {one.change} without a cause {found.note}")
            continue
        if one.cause not in known:
            known[one.cause] = played(applied_to(a, b, [units[i] for i in sorted(one.cause)]))
        if not one.is_that(known[one.cause].get(pod)) or one.b != after.get(pod):
            faults.append(f"{pod}: {[units[i].path for i in sorted(one.cause)]} does not give {after.get(pod)}")
    return found, faults
