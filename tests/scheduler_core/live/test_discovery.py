"""Release and configuration of a live cluster, from objects as each platform has them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest
import yaml

from scheduler_core.api.objects import decode
from scheduler_core.config.loader import load
from scheduler_core.live import discovery
from scheduler_core.live.discovery import Discovered, SchedulerObjects, discover, fetch, fetch_version
from scheduler_core.live.published_configurations import FIRST_RELEASE, PUBLISHED, choices, published
from scheduler_core.live.scheduler_pods import scheduler_flags
from scheduler_core.live.store import Store
from scheduler_core.live.watch_events import Listed
from scheduler_core.releases import NEWEST, RELEASES, get_release
from scheduler_core.releases.versions import numbered

PACKING = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: /etc/kubernetes/scheduler.conf}
leaderElection: {leaderElect: true}
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""


def pod(name: str, command: list[str], **given: Any) -> dict[str, Any]:
    """Return a pod of kube-system. `given`: namespace, labels, image, mounts, volumes, args, node, mirror."""
    container = {
        "name": given.get("container", "kube-scheduler"),
        "image": given.get("image", "registry.k8s.io/kube-scheduler:v1.34.1"),
        "command": command,
        "args": given.get("args", []),
        "volumeMounts": given.get("mounts", []),
        "env": [{"name": "SECRET", "value": "s3cr3t"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": given.get("namespace", "kube-system"),
            "labels": given.get("labels", {"component": "kube-scheduler", "tier": "control-plane"}),
            "annotations": {"kubernetes.io/config.mirror": "d0c5"} if given.get("mirror") else {},
        },
        "spec": {
            "nodeName": given.get("node", "control-plane-1"),
            "containers": [container],
            "volumes": given.get("volumes", []),
        },
        "status": {"phase": given.get("phase", "Running")},
    }


def config_map(name: str, **data: str) -> dict[str, Any]:
    namespace, _, name = name.partition("/")
    keys = {
        key.replace("__", "-").replace("_yaml", ".yaml").replace("_cfg", ".cfg"): text for key, text in data.items()
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}, "data": keys}


def node(name: str = "n1", labels: Mapping[str, str] = {}, annotations: Mapping[str, str] = {}) -> dict[str, Any]:
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def second(config_map: str = "my-scheduler-config", **given: Any) -> dict[str, Any]:
    """Return the pod of a second scheduler, as in "Configure multiple schedulers" of the Kubernetes documentation."""
    volume = {"name": "config-volume", "configMap": {"name": config_map}}
    return pod(
        "my-scheduler-7d9",
        ["/usr/local/bin/kube-scheduler", "--config=/etc/kubernetes/my-scheduler/my-scheduler-config.yaml"],
        labels={"component": "scheduler", "tier": "control-plane"},
        image="gcr.io/my-gcp-project/my-kube-scheduler:1.0",
        mounts=[{"name": "config-volume", "mountPath": "/etc/kubernetes/my-scheduler"}],
        volumes=[volume],
        **given,
    )


def mounted(path: str, sub_path: str = "", **volume: Any) -> dict[str, Any]:
    """Return a pod of kube-scheduler with a volume at `path` that has /etc/kubernetes/packing/config.yaml."""
    mount = {"name": "v", "mountPath": path, **({"subPath": sub_path} if sub_path else {})}
    mounts = [{"name": "etc", "mountPath": "/etc"}, mount]
    return pod("s", WITH_FILE, mounts=mounts, volumes=[{"name": "etc", "emptyDir": {}}, {"name": "v", **volume}])


KUBEADM = pod(
    "kube-scheduler-control-plane-1",
    ["kube-scheduler", "--authentication-kubeconfig=/etc/kubernetes/scheduler.conf", "--bind-address=127.0.0.1"],
    mirror=True,
)
WITH_FILE = [*KUBEADM["spec"]["containers"][0]["command"], "--config=/etc/kubernetes/packing/config.yaml"]
HOST_FILE = mounted("/etc/kubernetes/packing", hostPath={"path": "/etc/kubernetes/packing"})
KOPS = pod(
    "kube-scheduler-i-0a1b",
    ["/go-runner", "--log-file=/var/log/kube-scheduler.log", "/usr/local/bin/kube-scheduler"],
    args=["--config", "/var/lib/kube-scheduler/config.yaml", "--feature_gates=PodLevelResources=false", "--v=2"],
    labels={"k8s-app": "kube-scheduler"},
    image="registry.k8s.io/kube-scheduler:v1.34.1@sha256:abc",
    mounts=[{"name": "varlibkubescheduler", "mountPath": "/var/lib/kube-scheduler"}],
    volumes=[{"name": "varlibkubescheduler", "hostPath": {"path": "/var/lib/kube-scheduler"}}],
)
OPENSHIFT_POD = pod(
    "openshift-kube-scheduler-master-0",
    ["hyperkube", "kube-scheduler"],
    args=[
        "--config=/etc/kubernetes/static-pod-resources/configmaps/config/config.yaml",
        "--feature-gates=AdminNetworkPolicy=true",
        "--feature-gates=PodLevelResources=false",
    ],
    namespace="openshift-kube-scheduler",
    labels={"app": "openshift-kube-scheduler", "scheduler": "true", "revision": "7"},
    image="quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:1f2e",
    mounts=[{"name": "resource-dir", "mountPath": "/etc/kubernetes/static-pod-resources"}],
    volumes=[
        {
            "name": "resource-dir",
            "hostPath": {"path": "/etc/kubernetes/static-pod-resources/kube-scheduler-pod-7"},
        }
    ],
)
OPENSHIFT_NODE = node("master-0", {"node.openshift.io/os_id": "rhcos"})
OPENSHIFT_CONFIG = json.dumps(
    {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "clientConnection": {"kubeconfig": "/etc/kubernetes/static-pod-resources/scheduler/kubeconfig"},
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": True, "leaseDuration": "137s", "renewDeadline": "107s", "retryPeriod": "26s"},
        **{"profiles": published("openshift-high-node-utilization", get_release("1.34"))["profiles"]},
    }
)
OPENSHIFT_MAP = config_map("openshift-kube-scheduler/config", config_yaml=OPENSHIFT_CONFIG)
OTHER_KEY = [{"key": "other", "path": "packing/config.yaml"}]
SCRIPT = "exec /usr/local/bin/kube-scheduler --feature-gates='PodLevelResources=false' --v=2 1>>/var/log/s.log 2>&1"
K3S_ARGS = json.dumps(
    [
        *("server", "--token", "********", "--kube-scheduler-arg", "config=/etc/s.yaml"),
        *("--kube-scheduler-arg", "feature-gates=PodLevelResources=false"),
    ]
)
POLICY = '{"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "MostRequestedPriority", "weight": 1}]}'
AKS_NODE = node("aks-nodepool1-0", {"kubernetes.azure.com/cluster": "MC_rg_cluster_westeurope"})
AKS_RAW = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: cpu-binpack-scheduler
    plugins:
      multiPoint:
        enabled: [{name: NodeResourcesFit}, {name: ResourceBalancedAllocation}]
        disabled: [{name: PodTopologySpread}]
    pluginConfig:
      - name: NodeResourcesFit
        args:
          apiVersion: kubescheduler.config.k8s.io/v1
          kind: NodeResourcesFitArgs
          scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 8}, {name: memory, weight: 1}]}
"""


