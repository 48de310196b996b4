"""SySched: which profile a pod names, and what of the node's system calls it needs."""

from typing import Any

import pytest

from scheduler_core.plugins.contrib.sysched import named_by
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import Raw, node, pod


def profile(name: str, *calls: str, action: str = "SCMP_ACT_ALLOW") -> Raw:
    kind = {"apiVersion": "security-profiles-operator.x-k8s.io/v1beta1", "kind": "SeccompProfile"}
    meta = {"name": name, "namespace": "default"}
    return {**kind, "metadata": meta, "spec": {"syscalls": [{"names": list(calls), "action": action}]}}


def with_profile(made: Raw, name: str) -> Raw:
    path = {"type": "Localhost", "localhostProfile": f"operator/default/{name}.json"}
    made["spec"]["securityContext"] = {"seccompProfile": path, "runAsUser": 1}
    return made


def raw_scores(*objects: Raw) -> Any:
    plugins = {"score": {"enabled": [{"name": "SySched"}], "disabled": [{"name": "*"}]}}
    simulation = Simulation([node("n1"), node("n2"), *objects], config={"profiles": [{"plugins": plugins}]})
    (trace,) = simulation.run()
    return trace.scores["SySched"].raw.tolist(), trace.scores["SySched"].normalized.tolist()


def test_calls_that_pods_do_not_need_count() -> None:
    running = with_profile(pod("old", on="n1"), "a")
    running["status"] = {"phase": "Running"}
    profiles = [
        profile("a", "read", "write", "open"),
        profile("b", "read", "close"),
        profile("a2", "x", action="SCMP_ACT_ERRNO"),
    ]
    assert raw_scores(*profiles, running, with_profile(pod("new"), "b")) == ([2 + 1, 0], [0, 100])


def test_a_pod_without_a_profile_has_the_default_one_if_there_is_one() -> None:
    assert raw_scores(pod("new")) == ([(1 << 63) - 1] * 2, [100, 100])
    assert raw_scores(profile("all-syscalls", "read"), pod("new")) == ([0, 0], [100, 100])


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("localhost/operator/ns/web.json", "ns/web"),
        ("ns/a.b.json", "ns/a.b"),
        ("web", ""),
        ("/web", ""),
        ("ns/web", "ns/web"),
    ],
)
def test_the_last_two_parts_of_a_path_name_a_profile(path: str, key: str) -> None:
    assert named_by(path) == key
