"""Names of releases and their plugins. tests/scheduler_core/test_docs.py compares the defaults."""

import pytest

from scheduler_core.config.known_out_of_tree import closest, what_is
from scheduler_core.errors import InputError
from scheduler_core.releases import RELEASES, get_release
from scheduler_core.releases.catalog import PATCHES, PLUGIN_RELEASES
from scheduler_core.releases.differences import apply_differences, differences
from scheduler_core.releases.release import BEHAVIORS
from scheduler_core.releases.versions import is_within, minor_of, numbered


@pytest.mark.parametrize(
    ("name", "release"),
    [
        *(("1.34", "1.34"), ("1.34.1", "1.34"), ("v1.27.3", "1.27.3"), ("v1.27.9+k3s1", "1.27.9")),
        *((" 1.34.0-rc.1 ", "1.34.0"), ("1.31.8 SchedulerQueueingHints=true", "1.31.8 SchedulerQueueingHints=true")),
    ],
)
def test_a_version_gives_its_patch_release(name: str, release: str) -> None:
    found = get_release(name)
    assert found.name == release
    assert get_release(found.name) == found


def test_a_minor_release_is_the_patch_release_of_its_cases() -> None:
    """So recordings that name it keep their decisions."""
    assert PATCHES.keys() == RELEASES.keys()
    for name, release in RELEASES.items():
        assert get_release(name) is get_release(release.version) is release
        assert get_release(f"{name}.0").minor == name


@pytest.mark.parametrize(
    ("since", "until", "those"),
    [
        ("", "", "1.18.20 1.19.13 1.19.16 1.20.3 1.20.9 1.21 1.22.0"),
        ("1.19.14, 1.20.9, 1.21", "", "1.19.16 1.20.9 1.21 1.22.0"),
        ("1.20.5", "", "1.20.9 1.21 1.22.0"),
        ("", "1.18.19, 1.19.13, 1.21.0", "1.19.13 1.20.3 1.20.9 1.21"),
        ("", "1.20", "1.18.20 1.19.13 1.19.16 1.20.3 1.20.9"),
        ("1.19.13, 1.20.9", "1.19.15, 1.20.11", "1.19.13 1.20.9"),
        ("1.19.0 to 1.19.13, 1.21", "", "1.19.13 1.21 1.22.0"),
    ],
)
def test_ranges_of_patch_releases(since: str, until: str, those: str) -> None:
    every = ("1.18.20", "1.19.13", "1.19.16", "1.20.3", "1.20.9", "1.21", "1.22.0")
    assert [name for name in every if is_within(name, since, until)] == those.split()


@pytest.mark.parametrize("name", BEHAVIORS)
def test_behaviors_name_versions_in_order(name: str) -> None:
    for text in (BEHAVIORS[name].since, BEHAVIORS[name].until):
        versions = [numbered(part) for parts in text.split(", ") if text for part in parts.split(" to ")]
        assert versions == sorted(versions)
        assert {len(version) for version in versions[:-1]} <= {3}, "only the last one can be a minor release"
        assert all(version[-1] <= PATCHES.get(minor_of(text), 99) for version in versions if len(version) == 3)


def test_a_patch_release_differs_in_its_behaviors_alone() -> None:
    old, new = get_release("1.31.2"), get_release("1.31.8")
    found = {one.name: one.since for one in differences(old, new)}
    assert found == {"victims_by_importance": "1.31.3", "local_volumes_prefilter_nodes": "1.31.3"}
    mixed = apply_differences(old, new, frozenset(["victims_by_importance"]))
    assert (mixed.victims_by_importance, mixed.local_volumes_prefilter_nodes) == (True, True)
    assert {one.since for one in differences(get_release("1.28.4"), get_release("1.28.5"))} == {"1.28.5"}
    assert differences(get_release("1.31.3"), new) == []


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
