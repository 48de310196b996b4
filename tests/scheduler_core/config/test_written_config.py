"""What kube-scheduler writes (`--write-config-to`) and shows (`/configz`) loads, and means what was configured."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.api.profile import POINTS
from scheduler_core.config import Configuration
from scheduler_core.config.configz import configz
from scheduler_core.config.loader import load
from scheduler_core.config.profile import default_plugins
from scheduler_core.errors import InputError
from scheduler_core.plugins import REGISTRY, known_plugins
from scheduler_core.releases import RELEASES, Release

GROUP = "kubescheduler.config.k8s.io"
KNOWN = known_plugins(REGISTRY)
PLACEMENT = ("placementGenerate", "placementScore")

_RESOURCES = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
_ARGS: dict[str, dict[str, Any]] = {
    "DefaultPreemption": {"minCandidateNodesAbsolute": 100, "minCandidateNodesPercentage": 10},
    "InterPodAffinity": {"hardPodAffinityWeight": 1},
    "NodeAffinity": {},
    "NodeResourcesBalancedAllocation": {"resources": _RESOURCES},
    "NodeResourcesFit": {"scoringStrategy": {"type": "LeastAllocated", "resources": _RESOURCES}},
    "NodeResourcesLeastAllocated": {"resources": _RESOURCES},
    "PodTopologySpread": {"defaultingType": "System"},
    "VolumeBinding": {"bindTimeoutSeconds": 600},
}
"""SetDefaults_* of pkg/scheduler/apis/config/v1/defaults.go: plugin -> its arguments with all defaults."""


def number(release: Release) -> int:
    return int(release.number.split(".")[1])


def arguments(release: Release, version: str, name: str) -> dict[str, Any] | None:
    args = dict(_ARGS[name]) if name in _ARGS else None
    if name == "DynamicResources" and number(release) >= 34:
        args = {"filterTimeout": "10s", **({"bindingTimeout": "10m0s"} if number(release) >= 36 else {})}
    if args is None or (version == "v1beta1" and name == "NodeResourcesBalancedAllocation"):
        return None
    if name == "NodeResourcesFit" and version == "v1beta1":
        args = {}
    if name == "InterPodAffinity" and number(release) >= 28:
        args["ignorePreferredTermsOfExistingPods"] = False
    if name == "PodTopologySpread" and number(release) < 20:
        args = {}
    return {"apiVersion": f"{GROUP}/{version}", "kind": f"{name}Args", **args}


def written(release: Release, version: str) -> dict[str, Any]:
    """Return what that release writes to --write-config-to if it has no configuration: every field with its default."""
    document: dict[str, Any] = {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {
            "acceptContentTypes": "",
            "burst": 100,
            "contentType": "application/vnd.kubernetes.protobuf",
            "kubeconfig": "/etc/kubernetes/scheduler.conf",
            "qps": 50,
        },
        "enableContentionProfiling": True,
        "enableProfiling": True,
        "leaderElection": {
            "leaderElect": True,
            "leaseDuration": "15s",
            "renewDeadline": "10s",
            "resourceLock": "leases",
            "resourceName": "kube-scheduler",
            "resourceNamespace": "kube-system",
            "retryPeriod": "2s",
        },
        "percentageOfNodesToScore": 0,
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 10,
    }
    if version == "v1alpha1":
        lock = {
            "lockObjectName": "kube-scheduler",
            "lockObjectNamespace": "kube-system",
        }
        return document | {
            "algorithmSource": {"provider": "DefaultProvider"},
            "bindTimeoutSeconds": 600,
            "disablePreemption": False,
            "hardPodAffinitySymmetricWeight": 1,
            "healthzBindAddress": "0.0.0.0:10251",
            "leaderElection": document["leaderElection"] | lock,
            "metricsBindAddress": "0.0.0.0:10251",
            "schedulerName": "default-scheduler",
        }
    if version == "v1alpha2":
        return document | {
            "bindTimeoutSeconds": 600,
            "disablePreemption": False,
            "healthzBindAddress": "0.0.0.0:10251",
            "metricsBindAddress": "0.0.0.0:10251",
            "profiles": [{"schedulerName": "default-scheduler"}],
        }
    document["parallelism"] = 16
    points = ["multiPoint", *POINTS, *(PLACEMENT if number(release) >= 36 else ())]
    if version in ("v1beta1", "v1beta2"):
        points.remove("multiPoint")
    if version == "v1beta1" or number(release) < 26:
        points.remove("preEnqueue")
    plugins: dict[str, Any] = {point: {} for point in points}
    names = set()
    for point, entries in default_plugins(release, version, KNOWN).items():
        if entries.enabled:
            plugins[point] = {"enabled": [{"name": entry.name, "weight": entry.weight} for entry in entries.enabled]}
            names |= {entry.name for entry in entries.enabled}
    config = [{"args": args, "name": name} for name in sorted(names) if (args := arguments(release, version, name))]
    profile = {"pluginConfig": config, "plugins": plugins, "schedulerName": "default-scheduler"}
    return document | {"profiles": [profile]}


def internal(value: Any) -> Any:
    """Return a value of a file with the names that fields have in the internal object of older releases."""
    if isinstance(value, list):
        return [internal(item) for item in value]
    if not isinstance(value, dict):
        return value
    initials = {"qps": "QPS", "apiVersion": "apiVersion", "kind": "kind"}
    return {initials.get(key, key[0].upper() + key[1:]): internal(item) for key, item in value.items()}


def meaning(configuration: Configuration) -> list[Any]:
    return [(p.scheduler_name, p.percentage_of_nodes_to_score, p.plugins, p.args) for p in configuration.profiles]


EVERY = [(release.name, version) for release in RELEASES.values() for version in release.api_versions]


@pytest.mark.parametrize(("name", "version"), EVERY)
def test_what_a_release_writes_loads_as_the_default_configuration(name: str, version: str) -> None:
    release = RELEASES[name]
    document = written(release, version)
    default = {"apiVersion": f"{GROUP}/{version}", "kind": "KubeSchedulerConfiguration"}
    for source in (document, json.dumps(document)):
        assert meaning(load(source, release)) == meaning(load(default, release))


@pytest.mark.parametrize(("name", "version"), EVERY)
def test_what_a_release_shows_at_configz_loads_as_the_default_configuration(name: str, version: str) -> None:
    release = RELEASES[name]
    document = written(release, version)
    default = {"apiVersion": f"{GROUP}/{version}", "kind": "KubeSchedulerConfiguration"}
    shown = document if number(release) >= 36 else internal(document)
    if number(release) < 36:
        del shown["kind"]
        shown |= {"Extenders": None, "AlgorithmSource": {"Policy": None, "Provider": "DefaultProvider"}}
    for key in ("componentconfig", GROUP):
        assert meaning(load(json.dumps({key: shown}), release)) == meaning(load(default, release))
    if number(release) < 22:  # they do not name the API version
        del shown["apiVersion"]
        assert meaning(load({"componentconfig": shown}, release)) == meaning(load(default, release))


def test_a_file_written_in_v1beta1_is_read_with_a_warning() -> None:
    (warning,) = load(written(RELEASES["1.21"], "v1beta1"), RELEASES["1.21"]).warnings
    assert "kube-scheduler refuses such a file in v1beta1" in warning


@pytest.mark.parametrize("point", PLACEMENT)
def test_points_of_placements_are_unknown_before_1_36(point: str) -> None:
    document = written(RELEASES["1.35"], "v1")
    document["profiles"][0]["plugins"][point] = {}
    load(document, RELEASES["1.36"])
    with pytest.raises(InputError, match=f"plugins.{point}: unknown field in 1.35; kube-scheduler 1.36 and newer read"):
        load(document, RELEASES["1.35"])


def test_the_binding_timeout_is_unknown_before_1_36() -> None:
    document = written(RELEASES["1.36"], "v1")
    for point in PLACEMENT:
        del document["profiles"][0]["plugins"][point]
    with pytest.raises(InputError, match=r"args\.bindingTimeout: unknown field in 1\.35"):
        load(document, RELEASES["1.35"])


def test_plugins_of_placements_cannot_be_configured() -> None:
    """With TopologyAwareWorkloadScheduling 1.36 also writes its plugins. A change of them gives a warning."""
    document = written(RELEASES["1.36"], "v1")
    plugins = document["profiles"][0]["plugins"]
    names = ("TopologyPlacementGenerator", "PodGroupPodsCount")
    plugins["multiPoint"]["enabled"] += [{"name": name, "weight": weight} for weight, name in enumerate(names)]
    default = load(None, RELEASES["1.36"])
    made = load(document, RELEASES["1.36"])
    assert meaning(made) == meaning(default)
    assert made.warnings == []
    plugins["placementScore"] = {"disabled": [{"name": "PodGroupPodsCount"}]}
    made = load(document, RELEASES["1.36"])
    assert meaning(made) == meaning(default)
    assert made.warnings == [
        'profiles[0] "default-scheduler": plugins.placementScore: '
        "the default plugins generate and score placements of pod groups"
    ]


@pytest.mark.parametrize(
    "document",
    [
        {"componentconfig": {"kind": "KubeletConfiguration"}},
        {"componentconfig": {"Address": "0.0.0.0", "Port": 10250}},
        {"kubeletconfig": {"kind": "KubeSchedulerConfiguration"}},
        {"kubecontrollermanager.config.k8s.io": {"Generic": {}}},
        {"componentconfig": "text"},
        {"componentconfig": [1]},
    ],
)
def test_what_other_components_show_is_no_configuration(document: dict[str, Any]) -> None:
    assert configz(document) is None
    with pytest.raises(InputError):
        load(json.dumps(document), RELEASES["1.36"])


def test_names_of_the_internal_object() -> None:
    extender = {
        "URLPrefix": "https://x",
        "EnableHTTPS": True,
        "HTTPTimeout": "5s",
        "TLSConfig": {"Insecure": True, "CAFile": "", "KeyData": None},
        "ManagedResources": [{"Name": "example.com/gpu", "IgnoredByScheduler": True}],
    }
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    config = [{"Name": "NodeAffinity", "Args": {"AddedAffinity": affinity}}]
    shown = {"PodMaxBackoffSeconds": 10, "Extenders": [extender], "Profiles": [{"PluginConfig": config}]}
    assert configz({"componentconfig": shown}) == {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "KubeSchedulerConfiguration",
        "podMaxBackoffSeconds": 10,
        "extenders": [
            {
                "urlPrefix": "https://x",
                "enableHTTPS": True,
                "httpTimeout": "5s",
                "tlsConfig": {"insecure": True, "caFile": ""},
                "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}],
            }
        ],
        "profiles": [{"pluginConfig": [{"name": "NodeAffinity", "args": {"addedAffinity": affinity}}]}],
    }


NAMES = st.sampled_from(["ImageLocality", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "VolumeZone"])


@settings(max_examples=60, deadline=None)
@given(st.lists(NAMES, unique=True), st.dictionaries(NAMES, st.integers(1, 9)))
def test_a_written_configuration_means_what_was_configured(disabled: list[str], weights: dict[str, int]) -> None:
    """mergePlugins is idempotent: kube-scheduler writes the merged plugins together with what was disabled."""
    release = RELEASES["1.36"]
    custom = {
        "disabled": [{"name": name} for name in disabled],
        "enabled": [{"name": name, "weight": weight} for name, weight in weights.items()],
    }
    document = written(release, "v1")
    given_ = {**document, "profiles": [{"plugins": {"multiPoint": custom}}]}
    merged = {
        plugin["name"]: plugin["weight"]
        for plugin in document["profiles"][0]["plugins"]["multiPoint"]["enabled"]
        if plugin["name"] not in disabled
    } | weights
    document["profiles"][0]["plugins"]["multiPoint"] = {
        "disabled": custom["disabled"],
        "enabled": [{"name": name, "weight": weight} for name, weight in merged.items()],
    }
    assert meaning(load(document, release))[0][2] == meaning(load(given_, release))[0][2]
