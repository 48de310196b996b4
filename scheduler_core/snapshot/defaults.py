"""Applies the defaults of an API server to objects that were never stored by one.

Only defaults that affect where a pod goes, how long it stays or which pods exist are applied. The functions change raw
dicts in place before validation; values of the wrong type are left for the validation to refuse. Topology spread
constraints need no defaults: upstream also leaves their policies and minDomains unset, and the plugin handles that.

Source: pkg/apis/core/v1/defaults.go, pkg/apis/apps/v1/defaults.go, pkg/apis/batch/v1/defaults.go,
pkg/apis/storage/v1/defaults.go, pkg/registry/core/pod/strategy.go, plugin/pkg/admission/defaulttolerationseconds.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from scheduler_core.cluster.formatting import count
from scheduler_core.controllers.admission import DEFAULT_TOLERATION_SECONDS, missing_tolerations
from scheduler_core.controllers.pod_template import KINDS
from scheduler_core.releases import Release

Raw = dict[str, Any]
Note = tuple[str, int, str]  # (the default, how often it was applied, the part of the object)

PER_POD = {"restartPolicy": "Always", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30}
HOST_PORTS = "host ports of the host's network"
FROM_LIMITS = "requests from limits"
TOLERATIONS = "tolerations of nodes that are not ready or unreachable, for five minutes"

FILLED = "Filled in as an API server does: "  # the beginning of the message


class Filled:
    """Counters of applied defaults: (default, part, kind of object) -> the number of objects.

    `counts`: default -> how often it was applied.
    """

    def __init__(self) -> None:
        self._objects, self._parts = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
        self.counts = Counter[str]()

    def add(self, notes: Iterable[Note], owner: str) -> None:
        """Add the notes that `fill` returned for an object. `owner`: the name of its kind, such as `pod`."""
        for what, times, part in notes:
            self._objects[what, part, owner] += 1
            self._parts[what, part, owner] += times
            self.counts[what] += times

    def __bool__(self) -> bool:
        return bool(self.counts)

    @property
    def message(self) -> str:
        """One sentence; "" if no default was applied."""
        found = []
        for (what, part, owner), owners in self._objects.items():
            parts = f"{count(self._parts[what, part, owner], part)} of " if part else ""
            found.append(f"{what} ({parts}{count(owners, owner)})")
        return f"{FILLED}{'; '.join(found)}." if found else ""


def fill(obj: Any, release: Release | None = None, admission: bool = True) -> list[Note]:
    """Apply the defaults of an API server in place and return notes. Objects from a cluster keep their values.

    `release`: also apply the defaults of that release; None if it is not known yet, then they can be applied later.
    `admission`: also apply the tolerations that admission adds.
    """
    filler = _FILLERS.get(_text(obj.get("kind"))) if isinstance(obj, dict) else None
    if filler is None or not isinstance(obj.get("metadata"), dict):
        return []
    return [(what, int(times), thing) for what, times, thing in filler(obj, release, admission) if times]


def is_typed(obj: Raw) -> bool:
    """Whether a user wrote the object and no API server stored it: it has no uid and no status."""
    return not _dict(obj.get("metadata")).get("uid") and not obj.get("status")


def title(obj: Raw) -> str:
    """Return the name of the object's kind for the counters."""
    return _TITLES.get(str(obj.get("kind")), "workload")


# ---------------------------------------------------------------- pods


def _pod(pod: Raw, release: Release | None, admission: bool) -> Iterator[Note]:
    spec = pod.get("spec")
    if not is_typed(pod) or not isinstance(spec, dict):
        return
    yield from _pod_spec(spec, release)
    if release is not None and release.affinity_label_keys:
        yield "labels named by matchLabelKeys", _label_keys(spec, _dict(pod["metadata"].get("labels"))), "affinity term"
    if admission:
        yield TOLERATIONS, _tolerate(spec), ""


