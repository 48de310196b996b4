"""Names of releases and their plugins. tests/scheduler_core/test_docs.py compares the defaults."""

import pytest

from scheduler_core.config.known_out_of_tree import closest, what_is
from scheduler_core.errors import InputError
from scheduler_core.releases import RELEASES, get_release
from scheduler_core.releases.catalog import PLUGIN_RELEASES


@pytest.mark.parametrize(
    ("name", "release"),
    [("1.34", "1.34"), ("1.34.1", "1.34"), ("v1.27.3", "1.27"), ("v1.27.9+k3s1", "1.27"), (" 1.34.0-rc.1 ", "1.34")],
)
def test_a_version_gives_its_minor_release(name: str, release: str) -> None:
    assert get_release(name) is RELEASES[release]


@pytest.mark.parametrize("name", ["1.15", "1.99", "", "latest", "1.34.x", "34", "1.3", "11.34"])
def test_an_unknown_release_lists_all_releases(name: str) -> None:
    with pytest.raises(InputError, match=f"is not available; there are {', '.join(RELEASES)}"):
        get_release(name)


def test_a_plugin_of_a_newer_release_is_unknown_in_an_older_one() -> None:
    old, new = RELEASES["1.34"], RELEASES["1.35"]
    assert "NodeDeclaredFeatures" in old.removed_plugins
    assert "NodeDeclaredFeatures" not in new.removed_plugins
    assert "score" in old.absent_points["DynamicResources"]
    assert not new.absent_points


@pytest.mark.parametrize("name", PLUGIN_RELEASES)
def test_a_plugin_of_other_releases_is_described_without_suggesting_itself(name: str) -> None:
    since, until = PLUGIN_RELEASES[name]
    assert what_is(name, [name]).startswith(f"kube-scheduler {since or until}")
    assert closest(name, [name]) == ""


def test_an_input_error_has_a_message() -> None:
    assert str(InputError("Pod a/b", "spec.x", "must be y")) == "Pod a/b: spec.x: must be y"
    assert str(InputError("Pod a/b", "", "is gone")) == "Pod a/b: is gone"
