"""Parts of a pod's signature that several plugins share.

Two pods with equal signatures have the same feasible nodes and the same scores, as long as nothing changes.

Source: k8s.io/kube-scheduler/framework (signers.go).
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from scheduler_core.api.objects import NodeSelectorTerm, Requirement
from scheduler_core.cluster.pod_info import PodInfo

Fragments = dict[str, Any]
"""Name -> value that msgspec can encode. Plugins that sign the same data use the same name."""

_ENCODE = msgspec.json.Encoder(order="sorted").encode


def signature(fragments: Fragments) -> bytes:
    """Return the bytes by which signatures are compared."""
    return _ENCODE(fragments)


def tolerations(pod: PodInfo) -> Fragments:
    return {"tolerations": sorted(pod.pod.spec.tolerations, key=lambda t: (t.key, t.value))}


def host_ports(pod: PodInfo) -> Fragments:
    spec = pod.pod.spec
    ports = {port.host_port for c in (*spec.containers, *spec.init_containers) for port in c.ports if port.host_port}
    return {"host ports": sorted(ports)}


def requests(pod: PodInfo) -> Fragments:
    return {"requests": {name: amount for name, amount in pod.requests.items() if amount}}


def volumes(pod: PodInfo) -> Fragments:
    """Return the volumes except config maps and secrets, which do not make any node better."""
    own = [v for v in pod.pod.spec.volumes if v.config_map is None and v.secret is None]
    return {"volumes": _sorted(msgspec.structs.replace(volume, name="") for volume in own)}


def node_affinity(pod: PodInfo) -> Fragments:
    spec = pod.pod.spec
    found: Any = None
    if spec.affinity is not None and spec.affinity.node_affinity is not None:
        affinity = spec.affinity.node_affinity
        required = affinity.required.node_selector_terms if affinity.required is not None else []
        preferred = _sorted((p.weight, _term(p.preference)) for p in affinity.preferred)
        found = (_sorted(map(_term, required)), preferred)
    return {"node affinity": found, "node selector": spec.node_selector}


def _term(term: NodeSelectorTerm) -> tuple[list[bytes], list[bytes]]:
    return _requirements(term.match_expressions), _requirements(term.match_fields)


def _requirements(found: Iterable[Requirement]) -> list[bytes]:
    return _sorted(msgspec.structs.replace(one, values=sorted(one.values)) for one in found)


def _sorted(values: Iterable[Any]) -> list[bytes]:
    return sorted(map(_ENCODE, values))
