"""Reads the output of `kubectl describe` for nodes and pods as objects, as far as it has them.

A pod's affinity, scheduler, gates, overhead and claims are not in it. A node's description names the pods on it with
their requests of CPU and memory; a pod that is known only from there has no more.

Upstream: k8s.io/kubectl/pkg/describe/describe.go (describeNode, describePod).
"""

import re
from collections.abc import Iterator
from typing import Any

from scheduler_core.api.text_checks import escaped
from scheduler_core.cluster.formatting import count

Raw = dict[str, Any]
Section = tuple[str, str, list[str]]  # key, value, the indented lines below it

MAX_BYTES = 64_000_000
_START = re.compile(r"^Name:[ \t]+(\S+)[ \t]*$")
_KEY = re.compile(r"^([A-Za-z][\w ().-]*?):(?:[ \t]+(.*?))?[ \t]*$")
_ROW = re.compile(r"^\s*(Normal|Warning)\s+(\S+)\s+(\S.*?)\s{2,}(\S+)\s{2,}(\S.*)$")
_LISTED = re.compile(r"^\s+(\S+)\s+(\S+)\s+(\S+) \(\d+%\)\s+\S+ \(\d+%\)\s+(\S+) \(\d+%\)\s+\S+ \(\d+%\)")
_SPREAD = re.compile(r"^(\S+):(\w+) when max skew (\d{1,9}) is exceeded(?: for selector (.*))?$")
_REQUIREMENT = re.compile(r"([^\s,]+) (in|notin) \(([^)]*)\)")
_TOLERATION = re.compile(r"^((?:(?!op=)[^\s=:]+)?)(?:=([^\s:]*))?(?::(\w+))?(?: ?op=(\w+))?(?: for (\d{1,18})s)?$")
_TAINT = re.compile(r"^([^\s=:]+)(?:=([^\s:]*))?:(\w+)$")
_PORT = re.compile(r"^(\d{1,5})/(\w+)")
_OWNERS = {"ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1",
           "ReplicationController": "v1", "Node": "v1"}  # fmt: skip
_NONE = ("", "<none>", "<unset>")
_DELETED = "1970-01-01T00:00:00Z"  # describe tells only how long ago
NOT_DESCRIBED = (
    "`kubectl describe` does not print affinity, scheduling gates, schedulerName, overhead, resource claims and all of "
    "the topology spread of pods, images of nodes, and claims and classes of volumes: a pod that finds a node here can "
    "have been refused for these; `-o json` has them"
)
_OF_NODE = re.compile(rb"^Allocatable:", re.M)
_FIRST = re.compile(rb"\s*Name:[ \t]+\S+[ \t]*\r?\n")


def has_described_node(data: bytes) -> bool:
    """Return whether a text is the output of `kubectl describe` with at least one node."""
    return _FIRST.match(data[:1000]) is not None and _OF_NODE.search(data) is not None


def is_described_pod(data: bytes) -> bool:
    """Return whether a text begins like the output of `kubectl describe pod`."""
    return re.match(rb"\s*Name:[ \t]+\S+[ \t]*\r?\nNamespace:[ \t]+\S+", data[:1000]) is not None


def described(data: bytes) -> tuple[list[Raw], list[str]]:
    """Return the nodes, pods and events of FailedScheduling in a text, and sentences about what was not read.

    A pod that only a node's description names comes last, as a pod with its requests of CPU and memory.
    """
    nodes: list[Raw] = []
    pods: dict[tuple[str, str], Raw] = {}
    events: list[Raw] = []
    listed: dict[tuple[str, str], Raw] = {}
    unread, lacking = 0, set[str]()
    for sections in _descriptions(data):
        keys = {key for key, _, _ in sections}
        if keys & {"Capacity", "Allocatable", "Non-terminated Pods", "Roles"}:
            node = _node(sections)
            nodes.append(node)
            on_node = list(_listed(sections, node["metadata"]["name"]))
            listed |= {_key(pod): pod for pod in on_node}
            lacking |= set(_other_requests(sections)) if on_node else set()
        elif "Namespace" in keys and keys & {"Containers", "QoS Class", "Node-Selectors"}:
            pod = _pod(sections)
            pods[_key(pod)] = pod
            events += _events(sections, pod)
        else:
            unread += 1
    rest = [pod for key, pod in listed.items() if key not in pods]
    notes = [NOT_DESCRIBED] if pods else []
    if rest:
        more = f"; requests of {', '.join(sorted(lacking))} are not known" if lacking else ""
        known = (
            f"{count(len(rest), 'pod')}: only their CPU and memory requests are known, from their nodes' descriptions"
        )
        notes.append(f"{known}{more}")
    if unread:
        notes.append(f"left out: {count(unread, 'description')} of other objects")
    return [*nodes, *pods.values(), *rest, *events], notes


