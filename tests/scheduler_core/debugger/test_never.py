"""What is never suggested."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.debugger.mutations import read_changes
from scheduler_core.debugger.suggestions.never import forbidden
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import claim, node, pod

Raw = dict[str, Any]


def owned(name: str, owner: str, **spec: Any) -> Raw:
    made = pod(name, **spec)
    reference = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": owner, "uid": owner, "controller": True}
    made["metadata"]["ownerReferences"] = [reference]
    return made


def with_claim(made: Raw, name: str) -> Raw:
    made["spec"]["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": name}}]
    return made


def of_pod(**spec: Any) -> Raw:
    return {"patch": {"kind": "Pod", "namespace": "default", "name": "db-1", "patch": {"spec": spec}}}


def deletion(kind: str, name: str) -> Raw:
    return {"delete": {"kind": kind, "namespace": "default", "name": name}}


REQUESTS = {"cpu": "1", "example.com/gpu": "2"}
NO_GPU = [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]
OTHER_CLAIM = [{"name": "d", "persistentVolumeClaim": {"claimName": "others"}}]
SYSTEM_TAINT = [{"key": "node.kubernetes.io/unreachable", "operator": "Exists"}]
PVC = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "mine"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"skip": {"plugin": "NodeAffinity"}}, "leaves a plugin out"),
        ({"drain": "n"}, "deletes the pods of a node"),
        ({"untaint": {"node": "n", "key": "node.kubernetes.io/not-ready"}}, "removes a taint of a node"),
        (deletion("Pod", "db-0"), "deletes a pod of the same owner"),
        (deletion("Pod", "urgent"), "deletes a pod of a higher priority"),
        (deletion("Pod", "equal-0"), "deletes a pod that its controller creates again ahead of this one"),
        (deletion("PersistentVolumeClaim", "others"), "uses the claim of another workload"),
        (deletion("PersistentVolumeClaim", "unused"), "uses another claim"),
        ({"patch": {**PVC, "patch": {"spec": {"storageClassName": "x"}}}}, "changes a claim in place"),
        (of_pod(containers=NO_GPU), "requests no example.com/gpu"),
        (of_pod(volumes=None), "runs without a volume"),
        (of_pod(volumes=OTHER_CLAIM), "uses another claim"),
        (of_pod(tolerations=SYSTEM_TAINT), "tolerates taint node.kubernetes.io/unreachable of the system"),
        (of_pod(tolerations=[{"operator": "Exists"}]), "tolerates every taint"),
        ({"patch": {"kind": "Pod", "namespace": "default", "name": "low", "patch": {}}}, "changes another pod"),
        (deletion("Pod", "low"), ""),
        (of_pod(nodeSelector={"pool": "a"}), ""),
        ({"uncordon": "n"}, ""),
    ],
)
def test_harm_is_forbidden(change: Raw, reason: str) -> None:
    others = [pod("low", on="n", priority=-5), pod("urgent", on="n", priority=50), owned("equal-0", "equal", on="n")]
    user = with_claim(pod("user", on="n"), "others")
    waiting = with_claim(owned("db-1", "db", requests=REQUESTS), "mine")
    claims = [claim(name) for name in ("mine", "others", "unused")]
    objects = [node("n"), *others, user, owned("db-0", "db", on="n"), waiting, *claims]
    simulation = Simulation(objects, release="1.34")
    pods = [one for one in simulation.pending if one.name == "db-1"]
    assert forbidden(simulation.cluster, pods, read_changes([change]), "kubectl patch statefulset db") == reason


def test_other_fields_of_a_pod_are_not_changed_in_place() -> None:
    simulation = Simulation([node("n"), pod("db-1")], release="1.34")
    change = read_changes([of_pod(nodeSelector={"pool": "a"})])
    in_place = forbidden(simulation.cluster, simulation.pending, change, "kubectl patch pod/db-1 -p '{}'")
    assert in_place == "changes an immutable field in place"
    assert forbidden(simulation.cluster, simulation.pending, change, "kubectl get pod db-1 | kubectl replace") == ""
