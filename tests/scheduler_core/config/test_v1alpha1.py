"""v1alpha2 and v1alpha1 in 1.18, and the errors of other releases."""

from typing import Any

import pytest

from scheduler_core.config import Configuration, load_configuration
from scheduler_core.config.unknown_plugins import UnknownPlugins
from scheduler_core.errors import InputError
from scheduler_core.plugins import PLUGINS, known_plugins
from scheduler_core.releases import FRAMEWORK, get_release
from tests.clusters import DATA

GROUP = "kubescheduler.config.k8s.io"


def load(version: str, release: str = "1.18", **given: Any) -> Configuration:
    raw = {"apiVersion": f"{GROUP}/{version}", "kind": "KubeSchedulerConfiguration", **given}
    return load_configuration(raw, get_release(release), known=known_plugins(PLUGINS))


def test_files_of_openshift_4() -> None:
    election = {"leaderElect": True, "resourceNamespace": "openshift-kube-scheduler", "resourceLock": "configmaps"}
    made = load("v1alpha2", leaderElection=election, clientConnection={"kubeconfig": "/etc/kubeconfig"})
    assert (made.schedulers, made.warnings) == (["default-scheduler"], [])


def test_profiles_of_v1alpha2() -> None:
    plugins = {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesMostAllocated", "weight": 3}]}}
    made = load("v1alpha2", profiles=[{"schedulerName": "packs", "plugins": plugins}], disablePreemption=True)
    assert made.profiles[0].plugins["score"] == (("NodeResourcesMostAllocated", 3),)
    assert made.warnings == ["disablePreemption is ignored: disable preemption in the settings of the run"]
    assert made.profiles[0].plugins["postFilter"] == (("DefaultPreemption", 0),), "a part of the scheduler"


def test_v1alpha1_is_one_profile() -> None:
    made = load(
        "v1alpha1",
        schedulerName="mine",
        hardPodAffinitySymmetricWeight=7,
        algorithmSource={"provider": "ClusterAutoscalerProvider"},
        leaderElection={"lockObjectNamespace": "kube-system", "lockObjectName": "x", "resourceLock": "endpoints"},
        healthzBindAddress="0.0.0.0:10251",
        plugins={"postFilter": {"disabled": [{"name": "TaintToleration"}]}},
    )
    (profile,) = made.profiles
    assert profile.scheduler_name == "mine"
    assert profile.args["InterPodAffinity"].hard_pod_affinity_weight == 7
    scores = dict(profile.plugins["score"])
    assert scores["NodeResourcesMostAllocated"] == 1
    assert "NodeResourcesLeastAllocated" not in scores
    assert "TaintToleration" not in dict(profile.plugins["preScore"])
    named = load("v1alpha1", algorithmSource={"policy": {"configMap": {"name": "p", "namespace": "n"}}})
    assert named.warnings == [
        "the Policy that algorithmSource names is a separate document: the default provider is used without it"
    ]


@pytest.mark.parametrize(
    ("version", "given", "message"),
    [
        ("v1alpha2", {"algorithmSource": {}}, "unknown field algorithmSource"),
        ("v1alpha2", {"parallelism": 3}, "parallelism: unknown field in v1alpha2"),
        ("v1alpha2", {"profiles": [{"plugins": {"postFilter": {}}}]}, "plugins.postFilter: unknown field in v1alpha2"),
        ("v1alpha1", {"profiles": []}, "profiles: unknown field in v1alpha1"),
        ("v1alpha1", {"plugins": {"preScore": {}}}, "unknown field in v1alpha1; there it is postFilter"),
        ("v1alpha1", {"plugins": []}, "plugins: must be an object"),
        ("v1alpha1", {"pluginConfig": {}}, "pluginConfig: must be a list"),
        ("v1alpha1", {"algorithmSource": []}, "algorithmSource: must be an object"),
        ("v1alpha1", {"algorithmSource": {"file": 1}}, "algorithmSource.file: unknown field"),
        ("v1alpha1", {"algorithmSource": {"provider": "Mine"}}, "must be DefaultProvider or ClusterAutoscalerProvider"),
        ("v1alpha1", {"hardPodAffinitySymmetricWeight": 101}, "must be in 0..100, got '101'"),
        ("v1alpha1", {"foo": 1}, "unknown field foo"),
    ],
)
def test_errors_are_named(version: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        load(version, **given)
    assert message in str(refused.value)


@pytest.mark.parametrize("version", ["v1alpha2", "v1alpha1"])
@pytest.mark.parametrize("release", [name for name in FRAMEWORK if name not in ("1.17", "1.18")])
def test_newer_releases_reject_both_versions(version: str, release: str) -> None:
    with pytest.raises(InputError, match=rf"{version} is read by kube-scheduler 1\.1"):
        load(version, release)


def test_1_17_reads_v1alpha1_only() -> None:
    assert load("v1alpha1", "1.17").profiles
    with pytest.raises(InputError, match=r"v1alpha2 is read by kube-scheduler 1\.18"):
        load("v1alpha2", "1.17")


def test_plugins_of_other_releases() -> None:
    for version, point, plugin, message in (
        ("v1alpha2", "score", "SelectorSpread", "1.19 to 1.24 have it"),
        ("v1beta1", "postFilter", "DefaultPreemption", "1.19 and newer have it; before it, preemption is part of"),
    ):
        profile = {"schedulerName": "a", "plugins": {point: {"enabled": [{"name": plugin}]}}}
        with pytest.raises(UnknownPlugins, match=message):
            load(version, profiles=[profile])


def test_real_files() -> None:
    """One of three is older than all supported releases."""
    found = {}
    for path in sorted((DATA / "configs").glob("*v1alpha*")):
        version = path.name.partition("-at-")[2].partition("-at-")[0]
        try:
            made = load_configuration(path.read_bytes(), get_release("1.18"), known=known_plugins(PLUGINS))
            found[version] = ", ".join(made.schedulers)
        except InputError as refused:
            found[version] = str(refused).partition(";")[0]
    assert found == {
        f"{GROUP}_v1alpha2": "default-scheduler",
        f"{GROUP}_v1alpha1": "default-scheduler",
        "componentconfig_v1alpha1": "KubeSchedulerConfiguration: apiVersion: componentconfig/v1alpha1 is read by "
        "kube-scheduler 1.11 and older only",
    }