def _descriptions(data: bytes) -> Iterator[list[Section]]:
    """Yield the sections of each object."""
    sections: list[Section] = []
    for line in escaped(data[:MAX_BYTES].decode("utf-8", "replace").replace("\r\n", "\n"), "\n\t").split("\n"):
        if start := _START.match(line):
            if sections:
                yield sections
            sections = [("Name", start[1], [])]
        elif sections and (found := _KEY.match(line)):
            sections.append((found[1], found[2] or "", []))
        elif sections and line.strip():
            sections[-1][2].append(line)
    if sections:
        yield sections


def _key(pod: Raw) -> tuple[str, str]:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def _values(section: Section) -> list[str]:
    """Return the lines of a value of several lines."""
    return [line for line in (section[1].strip(), *(line.strip() for line in section[2])) if line not in _NONE]


def _pairs(section: Section) -> dict[str, str]:
    return {key: value for key, found, value in (line.partition("=") for line in _values(section)) if found}


def _fields(lines: list[str]) -> dict[str, str]:
    """Return `key: value` of indented lines."""
    pairs = (line.strip().partition(":") for line in lines)
    return {key: value.strip() for key, found, value in pairs if found}


def _node(sections: list[Section]) -> Raw:
    metadata = {"name": sections[0][1]}
    node: Raw = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": {}}
    for section in sections:
        key, value, lines = section
        if key == "Labels":
            node["metadata"]["labels"] = _pairs(section)
        elif key == "Taints":
            found = [taint for line in _values(section) if (taint := _TAINT.match(line))]
            taints = [{"key": one[1], "value": one[2] or "", "effect": one[3]} for one in found]
            if taints:
                node["spec"]["taints"] = taints
        elif key == "Unschedulable" and value == "true":
            node["spec"]["unschedulable"] = True
        elif key in ("Capacity", "Allocatable"):
            node["status"][key.lower()] = _fields(lines)
        elif key == "Conditions":
            rows = [line.split() for line in lines[2:]]
            node["status"]["conditions"] = [{"type": row[0], "status": row[1]} for row in rows if len(row) > 1]
        elif key == "System Info" and (version := _fields(lines).get("Kubelet Version")):
            node["status"]["nodeInfo"] = {"kubeletVersion": version}
    return node


def _listed(sections: list[Section], node: str) -> Iterator[Raw]:
    """Yield the pods on a node, which its description lists."""
    for key, _, lines in sections:
        for row in map(_LISTED.match, lines) if key == "Non-terminated Pods" else ():
            if row is not None:
                requests = {"cpu": row[3], "memory": row[4]}
                requests = {name: amount for name, amount in requests.items() if amount != "0"}
                containers = [{"name": "described", "resources": {"requests": requests}}]
                yield {
                    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": row[2], "namespace": row[1]},
                    "spec": {"nodeName": node, "containers": containers}, "status": {"phase": "Running"},
                }  # fmt: skip


def _other_requests(sections: list[Section]) -> Iterator[str]:
    """Yield the resources besides CPU and memory that pods on a node request."""
    for key, _, lines in sections:
        for row in map(str.split, lines) if key == "Allocated resources" else ():
            if len(row) > 1 and row[0] not in ("cpu", "memory") and row[1][:1].isdigit() and row[1] != "0":
                yield row[0]


