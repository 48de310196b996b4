"""The names of releases. docs/releases.md, which a test compares, has the changes of their default plugins."""

import pytest

from scheduler_core.errors import InputError
from scheduler_core.releases import RELEASES, get_release


@pytest.mark.parametrize(
    ("name", "release"),
    [("1.34", "1.34"), ("1.34.1", "1.34"), ("v1.27.3", "1.27"), ("v1.27.9+k3s1", "1.27"), (" 1.34.0-rc.1 ", "1.34")],
)
def test_a_version_names_its_minor_release(name: str, release: str) -> None:
    assert get_release(name) is RELEASES[release]


@pytest.mark.parametrize("name", ["1.15", "1.99", "", "latest", "1.34.x", "34", "1.3", "11.34"])
def test_an_unknown_release_lists_what_there_is(name: str) -> None:
    with pytest.raises(InputError, match=f"is not available; there are {', '.join(RELEASES)}"):
        get_release(name)


def test_a_newer_releases_plugin_is_no_part_of_an_older_one() -> None:
    old, new = RELEASES["1.34"], RELEASES["1.35"]
    assert "NodeDeclaredFeatures" in old.removed_plugins
    assert "NodeDeclaredFeatures" not in new.removed_plugins
    assert "score" in old.absent_points["DynamicResources"]
    assert not new.absent_points


def test_an_input_error_reads_well() -> None:
    assert str(InputError("Pod a/b", "spec.x", "must be y")) == "Pod a/b: spec.x: must be y"
    assert str(InputError("Pod a/b", "", "is gone")) == "Pod a/b: is gone"
