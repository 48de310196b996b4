"""docs/releases.md is generated from the releases, and the metadata of behaviours agree with them."""

from itertools import pairwise
from pathlib import Path

import pytest

from scheduler_core.__main__ import main
from scheduler_core.releases import FRAMEWORK, RELEASES
from scheduler_core.releases.behaviors import differences
from scheduler_core.releases.changelog_page import CASES, ORDER, changes
from scheduler_core.releases.feature_gates import numbered
from scheduler_core.releases.release import BEHAVIORS
from tests.conformance import cycle_counts, known_differences

ROOT = Path(__file__).parents[3]


def test_the_page_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["releases"]) == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "releases.md").read_text()


def following(release: str) -> str:
    return f"1.{numbered(release)[1] + 1}"


@pytest.mark.parametrize("name", sorted(BEHAVIORS))
def test_the_metadata_of_a_behavior_agree_with_the_releases(name: str) -> None:
    made = BEHAVIORS[name]
    assert made.text
    found = [change.release for change in changes(name)]
    # `changes` knows nothing older than the first release with plugins; a text can change more than once
    oldest = ORDER[0] if name == "predicates" else next(release for release in ORDER if release in FRAMEWORK)
    expected = [release for release in (made.since, made.until and following(made.until)) if release]
    expected = [release for release in expected if numbered(oldest) < numbered(release) <= numbered(ORDER[-1])]
    assert set(expected) <= set(found)
    if isinstance(getattr(RELEASES[oldest], name), bool):
        assert found == expected


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_of_cases(name: str) -> None:
    cycles = cycle_counts(f"v{name}")
    differ = sum(known_differences(f"v{name}").values())
    assert (len(cycles), sum(cycles), differ) == (CASES[name].cases, CASES[name].cycles, CASES[name].differ)


def test_each_change_has_before_after_effect_and_link() -> None:
    for older, newer in pairwise(RELEASES.values()):
        for one in differences(older, newer):
            assert one.before
            assert one.text
            assert one.before != one.text
            assert one.link.startswith("https://github.com/kubernetes/"), one
            if one.name in BEHAVIORS and not (BEHAVIORS[one.name].since and BEHAVIORS[one.name].until):
                assert one.expect, one.name