def _pod(sections: list[Section]) -> Raw:
    metadata: Raw = {"name": sections[0][1], "namespace": "default"}
    spec: Raw = {"containers": []}
    status: Raw = {}
    for section in sections:
        key, value, lines = section
        none = value in _NONE
        if key == "Namespace":
            metadata["namespace"] = value
        elif key == "Labels":
            metadata["labels"] = _pairs(section)
        elif key == "Priority" and value.lstrip("-").isdecimal() and len(value) < 12:
            spec["priority"] = int(value)
        elif key == "Priority Class Name":
            spec["priorityClassName"] = value
        elif key == "Node" and not none:
            spec["nodeName"] = value.partition("/")[0]
        elif key == "Status" and value.startswith("Terminating"):
            metadata["deletionTimestamp"] = _DELETED
            status["phase"] = "Running"
        elif key == "Status":
            status["phase"] = value
        elif key == "NominatedNodeName":
            status["nominatedNodeName"] = value
        elif key == "Controlled By" and (owner := value.partition("/"))[0] in _OWNERS:
            reference = {"apiVersion": _OWNERS[owner[0]], "kind": owner[0], "name": owner[2], "uid": owner[2]}
            metadata["ownerReferences"] = [reference | {"controller": True}]
        elif key in ("Containers", "Init Containers"):
            field = "containers" if key == "Containers" else "initContainers"
            spec[field] = list(_containers(lines))
        elif key == "Conditions":
            rows = [line.split() for line in lines[1:]]
            status["conditions"] = [{"type": row[0], "status": row[1]} for row in rows if len(row) > 1]
        elif key == "Volumes" and (claims := list(_claims(lines))):
            spec["volumes"] = claims
        elif key == "Node-Selectors" and (selector := _pairs(section)):
            spec["nodeSelector"] = selector
        elif key == "Tolerations" and (tolerations := list(_tolerations(section))):
            spec["tolerations"] = tolerations
        elif key == "Topology Spread Constraints" and (spread := list(_spread(section))):
            spec["topologySpreadConstraints"] = spread
        elif key == "SchedulingGroup" and (group := _fields(lines).get("PodGroupName")):
            spec["schedulingGroup"] = {"podGroupName": group}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _blocks(lines: list[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (key, value, lines below) of the least indented lines."""
    if not lines:
        return
    least = min(len(line) - len(line.lstrip()) for line in lines)
    block: tuple[str, str, list[str]] | None = None
    for line in lines:
        if len(line) - len(line.lstrip()) == least:
            if block is not None:
                yield block
            key, _, value = line.strip().partition(":")
            block = key, value.strip(), []
        elif block is not None:
            block[2].append(line)
    if block is not None:
        yield block


def _containers(lines: list[str]) -> Iterator[Raw]:
    for name, _, inner in _blocks(lines):
        container: Raw = {"name": name}
        ports: list[str] = []
        host_ports: list[str] = []
        for key, value, below in _blocks(inner):
            if key == "Image":
                container["image"] = value
            elif key in ("Port", "Ports"):
                ports = [] if value in _NONE else value.split(",")
            elif key in ("Host Port", "Host Ports"):
                host_ports = [] if value in _NONE else value.split(",")
            elif key in ("Limits", "Requests"):
                container.setdefault("resources", {})[key.lower()] = _fields(below)
        pairs = [(_PORT.match(one.strip()), _PORT.match(other.strip())) for one, other in zip(ports, host_ports)]  # noqa: B905
        found = [
            {"containerPort": int(one[1]), "protocol": one[2]} | ({"hostPort": int(host[1])} if int(host[1]) else {})
            for one, host in pairs
            if one is not None and host is not None
        ]
        if found:
            container["ports"] = found
        yield container


def _claims(lines: list[str]) -> Iterator[Raw]:
    for name, _, inner in _blocks(lines):
        fields = _fields(inner)
        if fields.get("Type", "").startswith("PersistentVolumeClaim") and (claim := fields.get("ClaimName")):
            yield {"name": name, "persistentVolumeClaim": {"claimName": claim}}


def _tolerations(section: Section) -> Iterator[Raw]:
    for line in _values(section):
        if found := _TOLERATION.match(line):
            operator = found[4] or ("Equal" if found[1] else "Exists")
            toleration: Raw = {"operator": operator, "key": found[1], "value": found[2], "effect": found[3]}
            if found[5]:
                toleration["tolerationSeconds"] = int(found[5])
            yield {key: value for key, value in toleration.items() if value is not None and value != ""}


def _spread(section: Section) -> Iterator[Raw]:
    for line in _values(section):
        if found := _SPREAD.match(line):
            constraint: Raw = {"topologyKey": found[1], "whenUnsatisfiable": found[2], "maxSkew": int(found[3])}
            if found[4] and found[4] not in _NONE:
                constraint["labelSelector"] = _selector(found[4])
            yield constraint


def _selector(text: str) -> Raw:
    """Return a label selector that metav1.FormatLabelSelector has written."""
    operators = {"in": "In", "notin": "NotIn"}
    expressions: list[Raw] = [
        {"key": one[1], "operator": operators[one[2]], "values": one[3].split(",")}
        for one in _REQUIREMENT.finditer(text)
    ]
    labels: dict[str, str] = {}
    for part in filter(None, _REQUIREMENT.sub("", text).split(",")):
        key, equal, value = part.partition("=")
        if equal:
            labels[key] = value
        elif part.strip():
            operator = "DoesNotExist" if part.startswith("!") else "Exists"
            expressions.append({"key": part.lstrip("!"), "operator": operator})
    selector: Raw = {"matchLabels": labels} if labels else {}
    return selector | ({"matchExpressions": expressions} if expressions else {})


def _events(sections: list[Section], pod: Raw) -> Iterator[Raw]:
    """Yield the last event FailedScheduling of a pod."""
    rows = [row for key, _, lines in sections if key == "Events" for row in map(_ROW.match, lines) if row is not None]
    failed = [row for row in rows if row[2] == "FailedScheduling"]
    if failed:
        namespace, name = _key(pod)
        yield {
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{name}.described", "namespace": namespace},
            "involvedObject": {"kind": "Pod", "namespace": namespace, "name": name}, "reason": "FailedScheduling",
            "type": "Warning", "message": failed[-1][5].strip(), "source": {"component": failed[-1][4]},
        }  # fmt: skip
