"""Configurations of plugins of scheduler-plugins, as found in public: they load, or are refused as upstream does."""

from typing import Any

import pytest

from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.releases import get_release

RELEASES = {"v1": "1.35", "v1beta3": "1.28", "v1beta2": "1.27", "v1beta1": "1.22"}


def loaded(version: str, plugins: dict[str, Any], **args: dict[str, Any]) -> Any:
    """Return the only profile of a configuration. `plugins`: point -> names. `args`: plugin -> arguments."""
    sets = {point: {"enabled": [{"name": name} for name in names.split()]} for point, names in plugins.items()}
    for point in {"queueSort"} & sets.keys():
        sets[point] |= {"disabled": [{"name": "*"}]}
    profile = {"plugins": sets, "pluginConfig": [{"name": name, "args": given} for name, given in args.items()]}
    document = {"apiVersion": f"kubescheduler.config.k8s.io/{version}", "kind": "KubeSchedulerConfiguration"}
    return load(document | {"profiles": [profile]}, get_release(RELEASES[version])).profiles[0]


GANG = dict.fromkeys(("queueSort", "preFilter", "permit", "reserve", "postBind"), "Coscheduling")
QUOTA = dict.fromkeys(("preFilter", "postFilter", "reserve"), "CapacityScheduling")
NUMA = dict.fromkeys(("filter", "score", "reserve"), "NodeResourceTopologyMatch")
SCORES = "LoadVariationRiskBalancing"
PROMETHEUS = {"type": "Prometheus", "address": "http://prometheus.example:9090", "insecureSkipVerify": True}


@pytest.mark.parametrize(
    ("version", "plugins", "args"),
    [
        ("v1beta1", GANG, {"Coscheduling": {"permitWaitingTimeSeconds": 10, "kubeConfigPath": "/etc/kubeconfig"}}),
        ("v1beta2", GANG, {"Coscheduling": {"permitWaitingTimeSeconds": 10, "deniedPGExpirationTimeSeconds": 3}}),
        ("v1beta1", QUOTA, {"CapacityScheduling": {"kubeConfigPath": "/etc/kubeconfig"}}),
        ("v1beta2", QUOTA, {}),
        ("v1beta1", NUMA, {"NodeResourceTopologyMatch": {"kubeconfigpath": "", "namespaces": ["default"]}}),
        ("v1beta3", NUMA, {"NodeResourceTopologyMatch": {"cacheResyncPeriodSeconds": 5}}),
        ("v1", NUMA, {"NodeResourceTopologyMatch": {"preemptionMode": "Disabled", "cache": {"resyncMethod": "All"}}}),
        ("v1beta3", {"score": SCORES}, {SCORES: {"safeVarianceSensitivity": 2, "metricProvider": PROMETHEUS}}),
        ("v1beta2", NUMA | {"filter": "KNIDebug"}, {}),
        ("v1beta3", {"score": "SySched"}, {"SySched": {"defaultProfileName": "full"}}),
        ("v1", {"multiPoint": "NetworkOverhead", "queueSort": "TopologicalSort"}, {"NetworkOverhead": {}}),
    ],
)
def test_configurations_load(version: str, plugins: dict[str, str], args: dict[str, Any]) -> None:
    profile = loaded(version, plugins, **args)
    for point, names in plugins.items():
        if point not in ("multiPoint", "postBind"):
            assert names in dict(profile.plugins[point])


@pytest.mark.parametrize(
    ("version", "plugins", "args", "problem"),
    [
        ("v1beta2", GANG, {"Coscheduling": {"kubeConfigPath": "/a"}}, "kubeConfigPath: unknown field in v1beta2"),
        ("v1", GANG, {"Coscheduling": {"deniedPGExpirationTimeSeconds": 3}}, "unknown field in v1"),
        ("v1", NUMA, {"NodeResourceTopologyMatch": {"namespaces": ["a"]}}, "namespaces: unknown field in v1"),
        ("v1", NUMA, {"NodeResourceTopologyMatch": {"preemptionMode": "Enabled"}}, '"Enabled" is not simulated'),
        ("v1beta3", NUMA, {"NodeResourceTopologyMatch": {"preemptionMode": "Disabled"}}, "unknown field in v1beta3"),
        ("v1", NUMA, {"NodeResourceTopologyMatch": {"scoringStrategy": {}}}, "invalid ScoringStrategyType"),
        ("v1beta1", {"score": SCORES}, {SCORES: {"safeVarianceMargin": "1"}}, "must be a number, got a text"),
        ("v1", {"reserve": "NodeResourcesAllocatable"}, {}, "does not extend all these points"),
        ("v1", {"score": "NetworkOverhead BalancedAllocation"}, {}, "was NodeResourcesBalancedAllocation meant?"),
        ("v1", {"filter": "Dynamic"}, {}, "Crane: "),
        ("v1", {"multiPoint": "Guest"}, {"Guest": {"guestURL": "file://g.wasm"}}, "WebAssembly code is not run"),
    ],
)
def test_configurations_are_refused(version: str, plugins: Any, args: Any, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        loaded(version, plugins, **args)
    assert problem in str(refused.value)