def my_config(given: str) -> dict[str, Any]:
    return config_map("kube-system/my-scheduler-config", my__scheduler__config_yaml=given)


def scheduler_profile(profile: str) -> dict[str, Any]:
    return {"kind": "Scheduler", "metadata": {"name": "cluster"}, "spec": {"profile": profile}}


def aks(status: Any = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "upstream"}
    found = {
        "apiVersion": "aks.azure.com/v1alpha1",
        "kind": "SchedulerConfiguration",
        "metadata": metadata,
        "spec": spec,
    }
    return found if status is None else {**found, "status": status}


def cluster_configuration(extra: str) -> dict[str, Any]:
    given = f"kind: ClusterConfiguration\nkubernetesVersion: v1.33.4\nscheduler:\n{extra}"
    return config_map("kube-system/kubeadm-config", ClusterConfiguration=given)


MAP_ARGS = "  extraArgs:\n    feature-gates: PodLevelResources=true\n    config: /etc/kubernetes/sched.yaml\n"
LIST_ARGS = (
    "  extraArgs:\n"
    "  - name: feature-gates\n    value: PodLevelResources=true\n"
    "  - name: config\n    value: /etc/kubernetes/sched.yaml\n"
)


def state_of(objects: list[dict[str, Any]]) -> Store:
    """Return a store with the nodes and pods among objects."""
    store = Store()
    for kind in ("Node", "Pod"):
        found = tuple(obj for raw in objects if raw["kind"] == kind and (obj := decode(raw)))
        store.apply(Listed(kind, 1, found, 0.0))
    return store


