"""Remarks about a release and a cluster's version: the nearest release, patch releases, virtual time."""

from __future__ import annotations

import re

from scheduler_core.releases.catalog import RELEASES
from scheduler_core.releases.conformance import CASES, PATCH_CHANGES, is_verified
from scheduler_core.releases.feature_gates import numbered

_VERSION = re.compile(r"v?1\.(\d{1,3})(?:\.(\d{1,4}))?(?:[-+.]\S*)?")


def nearest_release(version: str) -> str:
    """Return the release nearest to a version such as v1.14.3, "" if it is not a version of Kubernetes 1."""
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        return ""
    return min(RELEASES, key=lambda name: abs(numbered(name)[1] - int(match[1])))


def default_release(version: str) -> str:
    """Return the default release for a cluster of this version: its own or the nearest one, with the feature gates
    that follow the version. The newest if the version is unknown."""
    number, _, gates = version.strip().partition(" ")
    return f"{nearest_release(number) or max(RELEASES, key=numbered)} {gates}".strip()


def default_release_note(release: str, version: str) -> str:
    """Return a sentence about a release that was chosen as the default for a cluster of this version."""
    version = version.strip().partition(" ")[0]
    if nearest_release(version):
        return f"The release is {release}, because the cluster runs Kubernetes {version}; --release chooses another."
    why = "because the input has no version of a cluster"
    return f"The release is {release}, the newest, {why}; --release chooses another."


def cluster_remarks(version: str, release: str) -> list[str]:
    """Return how a run with this release differs from a cluster of this version, as far as it follows from the choice
    of the nearest release, or from the patch release."""
    match, number = _VERSION.fullmatch(version.strip()), release.partition(" ")[0]
    if match is None or nearest_release(version) != number:
        return []
    if f"1.{match[1]}" != number:
        older = int(match[1]) < numbered(number)[1]
        which = "oldest" if older else "newest"
        return [f"The cluster runs Kubernetes {version}. The nearest release here is {number}, the {which} one."]
    simulated = RELEASES[number].patch_version
    if not match[2] or not simulated:
        return []
    patches = int(match[2]), numbered(simulated)[2]
    changed = [
        f"in {one.patches}, {one.old}; since {one.fixed}, {one.new} (kubernetes/kubernetes#{one.pull})"
        for one in PATCH_CHANGES
        if one.release == number and len({one.has_old(patch) for patch in patches}) == 2
    ]
    head = f"The cluster runs Kubernetes {version}; {number} is simulated as {simulated}"
    return [f"{head}. They differ: {'; '.join(changed)}."] if changed else []


def virtual_time_remark(release: str) -> str:
    """Return a remark about virtual time with a release that has no recorded scenarios; "" for the others."""
    if is_verified(release, in_time=True):
        return ""
    number = release.partition(" ")[0]
    recorded = sorted((name for name in CASES if is_verified(name, in_time=True)), key=numbered)
    return (
        f"In virtual time, the queue of kube-scheduler {number} follows upstream's sources alone. "
        f"Scenarios were recorded with {', '.join(recorded[:-1])} and {recorded[-1]}."
    )
