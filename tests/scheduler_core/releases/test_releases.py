"""The releases: which there are, and how their default plugins differ."""

import pytest

from scheduler_core.errors import InputError
from scheduler_core.releases import FRAMEWORK, RELEASES, get_release
from scheduler_core.releases.feature_gates import numbered


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


def test_default_plugins_of_the_releases_differ_where_upstream_does() -> None:
    old, new = ([name for name, _ in RELEASES[release].default_plugins] for release in ("1.27", "1.34"))
    assert set(old) - set(new) == {"EBSLimits", "GCEPDLimits", "AzureDiskLimits"}
    assert set(new) - set(old) == {"DynamicResources"}
    assert new.index("DynamicResources") == new.index("DefaultPreemption") - 1
    assert (new[0], old[-1]) == ("SchedulingGates", "SchedulingGates")
    common = [name for name in old if name in new and name != "SchedulingGates"]
    assert common == [name for name in new if name in common]


def test_default_weights_are_the_same_since_1_23_but_devices_count_since_135() -> None:
    for release in FRAMEWORK.values():
        higher = numbered(release.name) >= (1, 23)
        weights = {name: weight for name, weight in release.default_plugins if weight}
        assert weights.pop("DynamicResources", 0) == (2 if numbered(release.name) >= (1, 35) else 0)
        assert weights.pop("SelectorSpread", 0) == (1 if release.name == "1.19" else 0)
        assert weights.pop("DefaultPodTopologySpread", 0) == (1 if release.name in ("1.17", "1.18") else 0)
        if release.name == "1.17":  # its gate was off
            weights["PodTopologySpread"] = 2
        if numbered(release.name) < (1, 22):  # resources are scored by a plugin of their own
            assert weights.pop("NodeResourcesLeastAllocated") == 1
            assert weights.pop("NodePreferAvoidPods") == 10000
            weights["NodeResourcesFit"] = 1
        expected = {
            "TaintToleration": 3 if higher else 1,
            "NodeAffinity": 2 if higher else 1,
            "PodTopologySpread": 1 if release.name == "1.18" else 2,
            "InterPodAffinity": 2 if higher else 1,
            "NodeResourcesFit": 1,
            "NodeResourcesBalancedAllocation": 1,
            "ImageLocality": 1,
        }
        assert expected.items() <= weights.items()


def test_a_newer_releases_plugin_is_no_part_of_an_older_one() -> None:
    old, new, newest = (RELEASES[name] for name in ("1.34", "1.35", "1.36"))
    assert "NodeDeclaredFeatures" in old.removed_plugins
    assert "NodeDeclaredFeatures" not in new.removed_plugins
    assert new.default_plugins == newest.default_plugins[:-1]
    assert newest.default_plugins[-1] == ("NodeDeclaredFeatures", 0)
    assert "score" in old.absent_points["DynamicResources"]
    assert not new.absent_points


def test_an_input_error_reads_well() -> None:
    assert str(InputError("Pod a/b", "spec.x", "must be y")) == "Pod a/b: spec.x: must be y"
    assert str(InputError("Pod a/b", "", "is gone")) == "Pod a/b: is gone"