def discovered(version: str, *objects: dict[str, Any], failures: Mapping[str, str] = {}) -> Discovered:
    return discover(state_of([*objects]), {"gitVersion": version}, SchedulerObjects(objects, failures))


def strategy_of(found: Discovered, profile: int = 0) -> str:
    """Return the strategy of NodeResourcesFit in the discovered configuration, as the core reads it."""
    loaded = load(found.config, get_release(found.release), unknown="leave_out")
    return str(loaded.profiles[profile].args["NodeResourcesFit"].scoring_strategy.type)


class Case(NamedTuple):
    """A platform. `source`, `notes`: a part of each text, in order. `strategy`: "" if there is no configuration."""

    version: str
    objects: list[dict[str, Any]]
    release: str
    source: str
    strategy: str = ""
    notes: tuple[str, ...] = ()
    failures: Mapping[str, str] = {}


NO_ACCESS = {"/api/v1/namespaces/kube-system/configmaps/my-scheduler-config": "the server refuses it (403)"}
CASES = {
    "kubeadm and kind": Case("v1.34.1", [KUBEADM], "1.34", "has no --config"),
    "file of the machine": Case(
        "v1.34.1",
        [HOST_FILE],
        "1.34",
        "cannot be read",
        notes=("packing/config.yaml', which cannot be read: it is a file of node control-plane-1",),
    ),
    "kops": Case(
        "v1.34.1",
        [KOPS],
        "1.34 PodLevelResources=false",
        "cannot be read",
        notes=("it is a file of node control-plane-1",),
    ),
    "ConfigMap behind the path": Case(
        "v1.34.1",
        [
            mounted("/etc/kubernetes/packing", configMap={"name": "packing"}),
            config_map("kube-system/packing", config_yaml=PACKING),
        ],
        "1.34",
        "ConfigMap kube-system/packing, key config.yaml, of pod kube-system/s",
        "MostAllocated",
    ),
    "ConfigMap with items": Case(
        "v1.34.1",
        [
            mounted("/etc/kubernetes", configMap={"name": "packing", "items": OTHER_KEY}),
            config_map("kube-system/packing", other=PACKING),
        ],
        "1.34",
        "key other",
        "MostAllocated",
    ),
    "ConfigMap with a sub-path": Case(
        "v1.34.1",
        [
            mounted("/etc/kubernetes/packing/config.yaml", "key.yaml", configMap={"name": "packing"}),
            config_map("kube-system/packing", key_yaml=PACKING),
        ],
        "1.34",
        "key key.yaml",
        "MostAllocated",
    ),
    "projected ConfigMap": Case(
        "v1.34.1",
        [
            mounted(
                "/etc/kubernetes/packing", projected={"sources": [{"secret": {}}, {"configMap": {"name": "packing"}}]}
            ),
            config_map("kube-system/packing", config_yaml=PACKING),
        ],
        "1.34",
        "ConfigMap kube-system/packing",
        "MostAllocated",
    ),
    "Secret": Case(
        "v1.34.1",
        [mounted("/etc/kubernetes/packing", secret={"secretName": "packing"})],
        "1.34",
        "cannot be read",
        notes=("its volume is of type secret",),
    ),
    "shell": Case(
        "v1.34.1",
        [pod("s", ["/bin/sh", "-c", SCRIPT])],
        "1.34 PodLevelResources=false",
        "has no --config",
    ),
    "different control planes": Case(
        "v1.34.1",
        [
            pod("a", ["kube-scheduler"], image="registry.k8s.io/kube-scheduler:v1.33.5"),
            pod("b", ["kube-scheduler", "--feature-gates=PodLevelResources=false"]),
            pod("c", ["kube-scheduler", "--feature-gates=PodLevelResources=false"]),
            pod("gone", ["kube-scheduler"], image="registry.k8s.io/kube-scheduler:v1.30.0", phase="Failed"),
        ],
        "1.34 PodLevelResources=false",
        "pod kube-system/b has no --config",
        notes=("the releases 1.33.5, 1.34.1; 1.34.1 is used", "different flags; those of pod kube-system/b are used"),
    ),
    "older scheduler": Case(
        "v1.35.0",
        [KUBEADM],
        "1.34",
        "no --config",
        notes=("API server has the release 1.35.0, and kube-scheduler 1.34.1",),
    ),
    "kubeadm-config v1beta3": Case(
        "",
        [cluster_configuration(MAP_ARGS)],
        "1.33.4 PodLevelResources=true",
        "cannot be read",
        notes=("kubeadm-config names the configuration '/etc/kubernetes/sched.yaml'",),
    ),
    "kubeadm-config v1beta4": Case(
        "v1.33.4",
        [cluster_configuration(LIST_ARGS)],
        "1.33.4 PodLevelResources=true",
        "cannot be read",
        notes=("'/etc/kubernetes/sched.yaml'",),
    ),
    "kubeadm-config against the pod": Case(
        "v1.34.1", [KUBEADM, cluster_configuration(LIST_ARGS)], "1.34", "no --config", notes=("other flags than pod",)
    ),
    "OpenShift, ConfigMap": Case(
        "v1.34.2+1234abc",
        [OPENSHIFT_NODE, OPENSHIFT_POD, OPENSHIFT_MAP, scheduler_profile("LowNodeUtilization")],
        "1.34.2 PodLevelResources=false",
        "ConfigMap openshift-kube-scheduler/config, key config.yaml",
        "MostAllocated",
    ),
    "OpenShift, profile": Case(
        "v1.34.2+1234abc",
        [OPENSHIFT_NODE, OPENSHIFT_POD, scheduler_profile("HighNodeUtilization")],
        "1.34.2 PodLevelResources=false",
        "the profile HighNodeUtilization",
        "MostAllocated",
    ),
    "OpenShift, usual profile": Case(
        "v1.31.9", [OPENSHIFT_NODE, scheduler_profile("")], "1.31.9", "the profile LowNodeUtilization"
    ),
    "OpenShift, unknown profile": Case(
        "v1.31.9",
        [OPENSHIFT_NODE, scheduler_profile("<b>")],
        "1.31.9",
        "not known",
        notes=("'<b>' of OpenShift is not known",),
    ),
    "OpenShift, refused": Case(
        "v1.31.9",
        [OPENSHIFT_NODE],
        "1.31.9",
        "cannot be read",
        notes=("cannot be read: the server refuses it (403)",),
        failures={discovery.OPENSHIFT_SCHEDULER: "the server refuses it (403)"},
    ),
    "AKS": Case(
        "v1.34.0",
        [AKS_NODE, aks(rawConfig=AKS_RAW)],
        "1.34.0",
        "SchedulerConfiguration upstream",
        "LeastAllocated",
        ("ResourceBalancedAllocation", "has no profile default-scheduler; its default plugins are used"),
    ),
    "AKS, first preview": Case(
        "v1.34.0",
        [AKS_NODE, aks([{"message": "configuration: Failed"}], profiles=yaml.safe_load(PACKING)["profiles"])],
        "1.34.0",
        "SchedulerConfiguration upstream",
        "MostAllocated",
        ("AKS reports Failed",),
    ),
    "AKS, usual": Case("v1.34.0", [AKS_NODE], "1.34.0", "the cluster has no SchedulerConfiguration upstream"),
    "AKS, refused": Case(
        "v1.34.0",
        [AKS_NODE],
        "1.34.0",
        "cannot be read",
        notes=("refuses",),
        failures={discovery.AKS_CONFIGURATION: "the server refuses it (403)"},
    ),
    "k3s": Case(
        "v1.34.2+k3s1",
        [
            node("agent", annotations={"k3s.io/node-args": '["agent"]'}),
            node("server", annotations={"k3s.io/node-args": K3S_ARGS}),
        ],
        "1.34.2 PodLevelResources=false",
        "cannot be read",
        notes=("annotation k3s.io/node-args of node server names the configuration '/etc/s.yaml'",),
    ),
    "k3s without arguments": Case(
        "v1.34.2+k3s1",
        [node("server", annotations={"k3s.io/node-args": '["server"]'})],
        "1.34.2",
        "annotation k3s.io/node-args of node server has no config",
    ),
    "k3s, agents alone": Case(
        "v1.34.2+k3s1",
        [node("agent", annotations={"k3s.io/node-args": '["agent"]'})],
        "1.34.2",
        "shows none",
        notes=("No pod of kube-scheduler is visible",),
    ),
    "RKE2": Case(
        "v1.34.2+rke2r1",
        [pod("s", ["kube-scheduler"], image="rancher/hardened-kubernetes:v1.34.2-rke2r1-build1", mirror=True)],
        "1.34.2",
        "has no --config",
    ),
    "EKS": Case(
        "v1.34.2-eks-3cfe0ce",
        [node("ip-10-0-0-1")],
        "1.34.2",
        "shows none",
        notes=("Amazon EKS does not show",),
    ),
    "GKE": Case("v1.33.5-gke.1162000", [node()], "1.33.5", "shows none", notes=("GKE does not show",)),
    "GKE, optimize-utilization": Case(
        "v1.33.5-gke.1162000",
        [node(), {**pod("p", []), "spec": {"schedulerName": "gke.io/optimize-utilization-scheduler"}}],
        "1.33.5",
        "GKE's optimize-utilization",
        "LeastAllocated",
        ("its weights are assumed",),
    ),
    "newer cluster": Case(
        "v1.99.0", [], NEWEST, "shows none", notes=("1.99.0, which is newer", "No pod of kube-scheduler")
    ),
    "older cluster": Case(
        "v1.9.11", [], "1.16", "shows none", notes=("1.9.11, which is older", "No pod of kube-scheduler")
    ),
    "no version": Case("", [], NEWEST, "shows none", notes=("does not tell its release", "No pod of kube-scheduler")),
    "second scheduler": Case(
        "v1.34.1",
        [KUBEADM, second(), my_config(PACKING.replace("default-scheduler", "my-scheduler"))],
        "1.34",
        "has no --config; my-scheduler: ConfigMap kube-system/my-scheduler-config",
        "LeastAllocated",
    ),
    "second scheduler with a profile of the first": Case(
        "v1.34.1",
        [KUBEADM, second(), my_config(PACKING)],
        "1.34",
        "has no --config",
        notes=("another scheduler has the profile 'default-scheduler'",),
    ),
    "second scheduler instead of the first": Case(
        "v1.34.1",
        [second(), my_config(PACKING)],
        "1.34",
        "ConfigMap kube-system/my-scheduler-config",
        "MostAllocated",
        ("No pod of kube-scheduler",),
    ),
    "second scheduler, refused": Case(
        "v1.34.1",
        [KUBEADM, second()],
        "1.34",
        "has no --config",
        notes=("cannot be read: the server refuses it (403)",),
        failures=NO_ACCESS,
    ),
    "Policy in a ConfigMap": Case(
        "v1.22.9",
        [
            pod(
                "s",
                ["kube-scheduler", "--policy-configmap=scheduler-policy"],
                image="k8s.gcr.io/kube-scheduler:v1.22.9",
            ),
            config_map("kube-system/scheduler-policy", policy_cfg=POLICY),
        ],
        "1.22.9",
        "ConfigMap kube-system/scheduler-policy, key policy.cfg",
        "Policy",
    ),
    "locked and grouped gates": Case(
        "v1.34.1",
        [pod("s", ["kube-scheduler", "--feature-gates=SchedulerQueueingHints=false,AllAlpha=true,Unheard=true"])],
        "1.34",
        "no --config",
        notes=("SchedulerQueueingHints cannot be changed in 1.34", "AllAlpha"),
    ),
    "gates that are not simulated": Case(
        "v1.37.0",
        [
            pod(
                "s",
                ["kube-scheduler", "--feature-gates=CompositePodGroup=true,StrictIPCIDR=true"],
                image="registry.k8s.io/kube-scheduler:v1.37.0",
            )
        ],
        "1.37",
        "no --config",
        notes=(
            "CompositePodGroup of pod kube-system/s is left out: it is not simulated: the PodGroups of a Composite",
        ),
    ),
    "invalid gates": Case(
        "v1.34.1",
        [pod("s", ["kube-scheduler", "--feature-gates=A"])],
        "1.34",
        "no --config",
        notes=("feature gates of pod kube-system/s are left out",),
    ),
}


