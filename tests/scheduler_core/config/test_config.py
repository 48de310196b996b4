"""KubeSchedulerConfiguration: plugins in order, and error messages."""

# The tables of refused input are easier to read a case a line.
# ruff: noqa: E501

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.api.plugin_args import ResourceSpec
from scheduler_core.api.profile import POINTS, PluginInfo, Profile
from scheduler_core.config import Configuration, UnknownPlugins, load_configuration
from scheduler_core.errors import InputError
from scheduler_core.plugins import PLUGINS, REGISTRY, known_plugins
from scheduler_core.plugins.node_resources_fit import NodeResourcesFitArgs
from scheduler_core.plugins.resource_allocation import ScoringStrategy
from scheduler_core.releases import get_release
from tests.clusters import DATA
from tests.examples import examples

GROUP = "kubescheduler.config.k8s.io"
NEW, OLD = get_release("1.34"), get_release("1.27")

KNOWN = {
    **known_plugins(REGISTRY),
    # from outside the tree
    "Mine": PluginInfo(frozenset(("filter", "score"))),
    "OtherSort": PluginInfo(frozenset(("queueSort",))),
}
DEFAULT_SCORE = [
    *(("TaintToleration", 3), ("NodeAffinity", 2), ("NodeResourcesFit", 1), ("VolumeBinding", 1)),
    *(("PodTopologySpread", 2), ("InterPodAffinity", 2), ("NodeResourcesBalancedAllocation", 1), ("ImageLocality", 1)),
]
V1BETA2_SCORE = [
    *(("NodeResourcesBalancedAllocation", 1), ("ImageLocality", 1), ("InterPodAffinity", 1), ("NodeResourcesFit", 1)),
    *(("NodeAffinity", 1), ("PodTopologySpread", 2), ("TaintToleration", 1)),
]


def load(source: Any, release: Any = NEW, **options: Any) -> Configuration:
    return load_configuration(source, release, known=KNOWN, **options)


def config(version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "KubeSchedulerConfiguration", **fields}


def error_of(source: Any, **options: Any) -> str:
    """Return the message with which a configuration is rejected."""
    with pytest.raises(InputError) as caught:
        load(source, **options)
    return str(caught.value)


def with_profile(plugins: Any = None, plugin_config: Any = None, version: str = "v1") -> dict[str, Any]:
    return config(version, profiles=[{"plugins": plugins, "pluginConfig": plugin_config}])


def one_profile(plugins: Any = None, plugin_config: Any = None, *, version: str = "v1", **options: Any) -> Profile:
    return load(with_profile(plugins, plugin_config, version), **options).profiles[0]


def names(profile: Profile, point: str) -> list[str]:
    return [name for name, _ in profile.plugins[point]]


def entries(*given: str | tuple[str, int]) -> list[dict[str, Any]]:
    return [{"name": g} if isinstance(g, str) else {"name": g[0], "weight": g[1]} for g in given]


# --- the default profile ---


def test_default_configuration() -> None:
    configuration = load(None)
    assert [p.scheduler_name for p in configuration.profiles] == ["default-scheduler"]
    assert configuration.percentage_of_nodes_to_score is None
    assert (configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds) == (1, 10)
    assert (configuration.extenders, configuration.warnings) == ([], [])


@pytest.mark.parametrize(("release", "limits"), [(NEW, ["NodeVolumeLimits"]), (OLD, None)])
def test_default_order(release: Any, limits: list[str] | None) -> None:
    profile = load(None, release).profiles[0]
    assert list(profile.plugins) == list(POINTS)
    assert list(profile.plugins["score"]) == DEFAULT_SCORE
    assert names(profile, "queueSort") == ["PrioritySort"]
    assert names(profile, "bind") == ["DefaultBinder"]
    assert names(profile, "filter") == [
        *("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"),
        "VolumeRestrictions",
        *(limits or ["EBSLimits", "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits"]),
        *("VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity"),
        *(["DynamicResources"] if release is NEW else []),
    ]
    assert all(weight == 0 for point in POINTS if point != "score" for _, weight in profile.plugins[point])


def test_unknown_default_plugins_are_left_out() -> None:
    known = {name: points for name, points in KNOWN.items() if name != "DynamicResources"}
    profile = load_configuration(None, NEW, known=known).profiles[0]
    assert names(profile, "postFilter") == ["DefaultPreemption"]
    assert "DynamicResources" not in profile.args


def test_default_args() -> None:
    args = load(None).profiles[0].args
    cpu_and_memory = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))
    assert args["NodeResourcesFit"] == NodeResourcesFitArgs(
        scoring_strategy=ScoringStrategy(type="LeastAllocated", resources=cpu_and_memory)
    )
    assert args["NodeResourcesBalancedAllocation"].resources == cpu_and_memory
    assert args["DefaultPreemption"].min_candidate_nodes_percentage == 10
    assert args["DefaultPreemption"].min_candidate_nodes_absolute == 100
    assert args["InterPodAffinity"].hard_pod_affinity_weight == 1
    assert args["InterPodAffinity"].ignore_preferred_terms_of_existing_pods is False
    assert one_profile(None, [{"name": "InterPodAffinity"}]).args["InterPodAffinity"] == args["InterPodAffinity"]
    assert args["NodeAffinity"].added_affinity is None
    assert (args["PodTopologySpread"].defaulting_type, args["PodTopologySpread"].default_constraints) == ("System", ())
    assert (args["VolumeBinding"].bind_timeout_seconds, args["VolumeBinding"].shape) == (600, None)
    assert args["DynamicResources"].filter_timeout == "10s"
    assert "DynamicResources" not in load(None, OLD).profiles[0].args


# --- merging and MultiPoint ---


def test_an_out_of_tree_plugin_by_multi_point_is_last_at_each_of_its_points() -> None:
    profile = one_profile({"multiPoint": {"enabled": entries(("Mine", 7))}})
    assert names(profile, "filter")[-1] == "Mine"
    assert profile.plugins["score"][-1] == ("Mine", 7)
    assert "Mine" not in names(profile, "preFilter")


def test_a_specific_point_comes_first_and_its_weight_counts() -> None:
    profile = one_profile({"score": {"enabled": entries(("ImageLocality", 9), "Mine", ("NodeAffinity", 0))}})
    default = [entry for entry in DEFAULT_SCORE if entry[0] not in ("ImageLocality", "NodeAffinity")]
    assert list(profile.plugins["score"]) == [("ImageLocality", 9), ("NodeAffinity", 1), *default, ("Mine", 1)]


