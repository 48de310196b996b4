"""Warnings about kinds that are not simulated, with their effect on scheduling."""

from typing import Any

import pytest

from kubesched_ui.ingest.store import scenario_warnings
from scheduler_core.releases import NEWEST
from tests.kubesched_ui.clusters import ingested
from tests.kubesched_ui.ingest.test_archives import read, tarred

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}


def warnings_of(*kinds: str, more: Any = ()) -> dict[str, list[str]]:
    """Upload an object of each `group/version/Kind`. Return code -> messages."""
    objects = [NODE, *more]
    for kind in kinds:
        api_version, _, name = kind.rpartition("/")
        objects.append({"apiVersion": api_version, "kind": name, "metadata": {"name": "x", "namespace": "y"}})
    found: dict[str, list[str]] = {}
    for remark in scenario_warnings(ingested(*objects)):
        found.setdefault(remark["code"], []).append(remark["message"])
    return found


@pytest.mark.parametrize(
    ("kind", "named", "change"),
    [
        ("scheduling.k8s.io/v1alpha3/CompositePodGroup", "1 CompositePodGroup", "since 1.37, kube-scheduler"),
        ("scheduling.k8s.io/v1alpha3/CompositePodGroup", "1 CompositePodGroup", f"simulated is {NEWEST}."),
        ("scheduling.k8s.io/v1alpha1/Workload", "1 Workload", "v1alpha1, which only 1.35 serves"),
        ("scheduling.k8s.io/v1alpha9/Another", "1 Another", "a release that is not simulated"),
        (
            "resource.k8s.io/v1alpha3/ResourcePoolStatusRequest",
            "1 ResourcePoolStatusRequest",
            "Other objects are ignored",
        ),
        ("lifecycle.k8s.io/v1alpha1/EvictionRequest", "1 EvictionRequest", "an EvictionRequest names"),
        ("v1/ResourceQuota", "1 ResourceQuota", "rejects new pods that exceed a quota"),
        ("v1/LimitRange", "1 LimitRange", "requests and limits of a LimitRange"),
        ("kueue.x-k8s.io/v1beta1/ClusterQueue", "1 ClusterQueue", "why a pod waits for it, but runs"),
        ("scheduling.volcano.sh/v1beta1/PodGroup", "1 PodGroup", "the scheduler of Volcano"),
        ("scheduling.volcano.sh/v1beta1/Queue", "1 Queue", "the scheduler of Volcano"),
        ("scheduling.koordinator.sh/v1alpha1/Reservation", "1 Reservation", "Koordinator reads them"),
        ("scheduling.run.ai/v2/Queue", "1 Queue", "KAI Scheduler schedules groups by queues"),
        ("karpenter.sh/v1/NodePool", "1 NodePool", "Karpenter adds nodes"),
        ("karpenter.k8s.aws/v1/EC2NodeClass", "1 EC2NodeClass", "Karpenter adds nodes"),
        ("autoscaling/v2/HorizontalPodAutoscaler", "1 HorizontalPodAutoscaler", "number of pods"),
    ],
)
def test_a_warning_names_the_kind_and_its_effect(kind: str, named: str, change: str) -> None:
    found = warnings_of(kind)
    (message,) = found["unsupported"]
    assert message.startswith(f"The upload contains {named}: ")
    assert change in message
    assert "unknown" not in found  # no warning that the scheduler ignores the kind


def test_an_object_in_several_versions_counts_once() -> None:
    """As in a backup of Velero with EnableAPIGroupVersions."""
    widget = {"kind": "Widget", "metadata": {"name": "w", "namespace": "shop"}}
    other = {"kind": "Widget", "metadata": {"name": "w", "namespace": "other"}}
    members: dict[str, Any] = {"resources/nodes/cluster/n1.json": NODE}
    for folder, version in (("", "v1"), ("/v1", "v1"), ("/v1beta1", "v1beta1"), ("/v1-preferredversion", "v1")):
        for name, obj in (("shop/w", widget), ("other/w", other)):
            member = f"resources/widgets.example.com{folder}/namespaces/{name}"
            members[f"{member}.json"] = {"apiVersion": f"example.com/{version}", **obj}
            members[f"{member}.yaml"] = {"apiVersion": f"example.com/{version}", **obj}
    assert read(tarred(members)).unknown == {"Widget.example.com": 2}


def test_objects_without_a_name_count_one_by_one() -> None:
    job = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"generateName": "w-"}}
    assert ingested(NODE, job, job).unknown == {"Widget.example.com": 2}


def test_related_kinds_give_one_warning() -> None:
    (message,) = warnings_of("kueue.x-k8s.io/v1beta1/ClusterQueue", "kueue.x-k8s.io/v1beta1/LocalQueue")["unsupported"]
    assert "1 ClusterQueue, 1 LocalQueue: " in message


def test_kinds_that_the_scheduler_ignores_are_counted() -> None:
    assert warnings_of("networking.k8s.io/v1/Ingress")["unknown"] == [
        "Not stored, because the scheduler does not use them: 1 Ingress.networking.k8s.io"
    ]


def configuration(*plugins: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": name} for name in plugins]}}}],
    }


def test_kinds_that_plugins_read_and_the_upload_lacks_are_named_with_the_command() -> None:
    (missing,) = warnings_of(
        "scheduling.x-k8s.io/v1alpha1/PodGroup", more=[configuration("Coscheduling", "CapacityScheduling")]
    )["unsupported"]
    assert missing == (
        "The configuration enables CapacityScheduling, which reads ElasticQuota objects: there are none here. If the "
        "cluster has them, add the output of `kubectl get elasticquotas.scheduling.x-k8s.io -A -o json`."
    )
    assert "unsupported" not in warnings_of(
        "scheduling.x-k8s.io/v1alpha1/PodGroup", more=[configuration("Coscheduling")]
    )


@pytest.mark.parametrize(
    "kind",
    [
        "scheduling.x-k8s.io/v1alpha1/PodGroup",
        "scheduling.x-k8s.io/v1alpha1/ElasticQuota",
        "topology.node.k8s.io/v1alpha2/NodeResourceTopology",
        "appgroup.diktyo.x-k8s.io/v1alpha1/AppGroup",
        "networktopology.diktyo.x-k8s.io/v1alpha1/NetworkTopology",
        "security-profiles-operator.x-k8s.io/v1beta1/SeccompProfile",
    ],
)
def test_kinds_that_plugins_read_are_stored(kind: str) -> None:
    api_version, _, name = kind.rpartition("/")
    obj = {"apiVersion": api_version, "kind": name, "metadata": {"name": "x", "namespace": "y"}}
    found = ingested(NODE, obj)
    assert found.counts == {"Node": 1, name: 1}
    assert found.unknown == {}
    (warning,) = warnings_of(kind)["unsupported"]
    assert warning.startswith(f"The cluster has 1 {name}, which only ")
    assert "The configuration does not enable" in warning
