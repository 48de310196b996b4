"""Queueing hints of pods that wait for claims or devices, in virtual time."""

from typing import Any

import msgspec

from scheduler_core.api.objects import decode
from scheduler_core.plugins.dynamic_resources import DynamicResources
from scheduler_core.simulation import Simulation
from tests.scheduler_core.dra.objects import allocation, claim, device, device_class, exactly, node, pod, resource_slice


def test_changes_of_claims() -> None:
    mine, other = claim("c", exactly()), claim("o", exactly(), status=allocation("a", pool="n"))
    objects = [
        node("n"),
        device_class(),
        resource_slice("s", device("a"), on="n"),
        mine,
        other,
        pod("p", "c"),
        pod("q", "gone"),
    ]
    simulation = Simulation(objects, release="1.34")
    plugin = DynamicResources(None, simulation.cluster)
    (registered,) = [one for one in plugin.events_to_register() if one.event.resource == "ResourceClaim"]
    waiting, incomplete = simulation.pending
    assert registered.hint is not None

    def wakes(who: Any, old: dict[str, Any] | None, new: dict[str, Any]) -> bool:
        assert registered.hint is not None
        return registered.hint(who, decode(old) if old else None, decode(new))

    free = claim("o", exactly())
    assert wakes(waiting, other, free)  # a device is free again
    assert not wakes(waiting, free, other)  # the claim of another pod
    assert wakes(waiting, None, mine)
    assert not wakes(waiting, mine, mine)
    assert wakes(waiting, mine, claim("c", exactly(), status=allocation("a", pool="n")))
    assert not wakes(incomplete, other, free)  # one of its own claims is still missing
    assert msgspec.json.encode(simulation.cluster.device_claims["default/c"].status) == b"{}"