def test_a_default_named_again_in_multi_point_keeps_its_place_and_loses_its_weight() -> None:
    profile = one_profile({"multiPoint": {"enabled": entries("TaintToleration", ("NodeAffinity", 8))}})
    assert profile.plugins["score"][:2] == (("TaintToleration", 1), ("NodeAffinity", 8))
    assert names(profile, "filter") == names(load(None).profiles[0], "filter")


def test_the_score_weight_takes_precedence_over_the_multi_point_weight() -> None:
    plugins = {"multiPoint": {"enabled": entries(("Mine", 5))}, "score": {"enabled": entries("Mine")}}
    assert one_profile(plugins).plugins["score"][0] == ("Mine", 1)


def test_disabled_at_one_point_stays_enabled_at_the_others() -> None:
    profile = one_profile({"score": {"disabled": entries("NodeResourcesFit", "NoSuchPlugin")}})
    assert "NodeResourcesFit" not in names(profile, "score")
    assert "NodeResourcesFit" in names(profile, "filter")


def test_disabled_and_enabled_again() -> None:
    disabled = entries("NodeResourcesFit")
    at_point = one_profile({"score": {"disabled": disabled, "enabled": entries(("NodeResourcesFit", 6))}})
    # disabled here, so MultiPoint does not bring it: it is what the point itself says, after MultiPoint's
    assert at_point.plugins["score"][-1] == ("NodeResourcesFit", 6)
    by_multi_point = one_profile({"multiPoint": {"disabled": disabled, "enabled": entries(("NodeResourcesFit", 6))}})
    assert by_multi_point.plugins["score"][-1] == ("NodeResourcesFit", 6)
    assert names(by_multi_point, "filter")[-1] == "NodeResourcesFit"


def test_star_at_a_point() -> None:
    score = {"disabled": entries("*"), "enabled": entries(("Mine", 2))}
    profile = one_profile({"score": score, "preScore": {"disabled": entries("*")}})
    assert list(profile.plugins["score"]) == [("Mine", 2)]
    assert names(profile, "preScore") == []
    assert names(profile, "filter") == names(load(None).profiles[0], "filter")


def test_arguments_of_a_plugin_that_is_not_enabled_by_default_are_decoded() -> None:
    known = {**KNOWN, "Mine": PluginInfo(frozenset(("filter",)), NodeResourcesFitArgs)}
    plugins = {"filter": {"enabled": entries("Mine")}}
    source = with_profile(plugins, [{"name": "Mine", "args": {"ignoredResources": ["a.b/c"]}}])
    (profile,) = load_configuration(source, NEW, known=known).profiles
    assert profile.args["Mine"].ignored_resources == ("a.b/c",)


def test_star_at_multi_point_leaves_only_named_plugins() -> None:
    enabled = entries("PrioritySort", "Mine", "DefaultBinder")
    profile = one_profile({"multiPoint": {"disabled": entries("*"), "enabled": enabled}})
    assert {point: names(profile, point) for point in POINTS if profile.plugins[point]} == {
        "queueSort": ["PrioritySort"],
        "filter": ["Mine"],
        "score": ["Mine"],
        "bind": ["DefaultBinder"],
    }
    assert profile.args == {}


def test_a_plugin_disabled_in_multi_point_may_be_enabled_at_one_point() -> None:
    disabled = {"disabled": entries("PodTopologySpread")}
    profile = one_profile({"multiPoint": disabled, "filter": {"enabled": entries("PodTopologySpread")}})
    assert names(profile, "filter")[-1] == "PodTopologySpread"
    assert "PodTopologySpread" not in names(profile, "score")


def test_queue_sort_can_be_replaced() -> None:
    plugins = {"queueSort": {"disabled": entries("*"), "enabled": entries("OtherSort")}}
    assert names(one_profile(plugins), "queueSort") == ["OtherSort"]
    plugins = {"multiPoint": {"disabled": entries("PrioritySort")}, "queueSort": {"enabled": entries("PrioritySort")}}
    assert names(one_profile(plugins), "queueSort") == ["PrioritySort"]


WHERE = 'profiles[0] "default-scheduler": '


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        ({"filter": {"enabled": entries("Mine", "Mine")}}, "plugins.filter.enabled: plugin 'Mine' is enabled twice"),
        ({"multiPoint": {"enabled": entries("Mine", "Mine")}}, "plugins.multiPoint.enabled: plugin 'Mine' is enabled twice"),
        ({"permit": {"enabled": entries("Mine")}}, "plugins.permit.enabled: plugin 'Mine' does not extend permit"),
        ({"queueSort": {"enabled": entries("OtherSort")}},
         "plugins.queueSort: must have exactly one plugin enabled, got PrioritySort, OtherSort"),
        ({"queueSort": {"disabled": entries("*")}}, "plugins.queueSort: must have exactly one plugin enabled, got none"),
        ({"bind": {"disabled": entries("DefaultBinder")}}, "plugins.bind: must have at least one plugin enabled"),
        ({"filter": {"enabled": entries("Mine", "Nope")}},
         "plugins.filter.enabled[1]: plugin 'Nope' is not part of kube-scheduler 1.34"),
        ({"filter": {"enabled": entries("EBSLimits")}},
         "plugins.filter.enabled[0]: plugin 'EBSLimits' is not part of kube-scheduler 1.34"
         " (kube-scheduler 1.30 and older have it; NodeVolumeLimits replaces it)"),
        ({"score": {"enabled": entries("NodeResourcesMostAllocated")}},
         "plugins.score.enabled[0]: plugin 'NodeResourcesMostAllocated' is not part of kube-scheduler 1.34"
         " (kube-scheduler 1.22 and older have it; NodeResourcesFit with scoringStrategy.type MostAllocated replaces it)"),
        ({"filter": {"enable": []}}, "plugins.filter: unknown field enable"),
        ({"filters": {}}, "plugins: unknown field filters"),
        ({"unreserve": {}}, "plugins.unreserve: unknown field in v1"),
        ({"score": {"enabled": [{"name": "Mine", "weight": "3"}]}},
         "plugins.score.enabled[0].weight: must be a whole number, got a text"),
        ({"score": {"enabled": {}}}, "plugins.score.enabled: must be a list, got a mapping"),
    ],
)  # fmt: skip
def test_invalid_plugins_are_rejected(plugins: Any, message: str) -> None:
    profile = {"schedulerName": "default-scheduler", "plugins": plugins}
    assert error_of(config(profiles=[profile])) == WHERE + message


