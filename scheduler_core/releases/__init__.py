"""The supported kube-scheduler releases. Data and switches define the differences between them."""

import re

from scheduler_core.errors import InputError
from scheduler_core.releases.catalog import RELEASES, patch_release
from scheduler_core.releases.feature_gates import parse, with_gates, with_gates_of
from scheduler_core.releases.release import Release
from scheduler_core.releases.versions import numbered

__all__ = ["FRAMEWORK", "NEWEST", "RELEASES", "Release", "chosen_release", "get_release", "with_gates"]

FRAMEWORK: dict[str, Release] = {name: release for name, release in RELEASES.items() if not release.predicates}
"""The releases in which framework plugins decide."""

NEWEST: str = max(RELEASES, key=numbered)
"""The default release."""

_VERSION = re.compile(r"v?(\d+\.\d+)(?:\.(\d{1,4}))?(?:[-+]\S*)?(?:\s+(.*))?")


def get_release(name: str | Release) -> Release:
    """Return the release with this name.

    `1.34` is simulated as the patch release that decided its conformance cases; the name of that patch release is also
    `1.34`. The name of `v1.34.2+k3s1` is `1.34.2`. Feature gates may follow: `1.36 NodeDeclaredFeatures=false`. A
    Release object is returned unchanged.

    Raises InputError that lists the available releases or names the gate.
    """
    if isinstance(name, Release):
        return name
    match = _VERSION.fullmatch(name.strip())
    release = RELEASES.get(match[1]) if match else None
    if release is None:
        there = f"there are {', '.join(RELEASES)} and their patch releases"
        raise InputError("Kubernetes release", "", f"{name!r} is not available; {there}")
    if match and match[2]:
        release = patch_release(release, int(match[2]))
    return with_gates(release, parse(match[3])) if match and match[3] else release


def chosen_release(given: str, found: str) -> tuple[Release, list[str]]:
    """Return the release that a person has given, with the feature gates that were found in the cluster and sentences
    about those that it lacks. Gates that `given` names count as given. "" stands for no release. Raises InputError."""
    if not given or not found:
        return get_release(given or found), []
    match = _VERSION.fullmatch(given.strip())
    own = parse(match[3]) if match and match[3] else {}
    return with_gates_of(get_release(given), get_release(found), own)
