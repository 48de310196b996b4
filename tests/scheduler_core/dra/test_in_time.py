"""Claims and devices in a run over time: what is written wakes those who wait."""

from tests.scheduler_core.dra.made import claim, device, device_class, exactly, given, node, piece, pod
from tests.scheduler_core.timed import Played


def test_a_pod_waits_for_its_claim_then_for_a_slice() -> None:
    timeline = [{"at": 5, "create": claim("c", exactly())}, {"at": 20, "create": piece("s", device("a"), on="n")}]
    played = Played(node("n"), device_class(), pod("p", "c"), timeline=timeline, until=100)
    results = [(record.time, record.data["result"]) for record in played.of("attempt", "p")]
    assert results == [(5, "unschedulable"), (20, "scheduled")]


def test_an_allocation_that_is_taken_away_wakes_the_pod() -> None:
    lost = claim("c", exactly(), status=given("a", pool="n", on="gone"))
    played = Played(node("n"), device_class(), piece("s", device("a"), on="n"), lost, pod("p", "c"), until=100)
    results = [record.data["result"] for record in played.of("attempt", "p")]
    assert results == ["unschedulable", "scheduled"]
    assert "ResourceClaimUpdate" in [why for _, _, why in played.moves("p")]
