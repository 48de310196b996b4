"""Explanation of the outcome of a pod group and of its members."""

from typing import Any

import pytest

from scheduler_core.explain import explain
from scheduler_core.explain.groups import verdict
from scheduler_core.pod_groups.serialize import group_to_dict
from scheduler_core.pod_groups.trace import GroupTrace
from tests.scheduler_core.build import ZONE, node, pod
from tests.scheduler_core.pod_groups.test_groups import IN_ZONE, RELEASE, TOPOLOGY, WHOLE, group, members, run

NODES = [node("n1", cpu="4"), node("n2", cpu="2")]
DOMAINS = f"{RELEASE},TopologyAwareWorkloadScheduling=true"
LOW = pod("low", on="n1", requests={"cpu": "4"}, priority=1)


def serialized(objects: list[Any], release: str = RELEASE) -> dict[str, Any]:
    found = next(one for one in run(objects, release) if isinstance(one, GroupTrace))
    return group_to_dict(found)


FOURTH = "the fourth, g-3, lacks 2 cpu on every node"


@pytest.mark.parametrize(
    ("minimum", "number", "sentence"),
    [
        ([3], 3, "Gang default/g: all 3 fit. All are bound."),
        ([2], 2, "Gang default/g: both fit. All are bound."),
        ([], 1, "Group default/g: 1 of 1 fits. It is bound."),
        ([4], 4, f"Gang default/g: 3 of 4 fit; {FOURTH}. It takes 4. None is bound."),
        ([5], 6, f"Gang default/g: 3 of 6 fit; {FOURTH}, and 2 more do not fit either. It takes 5. None is bound."),
        ([], 4, f"Group default/g: 3 of 4 fit; {FOURTH}. 3 are bound, because it is a group without a minimum."),
    ],
)
def test_the_verdict(minimum: list[int], number: int, sentence: str) -> None:
    found = serialized([*NODES, group("g", *minimum), *members("g", number)])
    assert verdict(found, "lacks 2 cpu on every node") == sentence


def test_the_verdict_without_domains_and_with_victims() -> None:
    found = serialized([*NODES, group("g", 3, schedulingConstraints=IN_ZONE), *members("g", 3)], DOMAINS)
    lacks = "no node has the label topology.kubernetes.io/zone, which all its members must share"
    assert verdict(found) == f"Gang default/g: {lacks}. None is bound."
    found = serialized([node("n1", cpu="4"), LOW, group("g", 2, priority=5), *members("g", 2, priority=5)], WHOLE)
    assert verdict(found) == "Gang default/g: it fits once default/low is gone; until then its members wait."


def test_domains() -> None:
    zones = [node("a1", zone="a", cpu="2"), *(node(f"b{n}", zone="b", cpu="2") for n in (1, 2))]
    goes = serialized([*zones, group("g", 2, schedulingConstraints=IN_ZONE), *members("g", 2)], DOMAINS)
    assert verdict(goes).endswith(f"They are in {ZONE}=b, the only feasible one.")
    assert [(one["name"], one["placed"]) for one in goes["placements"]] == [("a", 1), ("b", 2)]
    stays = serialized([*zones, group("g", 3, schedulingConstraints=IN_ZONE), *members("g", 3)], DOMAINS)
    assert f"none of 2 domains of {ZONE} is feasible; in a 1 of 3 fit" in verdict(stays)


def test_waiting_members_are_named() -> None:
    held = members("g", 3)
    held[2]["spec"]["schedulingGates"] = [{"name": "wait"}]
    found = serialized([*NODES, group("g", 3), *held])
    assert verdict(found) == "Gang default/g: both fit. It takes 3; g-2 is gated. None is bound."
    assert found["held"]["default/g-2"]["plugin"] == "SchedulingGates"


def test_a_member_that_fits_has_the_outcome_of_its_group() -> None:
    (found,) = run([*NODES, group("g", 4), *members("g", 4)])
    first, *_, last = [explain(member.trace, names=["n1", "n2"]).sentence for member in found.members]
    assert first == "It fits on n1, but its group default/g is not scheduled as a whole, so it stays pending."
    assert last == "n1 and n2 lack cpu."


def test_nodes_outside_the_domain() -> None:
    zones = [node("a1", zone="a", cpu="4"), node("b1", zone="b", cpu="1")]
    (found,) = run([*zones, group("g", 2, schedulingConstraints=IN_ZONE), *members("g", 2)], TOPOLOGY)
    sentence = explain(found.members[0].trace, names=["a1", "b1"]).sentence
    assert sentence == "Placed on a1, the only one that fits: 1 is outside the domain that its group was tried in."
