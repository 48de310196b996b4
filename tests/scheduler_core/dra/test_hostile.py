"""Invalid claims, slices, classes and expressions give an error or a result."""

import copy
import random
from typing import Any

import pytest

from scheduler_core.errors import InputError
from tests.examples import examples
from tests.scheduler_core.dra.objects import (
    allocation,
    claim,
    cycles,
    device,
    device_class,
    everything,
    exactly,
    node,
    pod,
    resource_slice,
)

pytestmark = pytest.mark.slow

WRONG: list[Any] = [
    *(None, "", "x", 0, -1, 1 << 70, 1.5, True, [], {}, [{}], [None], {"a": {}}, "1e400", "\x00", "é" * 300),
    *("All", "device.driver", "[1,2,3].map(x, [x, x])", "'a'.matches('(a*)*b')", {"cel": {"expression": "(" * 500}}),
]


def cluster() -> list[dict[str, Any]]:
    shared = device("s", model="x", memory="4Gi", allowMultipleAllocations=True)
    shared["capacity"]["memory"]["requestPolicy"] = {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}
    part = device("p", root="1", consumesCounters=[{"counterSet": "c", "counters": {"m": {"value": "1"}}}])
    tainted = device("t", index=3, taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])
    constraint = {"matchAttribute": "gpu.example.com/model", "requests": ["r0"]}
    tolerant = exactly(1, 'device.attributes["gpu.example.com"].index < 4', tolerations=[{"key": "k", "value": "v"}])
    listed = [everything(), exactly(1, capacity={"requests": {"memory": "1Gi"}})]
    return [
        node("n"),
        device_class("gpu", 'device.driver == "gpu.example.com"', extendedResourceName="example.com/gpu"),
        resource_slice("a", device("a", model="x"), device("b", model="x"), tainted, on="n", pool="one"),
        resource_slice("b", part, on="n", pool="two", count=2),
        resource_slice(
            "c", on="n", pool="two", count=2, sharedCounters=[{"name": "c", "counters": {"m": {"value": "2"}}}]
        ),
        resource_slice("d", shared, pool="net", allNodes=True),
        claim("one", exactly(2), tolerant, constraints=[constraint]),
        claim("two", listed),
        claim("used", exactly(), status=allocation("a", pool="one", to="z", on="n")),
        pod("p", "one"),
        pod("q", "two", "used"),
    ]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += places(inner, (*path, key))
    return found


def mutated(number: int) -> tuple[list[dict[str, Any]], str]:
    """Replace, remove or double one to three fields of the cluster. Return it with a description."""
    chance, objects = random.Random(number), copy.deepcopy(cluster())
    done = []
    for _ in range(chance.choice((1, 1, 2, 3))):
        index = chance.randrange(1, len(objects))
        spots = [path for path in places(objects[index]) if path[0] not in ("kind", "apiVersion")]
        path = chance.choice(spots)
        holder: Any = objects[index]
        for step in path[:-1]:
            holder = holder[step]
        how = chance.choice(("replace", "replace", "replace", "remove", "double"))
        if how == "remove":
            del holder[path[-1]]
        elif how == "double" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[path[-1]]))
        else:
            holder[path[-1]] = copy.deepcopy(chance.choice(WRONG))
        done.append(f"{how} {objects[index].get('kind')} {path}")
    return objects, "; ".join(done)


@pytest.mark.generated
@pytest.mark.parametrize("release", ["1.34", "1.36"])
def test_five_hundred_mutated_clusters(release: str) -> None:
    answered = refused = 0
    for number in range(examples(250)):
        objects, done = mutated(number)
        try:
            cycles(*objects, release=release, pods=("p", "q"))
            answered += 1
        except InputError as error:
            refused += bool(error.where)
        except Exception as error:
            pytest.fail(f"{number}: {done}: {type(error).__name__}: {error}")
    assert answered >= examples(20)
    assert refused >= examples(30)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            resource_slice("s", *[device(f"d{i}") for i in range(129)], on="n"),
            "ResourceSlice s: spec.devices: has 129 entries",
        ),
        (
            resource_slice("s", device("d", index=1 << 63), on="n"),
            "ResourceSlice s: spec.devices[0].attributes['index'].int",
        ),
        (
            resource_slice("s", device("d", memory="lots"), on="n"),
            "ResourceSlice s: spec.devices[0].capacity['memory'].value",
        ),
        (claim("c", exactly(-1)), "ResourceClaim default/c: spec.devices.requests[0].exactly.count"),
        (claim("c", exactly(1, "")), "ResourceClaim default/c: spec.devices.requests[0].exactly.selectors[0]"),
        (claim("c", exactly(1, "x" * 20_000)), "is longer than 10,240 characters"),
        (claim("c", exactly(cls="")), "exactly.deviceClassName: is missing"),
        (claim("c", *[exactly()] * 33), "spec.devices.requests: has 33 entries; at most 32 are allowed"),
        (device_class("gpu", "x" * 20_000), "DeviceClass gpu: spec.selectors[0].cel.expression"),
    ],
)
def test_objects_that_an_api_server_rejects(broken: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        cycles(node("n"), broken)
    assert message in str(error.value)


@pytest.mark.long
def test_an_endless_search_is_stopped() -> None:
    """Thirty equal devices, thirty-two requested: too many combinations fail."""
    devices = [device(f"d{i:02}", root=str(i // 30)) for i in range(60)]
    endless = claim("c", exactly(10), exactly(22), constraints=[{"matchAttribute": "gpu.example.com/root"}])
    objects = (node("n"), device_class(), resource_slice("s", *devices, on="n"), endless, pod("p", "c"))
    (found,) = cycles(*objects)
    assert found["filter"]["n"]["reasons"] == ["timed out trying to allocate devices"]


def test_v1beta1_objects() -> None:
    flat = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    old_claim = claim("c", exactly())
    old_claim["apiVersion"] = "resource.k8s.io/v1beta1"
    old_claim["spec"]["devices"]["requests"] = [{"name": "r0", **flat}]
    old_slice = resource_slice("s", on="n")
    old_slice["apiVersion"] = "resource.k8s.io/v1beta1"
    old_slice["spec"]["devices"] = [{"name": "a", "basic": {"attributes": {"model": {"string": "x"}}}}]
    chosen = device_class("gpu", 'device.attributes["gpu.example.com"].model == "x"')
    (found,) = cycles(node("n"), chosen, old_slice, old_claim, pod("p", "c"))
    assert found["selected"] == "n"
