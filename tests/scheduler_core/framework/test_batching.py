"""Opportunistic batching: equal pods, and reuse of the next best node."""

from typing import Any

import pytest

from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import node, pod

Raw = dict[str, Any]
NO_SPREAD = {"name": "PodTopologySpread", "args": {"defaultingType": "List", "defaultConstraints": []}}
CONFIG: Raw = {
    "profiles": [{"schedulerName": name, "pluginConfig": [NO_SPREAD]} for name in ("default-scheduler", "other")]
}
NODES = [node("n1", cpu="3"), node("n2", cpu="4"), node("n3", cpu="2"), node("n4", cpu="1")]


def like(name: str, **more: Any) -> Raw:
    return pod(name, **{"requests": {"cpu": "2"}, **more})


def hints(*pods: Raw, release: str = "1.36", config: Raw | None = CONFIG) -> list[tuple[str, str]]:
    simulation = Simulation([*NODES, *pods], release=release, config=config, tie_break="name")
    return [(trace.batch_hint, trace.node) for trace in simulation.run()]


def test_equal_pods_use_the_feasible_nodes_of_the_first() -> None:
    scored = hints(like("a"), like("b"), like("c"), release="1.36 OpportunisticBatching=false")
    assert [hint for hint, _ in scored] == ["", "", ""]
    batched = hints(like("a"), like("b"), like("c"))
    assert [node for _, node in batched] == [node for _, node in scored]
    assert [bool(hint) for hint, _ in batched] == [False, False, True]  # n2 has capacity for two: it is scored twice


@pytest.mark.parametrize(
    "other",
    [
        {"requests": {"cpu": "1900m"}},
        {"labels": {"app": "b"}},
        {"image": "redis"},
        {"tolerations": [{"key": "k", "operator": "Exists"}]},
        {"nodeSelector": {"kubernetes.io/hostname": "n3"}},
        {"ports": ({"containerPort": 80, "hostPort": 80},)},
        {"volumes": [{"name": "v", "emptyDir": {}}]},
        {"volumes": [{"name": "v", "hostPath": {"path": "/data"}}]},
    ],
)
def test_different_pods_are_not_equal(other: Raw) -> None:
    full = [like("a"), like("b")]
    assert hints(*full, like("c"))[2][0]
    assert not hints(*full, like("c", **other))[2][0]


SPREAD = {"maxSkew": 9, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}


@pytest.mark.parametrize("more", [{"affinity": {"podAntiAffinity": {}}}, {"topologySpreadConstraints": [SPREAD]}])
def test_pods_that_depend_on_other_pods_have_no_signature(more: Raw) -> None:
    assert all(not hint for hint, _ in hints(*(like(name, **more) for name in "abc")))


def test_batching_is_off_with_default_spread_constraints() -> None:
    assert all(not hint for hint, _ in hints(*map(like, "abc"), config=None))


def test_volumes_of_a_pod_do_not_matter() -> None:
    volumes = [[{"name": "v", "configMap": {"name": name}}, {"name": "w", "secret": {}}] for name in "abc"]
    assert hints(*(like(name, volumes=of) for name, of in zip("abc", volumes, strict=True)))[2][0]


def test_the_stored_nodes_are_for_the_next_attempt_only() -> None:
    huge = pod("x", requests={"cpu": "64"})
    assert not hints(like("a"), like("b"), huge, like("c"))[3][0]
    elsewhere = pod("x", schedulerName="other", requests={"cpu": "100m"})
    assert not hints(like("a"), like("b"), elsewhere, like("c"))[3][0]


def test_a_gated_pod_is_no_attempt() -> None:
    held = pod("x", schedulingGates=[{"name": "wait"}])
    assert hints(like("a"), like("b"), held, like("c"))[3][0]


def test_1_34_has_no_batching() -> None:
    assert all(not hint for hint, _ in hints(*map(like, "abc"), release="1.34"))


@pytest.mark.parametrize(("release", "hinted"), [("1.36", ["", "n2", "n4", ""]), ("1.37", ["", "n2", "", ""])])
def test_a_nominated_pod_gets_no_hint_from_1_37_on(release: str, hinted: list[str]) -> None:
    """`c` is tried on its nominated node; until 1.36 batching nevertheless proposes a node for it."""
    nominated = like("c") | {"status": {"nominatedNodeName": "n3"}}
    small = [node("n1", cpu="2"), node("n2", cpu="2"), node("n3", cpu="2"), node("n4", cpu="2")]
    pods = [like("a"), like("b"), nominated, like("d")]
    simulation = Simulation([*small, *pods], release=release, config=CONFIG, tie_break="name")
    assert [trace.batch_hint for trace in simulation.run()] == hinted
