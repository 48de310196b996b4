"""Plugins that a Policy is translated to, and rejected predicates and priorities."""

from typing import Any

import pytest

from scheduler_core.config import Configuration, load_configuration
from scheduler_core.errors import InputError
from scheduler_core.plugins import REGISTRY, known_plugins
from scheduler_core.releases import FRAMEWORK, RELEASES
from scheduler_core.releases.versions import numbered

RELEASES_WITH_POLICIES = [name for name in FRAMEWORK if numbered(name) <= (1, 22)]


def load(release: str = "1.22", **given: Any) -> Configuration:
    raw = {"kind": "Policy", "apiVersion": "v1", **given}
    return load_configuration(raw, RELEASES[release], known=known_plugins(REGISTRY))


def labels(name: str, presence: bool, *labels: str) -> dict[str, Any]:
    return {"name": name, "argument": {"labelsPresence": {"labels": list(labels), "presence": presence}}}


def prefer(name: str, weight: int, label: str, presence: bool) -> dict[str, Any]:
    return {"name": name, "weight": weight, "argument": {"labelPreference": {"label": label, "presence": presence}}}


@pytest.mark.parametrize("release", RELEASES_WITH_POLICIES)
def test_an_empty_policy_gives_the_defaults(release: str) -> None:
    profile = load(release).profiles[0]
    even = {} if release == "1.17" else {"PodTopologySpread": 1 if release == "1.18" else 2}
    spread = {"1.17": "DefaultPodTopologySpread", "1.18": "DefaultPodTopologySpread", "1.19": "SelectorSpread"}
    assert dict(profile.plugins["score"]) == {
        "NodeResourcesBalancedAllocation": 1,
        **even,
        "ImageLocality": 1,
        "InterPodAffinity": 1,
        "NodeResourcesLeastAllocated": 1,
        "NodeAffinity": 1,
        "NodePreferAvoidPods": 10000,
        "TaintToleration": 1,
        **({spread[release]: 1} if release in spread else {}),
    }
    filters = [name for name, _ in profile.plugins["filter"]]
    assert filters[:5] == ["NodeUnschedulable", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"]
    assert filters[-2:] == ["PodTopologySpread" if even else "VolumeZone", "InterPodAffinity"]
    if even:
        assert profile.args["PodTopologySpread"].defaulting_type == "System"


def test_taints_and_cordons_are_always_checked() -> None:
    profile = load(predicates=[], priorities=[]).profiles[0]
    assert [name for name, _ in profile.plugins["filter"]] == ["NodeUnschedulable", "TaintToleration"]
    assert profile.plugins["score"] == ()
    assert not profile.always_check_all
    assert load(alwaysCheckAllPredicates=True).profiles[0].always_check_all


def test_arguments_with_custom_names_are_merged() -> None:
    profile = load(
        predicates=[labels("a", True, "x", "y"), labels("b", False, "z")],
        priorities=[prefer("c", 3, "u", True), prefer("d", 3, "v", False), {"name": "EqualPriority", "weight": 1}],
        hardPodAffinitySymmetricWeight=7,
    ).profiles[0]
    args = profile.args["NodeLabel"]
    assert (args.present_labels, args.absent_labels) == (("x", "y"), ("z",))
    assert (args.present_labels_preference, args.absent_labels_preference) == (("u",), ("v",))
    assert profile.plugins["score"] == (("NodeLabel", 6),)


def test_the_first_weight_by_name_counts_of_two_spreading_priorities() -> None:
    spreading = [{"name": "SelectorSpreadPriority", "weight": 5}, {"name": "EvenPodsSpreadPriority", "weight": 3}]
    profile = load(priorities=spreading).profiles[0]
    assert profile.plugins["score"] == (("PodTopologySpread", 3),)
    assert profile.args["PodTopologySpread"].defaulting_type == "System"
    assert load(priorities=spreading[1:]).profiles[0].args["PodTopologySpread"].defaulting_type == "List"


def test_an_argument_with_the_name_of_its_plugin_is_ignored() -> None:
    given = [labels("CheckNodeLabelPresence", True, "x")]
    assert load("1.20", predicates=given).profiles[0].args["NodeLabel"].present_labels == ()
    with pytest.raises(InputError, match="NodeLabel has no arguments"):
        load("1.22", predicates=given)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"predicates": [{"name": "GeneralPredicate"}]}, "is no predicate.*; was GeneralPredicates meant"),
        ({"priorities": [{"name": "Nice", "weight": 1}]}, r"priorities\[0\] 'Nice': name: is no priority.*there are"),
        ({"priorities": [prefer("a", 1, "x", True), prefer("b", 2, "y", True)]}, "weight: must be that of 'a', 1"),
        (
            {"priorities": [{"name": "a", "weight": 1, "argument": {}}]},
            "must have exactly one of serviceAntiAffinity, labelPreference",
        ),
        ({"priorities": [{"name": "RequestedToCapacityRatio", "weight": 1}]}, "has no shape"),
        ({"unknownField": 1}, "unknownField: unknown field"),
    ],
)
def test_invalid_policies_are_rejected(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        load(**given)


def test_newer_releases_reject_policies() -> None:
    with pytest.raises(InputError, match=r"read by kube-scheduler 1\.22 and older only, and this is 1\.23"):
        load("1.23")
