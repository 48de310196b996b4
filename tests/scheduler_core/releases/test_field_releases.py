"""Fields of pods and other objects count from the release in which API servers store them by default."""

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from scheduler_core.releases import FRAMEWORK, get_release
from scheduler_core.simulation import Simulation
from scheduler_core.snapshot.defaults import fill
from tests.scheduler_core.build import HOSTNAME, REQUIRED, Raw, claim, mounts, node, pod, volume

ORDER = sorted(FRAMEWORK, key=lambda name: int(name.split(".")[1]))
APP = {"matchLabels": {"app": "web"}}
WEB = {"app": "web", "revision": "2"}


class Case(NamedTuple):
    """A cluster whose last pod is decided otherwise with the field than without it, from release `since` on.

    `gate`: a feature gate that enables the field in the releases of `gated`, which do not have it by default.
    """

    objects: list[Raw]
    since: str
    gate: str = ""
    gated: tuple[str, ...] = ()


def spread(**fields: Any) -> Raw:
    constraint = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": APP}
    return {"topologySpreadConstraints": [constraint | fields]}


def apart(**fields: Any) -> Raw:
    term = {"topologyKey": HOSTNAME, "labelSelector": APP} | fields
    return {"affinity": {"podAntiAffinity": {REQUIRED: [term]}}}


def namespace(name: str, **labels: str) -> Raw:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


TAINTED = node("b", taints=(("k", "v", "NoSchedule"),))
OTHER = node("b", labels={"pool": "other"})
RUNNING = [pod("w", on="a", labels=WEB), pod("v", on="a", labels=WEB)]
OLD = [pod("w", on="a", labels={"app": "web", "revision": "1"})]
ONCE = [
    *(claim("c", volume="pv", accessModes=["ReadWriteOncePod"]), volume("pv", accessModes=["ReadWriteOncePod"])),
    pod("user", on="a", volumes=mounts("c")),
]
EPHEMERAL = {"ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "now"}}}, "name": "scratch"}
SIDECAR = {"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": "3"}}}
LOWER = pod("low", on="a", requests={"cpu": "4"}, priority=-1)