# --- unknown plugins ---


def test_unknown_plugins_can_be_left_out_with_a_warning() -> None:
    plugins = {"filter": {"enabled": entries("Nope")}, "score": {"enabled": entries(("Nope", 3), ("Mine", 2))}}
    raw = config(profiles=[{"plugins": plugins, "pluginConfig": [{"name": "Nope", "args": {"a": 1}}]}])
    configuration = load(raw, unknown="leave_out")
    assert configuration.warnings == [
        WHERE + "plugin 'Nope' is not part of kube-scheduler 1.34: left out of filter, score, pluginConfig"
    ]
    profile = configuration.profiles[0]
    assert "Nope" not in profile.args
    assert all("Nope" not in names(profile, point) for point in POINTS)
    assert ("Mine", 2) in profile.plugins["score"]


def test_all_unknown_plugins_are_listed_with_a_description() -> None:
    nope = {"enabled": entries("Nope"), "disabled": entries("*")}
    first = {"queueSort": nope, "score": {"enabled": entries("Dynamic")}}
    second = {"filter": {"enabled": entries("Dynamic", "NodeResourcesFitWrapped", "BalancedAllocation", "NodePort")}}
    profiles = [{"schedulerName": "a", "plugins": first}, {"schedulerName": "b", "plugins": second}]
    with pytest.raises(UnknownPlugins) as caught:
        load(config(profiles=profiles))
    named = "Nope", "Dynamic", "NodeResourcesFitWrapped", "BalancedAllocation", "NodePort"
    assert tuple(plugin.name for plugin in caught.value.plugins) == named
    message = str(caught.value)
    where = "KubeSchedulerConfiguration: plugins"
    assert message.startswith(f"{where}: 5 plugins are not part of kube-scheduler 1.34: 'Nope'; ")
    assert "'Dynamic' (Crane: filters and scores by load" in message
    assert "'NodeResourcesFitWrapped' (kube-scheduler-simulator's record of NodeResourcesFit" in message
    assert "was NodeResourcesBalancedAllocation meant?" in message
    assert "was NodePorts meant?" in message
    assert caught.value.rest is None
    assert [p.scheduler_name for p in load(config(profiles=profiles), unknown="leave_out").profiles] == ["a", "b"]


def test_other_errors_are_listed_with_the_unknown_plugins() -> None:
    fit = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Best"}}}
    raw = with_profile({"filter": {"enabled": entries("Nope")}}, [fit])
    with pytest.raises(
        UnknownPlugins, match=r"'Nope' is not part .* Without them it is still invalid: .*must be one of"
    ):
        load(raw)
    assert "must be one of LeastAllocated" in error_of(raw, unknown="leave_out")


def test_the_list_of_unknown_plugins_is_bounded() -> None:
    plugins = {"filter": {"enabled": entries(*(f"{'x' * 300}{i}" for i in range(500)))}}
    with pytest.raises(UnknownPlugins, match="and 480 more") as caught:
        load(config(profiles=[{"plugins": plugins}]))
    assert len(str(caught.value)) < 2500


def test_a_profile_without_queue_sort_or_bind_gets_the_default() -> None:
    disabled = entries("PrioritySort", "DefaultBinder")
    plugins = {"multiPoint": {"disabled": disabled, "enabled": entries("Sakkara", "Mine")}}
    profiles = [{"schedulerName": "a", "plugins": plugins}, {"schedulerName": "b"}]
    configuration = load(config(profiles=profiles), unknown="leave_out")
    for profile in configuration.profiles:
        assert (names(profile, "queueSort"), names(profile, "bind")) == (["PrioritySort"], ["DefaultBinder"])
    assert "Mine" in names(configuration.profiles[0], "filter")
    sorted_alike = {"queueSort": {"enabled": entries("Nope"), "disabled": entries("*")}}
    profiles = [{"schedulerName": "a", "plugins": sorted_alike}, {"schedulerName": "b"}]
    assert len(load(config(profiles=profiles), unknown="leave_out").profiles) == 2


def test_defaults_replace_left_out_queue_sort_and_bind_plugins() -> None:
    replaced = {"disabled": entries("*"), "enabled": entries("Nope")}
    raw = config(profiles=[{"plugins": {"queueSort": replaced, "bind": replaced}}])
    configuration = load(raw, unknown="leave_out")
    profile = configuration.profiles[0]
    assert (names(profile, "queueSort"), names(profile, "bind")) == (["PrioritySort"], ["DefaultBinder"])
    assert sum("replaces the omitted" in warning for warning in configuration.warnings) == 2


def test_arguments_of_an_unknown_disabled_plugin_are_accepted() -> None:
    raw = config(profiles=[{"pluginConfig": [{"name": "Nope", "args": {"a": 1}}]}])
    assert load(raw).warnings == [WHERE + "plugin 'Nope' is not part of kube-scheduler 1.34: left out of pluginConfig"]


def test_arguments_of_an_out_of_tree_plugin_are_unchanged() -> None:
    args = {"apiVersion": f"{GROUP}/v1", "kind": "MineArgs", "depth": [1, {"b": "c"}]}
    assert one_profile(None, [{"name": "Mine", "args": args}]).args["Mine"] == args


# --- API versions ---


def test_v1beta2_has_its_own_defaults_by_point() -> None:
    profile = load(config("v1beta2"), OLD).profiles[0]
    assert list(profile.plugins["score"]) == V1BETA2_SCORE
    assert names(profile, "preFilter")[:2] == ["NodeResourcesFit", "NodePorts"]
    assert names(profile, "filter") == names(load(None, OLD).profiles[0], "filter")
    assert names(profile, "preEnqueue") == ["SchedulingGates"]


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_older_versions_apply_their_weights_to_a_newer_release(version: str) -> None:
    configuration = load(config(version))
    assert dict(configuration.profiles[0].plugins["score"]) == dict(V1BETA2_SCORE)
    assert names(configuration.profiles[0], "filter") == names(load(None).profiles[0], "filter")
    assert f"{version} is read by kube-scheduler" in configuration.warnings[0]