def _pod_spec(spec: Raw, release: Release | None) -> Iterator[Note]:
    containers = [*_dicts(spec.get("containers")), *_dicts(spec.get("initContainers"))]
    yield FROM_LIMITS, sum([_requests(container) for container in containers]), "container"
    if release is not None and release.pod_level_resources:
        yield "requests of the pod from its limits", _requests_of_pod(spec, containers), ""
    ports = [port for container in containers for port in _dicts(container.get("ports"))]
    if spec.get("hostNetwork") is True:
        yield HOST_PORTS, sum([_host_port(port) for port in ports]), "port"
    yield "protocol TCP", sum([_set(port, "protocol", "TCP") for port in ports]), "port"
    for field, value in PER_POD.items():
        yield f"{field} {value}", _set(spec, field, value), ""


def _requests(owner: Raw, counts: Callable[[Any], bool] = lambda name: True) -> bool:
    """Set missing requests of a container or pod that `counts` selects to the limits. Return whether any were set."""
    resources = _dict(owner.get("resources"))
    own, limits = resources.get("requests") or {}, _dict(resources.get("limits"))
    if not isinstance(own, dict):
        return False
    missing = {name: amount for name, amount in limits.items() if own.get(name) is None and amount is not None}
    added = {name: amount for name, amount in missing.items() if counts(name)}
    if added:
        resources["requests"] = {**own, **added}
    return bool(added)


def _requests_of_pod(spec: Raw, containers: list[Raw]) -> bool:
    """Set missing pod-level requests to the limits, for resources that no container requests.

    Returns whether any were set. Upstream also writes the sums of the containers' requests, which do not change what
    the scheduler counts.
    """
    requested = {name for c in containers for name in _dict(_dict(c.get("resources")).get("requests"))}
    whole = ("cpu", "memory")
    return _requests(spec, lambda name: name not in requested and (name in whole or str(name).startswith("hugepages-")))


def _host_port(port: Raw) -> bool:
    if port.get("hostPort") or not port.get("containerPort"):
        return False
    port["hostPort"] = port["containerPort"]
    return True


def _tolerate(spec: Raw) -> bool:
    own = spec.get("tolerations") or []
    if not isinstance(own, list):
        return False
    missing = missing_tolerations((_text(t.get("key")), _text(t.get("effect"))) for t in _dicts(own))
    forever = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": DEFAULT_TOLERATION_SECONDS}
    if missing:
        spec["tolerations"] = [*own, *({"key": key, **forever} for key in missing)]
    return bool(missing)


def _label_keys(spec: Raw, labels: Raw) -> int:
    """Merge the label keys of affinity terms into their selectors. Return the number of changed terms."""
    affinity = _dict(spec.get("affinity"))
    done = 0
    for side in ("podAffinity", "podAntiAffinity"):
        rules = _dict(affinity.get(side))
        terms = _dicts(rules.get("requiredDuringSchedulingIgnoredDuringExecution"))
        weighted = _dicts(rules.get("preferredDuringSchedulingIgnoredDuringExecution"))
        terms += [_dict(entry.get("podAffinityTerm")) for entry in weighted]
        done += sum([_merge_keys(term, labels) for term in terms])
    return done


def _merge_keys(term: Raw, labels: Raw) -> bool:
    selector = term.get("labelSelector")
    if not isinstance(selector, dict):
        return False
    own = selector.get("matchExpressions") or []
    if not isinstance(own, list):
        return False
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in (term[field] if isinstance(term.get(field), list) else ())
        if isinstance(key, str) and key in labels
    ]
    added = [requirement for requirement in added if requirement not in own]
    if added:
        selector["matchExpressions"] = [*own, *added]
    return bool(added)


# ---------------------------------------------------------------- workloads


