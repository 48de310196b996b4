"""VolumeBinding scores nodes by storage, from 1.37 on or with the gate StorageCapacityScoring.

Expected scores follow upstream's volume_binding.go (Score) and scorer.go; the conformance cases are in
tests/golden/areas-1.37/capacityscoring.
"""

from typing import Any

import pytest

from scheduler_core.errors import InputError
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import HOSTNAME, Raw, claim, mounts, node, pod, volume

CSI, GATE = "csi.example.com", "StorageCapacityScoring"
DRIVER = {"kind": "CSIDriver", "metadata": {"name": CSI}, "spec": {"storageCapacity": True}}
NODES = [node("a"), node("b")]


def late(name: str, provisioner: str = CSI) -> Raw:
    mode = "WaitForFirstConsumer"
    return {"kind": "StorageClass", "metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode}


def offers(cls: str, on: str, **amounts: str) -> Raw:
    metadata = {"name": f"{cls}-{on}-{'-'.join(amounts.values()).lower()}", "namespace": "kube-system"}
    topology = {"matchLabels": {HOSTNAME: on}}
    return {
        "kind": "CSIStorageCapacity",
        "metadata": metadata,
        "storageClassName": cls,
        "nodeTopology": topology,
    } | amounts


def scores(*objects: Raw, release: str = "1.37", shape: Any = None, claims: tuple[str, ...] = ("c",)) -> Any:
    """Return node -> the raw score of VolumeBinding; the skipped Score plugins, or the error of the cycle."""
    config = None
    if shape is not None:
        args = {"name": "VolumeBinding", "args": {"shape": shape}}
        config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        config["profiles"] = [{"pluginConfig": [args]}]
    simulation = Simulation([*NODES, *objects, pod("p", volumes=mounts(*claims))], release=release, config=config)
    trace = next(simulation.run())
    if trace.error or "VolumeBinding" not in trace.scores:
        return trace.error or trace.skipped_score
    rows = trace.feasible_rows().tolist()
    return {
        simulation.nodes[row]: score
        for row, score in zip(rows, trace.scores["VolumeBinding"].raw.tolist(), strict=True)
    }


DYNAMIC = [DRIVER, late("fast"), offers("fast", "a", capacity="20Gi"), offers("fast", "b", capacity="100Gi")]


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("1.37", {"a": 50, "b": 90}),
        (f"1.36 {GATE}=true", {"a": 50, "b": 90}),
        (f"1.33 {GATE}=true", {"a": 50, "b": 90}),
    ],
)
def test_much_free_storage_wins(release: str, expected: dict[str, int]) -> None:
    assert scores(*DYNAMIC, claim("c", "fast", size="10Gi"), release=release) == expected


def test_older_releases_skip_it() -> None:
    assert "VolumeBinding" in scores(*DYNAMIC, claim("c", "fast"), release="1.36")


def test_a_pod_without_claims_scores_0() -> None:
    assert scores(claims=()) == {"a": 0, "b": 0}


def test_the_own_shape_decides() -> None:
    packs = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    assert scores(*DYNAMIC, claim("c", "fast"), shape=packs) == {"a": 50, "b": 10}


@pytest.mark.parametrize(
    ("shape", "release", "problem"),
    [
        ([{"utilization": 0, "score": 11}], "1.37", r"args.shape\[0\].score: must be in 0..10, got 11"),
        (
            [{"utilization": 0, "score": 1}],
            "1.36",
            "args.shape: unexpected: remove it or turn on the feature gate Stor",
        ),
    ],
)
def test_invalid_shapes_are_rejected(shape: list[Raw], release: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        scores(*DYNAMIC, claim("c", "fast"), shape=shape, release=release)


def test_claims_of_one_class_are_added_and_classes_averaged() -> None:
    """a: fast 15 of 20 (25), slow 10 of 40 (75); b: fast 15 of 100 (85), slow 10 of 11 (10): 47.5 is rounded up."""
    slow = [late("slow"), offers("slow", "a", capacity="40Gi"), offers("slow", "b", capacity="11Gi")]
    requested = [claim("c", "fast"), claim("d", "fast", size="5Gi"), claim("e", "slow")]
    assert scores(*DYNAMIC, *slow, *requested, claims=("c", "d", "e")) == {"a": 50, "b": 48}


def test_a_found_volume_counts_instead_of_storage_to_provision() -> None:
    """On a the pod gets a volume of 40Gi, and the other claim does not count; on b both are provisioned."""
    local = volume("pv", "fast", "40Gi", at={HOSTNAME: ["a"]})
    requested = [claim("c", "fast", size="20Gi"), claim("d", "fast", size="10Gi")]
    assert scores(*DYNAMIC, local, *requested, claims=("c", "d")) == {"a": 75, "b": 70}


def test_a_driver_without_capacities_scores_0() -> None:
    assert scores(late("fast"), claim("c", "fast")) == {"a": 0, "b": 0}


def test_no_capacity_is_full_utilization() -> None:
    empty = [offers("fast", name, capacity="0", maximumVolumeSize="99Gi") for name in "ab"]
    assert scores(DRIVER, late("fast"), *empty, claim("c", "fast")) == {"a": 0, "b": 0}


@pytest.mark.parametrize(
    ("objects", "problem"),
    [
        (
            [offers("fast", "a", maximumVolumeSize="20Gi"), offers("fast", "b", capacity="9Ti"), claim("c", "fast")],
            "a CSIStorageCapacity of class fast has a maximumVolumeSize and no capacity: kube-scheduler panics",
        ),
        (
            [*DYNAMIC[2:], claim("c", annotations={"volume.beta.kubernetes.io/storage-class": "fast"})],
            "claim default/c has no spec.storageClassName: kube-scheduler panics",
        ),
    ],
)
def test_where_upstream_panics_the_cycle_is_an_error(objects: list[Raw], problem: str) -> None:
    assert problem in scores(DRIVER, late("fast"), *objects)