def test_v1beta3_equals_v1() -> None:
    assert load(config("v1beta3"), OLD).profiles[0].plugins == load(None, OLD).profiles[0].plugins
    assert load(config("v1beta3"), OLD).warnings == []


def test_v1beta2_replaces_in_place_and_appends() -> None:
    profile = one_profile({"score": {"enabled": entries("Mine", ("ImageLocality", 4))}}, version="v1beta2", release=OLD)
    assert profile.plugins["score"][1] == ("ImageLocality", 4)
    assert profile.plugins["score"][-1] == ("Mine", 1)


def test_v1beta1_most_allocated_becomes_a_strategy_of_fit() -> None:
    score = {
        "disabled": entries("NodeResourcesLeastAllocated", "NodeResourcesFit"),
        "enabled": entries(("NodeResourcesMostAllocated", 5)),
    }
    args = [
        {"name": "NodeResourcesMostAllocated", "args": {"resources": [{"name": "cpu", "weight": 3}]}},
        {"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/gpu"]}},
    ]
    profile = one_profile({"score": score}, args, version="v1beta1", release=OLD)
    assert profile.plugins["score"][-1] == ("NodeResourcesFit", 5)
    assert len([name for name in names(profile, "score") if name == "NodeResourcesFit"]) == 1
    assert profile.args["NodeResourcesFit"] == NodeResourcesFitArgs(
        ignored_resources=("example.com/gpu",),
        scoring_strategy=ScoringStrategy(type="MostAllocated", resources=(ResourceSpec(name="cpu", weight=3),)),
    )


def test_v1beta1_least_allocated_is_the_default_score_of_fit() -> None:
    args = [{"name": "NodeResourcesLeastAllocated", "args": {"resources": [{"name": "memory", "weight": 2}]}}]
    strategy = one_profile(None, args, version="v1beta1").args["NodeResourcesFit"].scoring_strategy
    assert strategy == ScoringStrategy(type="LeastAllocated", resources=(ResourceSpec(name="memory", weight=2),))
    disabled = one_profile({"score": {"disabled": entries("NodeResourcesLeastAllocated")}}, version="v1beta1")
    assert "NodeResourcesFit" not in names(disabled, "score")


def test_v1beta1_requested_to_capacity_ratio() -> None:
    score = {"disabled": entries("NodeResourcesLeastAllocated"), "enabled": entries("RequestedToCapacityRatio")}
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    args = [{"name": "RequestedToCapacityRatio", "args": {"shape": shape}}]
    strategy = one_profile({"score": score}, args, version="v1beta1").args["NodeResourcesFit"].scoring_strategy
    assert [(p.utilization, p.score) for p in strategy.requested_to_capacity_ratio.shape] == [(0, 0), (100, 10)]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"kind": "Policy", "apiVersion": "v1"}, "Policy: kind: a scheduler Policy is read by kube-scheduler 1.22 and"),
        (config("v1alpha1"), f"apiVersion: {GROUP}/v1alpha1 is read by kube-scheduler 1.12 to 1.18 only; there are v1"),
        (config("v1alpha2"), "is read by kube-scheduler 1.18 only"),
        (config() | {"apiVersion": "componentconfig/v1alpha1"}, "is read by kube-scheduler 1.11 and older only"),
        (config("v2"), f"apiVersion: must be {GROUP}/ and one of v1, v1beta3, v1beta2, v1beta1, got '{GROUP}/v2'"),
        (config() | {"apiVersion": "v1"}, f"apiVersion: must be {GROUP}/ and one of"),
        ({"kind": "KubeSchedulerConfiguration"}, "apiVersion: must be given"),
        (config() | {"apiVersion": 1}, "apiVersion: must be given"),
        ({"apiVersion": "v1", "kind": "Pod"}, "must be an object of kind KubeSchedulerConfiguration, got a 'Pod'"),
        (config("v1beta1", profiles=[{"plugins": {"multiPoint": {}}}]), "profiles[0]: plugins.multiPoint: unknown field in v1beta1"),
        (config("v1beta1", profiles=[{"plugins": {"preEnqueue": {}}}]), "plugins.preEnqueue: unknown field in v1beta1"),
        (config("v1beta3", profiles=[{"percentageOfNodesToScore": 5}]), "percentageOfNodesToScore: unknown field in v1beta3"),
        (with_profile({"score": {"enabled": entries(("ImageLocality", 4))}}, version="v1beta1"),
         "plugin 'ImageLocality' is enabled twice"),
        (with_profile({"score": {"enabled": entries("NodeResourcesMostAllocated")}}, version="v1beta1"),
         "NodeResourcesLeastAllocated and NodeResourcesMostAllocated cannot both"),
        (config(healthzBindAddress=":0"), "KubeSchedulerConfiguration: healthzBindAddress: unknown field in v1"),
        (config("v1beta1", profiles=[{"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {}}}]}]),
         'profiles[0] "default-scheduler": pluginConfig[0] NodeResourcesFit: args.scoringStrategy: unknown field in v1beta1'),
    ],
)  # fmt: skip
def test_invalid_versions_are_rejected(raw: dict[str, Any], message: str) -> None:
    assert message in error_of(raw)


def test_v1beta2_ignores_multi_point() -> None:
    """It has the field since 1.23, and its defaults do not merge it."""
    raw = with_profile({"multiPoint": {"enabled": entries("Mine"), "disabled": STAR}}, version="v1beta2")
    configuration = load(raw, OLD)
    assert configuration.profiles[0].plugins == load(config("v1beta2"), OLD).profiles[0].plugins
    assert any("plugins.multiPoint is ignored" in warning for warning in configuration.warnings)
    with pytest.raises(InputError, match=r"multiPoint: unknown field in 1\.22"):
        load(raw, get_release("1.22"))


# --- the rest of the file ---


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"parallelism": 0}, "KubeSchedulerConfiguration: parallelism: must be greater than 0, got 0"),
        ({"percentageOfNodesToScore": 101}, "percentageOfNodesToScore: must be in 0..100, got 101"),
        ({"podInitialBackoffSeconds": 0}, "podInitialBackoffSeconds: must be greater than 0, got 0"),
        ({"podMaxBackoffSeconds": 0}, "podMaxBackoffSeconds: must be at least podInitialBackoffSeconds (1), got 0"),
        ({"podInitialBackoffSeconds": 2**63}, "podInitialBackoffSeconds: must be a whole number <= 9223372036854775807"),
        ({"clientConnection": {"burst": -1}}, "clientConnection.burst: must not be negative, got -1"),
        ({"leaderElection": {"leaseDuration": "soon"}}, "leaderElection.leaseDuration: must be a duration such as 15s"),
        ({"leaderElection": {"renewDeadline": "15s"}}, "leaderElection.leaseDuration: must be greater than renewDeadline"),
        ({"leaderElection": {"retryPeriod": "-1s"}}, "leaderElection.retryPeriod: must be greater than 0, got '-1s'"),
        ({"leaderElection": {"resourceLock": "endpoints"}}, "leaderElection.resourceLock: must be leases, got 'endpoints'"),
        ({"leaderElection": {"leader": True}}, "leaderElection: unknown field leader"),
        ({"profile": []}, "KubeSchedulerConfiguration: unknown field profile"),
        ({"profiles": {}}, "KubeSchedulerConfiguration: profiles: must be a list, got a mapping"),
        ({"profiles": [{"pluginConfig": [{"name": "NodeAffinity"}, {"name": "NodeAffinity"}]}]},
         "pluginConfig[1] NodeAffinity: name: this plugin is configured twice"),
        ({"profiles": ["x"]}, "profiles[0]: must be a mapping, got a text"),
        ({"profiles": [{"schedulerName": ""}]}, 'profiles[0] "": schedulerName: must be given and not empty'),
        ({"profiles": [{"schedulerName": "a"}, {}]}, "profiles[1]: schedulerName: must be given and not empty"),
        ({"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]}, 'profiles[1] "a": schedulerName: another profile has this name'),
        ({"profiles": [{"percentageOfNodesToScore": -1}]}, WHERE + "percentageOfNodesToScore: must be in 0..100, got -1"),
        ({"profiles": [{"schedulerName": "a"}, {"schedulerName": "b", "plugins": {"queueSort": {"enabled": entries("PrioritySort")}}}]},
         'profiles[1] "b": plugins.queueSort: must be the same for all profiles'),
        ({"profiles": [
            {"schedulerName": "a", "pluginConfig": [{"name": "PrioritySort", "args": {"x": 1}}]},
            {"schedulerName": "b"}]},
         'profiles[1] "b": pluginConfig: the arguments of PrioritySort must be the same for all profiles'),
        ({"extenders": [{"urlPrefix": "http://e", "prioritizeVerb": "p"}]}, "extenders[0] 'http://e': weight: must be greater than 0, got 0"),
        ({"extenders": [{"bindVerb": "b"}, {"bindVerb": "b"}]}, "extenders: bindVerb: only one extender can bind, got 2"),
        ({"extenders": [{"managedResources": [{"name": "cpu"}]}]}, "managedResources[0].name: must be an extended resource"),
        ({"extenders": [{"managedResources": [{"name": "e.x/g"}, {"name": "e.x/g"}]}]}, "managedResources[1].name: 'e.x/g' is managed by an extender already"),
        ({"extenders": [{"httpTimeout": "5"}]}, "httpTimeout: must be a duration such as 5s, got '5'"),
        ({"extenders": [{"enableHttps": True}]}, "KubeSchedulerConfiguration: extenders[0]: unknown field enableHttps"),
    ],
)  # fmt: skip
def test_invalid_fields_are_rejected(fields: dict[str, Any], message: str) -> None:
    assert message in error_of(config(**fields))