def _workload(obj: Raw, release: Release | None, admission: bool) -> Iterator[Note]:
    """Apply the pod defaults to a template. Upstream applies requests and host ports only to the pods."""
    spec = obj.get("spec")
    if not is_typed(obj) or not isinstance(spec, dict):
        return
    kind = obj["kind"]
    if kind == "CronJob":
        spec = _dict(_dict(spec.get("jobTemplate")).get("spec"))
    if not spec:
        return
    template = _dict(spec.get("template"))
    if kind in ("Job", "CronJob"):
        bare = spec.get("completions") is None and spec.get("parallelism") is None
        yield "completions 1", bare and _set(spec, "completions", 1), ""
        yield "parallelism 1", _set(spec, "parallelism", 1), ""
    elif kind != "DaemonSet":
        yield "replicas 1", _set(spec, "replicas", 1), ""
    if kind == "ReplicationController" and not spec.get("selector"):
        labels = _dict(template.get("metadata")).get("labels")
        yield "selector from the template's labels", bool(labels) and _set(spec, "selector", labels), ""
    inner = template.get("spec")
    if isinstance(inner, dict):
        yield from _pod_spec(inner, release)


# ---------------------------------------------------------------- other kinds


def _node(obj: Raw, release: Release | None, admission: bool) -> Iterator[Note]:
    status = _dict(obj.get("status"))
    if capacity := _dict(status.get("capacity")):
        yield "allocatable from capacity", _set(status, "allocatable", dict(capacity)), ""


def _namespace(obj: Raw, release: Release | None, admission: bool) -> Iterator[Note]:
    labels = obj["metadata"].get("labels")
    if not is_typed(obj) or not isinstance({} if labels is None else labels, dict):
        return
    key, name = "kubernetes.io/metadata.name", obj["metadata"].get("name")
    if isinstance(name, str) and (labels or {}).get(key) != name:
        obj["metadata"]["labels"] = {**(labels or {}), key: name}
        yield f"label {key}", 1, ""


def _claim(obj: Raw, release: Release | None, admission: bool) -> Iterator[Note]:
    if _typed(obj) and isinstance(obj.get("spec"), dict):
        yield "volumeMode Filesystem", _set(obj["spec"], "volumeMode", "Filesystem"), ""


def _volume(obj: Raw, release: Release | None, admission: bool) -> Iterator[Note]:
    spec = obj.get("spec")
    if not _typed(obj) or not isinstance(spec, dict):
        return
    yield "volumeMode Filesystem", _set(spec, "volumeMode", "Filesystem"), ""
    yield "reclaim policy Retain", _set(spec, "persistentVolumeReclaimPolicy", "Retain"), ""
    if not spec.get("claimRef") and obj.get("status") is None:
        # The volume controller sets the phase; without it the volume cannot be bound.
        obj["status"] = {"phase": "Available"}
        yield "phase Available", 1, ""


def _storage_class(obj: Raw, release: Release | None, admission: bool) -> Iterator[Note]:
    if _typed(obj):
        yield "volumeBindingMode Immediate", _set(obj, "volumeBindingMode", "Immediate"), ""
        yield "reclaimPolicy Delete", _set(obj, "reclaimPolicy", "Delete"), ""


_Filler = Callable[[Raw, Release | None, bool], Iterator[Note]]
_FILLERS: dict[str, _Filler] = {
    "Pod": _pod,
    **dict.fromkeys((*KINDS, "CronJob"), _workload),
    "Node": _node,
    "Namespace": _namespace,
    "PersistentVolumeClaim": _claim,
    "PersistentVolume": _volume,
    "StorageClass": _storage_class,
}
_TITLES = {
    "Pod": "pod",
    "Node": "node",
    "Namespace": "namespace",
    "PersistentVolumeClaim": "claim",
    "PersistentVolume": "volume",
    "StorageClass": "storage class",
}


def _typed(obj: Raw) -> bool:
    return not obj["metadata"].get("uid")


def _set(where: Raw, field: str, value: Any) -> bool:
    """Set a missing field and return whether it was missing. An empty text counts as missing, as in Go."""
    if where.get(field) not in (None, ""):
        return False
    where[field] = value
    return True


def _dict(value: Any) -> Raw:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[Raw]:
    return [element for element in value if isinstance(element, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
