"""NodeDeclaredFeatures: which features a pod needs, which nodes have them, what wakes it."""

from typing import Any

import pytest

from scheduler_core.errors import InputError
from scheduler_core.framework.interface import UNRESOLVABLE
from scheduler_core.simulation import Simulation

USERS, RESTART = "UserNamespacesHostNetworkSupport", "RestartAllContainersOnContainerExits"
RULES = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]
POD = {"kind": "Pod", "metadata": {"name": "p", "namespace": "default"}}


def node(name: str, *features: str) -> dict[str, Any]:
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}, "declaredFeatures": list(features)}
    return {"kind": "Node", "metadata": {"name": name}, "status": status}


NODES = [node("none"), node("users", USERS), node("both", RESTART, USERS)]


def tried(spec: dict[str, Any], release: str = "1.36", **run: Any) -> Any:
    containers = [{"name": "c"}]
    pod = {**POD, "spec": {"containers": containers, **spec}}
    return next(Simulation([*NODES, pod], release=release, tie_break="name", **run).run())


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        ({"hostNetwork": True, "hostUsers": False}, {"users", "both"}),
        ({"containers": [{"name": "c", "restartPolicyRules": RULES}]}, {"both"}),
        ({"initContainers": [{"name": "i", "restartPolicyRules": RULES}]}, {"both"}),
    ],
)
def test_a_node_must_declare_what_the_pod_needs(spec: dict[str, Any], fits: set[str]) -> None:
    trace = tried(spec)
    verdict = trace.verdicts["NodeDeclaredFeatures"]
    names = ["none", "users", "both"]
    assert {name for row, name in enumerate(names) if verdict.at(row) is None} == fits
    refused = verdict.at(0)
    assert (refused.code, refused.reasons) == (UNRESOLVABLE, ("node(s) didn't match Pod's required features",))


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"hostNetwork": True},
        {"hostUsers": False},
        {"hostNetwork": True, "hostUsers": True},
        {"containers": [{"name": "c", "restartPolicyRules": [{"action": "Restart"}]}]},
    ],
)
def test_pods_that_need_nothing_are_skipped(spec: dict[str, Any]) -> None:
    assert "NodeDeclaredFeatures" in tried(spec).skipped_filter


def test_in_135_it_is_off_and_in_134_it_does_not_exist() -> None:
    spec = {"hostNetwork": True, "hostUsers": False}
    config = {"profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "NodeDeclaredFeatures"}]}}}]}
    assert "NodeDeclaredFeatures" in tried(spec, "1.35", config=config).skipped_filter
    assert len(tried(spec, "1.35").feasible_rows()) == 3
    with pytest.raises(InputError, match=r"NodeDeclaredFeatures.*1\.35 and newer"):
        tried(spec, "1.34", config=config)