def test_values_are_read() -> None:
    profiles = [{"schedulerName": "a", "percentageOfNodesToScore": 30}, {"schedulerName": "b"}]
    backoff = {"podInitialBackoffSeconds": 2, "podMaxBackoffSeconds": 2}
    configuration = load(config(percentageOfNodesToScore=50, profiles=profiles, **backoff))
    of_profiles = {p.scheduler_name: p.percentage_of_nodes_to_score for p in configuration.profiles}
    assert of_profiles == {"a": 30, "b": None}
    assert configuration.percentage_of_nodes_to_score == 50
    assert (configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds) == (2, 2)


def test_extenders_are_not_called_and_their_keys_are_dropped() -> None:
    extender = {
        "urlPrefix": "https://e",
        "filterVerb": "f",
        "enableHTTPS": True,
        "httpTimeout": "1m30s",
        "tlsConfig": {"keyData": "c2VjcmV0"},
        "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}, {"name": "example.com/fpga"}],
    }
    args = [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/other"]}}]
    configuration = load(config(extenders=[extender], profiles=[{"pluginConfig": args}]))
    assert configuration.extenders[0].url_prefix == "https://e"
    assert "c2VjcmV0" not in repr(configuration)
    # upstream: what extenders manage takes the place of the plugin's own list
    assert configuration.profiles[0].args["NodeResourcesFit"].ignored_resources == ("example.com/gpu",)
    assert "are not called" in configuration.warnings[0]


# --- arguments of plugins ---


ZONE = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}


def expression(**fields: Any) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]} | fields]}