def test_pods_of_groups_show_the_gates_of_a_scheduler_that_is_not_visible() -> None:
    member = pod("web", ["web"], labels={}, namespace="prod", container="web", image="web")
    member["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    found = discovered("v1.36.2", member)
    assert found.release == "1.36 GangScheduling=true,GenericWorkload=true"
    assert any("GenericWorkload" in note for note in found.notes)
    scheduler = pod("s", ["kube-scheduler"], image="registry.k8s.io/kube-scheduler:v1.36.2")
    assert discovered("v1.36.2", member, scheduler).release == "1.36"
    assert discovered("v1.35.2", member).release == "1.35.2"


@pytest.mark.parametrize("name", CASES)
def test_release_and_configuration_are_found(name: str) -> None:
    case = CASES[name]
    found = discovered(case.version, *case.objects, failures=case.failures)
    assert found.release == case.release
    assert case.source in found.config_source
    assert len(found.notes) == len(case.notes), found.notes
    for part, note in zip(case.notes, found.notes, strict=True):
        assert part in note
        assert note.endswith(".")
    if case.strategy == "Policy":
        assert yaml.safe_load(found.config)["kind"] == "Policy"
    elif case.strategy:
        assert strategy_of(found) == case.strategy
    else:
        assert found.config == ""


def test_profiles_of_all_schedulers_are_kept() -> None:
    case = CASES["second scheduler"]
    found = discovered(case.version, *case.objects)
    loaded = load(found.config, get_release(found.release))
    assert loaded.schedulers == ["default-scheduler", "my-scheduler"]
    assert strategy_of(found, 1) == "MostAllocated"
    case = CASES["AKS"]
    loaded = load(discovered(case.version, *case.objects).config, get_release("1.34"), unknown="leave_out")
    assert loaded.schedulers == ["default-scheduler", "cpu-binpack-scheduler"]


def test_credentials_are_removed() -> None:
    extenders = """
extenders:
- urlPrefix: https://user:p4ss@extender.example/scheduler
  filterVerb: filter
  enableHTTPS: true
  tlsConfig: {keyData: UFJJVkFURQ==, certData: Q0VSVA==, serverName: extender.example}
"""
    objects = CASES["ConfigMap behind the path"].objects
    found = discovered("v1.34.1", objects[0], config_map("kube-system/packing", config_yaml=PACKING + extenders))
    assert "https://extender.example/scheduler" in found.config
    for secret in ("p4ss", "UFJJVkFURQ", "Q0VSVA", "kubernetes/scheduler.conf", "s3cr3t"):
        assert secret not in str(found)


HOSTILE = {
    "not text": ([1, None, {"a": 2}], "has no key"),
    "deep": ("[" * 100_000, ""),
    "aliases": ("a: &a [" + "x," * 3000 + "]\nb: [" + "*a," * 900 + "]\n" + PACKING, "aliases add more"),
    "large": ("#" * 1_100_000, "is larger than 1 MB"),
    "not YAML": ("{{ .Values.config }}", ""),
    "other kind": ("kind: Pod\napiVersion: v1\n", "has no KubeSchedulerConfiguration"),
    "unknown field": (PACKING + "unheardOf: 1\n", "unheardOf"),
    "long and broken": (PACKING.replace("MostAllocated", "x" * 100_000), "must be one of"),
    "many plugins": (PACKING + "".join(f"- schedulerName: s{i}\n" for i in range(500)), ""),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_configurations_become_a_short_note(name: str) -> None:
    given, part = HOSTILE[name]
    objects = CASES["ConfigMap behind the path"].objects
    found = discovered("v1.34.1", objects[0], {**objects[1], "data": {"config.yaml": given}})
    assert found.config == ""
    assert "cannot be read" in found.config_source
    assert len(found.notes) == 1
    assert part in found.notes[0]
    assert len(found.notes[0]) <= discovery.MAX_NOTE
    assert "Traceback" not in found.notes[0]


@pytest.mark.parametrize(
    "given", ["[" * 50_000, "{}", '"--kube-scheduler-arg"', "[1,[],null]", "\x01", "x" * 2_000_000]
)
def test_hostile_annotations_are_ignored(given: str) -> None:
    found = discovered("v1.34.2+k3s1", node("server", annotations={"k3s.io/node-args": given}))
    assert found.release == "1.34.2"


@pytest.mark.parametrize("value", [None, 1, "text", [], [[]], {"name": 5}, [{"name": None, "mountPath": 3}]])
def test_malformed_pods_are_read(value: Any) -> None:
    broken = pod("s", WITH_FILE)
    for field in ("command", "args", "volumeMounts", "image", "workingDir"):
        one = {**broken["spec"]["containers"][0], field: value}
        raw = {**broken, "spec": {"containers": [one, value], "volumes": value, "nodeName": value}}
        discover(Store(), {"gitVersion": value}, SchedulerObjects((raw,)))
    for part in ("metadata", "spec", "status"):
        discover(
            Store(), {"major": value}, SchedulerObjects(({**broken, part: value}, {"kind": "ConfigMap", "data": value}))
        )


def test_texts_can_be_stored() -> None:
    broken = second(namespace="a\0b\ud800\nc")
    control_plane = {**KUBEADM, "metadata": {**KUBEADM["metadata"], "name": "a\0b"}}
    found = discover(Store(), {}, SchedulerObjects((broken, control_plane)))
    for sentence in (*found.notes, found.config_source, found.release_source):
        assert "\0" not in sentence
        assert "\n" not in sentence
        sentence.encode()
    assert any("ConfigMap a b? c/my-scheduler-config" in sentence for sentence in found.notes)


def test_notes_are_limited() -> None:
    pods = [second(f"config-{i}", namespace=f"ns-{i}") for i in range(300)]
    assert len(discovered("v1.34.1", *pods).notes) == discovery.MAX_NOTES


@pytest.mark.parametrize(
    ("words", "image", "flags"),
    [
        (["koord-scheduler", "--config=/c"], "", {"config": "/c"}),
        (
            ["--config", "/c", "-v", "--leader-elect"],
            "x/kube-scheduler:v1",
            {"config": "/c", "v": "true", "leader-elect": "true"},
        ),
        ([], "registry:5000/kube-scheduler-amd64@sha256:1", {}),
        (["/descheduler", "--policy-config-file=/p"], "x/descheduler:v1", None),
        (["prometheus", "--config.file=/p", "scheduling"], "x/prometheus", None),
        (["sh", "-c", "kube-scheduler --config='/a b' # --config=/no"], "", {"config": "/a b"}),
        (["sh", "-c", "kube-scheduler --config='/a"], "", {"config": "'/a"}),
        (
            ["kube-scheduler", "--feature-gates=A=true", "--feature-gates", "B=false"],
            "",
            {"feature-gates": "A=true,B=false"},
        ),
    ],
)
def test_flags(words: list[str], image: str, flags: dict[str, str] | None) -> None:
    assert scheduler_flags(words, image) == flags


@pytest.mark.parametrize("release", [name for name in RELEASES if numbered(name) >= numbered(FIRST_RELEASE)])
def test_published_configurations_are_valid(release: str) -> None:
    for name in choices("", get_release(release)):
        load(published(name, get_release(release)), get_release(release))
    assert {PUBLISHED[name].platform for name in choices("GKE", get_release(release))[:1]} == {"GKE"}


def test_an_eks_cluster_offers_the_strategy_of_eks() -> None:
    case = CASES["EKS"]
    found = discovered(case.version, *case.objects)
    assert found.choices[0] == "eks-most-allocated"
    loaded = load(published(found.choices[0], get_release("1.34")), get_release("1.34"))
    assert loaded.profiles[0].args["NodeResourcesFit"].scoring_strategy.type == "MostAllocated"


# --- fetch ---


class FakeServer:
    """Answers GET requests from a table: path -> object, bytes or status. Everything else is 404."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.table = table
        self.paths: list[str] = []

    @asynccontextmanager
    async def get(self, path: str, query: Mapping[str, str], *, read_timeout: float = 60.0) -> AsyncIterator[Any]:
        self.paths.append(path)
        found = self.table.get(path, 404)

        class Response:
            status = found if isinstance(found, int) else 200
            headers: Mapping[str, str] = {}

            async def chunks(self) -> AsyncIterator[bytes]:
                body = found if isinstance(found, bytes) else json.dumps(found).encode()
                for at in range(0, len(body), 7 if len(body) < 10_000 else 100_000):
                    yield body[at : at + (7 if len(body) < 10_000 else 100_000)]

        yield Response()

    async def close(self) -> None:
        pass


def fetched(server: FakeServer, version: str, *objects: dict[str, Any]) -> tuple[SchedulerObjects, Discovered]:
    store = state_of([*objects])
    found = asyncio.run(fetch(server, store, {"gitVersion": version}))
    return found, discover(store, {"gitVersion": version}, found)


def path_of(obj: dict[str, Any]) -> str:
    metadata, resource = obj["metadata"], {"Pod": "pods", "ConfigMap": "configmaps"}[obj["kind"]]
    return f"/api/v1/namespaces/{metadata['namespace']}/{resource}/{metadata['name']}"


def test_only_what_concerns_the_scheduler_is_fetched() -> None:
    objects = CASES["second scheduler"].objects
    others = [pod(f"web-{i}", ["nginx"], labels={}, image="nginx", container="web") for i in range(100)]
    server = FakeServer({path_of(obj): {key: value for key, value in obj.items() if key != "kind"} for obj in objects})
    _, found = fetched(server, "v1.34.1", *objects, *others)
    assert "my-scheduler: ConfigMap" in found.config_source
    assert sorted(server.paths) == sorted(
        [*map(path_of, objects), "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"]
    )


@pytest.mark.parametrize(
    ("version", "objects", "path"),
    [
        ("v1.34.0", [AKS_NODE], discovery.AKS_CONFIGURATION),
        ("v1.34.0", [OPENSHIFT_NODE], discovery.OPENSHIFT_SCHEDULER),
        ("v1.34.1", [KUBEADM], "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"),
        ("v1.34.2-eks-3cfe0ce", [node()], ""),
        ("v1.34.2+k3s1", [node()], ""),
    ],
)
def test_each_platform_has_its_own_requests(version: str, objects: list[dict[str, Any]], path: str) -> None:
    server = FakeServer({})
    fetched(server, version, *objects)
    assert (path in server.paths) if path else server.paths == []


def test_the_version_is_read_again() -> None:
    server = FakeServer({"/version": {"gitVersion": "v1.35.0"}})
    assert asyncio.run(fetch_version(server)) == {"gitVersion": "v1.35.0"}
    assert asyncio.run(fetch_version(FakeServer({"/version": 403}))) == {}
    assert asyncio.run(fetch_version(FakeServer({"/version": b"[]"}))) == {}


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (403, "refuses it (403)"),
        (500, "answered 500"),
        (b"[1]", "not an object"),
        (b"{", "not JSON"),
        (b"[" * 200_000, "not JSON"),
        (b" " * 2_100_000, "larger than 2 MB"),
    ],
)
def test_a_failed_request_costs_one_sentence(answer: Any, part: str) -> None:
    server = FakeServer({path_of(KUBEADM): KUBEADM, path_of(second()): second(), next(iter(NO_ACCESS)): answer})
    raw, found = fetched(server, "v1.34.1", KUBEADM, second())
    assert list(raw.failures) == ["/api/v1/namespaces/kube-system/configmaps/kubeadm-config", *NO_ACCESS]
    assert len(found.notes) == 1
    assert part in found.notes[0]