CASES: Mapping[str, Case] = {
    "topologySpreadConstraints": Case([node("a"), TAINTED, *RUNNING, pod("p", labels=WEB, **spread())], "1.18"),
    "minDomains": Case(
        [node("a"), pod("w", on="a", labels=WEB), pod("p", labels=WEB, **spread(minDomains=2))],
        *("1.27", "MinDomainsInPodTopologySpread", ("1.24", "1.25", "1.26")),
    ),
    "nodeTaintsPolicy": Case(
        [node("a"), TAINTED, pod("w", on="a", labels=WEB), pod("p", labels=WEB, **spread(nodeTaintsPolicy="Honor"))],
        *("1.26", "NodeInclusionPolicyInPodTopologySpread", ("1.25",)),
    ),
    "nodeAffinityPolicy": Case(
        [
            *(node("a", labels={"pool": "x"}), OTHER, pod("w", on="a", labels=WEB)),
            pod("p", labels=WEB, nodeSelector={"pool": "x"}, **spread(nodeAffinityPolicy="Ignore")),
        ],
        *("1.26", "NodeInclusionPolicyInPodTopologySpread", ("1.25",)),
    ),
    "matchLabelKeys of constraints": Case(
        [node("a"), TAINTED, *OLD, pod("p", labels=WEB, **spread(matchLabelKeys=["revision"]))],
        *("1.27", "MatchLabelKeysInPodTopologySpread", ("1.25", "1.26")),
    ),
    "matchLabelKeys of terms": Case(
        [node("a"), *OLD, pod("p", labels=WEB, **apart(matchLabelKeys=["revision"]))],
        *("1.31", "MatchLabelKeysInPodAffinity", ("1.29", "1.30")),
    ),
    "mismatchLabelKeys of terms": Case(
        [node("a"), *RUNNING, pod("p", labels=WEB, **apart(mismatchLabelKeys=["revision"]))],
        *("1.31", "MatchLabelKeysInPodAffinity", ("1.29", "1.30")),
    ),
    "namespaceSelector": Case(
        [
            *(node("a"), namespace("default"), namespace("other", team="x")),
            pod("w", on="a", namespace="other", labels=WEB),
            pod("p", labels=WEB, **apart(namespaceSelector={"matchLabels": {"team": "x"}})),
        ],
        "1.22",
    ),
    "schedulingGates": Case([node("a"), pod("p", schedulingGates=[{"name": "hold"}])], "1.27"),
    "overhead": Case([node("a"), pod("p", requests={"cpu": "3"}, overhead={"cpu": "2"})], "1.18"),
    "preemptionPolicy": Case([node("a"), LOWER, pod("p", requests={"cpu": "4"}, preemptionPolicy="Never")], "1.19"),
    "ReadWriteOncePod": Case([node("a"), *ONCE, pod("p", volumes=mounts("c"))], "1.27"),
    "ephemeral": Case([node("a"), pod("p", volumes=[EPHEMERAL])], "1.21", "GenericEphemeralVolume", ("1.19", "1.20")),
    "restartPolicy of init containers": Case(
        [node("a"), pod("p", requests={"cpu": "3"}, initContainers=[SIDECAR])], "1.28"
    ),
    "resources of the pod": Case(
        [node("a"), pod("p", resources={"requests": {"cpu": "8"}})], *("1.34", "PodLevelResources", ("1.32", "1.33"))
    ),
    "resourceClaims": Case([node("a"), pod("p", resourceClaims=[{"name": "r", "resourceClaimName": "ghost"}])], "1.34"),
    "allocatedResources": Case(
        [
            node("a"),
            pod(
                "w",
                on="a",
                requests={"cpu": "1"},
                status={"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "3"}}]},
            ),
            pod("p", requests={"cpu": "2"}),
        ],
        *("1.33",),
    ),
    "declaredFeatures": Case(
        [node("a"), pod("p", hostNetwork=True, hostUsers=False)], *("1.36", "NodeDeclaredFeatures", ("1.35",))
    ),
}


def without(obj: Raw, name: str) -> Raw:
    """Return a copy of an object without the fields of that name."""

    def left(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: left(item) for key, item in value.items() if key != name}
        if isinstance(value, list):
            return [left(item) for item in value if item != name]
        return value

    return {**obj, "spec": left(obj["spec"]), "status": left(obj.get("status", {}))} if "spec" in obj else obj


def decision(objects: list[Raw], release: str) -> tuple[Any, ...]:
    stored = copy.deepcopy(objects)  # as the API server of that release stores them
    for obj in stored:
        obj["metadata"].pop("uid", None)
        fill(obj, get_release(release))
    trace = list(Simulation(stored, release=release, tie_break="name").run())[-1]
    return trace.result, trace.node, trace.nominated_node


def counts(name: str, release: str) -> bool:
    """Return whether the field makes a difference in the release."""
    objects = CASES[name].objects
    field = name.split(" of ")[0] if name != "resources of the pod" else "resources"
    if field == "resources":
        bare = [*objects[:-1], {**objects[-1], "spec": {**objects[-1]["spec"], "resources": None}}]
    elif field == "declaredFeatures":
        declared = {**objects[0]["status"], "declaredFeatures": ["UserNamespacesHostNetworkSupport"]}
        bare = [{**objects[0], "status": declared}, *objects[1:]]
    else:
        bare = [without(obj, field) for obj in objects]
    return decision(objects, release) != decision(bare, release)


@pytest.mark.parametrize("name", CASES)
def test_a_field_counts_from_its_release_on(name: str) -> None:
    expected = {release: ORDER.index(release) >= ORDER.index(CASES[name].since) for release in ORDER}
    assert {release: counts(name, release) for release in ORDER} == expected


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.gate])
def test_a_gate_enables_a_field_earlier(name: str) -> None:
    case = CASES[name]
    assert all(counts(name, f"{release} {case.gate}=true") for release in case.gated)