REFUSED_CONSTRAINTS = [
    ([ZONE | {"maxSkew": 0}], "defaultConstraints[0].maxSkew: must be greater than 0, got 0"),
    ([ZONE | {"topologyKey": ""}], "defaultConstraints[0].topologyKey: must not be empty"),
    ([ZONE | {"topologyKey": "-x/zone"}], "defaultConstraints[0].topologyKey: must have a DNS subdomain before '/'"),
    ([ZONE | {"whenUnsatisfiable": "Never"}], "whenUnsatisfiable: must be one of DoNotSchedule, ScheduleAnyway"),
    ([ZONE | {"labelSelector": {}}], "defaultConstraints[0].labelSelector: must not be given"),
    ([ZONE, ZONE | {"maxSkew": 2}], "defaultConstraints[1]: topologyKey 'topology.kubernetes.io/zone' with"),
]
REFUSED_AFFINITIES = [
    (required(expression(operator="Near")), "nodeSelectorTerms[0].matchExpressions[0].operator: must be one of In,"),
    (required({}, expression(values=[])), "nodeSelectorTerms[1].matchExpressions[0].values: must not be empty for In"),
    (required(expression(operator="Exists")), "matchExpressions[0].values: must be empty for Exists"),
    (required(expression(operator="Lt")), "matchExpressions[0].values: must be one integer for Lt, got ['a']"),
    (required(expression(key="a b")), "matchExpressions[0].key: must be at most 63 letters"),
    (required(expression(values=["a b"])), "matchExpressions[0].values[0]: must be at most 63 letters"),
    (required({"matchFields": [{"key": "metadata.name", "operator": "Gt"}]}), "matchFields[0].operator: must be one of In, NotIn"),
    (required({"matchFields": [{"key": "metadata.name", "operator": "In"}]}), "matchFields[0].values: must have one element, got 0"),
    ({"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": expression(operator="")}]},
     "args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].operator"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("plugin", "args", "message"),
    [
        ("DefaultPreemption", {"minCandidateNodesPercentage": 101}, "minCandidateNodesPercentage: must be in 0..100, got 101"),
        ("DefaultPreemption", {"minCandidateNodesAbsolute": -1}, "minCandidateNodesAbsolute: must not be negative, got -1"),
        ("DefaultPreemption", {"minCandidateNodesAbsolute": 0, "minCandidateNodesPercentage": 0}, "cannot be zero at the same time"),
        ("InterPodAffinity", {"hardPodAffinityWeight": 101}, "hardPodAffinityWeight: must be in 0..100, got 101"),
        ("InterPodAffinity", {"hardPodAffinityWeight": 2**31}, "hardPodAffinityWeight: must be a whole number <= 2147483647"),
        ("NodeResourcesFit", {"ignoredResources": ["a b"]}, "ignoredResources[0]: must be at most 63 letters"),
        ("NodeResourcesFit", {"ignoredResourceGroups": ["a/b"]}, "ignoredResourceGroups[0]: must not contain '/', got 'a/b'"),
        ("NodeResourcesFit", {"scoringStrategy": {}}, "scoringStrategy.type: must be one of LeastAllocated, MostAllocated,"),
        ("NodeResourcesFit", {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 200}]}},
         "scoringStrategy.resources[0].weight: must be in 1..100, got 200"),
        ("NodeResourcesFit", {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
         "scoringStrategy.requestedToCapacityRatio: must be given when type is RequestedToCapacityRatio"),
        ("NodeResourcesFit", {"scoringStrategy": {"type": "LeastAllocated", "requestedToCapacityRatio": {}}},
         "scoringStrategy.requestedToCapacityRatio: must not be given when type is LeastAllocated"),
        ("NodeResourcesFit", {"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {}}},
         "requestedToCapacityRatio.shape: must have at least one point"),
        ("NodeResourcesFit", {"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {
            "shape": [{"utilization": 0, "score": 11}]}}}, "shape[0].score: must be in 0..10, got 11"),
        ("NodeResourcesFit", {"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {
            "shape": [{"utilization": 101}]}}}, "shape[0].utilization: must be in 0..100, got 101"),
        ("NodeResourcesFit", {"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {
            "shape": [{"utilization": 50}, {"utilization": 50}]}}}, "shape[1].utilization: must be greater than the point before"),
        ("NodeResourcesFit", {"scoringStrategy": {"types": "x"}}, "args.scoringStrategy: unknown field types"),
        ("NodeResourcesFit", {"kind": "NodeAffinityArgs"}, "args.kind: must be NodeResourcesFitArgs, got 'NodeAffinityArgs'"),
        ("NodeResourcesFit", {"apiVersion": "v1"}, "args.apiVersion: must be kubescheduler.config.k8s.io/v1, got 'v1'"),
        ("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu", "weight": 2}]}, "resources[0].weight: must be 1, got 2"),
        ("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu"}, {"name": "cpu"}]}, "resources[1].name: 'cpu' is given twice"),
        ("PodTopologySpread", {"defaultingType": "Some"}, "defaultingType: must be one of System, List, got 'Some'"),
        ("PodTopologySpread", {"defaultConstraints": [{"maxSkew": 1}]}, "defaultingType: must be List when defaultConstraints are"),
        ("VolumeBinding", {"bindTimeoutSeconds": -1}, "bindTimeoutSeconds: must not be negative, got -1"),
        ("VolumeBinding", {"shape": [{"utilization": 0, "score": 0}]}, "shape: unexpected: remove it or turn on the feature gate"),
        ("DynamicResources", {"filterTimeout": "-1s"}, "filterTimeout: must not be negative, got '-1s'"),
        ("DynamicResources", {"filterTimeout": "x"}, "filterTimeout: must be a duration such as 10s, got 'x'"),
        ("NodeAffinity", {"addedAffinity": {"required": {}}}, "args.addedAffinity: unknown field required"),
        *(("NodeAffinity", {"addedAffinity": affinity}, message) for affinity, message in REFUSED_AFFINITIES),
        *(("PodTopologySpread", {"defaultingType": "List", "defaultConstraints": constraints}, message)
          for constraints, message in REFUSED_CONSTRAINTS),
    ],
)  # fmt: skip
def test_invalid_arguments_are_rejected(plugin: str, args: dict[str, Any], message: str) -> None:
    problem = error_of(with_profile(None, [{"name": "ImageLocality"}, {"name": plugin, "args": args}]))
    assert problem.startswith(f"{WHERE}pluginConfig[1] {plugin}: args.")
    assert message in problem


def test_added_affinity_stays_a_plain_object() -> None:
    affinity = required(expression(), {}) | {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            # upstream does not read a term of weight 0
            {"weight": 0, "preference": expression(operator="Bad")},
            {"weight": 5, "preference": expression(operator="Gt", values=["7"])},
        ]
    }
    args = one_profile(None, [{"name": "NodeAffinity", "args": {"addedAffinity": affinity}}]).args["NodeAffinity"]
    assert args.added_affinity == affinity


def test_missing_and_zero_weights_are_one() -> None:
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu"}, {"name": "memory", "weight": 0}]}
    args = one_profile(None, [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]).args
    resources = args["NodeResourcesFit"].scoring_strategy.resources
    assert [(resource.name, resource.weight) for resource in resources] == [("cpu", 1), ("memory", 1)]


# --- text ---


