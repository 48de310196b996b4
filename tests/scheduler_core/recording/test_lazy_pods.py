"""A pod that is decoded on demand equals the one that is decoded at once."""

from __future__ import annotations

import random
import zlib
from typing import Any

import msgspec
import pytest

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.recording.lazy_pods import StoredPod, unread
from scheduler_core.recording.recording import MOVES_PART, TABLES, Recording, encode
from scheduler_core.recording.restore import restore_run
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import node
from tests.scheduler_core.recording.core_states import Raw, cluster_state, first_params, params, simulation_of_case
from tests.scheduler_core.recording.recorded_runs import RecordedRun, maker, opening, played

OF_CLUSTERS = {"label_class", "node", "term_columns"}  # of the pod in a cluster, not of the pod
FIELDS = sorted(set(PodInfo.__slots__) - OF_CLUSTERS - {"pod", "release", "_terms"})


def rewound(kept: RecordedRun, recording: Recording, simulation: Simulation) -> Simulation:
    return restore_run(recording, kept.fetch, recording.end, maker(simulation), simulation.release)


def with_no_pod_plain(block: bytes) -> bytes:
    """Return the block with the column `plain` set to zero, so that every pod is decoded at once."""
    found: dict[str, Any] = msgspec.msgpack.decode(zlib.decompress(block))
    if found.get("pods"):
        column = list(TABLES["pods"]).index("plain")
        size, data = found["pods"][column]
        found["pods"][column] = (size, bytes(len(data)))
    return encode(found)


@pytest.mark.parametrize("case", first_params("v1.34", "v1.16")[::3])
def test_a_lazy_pod_equals_the_decoded_one(case: Raw) -> None:
    simulation = simulation_of_case(case)
    kept = played(simulation)
    later = rewound(kept, kept.recording, simulation)
    eager = rewound(kept, Recording(list(map(with_no_pod_plain, kept.part(MOVES_PART)))), simulation)
    assert not any(isinstance(pod, StoredPod) for pod in eager.cluster.pods.values())
    stored = [pod for pod in later.cluster.pods.values() if isinstance(pod, StoredPod)]
    assert all(map(unread, stored)), "the cluster is there without it"
    assert list(later.cluster.pods) == list(eager.cluster.pods)
    for key, pod in later.cluster.pods.items():
        other = eager.cluster.pods[key]
        for field in FIELDS:
            assert _same(getattr(pod, field)) == _same(getattr(other, field)), f"{key} {field}"
        assert msgspec.to_builtins(pod.pod) == msgspec.to_builtins(other.pod)
        assert [len(terms) for terms in pod.terms()] == [len(terms) for terms in other.terms()]
        assert not unread(pod)
    assert cluster_state(later) == cluster_state(eager)


def _same(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else value


def test_only_plain_pods_are_lazy() -> None:
    ports = [{"containerPort": 80, "hostPort": 80}]
    term = {"labelSelector": {}, "topologyKey": "zone"}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    specs: dict[str, Raw] = {
        "plain": {"containers": [{"resources": {"requests": {"cpu": "1"}}}], "volumes": [{"configMap": {}}]},
        "ports": {"containers": [{"ports": ports}]},
        "volume": {"containers": [{}], "volumes": [{"persistentVolumeClaim": {"claimName": "c"}}]},
        "terms": {"containers": [{}], "affinity": near},
    }
    pods = [{"kind": "Pod", "metadata": {"name": n}, "spec": s | {"nodeName": "n"}} for n, s in specs.items()]
    simulation = Simulation([node("n"), *pods])
    kept = opening(simulation)
    found = rewound(kept, kept.recording, simulation).cluster.pods
    assert {key: unread(pod) for key, pod in found.items()} == {f"default/{n}": n == "plain" for n in specs}
    assert not found["default/plain"].pod.spec.affinity
    assert not unread(found["default/plain"])
    with pytest.raises(AttributeError):
        _ = found["default/plain"].nothing  # type: ignore[attr-defined]


def all_pods(simulation: Simulation) -> list[tuple[str, str, str]]:
    """Return the pods that plugins list."""
    framework = next(iter(simulation.scheduler.profiles.values()))
    return sorted((pod.key, pod.node, pod.nominated_node) for pod in framework.list_pods())


@pytest.mark.parametrize("case", params("v1.34", kinds=("volumes", "preemption", "mixed"))[::2])
def test_pods_that_are_not_loaded_are_listed(case: Raw) -> None:
    """A restore that loads few of the waiting pods differs only in the pending pods."""
    simulation = simulation_of_case(case)
    kept, chance = played(simulation), random.Random(case["name"])
    run = kept.recording, kept.fetch, chance.randint(0, kept.recording.end), maker(simulation), simulation.release
    whole = restore_run(*run)
    few = {pod.key for pod in whole.pending if chance.random() < 0.3}
    restored, wanted = restore_run(*run, waiting=few), cluster_state(whole)
    wanted["pending"] = [pod for pod in wanted["pending"] if pod[0] in few or pod[1]]
    assert cluster_state(restored) == wanted
    assert all_pods(restored) == all_pods(whole)
