"""The resources that the test API server serves, and its discovery documents.

Source: k8s.io/kubernetes 1.36 (`kubectl api-resources`); older versions of a group from the releases that had them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


class Resource(NamedTuple):
    """A resource of a group. `versions`: newest first. `empty`: the fields of an empty object, as bookmarks have."""

    group: str
    versions: tuple[str, ...]
    plural: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    empty: bytes = b'"spec":{},"status":{}'
    fields: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return plural.group, as in `kubectl get deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def api_version(self, version: str) -> str:
        """Return the apiVersion of objects in a version."""
        return f"{self.group}/{version}" if self.group else version


WORKLOAD = b'"spec":{"replicas":0,"selector":null,"template":{"metadata":{},"spec":{"containers":null}}},"status":{}'
POD_FIELDS = (
    *("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork"),
    *("status.phase", "status.podIP", "status.nominatedNodeName"),
)
EVENT_FIELDS = (
    *("involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid"),
    *("involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath"),
    *("reason", "reportingComponent", "source", "type"),
)
_STORAGE, _RESOURCE, _SCHEDULING = "storage.k8s.io", "resource.k8s.io", "scheduling.k8s.io"
_DRA = ("v1", "v1beta2", "v1beta1")
RESOURCES = (
    Resource("", ("v1",), "nodes", "Node", False, ("no",), fields=("spec.unschedulable",)),
    Resource("", ("v1",), "pods", "Pod", True, ("po",), b'"spec":{"containers":null},"status":{}', POD_FIELDS),
    Resource("", ("v1",), "namespaces", "Namespace", False, ("ns",), fields=("status.phase",)),
    Resource("", ("v1",), "services", "Service", True, ("svc",), b'"spec":{},"status":{"loadBalancer":{}}'),
    Resource("", ("v1",), "replicationcontrollers", "ReplicationController", True, ("rc",)),
    Resource("", ("v1",), "persistentvolumes", "PersistentVolume", False, ("pv",)),
    Resource("", ("v1",), "persistentvolumeclaims", "PersistentVolumeClaim", True, ("pvc",)),
    Resource(
        *("", ("v1",), "events", "Event", True, ("ev",)),
        b'"involvedObject":{},"source":{},"firstTimestamp":null,"lastTimestamp":null,"eventTime":null,'
        b'"reportingComponent":"","reportingInstance":""',
        EVENT_FIELDS,
    ),
    Resource("", ("v1",), "resourcequotas", "ResourceQuota", True, ("quota",)),
    Resource("", ("v1",), "limitranges", "LimitRange", True, ("limits",), b'"spec":{"limits":null}'),
    Resource("", ("v1",), "configmaps", "ConfigMap", True, ("cm",), b""),
    Resource("", ("v1",), "secrets", "Secret", True, (), b"", ("type",)),
    Resource("apps", ("v1",), "replicasets", "ReplicaSet", True, ("rs",), WORKLOAD),
    Resource("apps", ("v1",), "statefulsets", "StatefulSet", True, ("sts",), WORKLOAD),
    Resource("apps", ("v1",), "deployments", "Deployment", True, ("deploy",), WORKLOAD),
    Resource("apps", ("v1",), "daemonsets", "DaemonSet", True, ("ds",), WORKLOAD),
    Resource("batch", ("v1",), "jobs", "Job", True, (), WORKLOAD, ("status.successful",)),
    Resource(
        "batch",
        ("v1",),
        "cronjobs",
        "CronJob",
        True,
        ("cj",),
        b'"spec":{"schedule":"","jobTemplate":{"metadata":{},"spec":{"template":{"metadata":{},"spec":{"containers":null}}}}},"status":{}',
    ),
    Resource("policy", ("v1",), "poddisruptionbudgets", "PodDisruptionBudget", True, ("pdb",)),
    Resource(_STORAGE, ("v1",), "storageclasses", "StorageClass", False, ("sc",), b'"provisioner":""'),
    Resource(_STORAGE, ("v1",), "csinodes", "CSINode", False, (), b'"spec":{"drivers":null}'),
    Resource(_STORAGE, ("v1",), "csidrivers", "CSIDriver", False, (), b'"spec":{}'),
    Resource(_STORAGE, ("v1",), "csistoragecapacities", "CSIStorageCapacity", True, (), b'"storageClassName":""'),
    Resource(
        *(_STORAGE, ("v1",), "volumeattachments", "VolumeAttachment", False, ()),
        b'"spec":{"attacher":"","source":{},"nodeName":""},"status":{"attached":false}',
    ),
    Resource(_SCHEDULING, ("v1",), "priorityclasses", "PriorityClass", False, ("pc",), b'"value":0'),
    Resource(_SCHEDULING, ("v1alpha2", "v1alpha1"), "workloads", "Workload", True, (), b'"spec":{"podGroups":null}'),
    Resource(_SCHEDULING, ("v1alpha2",), "podgroups", "PodGroup", True),
    Resource(_RESOURCE, _DRA, "deviceclasses", "DeviceClass", False, (), b'"spec":{}'),
    Resource(_RESOURCE, _DRA, "resourceclaims", "ResourceClaim", True, (), b'"spec":{"devices":{}},"status":{}'),
    Resource(
        *(_RESOURCE, _DRA, "resourceslices", "ResourceSlice", False, ()),
        b'"spec":{"driver":"","pool":{"name":"","generation":0,"resourceSliceCount":0}}',
    ),
    Resource(_RESOURCE, ("v1alpha3",), "devicetaintrules", "DeviceTaintRule", False, (), b'"spec":{"taint":{}}'),
    *(
        Resource(group, ("v1alpha1",), plural, kind, True)
        for group in ("scheduling.x-k8s.io", "scheduling.sigs.k8s.io")
        for plural, kind in (("podgroups", "PodGroup"), ("elasticquotas", "ElasticQuota"))
    ),
    Resource("topology.node.k8s.io", ("v1alpha2",), "noderesourcetopologies", "NodeResourceTopology", False, (), b""),
    Resource("appgroup.diktyo.x-k8s.io", ("v1alpha1",), "appgroups", "AppGroup", True),
    Resource("networktopology.diktyo.x-k8s.io", ("v1alpha1",), "networktopologies", "NetworkTopology", True),
    Resource("security-profiles-operator.x-k8s.io", ("v1beta1",), "seccompprofiles", "SeccompProfile", True),
    *(
        Resource("kueue.x-k8s.io", ("v1beta2", "v1beta1"), plural, kind, namespaced)
        for plural, kind, namespaced in (
            ("workloads", "Workload", True),
            ("localqueues", "LocalQueue", True),
            ("clusterqueues", "ClusterQueue", False),
            ("resourceflavors", "ResourceFlavor", False),
            ("cohorts", "Cohort", False),
            ("admissionchecks", "AdmissionCheck", False),
        )
    ),
    Resource("karpenter.sh", ("v1", "v1beta1"), "nodepools", "NodePool", False),
    Resource("karpenter.sh", ("v1", "v1beta1"), "nodeclaims", "NodeClaim", False),
    Resource("autoscaling.x-k8s.io", ("v1", "v1beta1"), "provisioningrequests", "ProvisioningRequest", True),
    Resource("jobset.x-k8s.io", ("v1alpha2",), "jobsets", "JobSet", True),
    Resource("leaderworkerset.x-k8s.io", ("v1",), "leaderworkersets", "LeaderWorkerSet", True),
    Resource("scheduling.volcano.sh", ("v1beta1",), "podgroups", "PodGroup", True),
    Resource("scheduling.volcano.sh", ("v1beta1",), "queues", "Queue", False),
    Resource("scheduling.run.ai", ("v2alpha2",), "podgroups", "PodGroup", True),
    Resource("scheduling.run.ai", ("v2",), "queues", "Queue", False),
    Resource("config.openshift.io", ("v1",), "schedulers", "Scheduler", False),
    Resource("aks.azure.com", ("v1alpha1",), "schedulerconfigurations", "SchedulerConfiguration", False),
)
# Served only where a test says so.
_OF_KUBERNETES = ("", "apps", "batch", "policy", _STORAGE, _SCHEDULING, _RESOURCE)
EXTENSIONS = frozenset(resource.name for resource in RESOURCES if resource.group not in _OF_KUBERNETES)


def version_document(git_version: str) -> dict[str, str]:
    """Return the answer to /version of a release, such as v1.36.2."""
    major, minor = git_version.removeprefix("v").split(".")[:2]
    return {
        "major": major,
        "minor": minor,
        "gitVersion": git_version,
        "gitCommit": "0" * 40,
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "go1.26.3",
        "compiler": "gc",
        "platform": "linux/amd64",
    }


def group_document(group: str, resources: list[Resource]) -> dict[str, Any]:
    """Return the APIGroup of a group with the versions of its resources."""
    found = sorted({version for resource in resources for version in resource.versions}, key=_age)
    versions = [{"groupVersion": f"{group}/{version}", "version": version} for version in found]
    return {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": group,
        "versions": versions,
        "preferredVersion": versions[0],
    }


def resource_list(group_version: str, resources: list[Resource]) -> dict[str, Any]:
    """Return the APIResourceList of a version of a group."""
    entries: list[dict[str, Any]] = []
    for resource in resources:
        entry: dict[str, Any] = {
            "name": resource.plural,
            "singularName": resource.kind.lower(),
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": VERBS,
        }
        if resource.short_names:
            entry["shortNames"] = list(resource.short_names)
        entries.append(entry)
        if resource.plural == "pods":
            entries.append(
                {"name": "pods/binding", "singularName": "", "namespaced": True, "kind": "Binding", "verbs": ["create"]}
            )
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": entries}


def _age(version: str) -> tuple[bool, bool, str]:
    return "alpha" in version, "beta" in version, version


def openapi_document(served: Sequence[tuple[Resource, str]]) -> dict[str, Any]:
    """Return an OpenAPI v3 document of resources in a version: that the server validates the fields of objects.

    kubectl then does not. Source: k8s.io/cli-runtime/pkg/resource/query_param_verifier_v3.go.
    """
    validates = [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}]
    paths = {}
    for resource, version in served:
        kind = {"group": resource.group, "version": version, "kind": resource.kind}
        operation = {"parameters": validates, "x-kubernetes-group-version-kind": kind, "responses": {}}
        paths[f"/{resource.api_version(version)}/{resource.plural}/{{name}}"] = {"patch": operation}
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "test"}, "paths": paths}