def test_yaml_and_json_are_equal() -> None:
    text = f"""
# a comment
apiVersion: {GROUP}/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 0x1e
profiles:
- schedulerName: &name 'my-scheduler'
  plugins:
    score: {{disabled: [{{name: "*"}}], enabled: null}}
"""
    fields = {
        "percentageOfNodesToScore": 30,
        "profiles": [{"schedulerName": "my-scheduler", "plugins": {"score": {"disabled": entries("*")}}}],
    }
    assert load(text) == load(json.dumps(config(**fields)).encode()) == load(config(**fields))
    assert load(text).profiles[0].plugins["score"] == ()


def config_map(name: str, **data: Any) -> dict[str, Any]:
    texts = {key.replace("_", "."): text if isinstance(text, str) else json.dumps(text) for key, text in data.items()}
    metadata = {"name": name, "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": texts}


def test_a_config_map_is_opened_and_its_key_is_named() -> None:
    held = config_map("sched", notes_txt="nothing", config_yaml=config(percentageOfNodesToScore=12))
    del held["metadata"]["namespace"]
    configuration = load(json.dumps(held))
    assert configuration.percentage_of_nodes_to_score == 12
    assert configuration.warnings == ["the configuration was read from ConfigMap 'sched' key 'config.yaml'"]
    place = "ConfigMap 'kube-system/sched' key"
    broken = error_of(config_map("sched", config_yaml=config(parallelism=0)))
    assert broken.startswith(f"{place} 'config.yaml': KubeSchedulerConfiguration: parallelism:")
    policy = error_of(config_map("sched", policy_cfg={"kind": "Policy", "apiVersion": "v1"}))
    assert policy.startswith(f"{place} 'policy.cfg': Policy: kind: ")
    assert "1.22 and older" in policy
    assert "got a 'ConfigMap' without such an object in it" in error_of(config_map("sched"))


def test_the_last_of_several_configurations_is_used_with_a_warning() -> None:
    both = config_map("s", a=config(parallelism=2, percentageOfNodesToScore=1), b=config(percentageOfNodesToScore=2))
    configuration = load(both)
    assert configuration.percentage_of_nodes_to_score == 2
    assert configuration.warnings == [
        "the configuration was read from ConfigMap 'kube-system/s' key 'b'",
        "of 2 configurations ConfigMap 'kube-system/s' key 'b' counts; left out: ConfigMap 'kube-system/s' key 'a'",
    ]
    document = config(percentageOfNodesToScore=3)
    configuration = load(f"{json.dumps(document)}\n---\n{json.dumps(both)}")
    assert configuration.percentage_of_nodes_to_score == 3  # a separate document takes precedence over ConfigMaps


def test_a_configuration_is_found_in_lists_and_fragments_of_config_maps() -> None:
    held = config_map("s", kube_scheduler_yaml=config(percentageOfNodesToScore=7), notes="see Policy: {not: yaml")
    audit = config_map("audit", policy_yaml="apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: []\n")
    text = json.dumps({"kind": "List", "apiVersion": "v1", "items": [audit, held, config_map("other", a="b")]})
    assert load(text).percentage_of_nodes_to_score == 7
    fragment = "data:\n  config.yaml: |\n    apiVersion: kubescheduler.config.k8s.io/v1\n    kind: KubeSchedulerConfiguration\n    percentageOfNodesToScore: 8\n"
    assert load(fragment).percentage_of_nodes_to_score == 8


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{{- if .Values.x }}\nkind: KubeSchedulerConfiguration", "is this a template without values? `helm template`"),
        ("kind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: {{ .Values.name }}", "`helm template`"),
        ("profiles: []", f"begin it with apiVersion: {GROUP}/v1 and kind: KubeSchedulerConfiguration"),
        ('actions: "allocate"\ntiers: []', "a configuration of Volcano's scheduler"),
        ("partitions: [{name: default, queues: []}]", "the queues of YuniKorn"),
        (json.dumps(config("XVERSIONX")), "(a template without values?)"),
        (json.dumps(config("v1alpha2")), "v1beta1, which may be written instead"),
        ('{"kind": "Policy", "apiVersion": "audit.k8s.io/v1"}', "got a 'Policy'"),
        ('{"kind": "Policy", "apiVersion": "v1"}', "read by kube-scheduler 1.22 and older only, and this is 1.34"),
    ],
)
def test_an_unreadable_configuration_gives_a_hint(text: str, says: str) -> None:
    assert says in error_of(text)


def test_a_configuration_is_found_among_other_documents_and_may_lack_a_kind() -> None:
    assert load({"profiles": [{"schedulerName": "x"}]}).profiles[0].scheduler_name == "x"
    assert load(f"apiVersion: v1\nkind: Namespace\n---\n---\n{json.dumps(config(parallelism=3))}").warnings == []


BOMB = "a: &a [" + "x," * 2_000 + "]\nb: [" + "*a," * 500 + "]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "KubeSchedulerConfiguration: the text is empty"),
        ("# nothing", "the text is empty"),
        ("- a", "must be an object of kind KubeSchedulerConfiguration, got a list"),
        ("hello", "got a plain value"),
        ("{}", "got one without a kind"),
        ("a: 1", "got one without a kind"),
        (BOMB, "YAML aliases add more than 1,000,000 characters"),
        ("a: &a [*a]", "the alias *a refers to no complete anchor before it"),
        ("a: {b: 1}\n<<: 3", "a YAML merge key needs a mapping or a list of mappings"),
        ("a: 1\na: 2", "line 2, column 1: 'a' is given twice in one mapping"),
        ('{"a": 1, "a": 2}', "a: is given twice in one object"),
        ("a: !!python/object:os.system x", "the YAML tag tag:yaml.org,2002:python/object:os.system is not accepted"),
        ("a: !x {}", "the YAML tag !x is not accepted"),
        ("a: {{ .Values.name }}", "a mapping's key must be a plain text: is this a template without values?"),
        ("a: [1, 2", "is not valid YAML or JSON"),
        ('{"a": [1, 2', "is not valid YAML or JSON"),
        ("a: b: c", "line 1, column 5: is not valid YAML or JSON: mapping values are not allowed"),
        ("a: \x00", "is not valid YAML or JSON"),
        ("[" * 100_000, "is nested deeper than 64 levels"),
        ('{"a":' * 100_000, "is nested deeper than 64 levels"),
        ('{"a":' * 70 + "1" + "}" * 70, "is nested deeper than 64 levels"),
        ("a: " + "9" * 5000, "has a number that cannot be read"),
        ('{"a": ' + "9" * 5000 + "}", "has a number that cannot be read"),
        ("a: 0x" + "f" * 5000, "has a number that cannot be read"),
        ('{"a": NaN}', "has a number that cannot be read"),
        ('{"a": "\\ud800"}', "has an escape that is no character"),
        (b"\xff\xfe", "is not UTF-8 text"),
        ("\ud800", "is not UTF-8 text"),
        (json.dumps(config(**{"x" * 900_000: 1})), "unknown field x"),
        (f"a: !{'x' * 900_000} b", "is not accepted"),
        ("a" * 1_000_001, "is larger than 1 MB"),
    ],
)
def test_invalid_texts_are_rejected(text: str | bytes, message: str) -> None:
    problem = error_of(text)
    assert message in problem
    assert len(problem) < 500


