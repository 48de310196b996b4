"""Claims and devices in virtual time wake waiting pods."""

from tests.scheduler_core.dra.objects import allocation, claim, device, device_class, exactly, node, pod, resource_slice
from tests.scheduler_core.virtual_time_runs import PlayedScenario


def test_a_pod_waits_for_its_claim_then_for_a_slice() -> None:
    timeline = [
        {"at": 5, "create": claim("c", exactly())},
        {"at": 20, "create": resource_slice("s", device("a"), on="n")},
    ]
    played = PlayedScenario(node("n"), device_class(), pod("p", "c"), timeline=timeline, until=100)
    results = [(record.time, record.data["result"]) for record in played.records_of("attempt", "p")]
    assert results == [(5, "unschedulable"), (20, "scheduled")]


def test_a_removed_allocation_wakes_the_pod() -> None:
    lost = claim("c", exactly(), status=allocation("a", pool="n", on="gone"))
    played = PlayedScenario(
        node("n"), device_class(), resource_slice("s", device("a"), on="n"), lost, pod("p", "c"), until=100
    )
    results = [record.data["result"] for record in played.records_of("attempt", "p")]
    assert results == ["unschedulable", "scheduled"]
    assert "ResourceClaimUpdate" in [why for _, _, why in played.moves("p")]
