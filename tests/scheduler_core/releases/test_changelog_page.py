"""The page of releases is what the switches say, and their comments tell when they changed."""

import gzip
import re
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from scheduler_core.__main__ import main
from scheduler_core.releases import FRAMEWORK, RELEASES
from scheduler_core.releases.changelog_page import CASES, ORDER, changes
from scheduler_core.releases.feature_gates import numbered
from scheduler_core.releases.switches import between, told

ROOT = Path(__file__).parents[3]
SHARED = ROOT.parent / "shared" / "golden"


def test_the_page_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["releases"]) == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "releases.md").read_text()


def following(release: str) -> str:
    return f"1.{numbered(release)[1] + 1}"


@pytest.mark.parametrize("name", sorted(told()))
def test_a_switchs_comment_tells_when_it_changed(name: str) -> None:
    when = re.search(r"\(([^()]*)\)$", told()[name])
    assert when is not None, told()[name]
    named = re.findall(r"\b1\.\d+\b", when[1])
    found = [change.release for change in changes(name)]
    if "until" in when[1]:
        expected = [following(named[0])]
    elif "alone" in when[1]:
        expected = [named[0], following(named[0])]
    elif " to " in when[1]:
        expected = [named[0], following(named[1])]
    else:
        expected = named
    # what is older than the oldest release is told by nobody; a text may have changed more than once
    oldest = ORDER[0] if name == "predicates" else next(release for release in ORDER if release in FRAMEWORK)
    expected = [next(r for r in ORDER if r >= release) for release in expected if oldest < release <= ORDER[-1]]
    assert set(expected) <= set(found)
    assert len(found) == len(expected) or not isinstance(getattr(RELEASES[oldest], name), bool)


def test_the_change_between_two_releases_is_dated_by_their_pages() -> None:
    for older, newer in pairwise(release for release in ORDER if release in FRAMEWORK):
        for switch in between(RELEASES[older], RELEASES[newer]):
            if isinstance(getattr(RELEASES[newer], switch.name, None), bool) and not re.search(
                r"alone| to 1\.", switch.text
            ):
                assert switch.since == newer, switch


@pytest.mark.parametrize("name", ORDER)
def test_the_numbers_of_cases(name: str) -> None:
    folder = SHARED / f"v{name}"
    if not folder.exists():
        pytest.skip("../shared is not beside the checkout, or has none")
    with gzip.open(folder / "expected.jsonl.gz") as lines:
        cycles = [len(msgspec.json.decode(line)["cycles"]) for line in lines]
    assert (len(cycles), sum(cycles)) == CASES[name][:2]