def test_the_memory_for_a_text_is_limited() -> None:
    many = config(profiles=[{"schedulerName": f"s{i}"} for i in range(101)])
    assert error_of(many).endswith("profiles: must be at most 100, got 101")
    itself = config()
    itself["profiles"] = [itself]
    assert "is nested deeper than 64 levels" in error_of(itself)
    plugins = {"filter": {"enabled": entries(*(f"Nope{i}" for i in range(500)))}}
    warnings = load(config(profiles=[{"plugins": plugins}]), unknown="leave_out").warnings
    assert len(warnings) == 101
    assert warnings[-1] == "and 400 more"


# --- any input: a configuration or an InputError ---

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["*", "Mine", "5s", "", "v1"]) | st.text(max_size=8),
    lambda children: st.lists(children, max_size=3)
    | st.dictionaries(st.sampled_from(["name", "args", "enabled", "weight", "type", "x"]), children, max_size=3),
    max_leaves=6,
)  # fmt: skip
FULL = config(
    percentageOfNodesToScore=30,
    leaderElection={"leaderElect": True, "leaseDuration": "15s"},
    extenders=[{"urlPrefix": "http://e", "managedResources": [{"name": "example.com/gpu"}]}],
    profiles=[
        {
            "schedulerName": "a",
            "plugins": {
                "multiPoint": {"enabled": entries(("Mine", 3))},
                "score": {"disabled": entries("*"), "enabled": entries(("Mine", 3))},
            },
            "pluginConfig": [
                {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu"}]}}},
                {"name": "NodeAffinity", "args": {"addedAffinity": required(expression())}},
                {"name": "PodTopologySpread", "args": {"defaultingType": "List", "defaultConstraints": [ZONE]}},
            ],
        },
        {"schedulerName": "b"},
    ],
)  # fmt: skip


def paths(value: Any) -> list[list[Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [[]] + [[key, *path] for key, child in items for path in paths(child)]


@settings(max_examples=examples(300))
@given(
    path=st.sampled_from(paths(FULL)[1:]),
    value=VALUES,
    version=st.sampled_from(["v1", "v1beta3", "v1beta2", "v1beta1"]),
    unknown=st.sampled_from(["error", "leave_out"]),
)
def test_a_mutated_configuration_loads_or_is_rejected(path: list[Any], value: Any, version: str, unknown: str) -> None:
    raw = json.loads(json.dumps(FULL)) | {"apiVersion": f"{GROUP}/{version}"}
    inner = raw
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    try:
        configuration = load(raw, unknown=unknown)
    except InputError:
        return
    for profile in configuration.profiles:
        assert list(profile.plugins) == list(POINTS)
        assert len(profile.plugins["queueSort"]) == 1


@settings(max_examples=examples(300))
@given(st.text(alphabet=st.sampled_from("{}[]:-,&*!|>'\"#%@ \n\tab01<~?."), max_size=60))
def test_any_text_loads_or_is_rejected(text: str) -> None:
    with pytest.raises(InputError):
        load(text)


# --- files of other projects ---

REAL = sorted((DATA / "configs").glob("*"))


@pytest.mark.parametrize("release", [NEW, OLD], ids=["1.34", "1.27"])
@pytest.mark.parametrize("unknown", ["error", "leave_out"])
def test_real_configurations(release: Any, unknown: str) -> None:
    loaded, refused = {}, {}
    for path in REAL:
        try:
            loaded[path.name] = load(path.read_bytes(), release, unknown=unknown)
        except InputError as error:
            refused[path.name] = str(error)
    for name, message in refused.items():
        # still rejected if unknown plugins may be left out: unreadable kinds and versions
        if unknown == "leave_out":
            assert "apiVersion" in message or message.startswith("Policy: kind:"), (name, message)
    for name, configuration in loaded.items():
        for profile in configuration.profiles:
            assert names(profile, "queueSort") == ["PrioritySort"], name
            assert names(profile, "bind") == ["DefaultBinder"], name
    assert len(loaded) + len(refused) == len(REAL)
    assert len(loaded) > len(REAL) / (2 if unknown == "leave_out" else 5)


# --- plugins that share the name of an available one ---

ALL = known_plugins(PLUGINS)  # with Coscheduling
STAR = [{"name": "*"}]


def test_a_plugin_of_another_project_with_a_known_name_is_left_out() -> None:
    """Koordinator's Coscheduling runs in PreEnqueue and takes other arguments."""
    plugins = {point: {"enabled": entries("Coscheduling"), "disabled": STAR} for point in ("preEnqueue", "queueSort")}
    raw = with_profile(plugins, [{"name": "Coscheduling", "args": {"defaultTimeout": "600s"}}])
    loaded = load_configuration(raw, NEW, known=ALL, unknown="leave_out")
    assert not any("Coscheduling" in names(loaded.profiles[0], point) for point in POINTS)
    assert names(loaded.profiles[0], "queueSort") == ["PrioritySort"]
    assert any("another project's plugin of this name" in warning for warning in loaded.warnings)
    with pytest.raises(UnknownPlugins, match="another project's plugin of this name"):
        load_configuration(raw, NEW, known=ALL)


def test_a_left_out_queue_sort_is_replaced_where_defaults_are_disabled() -> None:
    plugins = {
        "multiPoint": {"enabled": entries("Coscheduling")},
        "queueSort": {"enabled": entries("KusciaSort"), "disabled": STAR},
    }
    (profile,) = load_configuration(with_profile(plugins), NEW, known=ALL, unknown="leave_out").profiles
    assert names(profile, "queueSort") == ["PrioritySort"]
    assert names(profile, "permit") == ["Coscheduling"]
