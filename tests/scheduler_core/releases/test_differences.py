"""Behaviours that differ between two releases, and the release that changed each."""

from itertools import pairwise

from scheduler_core.releases import FRAMEWORK, RELEASES, get_release
from scheduler_core.releases.differences import apply_differences, differences


def test_since_is_the_release_that_changed_the_behavior() -> None:
    names = list(FRAMEWORK)
    older, newer = RELEASES[names[0]], RELEASES[names[-1]]
    assert differences(older, newer)
    for found in differences(older, newer):
        if found.name.startswith("default_plugins"):
            continue
        at = names.index(found.since)
        assert getattr(RELEASES[names[at - 1]], found.name) != getattr(newer, found.name), found
        assert all(getattr(RELEASES[name], found.name) == getattr(newer, found.name) for name in names[at:]), found
    since = {found.name: found.since for found in differences(older, newer)}
    assert since == {found.name: found.since for found in differences(newer, older)}


def test_neighbours_differ_by_the_newer_release() -> None:
    for older, newer in pairwise(RELEASES):
        for found in differences(RELEASES[older], RELEASES[newer]):
            assert found.since == newer or found.name == "default_plugins", found


def test_plugins_and_gates() -> None:
    def since(a: str, b: str, name: str) -> str:
        return next(found.since for found in differences(get_release(a), get_release(b)) if found.name == name)

    assert since("1.27", "1.34", "default_plugins:DynamicResources") == "1.34"
    assert since("1.27", "1.34", "default_plugins:EBSLimits") == "1.31"
    assert since("1.34", "1.36", "default_plugins:DynamicResources") == "1.35", "the release with weight 2"
    assert since("1.34", "1.36", "node_declared_features") == "1.36"
    assert since("1.34", "1.34 SchedulerPopFromBackoffQ=false", "pop_from_backoff") == "1.33"


def test_default_plugins_change_one_by_one() -> None:
    """In the order of the older release, until the order itself changes."""
    a, b = get_release("1.27"), get_release("1.34")
    names = [found.name for found in differences(a, b) if found.name.startswith("default_plugins")]
    one = apply_differences(a, b, frozenset(["default_plugins:DynamicResources"]))
    assert [name for name, _ in one.default_plugins if name != "DynamicResources"] == [n for n, _ in a.default_plugins]
    order = [name for name, _ in one.default_plugins]
    assert order.index("InterPodAffinity") < order.index("DynamicResources") < order.index("DefaultPreemption")
    without = apply_differences(a, b, frozenset(["default_plugins:EBSLimits"]))
    assert dict(without.default_plugins) == {n: w for n, w in a.default_plugins if n != "EBSLimits"}
    assert apply_differences(a, b, frozenset(names)).default_plugins == b.default_plugins


def names_between(a: str, b: str) -> list[str]:
    return [found.name for found in differences(get_release(a), get_release(b))]


def test_plugins_added_with_a_behavior_belong_to_it() -> None:
    assert "default_plugins:SelectorSpread" in names_between("1.18", "1.19")
    for older, newer, name, plugin in (
        ("1.18", "1.19", "default_plugins:SelectorSpread", "DefaultPodTopologySpread"),
        ("1.19", "1.20", "default_spread_constraints", "SelectorSpread"),
        ("1.21", "1.22", "default_plugins:NodeResourcesFit", "NodeResourcesLeastAllocated"),
        ("1.35", "1.36", "node_declared_features", "NodeDeclaredFeatures"),
    ):
        assert f"default_plugins:{plugin}" not in names_between(older, newer)
        a, b = get_release(older), get_release(newer)
        mixed = apply_differences(a, b, frozenset([name]))
        assert dict(mixed.default_plugins).get(plugin) == dict(b.default_plugins).get(plugin)


def test_a_weight_changes_the_defaults_without_a_configuration() -> None:
    """v1beta2 of 1.22 lists its plugins for each point with lower weights, and means the same in 1.23."""
    a, b = get_release("1.22"), get_release("1.23")
    name = frozenset(["default_plugins:TaintToleration"])
    weights = {
        configured: dict(apply_differences(a, b, name, configured).default_points["v1beta2"]["score"])
        for configured in (True, False)
    }
    assert weights[True] == dict(a.default_points["v1beta2"]["score"])
    assert weights[False] == weights[True] | {"TaintToleration": 3}


def test_a_plugin_changes_the_points_of_its_configuration_version() -> None:
    a, b = get_release("1.21"), get_release("1.22")
    name = frozenset(["default_plugins:NodeResourcesFit"])
    score = dict(apply_differences(a, b, name, configured=False).default_points["v1beta1"]["score"])
    assert score["NodeResourcesFit"] == 1
    assert "NodeResourcesLeastAllocated" not in score
    assert apply_differences(a, b, name).default_points == a.default_points
