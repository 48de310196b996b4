"""Remarks about a release and a cluster's version: the nearest release, patch releases, virtual time."""

import re

from scheduler_core.releases import RELEASES, get_release
from scheduler_core.releases.catalog import PATCHES
from scheduler_core.releases.conformance import CASES, is_verified
from scheduler_core.releases.differences import BehaviorDifference, differences
from scheduler_core.releases.release import BEHAVIORS, Release
from scheduler_core.releases.versions import minor_of, numbered

_VERSION = re.compile(r"v?1\.(\d{1,3})(?:\.(\d{1,4}))?(?:[-+.]\S*)?")


def nearest_release(version: str) -> str:
    """Return the release nearest to a version such as v1.14.3, "" if it is not a version of Kubernetes 1."""
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        return ""
    return min(RELEASES, key=lambda name: abs(numbered(name)[1] - int(match[1])))


def is_newer(version: str) -> bool:
    """Return whether a cluster of this version is newer than the newest release."""
    match = _VERSION.fullmatch(version.strip())
    return match is not None and int(match[1]) > max(numbered(name) for name in RELEASES)[1]


def default_release(version: str) -> str:
    """Return the default release for a cluster of this version: its own patch release or the nearest minor release,
    with the feature gates that follow the version. The newest if the version is unknown."""
    number, _, gates = version.strip().partition(" ")
    nearest = nearest_release(number) or max(RELEASES, key=numbered)
    match = _VERSION.fullmatch(number)
    own = get_release(f"{nearest}.{match[2]}").name if match and match[2] and f"1.{match[1]}" == nearest else nearest
    return f"{own} {gates}".strip()


def default_release_note(release: str, version: str) -> str:
    """Return a sentence about a release that was chosen as the default for a cluster of this version."""
    version = version.strip().partition(" ")[0]
    if nearest_release(version):
        return f"The release is {release}, because the cluster runs Kubernetes {version}; --release chooses another."
    why = f"because {version} is not a known version" if version else "because the input has no version of a cluster"
    return f"The release is {release}, the newest, {why}; --release chooses another."


def cluster_remarks(version: str, release: str) -> list[str]:
    """Return how a run with this release differs from a cluster of this version, as far as it follows from the choice
    of the nearest release, or from the patch release."""
    match, number = _VERSION.fullmatch(version.strip()), release.partition(" ")[0]
    minor = minor_of(number)
    if match is None or nearest_release(version) != minor:
        return []
    if f"1.{match[1]}" != minor:
        which = "oldest" if int(match[1]) < numbered(minor)[1] else "newest"
        return [f"The cluster runs Kubernetes {version}. The nearest release here is {minor}, the {which} one."]
    if not match[2]:
        return []
    simulated, own, last = get_release(number), get_release(f"{minor}.{match[2]}"), PATCHES.get(minor)
    changed = [_described(one, simulated, own) for one in differences(simulated, own)]
    found = []
    if changed:
        which = f"{number} is simulated as {simulated.version}" if number == minor else f"{number} is simulated"
        found.append(f"The cluster runs Kubernetes {version}; {which}. They differ: {'; '.join(changed)}.")
    if last is not None and int(match[2]) > last:
        found.append(f"The cluster runs Kubernetes {version}. Changes since {minor}.{last} are not known here.")
    return found


def _described(change: BehaviorDifference, simulated: Release, own: Release) -> str:
    pull = BEHAVIORS[change.name].pull
    link = f" (kubernetes/kubernetes#{pull})" if pull else ""
    return f"in {simulated.version}, {change.before}; in {own.version}, {change.text}{link}"


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
