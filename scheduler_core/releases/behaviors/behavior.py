"""A behaviour: what a release does with and without it, and which releases have it."""

from dataclasses import field
from functools import partial
from typing import NamedTuple, TypeVar

from scheduler_core.releases.versions import minor_of

T = TypeVar("T", bool, str)
UPSTREAM = "https://github.com/kubernetes"
WORDING = "only messages differ; adapt alerts and scripts that match them"
RETRIES = "pending pods are retried at other times; placements rarely differ"


class Behavior(NamedTuple):
    """The metadata of a behaviour.

    `text`: what the scheduler does if the field is true, or what precedes its value. `without`: what it does otherwise.
    `expect`: the effect on a cluster when the field changes to its newer value. `since` and `until`: the first and the
    last release that does so, or patch releases of several minor releases as `versions.is_within` reads them; "" if
    unknown. `gate`: the feature gate that controls it. `kep` and `pull`: the numbers of the enhancement proposal and of
    the pull request. `picks`: the numbers of the pull requests that changed it in patch releases. `newer`: whether true
    is the newer value.
    """

    text: str
    without: str
    expect: str
    since: str = ""
    until: str = ""
    gate: str = ""
    kep: int = 0
    pull: int = 0
    picks: tuple[int, ...] = ()
    newer: bool = True

    def describe(self, value: bool | str) -> str:
        """Return what the scheduler does with this value, and the feature gate."""
        text = self.without if not value else self.text if value is True else f"{self.text}: '{value}'"
        return f"{text} ({self.gate})" if self.gate else text

    def expected(self, value: bool | str) -> str:
        """Return the effect of a change to this value; "" for a change back that is not described."""
        return self.expect if bool(value) == self.newer or self.expect in (WORDING, RETRIES) else ""

    def link(self, release: str) -> str:
        """Return where upstream documents the change, in this release."""
        if self.kep:
            return f"{UPSTREAM}/enhancements/issues/{self.kep}"
        return f"{UPSTREAM}/kubernetes/pull/{self.pull}" if self.pull else changelog_link(release)


def changelog_link(release: str) -> str:
    """Return the address of upstream's change log of a release; "" without a release."""
    return f"{UPSTREAM}/kubernetes/blob/master/CHANGELOG/CHANGELOG-{minor_of(release)}.md" if release else ""


def behavior(
    default: T,
    text: str,
    without: str,
    expect: str,
    *,
    since: str = "",
    until: str = "",
    gate: str = "",
    kep: int = 0,
    pull: int = 0,
    picks: tuple[int, ...] = (),
) -> T:
    """Return a dataclass field with a Behavior as its metadata."""
    newer = default is True or not until
    metadata = {"behavior": Behavior(text, without, expect, since, until, gate, kep, pull, picks, newer)}
    return field(default=default, metadata=metadata)


on = partial(behavior, True)
"""A behaviour that is on by default. `since` and `until`, if given, decide which releases have it."""
off = partial(behavior, False)
"""A behaviour that is off by default. `since` and `until`, if given, decide which releases have it."""
