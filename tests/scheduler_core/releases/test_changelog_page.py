"""docs/releases.md is generated from the releases, and the metadata of behaviours agrees with them."""

from itertools import pairwise
from pathlib import Path

import pytest

from scheduler_core.__main__ import main
from scheduler_core.releases import FRAMEWORK, RELEASES, conformance
from scheduler_core.releases.changelog_page import ORDER, changes
from scheduler_core.releases.conformance import BY_SOURCES, CASES, Cases, is_verified, state, verification
from scheduler_core.releases.differences import differences
from scheduler_core.releases.release import BEHAVIORS
from scheduler_core.releases.versions import is_within
from tests.conformance import cycle_counts, golden_sets, known_differences

ROOT = Path(__file__).parents[3]


def test_the_page_is_the_output_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["releases"]) == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "releases.md").read_text()


@pytest.mark.parametrize("name", sorted(BEHAVIORS))
def test_the_metadata_of_a_behavior_agrees_with_the_releases(name: str) -> None:
    made = BEHAVIORS[name]
    assert made.text
    found = [change.release for change in changes(name)]
    # `changes` starts at the first release with plugins; a text can change more than once
    oldest = ORDER[0] if name == "predicates" else next(release for release in ORDER if release in FRAMEWORK)
    if isinstance(getattr(RELEASES[oldest], name), bool):
        ranges = made.since, made.until
        has = [is_within(RELEASES[release].version, *ranges) for release in ORDER[ORDER.index(oldest) :]]
        expected = [new for new, (a, b) in zip(ORDER[ORDER.index(oldest) + 1 :], pairwise(has), strict=True) if a != b]
        assert found == (expected if any(ranges) else [])


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_of_cases(name: str) -> None:
    cycles = cycle_counts(f"v{name}")
    differ = sum(known_differences(f"v{name}").values())
    assert (len(cycles), sum(cycles), differ) == (CASES[name].cases, CASES[name].cycles, CASES[name].differ)


def time_set(name: str) -> str:
    """Return the set of scenarios of a release, that of 1.34 has no suffix."""
    return "time" if name == "1.34" else f"time-v{name}"


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_of_scenarios(name: str) -> None:
    in_time, differ = (0, 0), 0
    if time_set(name) in golden_sets(virtual_time=True):
        attempts = cycle_counts(time_set(name))
        in_time, differ = (len(attempts), sum(attempts)), sum(known_differences(time_set(name)).values())
    assert (CASES[name].in_time, CASES[name].in_time_differ) == (in_time, differ)


def test_every_set_of_a_release_is_counted() -> None:
    assert all(RELEASES[name].patch_version for name in CASES)
    assert {name for name in golden_sets() if name.startswith("v1.")} == {f"v{name}" for name in CASES}
    recorded = {time_set(name) for name, cases in CASES.items() if cases.in_time[0]}
    assert {name for name in golden_sets(virtual_time=True) if "/" not in name} == recorded


def test_what_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases that all agree, separately for single cycles and for virtual time."""
    assert verification("1.34 A=true") == verification("1.34", in_time=True) == "verified as 1.34.1"
    assert (verification("1.36"), verification("1.36", in_time=True)) == ("verified as 1.36.2", BY_SOURCES)
    assert verification("1.34.0") == "verified as 1.34.1", "which behaves alike"
    assert (verification("1.31.8"), verification("1.31.2 A=true")) == (BY_SOURCES, "verified as 1.31.1")
    monkeypatch.setattr(
        conformance, "CASES", {"1.34": Cases(9, 99, (9, 99), differ=1), "1.36": Cases(9, 99, (9, 99), 0, 1)}
    )
    assert [state(name) for name in ("1.34", "1.36", "1.35", "2.0")] == [BY_SOURCES, "verified", BY_SOURCES, BY_SOURCES]
    assert [is_verified(name, in_time=True) for name in ("1.34", "1.36", "1.35")] == [True, False, False]


def test_each_change_has_before_after_effect_and_link() -> None:
    for older, newer in pairwise(RELEASES.values()):
        for one in differences(older, newer):
            assert one.before
            assert one.text
            assert one.before != one.text
            assert one.link.startswith("https://github.com/kubernetes/"), one
            if one.name in BEHAVIORS and not (BEHAVIORS[one.name].since and BEHAVIORS[one.name].until):
                assert one.expect, one.name


def test_behaviors_that_no_case_shows_change_between_two_releases() -> None:
    changed = {
        f"{newer.number} {found.name}"
        for older, newer in pairwise(RELEASES.values())
        for found in differences(older, newer)
    }
    assert conformance.UNNOTICED.keys() <= changed
