"""Metrics of a cluster: cases computed by hand."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.metrics.catalog import METRICS, metric_of
from scheduler_core.metrics.cluster_metrics import cluster_metrics
from scheduler_core.metrics.distribution import figures, jain_index, percentile
from scheduler_core.metrics.fragmentation import gpu_fragmentation
from scheduler_core.metrics.node_resources import hole_filling, mean_request, stranded, typical_requests
from scheduler_core.metrics.skew import skews
from scheduler_core.metrics.waits import wait_metrics
from tests.scheduler_core.build import HOSTNAME, ZONE, node, pod
from tests.scheduler_core.build import cluster as cluster_of


def column(*values: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(values, np.int64)


def test_fullness_counts_a_share_below_0_as_empty() -> None:
    """In Go, milli-CPU beyond 64 bits wrap around: the pod requests -1000m."""
    made, _ = cluster_of(node("a", cpu=4), pod("p", on="a", requests={"cpu": 2**63 - 1}))
    found = cluster_metrics(made, [], {})
    assert found["metrics"]["requested_share:cpu:mean"] == -0.25
    assert found["fullness"]["cpu"][0] == 1


def test_figures_of_a_distribution() -> None:
    found = figures(np.array([0.2, 0.4, 0.6, 0.8]))
    # variance: (0.09 + 0.01 + 0.01 + 0.09) / 4 = 0.05; Jain: 2² / (4 * 1.2)
    assert found == {"mean": 0.5, "stddev": 0.223607, "min": 0.2, "max": 0.8, "jain": 0.833333}


def test_jain_is_1_for_equal_values_and_1_by_n_for_a_single_one() -> None:
    assert jain_index(np.array([3.0, 3.0, 3.0])) == jain_index(np.zeros(3)) == 1
    assert jain_index(np.array([0.0, 0.0, 0.0, 7.0])) == 0.25


@pytest.mark.parametrize(("percent", "expected"), [(50, 2), (95, 4), (99, 4), (25, 1), (26, 2), (0, 1), (100, 4)])
def test_percentiles_are_values_of_the_sample(percent: float, expected: float) -> None:
    assert percentile([1, 2, 3, 4], percent) == expected


def test_waits_of_each_priority() -> None:
    waits = [(0, float(second)) for second in range(100, 0, -1)] + [(1000, 7.0)]
    found = wait_metrics(waits)
    assert (found["wait:0:p50"], found["wait:0:p95"], found["wait:0:p99"]) == (50, 95, 99)
    assert found["wait:1000:p50"] == found["wait:1000:p99"] == 7
    assert found["wait:p50"] == 50  # 101 values: the 51st, as 7 occurs twice
    assert wait_metrics([]) == {}
    many = wait_metrics([(priority, 1.0) for priority in range(30)])
    assert len(many) == 3 * (20 + 1)


def test_typical_requests_cover_95_percent_of_the_pods() -> None:
    small, large, rare = {"cpu": 1}, {"cpu": 4, "memory": 0}, {"cpu": 9}
    assert typical_requests([small] * 60 + [large] * 36 + [rare] * 4) == [{"cpu": 1}, {"cpu": 4}]
    assert typical_requests([small] * 60 + [large] * 34 + [rare] * 6) == [{"cpu": 1}, {"cpu": 4}, {"cpu": 9}]
    assert typical_requests([]) == []


def test_the_mean_request_is_rounded_up() -> None:
    assert mean_request([{"cpu": 100}, {"cpu": 200}, {"cpu": 201, "memory": 1, "x": 0}]) == {"cpu": 167, "memory": 1}
    gpu = {"cpu": 100, "gpu": 2}
    assert mean_request([gpu, {"cpu": 100}, {"cpu": 100}]) == {"cpu": 100}  # most pods need no GPU
    assert mean_request([gpu, gpu, {"cpu": 100}]) == {"cpu": 100, "gpu": 2}
    assert mean_request([]) == {}


def test_a_resource_is_stranded_where_another_one_is_full() -> None:
    free = {
        "cpu": column(0, 1000, 300, 2000, 900),
        "memory": column(8, 8, 8, 1, 8),
        "pods": column(5, 5, 5, 5, 0),
    }
    # n0: no cpu, so its memory is stranded. n1: a pod fits. n2: too little cpu, and 8 of memory would suffice.
    # n3: too little memory, so its cpu is stranded. n4: no place for a pod.
    assert stranded(free, [{"cpu": 500, "memory": 4}]) == {"cpu": 2000 + 900, "memory": 8 + 8 + 8}
    # a pod that requests only cpu fits on n3
    assert stranded(free, [{"cpu": 500, "memory": 4}, {"cpu": 1500}]) == {"cpu": 900, "memory": 8 + 8 + 8}
    assert stranded(free, [{"cpu": 1, "gpu": 1}]) == {"cpu": 1000 + 300 + 2000 + 900}
    assert stranded({}, [{"cpu": 1}]) == stranded(free, []) == {}


def test_hole_filling_counts_whole_pods_of_each_node() -> None:
    free = {"cpu": column(2500, 900, 4000), "memory": column(10, 10, 3), "pods": column(9, 9, 2)}
    assert hole_filling(free, {"cpu": 1000, "memory": 2}) == 2 + 0 + 1
    assert hole_filling(free, {"cpu": 100}) == 9 + 9 + 2
    assert hole_filling(free, {"cpu": 100, "gpu": 1}) == 0
    assert hole_filling({"cpu": column(2500)}, {"cpu": 1000}) == 2


def test_gpu_fragmentation_of_whole_devices() -> None:
    free = {"cpu": column(500, 8000, 8000), "nvidia.com/gpu": column(4, 1, 2), "example.com/gpus": column(9, 9, 9)}
    pods = [{"cpu": 1000, "nvidia.com/gpu": 2}] * 3 + [{"cpu": 100}]
    # pods with 2 GPUs (3/4): n0 lacks cpu (4 lost), n1 has 1 (lost), n2 fits. Pods without GPUs (1/4): all 7 are lost.
    assert gpu_fragmentation(free, pods) == {"nvidia.com/gpu": 0.75 * 5 + 0.25 * 7}
    assert gpu_fragmentation({"cpu": column(1)}, pods) == {}


def test_gpu_fragmentation_in_thousandths() -> None:
    free = {"cpu": column(8000, 8000), "x/gpu-milli": column(2300, 0)}
    pods = [{"cpu": 1000, "x/gpu-milli": 500}]
    assert gpu_fragmentation(free, pods) == {"x/gpu-milli": 0.3}  # the device with 300 of 1000
    absurd = {"cpu": column(8000), "x/gpu": column(10**15)}
    assert gpu_fragmentation(absurd, [{"cpu": 10**9, "x/gpu": 1}]) == {"x/gpu": 64}


def spread_cluster() -> tuple[Cluster, dict[str, str]]:
    zones = {"n1": "a", "n2": "a", "n3": "b", "n4": "c", "n5": ""}
    nodes = [
        node(name, zone=zone, labels={"disk": "ssd"} if zone in ("a", "b") else {}) for name, zone in zones.items()
    ]
    pods = [pod(f"web-{i}", on=on) for i, on in enumerate(("n1", "n1", "n2", "n3", "n5"))]
    pods += [pod(f"ssd-{i}", on=on, nodeSelector={"disk": "ssd"}) for i, on in enumerate(("n1", "n2", "n3", "n4"))]
    pods += [pod("gone-0", on="n1", deleted=True), pod("gone-1", on="n1"), pod("one-0", on="n1"), pod("other", on="n1")]
    cluster, _ = cluster_of(*nodes, *pods)
    return cluster, {key: key.split("/")[1].split("-")[0] for key in cluster.pods if not key.endswith("other")}


def test_the_skew_is_the_count_minus_the_global_minimum() -> None:
    cluster, workload_of = spread_cluster()
    found = skews(cluster, [ZONE, HOSTNAME, "rack"], workload_of)
    # web: zones a 3, b 1, c 0; n5 has no zone. ssd: only zones a and b are allowed, 2 and 1; n4 does not count.
    assert found[ZONE] == {"web": 3, "ssd": 1}
    # web: n1 2, n4 0. ssd: 1 on each of the allowed nodes.
    assert found[HOSTNAME] == {"web": 2, "ssd": 0}
    assert set(found) == {ZONE, HOSTNAME}
    assert skews(cluster, [ZONE], {}) == {ZONE: {}}


def test_the_metrics_of_a_cluster() -> None:
    pods = [pod("a-0", on="n1", requests={"cpu": 1, "memory": "1Gi"}), pod("a-1", on="n1", requests={"cpu": 3})]
    cluster, _ = cluster_of(node("n1", zone="a", cpu=4), node("n2", zone="b", cpu=8), *pods)
    requests = [info.requests for info in cluster.pods.values()]
    found = cluster_metrics(cluster, requests, dict.fromkeys(cluster.pods, "a"))
    metrics = found["metrics"]
    assert (metrics["nodes"], metrics["nodes_used"]) == (2, 1)
    assert metrics["requested_share:cpu:mean"] == 0.5
    assert metrics["requested_share:cpu:stddev"] == 0.5
    assert metrics["requested_share:cpu:jain"] == 0.5
    assert metrics["requested_share:pods:max"] == round(2 / 110, 6)
    assert metrics[f"skew:{ZONE}:max"] == metrics[f"skew:{ZONE}:mean"] == 2
    assert metrics["stranded:memory"] == 7 * 2**30  # n1 has no cpu left
    assert found["unit"] == {"cpu": 2000, "memory": 2**29}
    assert metrics["hole_filling"] == 4  # n2: 8 / 2 of cpu
    assert found["fullness"]["cpu"] == [1, *[0] * 18, 1]
    assert found["skews"] == [["a", HOSTNAME, 2], ["a", ZONE, 2]]
    for name in metrics:
        assert "{" not in metric_of(name).title


def test_an_empty_cluster_has_metrics() -> None:
    cluster, _ = cluster_of()
    assert cluster_metrics(cluster, [], {})["metrics"] == {"nodes": 0, "nodes_used": 0}


def test_every_metric_is_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "experiments.md").read_text()
    assert [name for name in METRICS if f"`{name}`" not in text and f"`{name}:" not in text] == []


def test_which_values_of_a_metric_are_better() -> None:
    assert metric_of("placed").better == metric_of("requested_share:cpu:jain").better == "higher"
    assert metric_of("requested_share:cpu:stddev").better == metric_of("wait:100:p95").better == "lower"
    assert metric_of("requested_share:cpu:mean").better is None
    assert metric_of("wait:100:p95").title == "Wait, priority 100, p95"
    assert metric_of("wait:p95").title == "Wait, p95"
    assert metric_of("requested_share:cpu:stddev").title == "Requested share of cpu, standard deviation"
    assert metric_of("requested_share:memory:jain").title == "Requested share of memory, Jain's fairness index"
    assert metric_of("skew:zone:max").title == "Skew over zone, maximum"
    with pytest.raises(KeyError):
        metric_of("unknown")
    assert all(metric.better in ("higher", "lower", None) for metric in METRICS.values())


# ---- straightforward versions, on random clusters


def random_free(chance: random.Random) -> dict[str, list[int]]:
    size = chance.randint(1, 6)
    names = chance.sample(["cpu", "memory", "pods", "x/gpu"], chance.randint(1, 4))
    return {name: [chance.choice([0, 1, 2, 3, 5, 8]) for _ in range(size)] for name in names}


def random_pods(chance: random.Random) -> list[dict[str, int]]:
    def one() -> dict[str, int]:
        named = chance.sample(["cpu", "memory", "x/gpu"], chance.randint(1, 3))
        return {name: chance.choice([0, 1, 1, 2, 4]) for name in named}

    return [one() for _ in range(chance.randint(1, 25))]


def fits(free: dict[str, list[int]], row: int, pod: dict[str, int], but: str = "") -> bool:
    wanted = {"pods": 1, **pod} if "pods" in free else pod
    return all(amount <= free.get(name, [0] * 9)[row] for name, amount in wanted.items() if amount and name != but)


def straightforward_typical(pods: list[dict[str, int]]) -> list[tuple[dict[str, int], int]]:
    shapes = [tuple(sorted((name, amount) for name, amount in pod.items() if amount)) for pod in pods]
    ranked = sorted(set(shapes), key=lambda shape: (-shapes.count(shape), shape))
    chosen: list[tuple[dict[str, int], int]] = []
    for shape in ranked:
        if sum(number for _, number in chosen) >= 0.95 * len(pods):
            break
        chosen.append((dict(shape), shapes.count(shape)))
    return chosen


def straightforward_stranded(free: dict[str, list[int]], pods: list[dict[str, int]]) -> dict[str, int]:
    typical = [pod for pod, _ in straightforward_typical(pods)]
    found = {}
    for name in free:
        users = [pod for pod in typical if pod.get(name)]
        if name == "pods" or not users:
            continue
        found[name] = 0
        for row, amount in enumerate(free[name]):
            blocked = not any(fits(free, row, pod) for pod in typical)
            if blocked and any(pod[name] <= amount for pod in users):
                found[name] += amount
    return found


def straightforward_holes(free: dict[str, list[int]], unit: dict[str, int]) -> int:
    total = 0
    for row in range(len(next(iter(free.values())))):
        left = {name: column[row] for name, column in free.items()}
        while all(left.get(name, 0) >= amount for name, amount in unit.items()) and left.get("pods", 1) > 0:
            total += 1
            left = {name: amount - (1 if name == "pods" else unit.get(name, 0)) for name, amount in left.items()}
    return total


def straightforward_fragmentation(free: dict[str, list[int]], pods: list[dict[str, int]]) -> float:
    shapes = [(pod.get("cpu", 0), pod.get("x/gpu", 0)) for pod in pods]
    ranked = sorted(set(shapes), key=lambda s: (shapes.count(s), s[0], s[1], 1000 * (s[1] > 0)), reverse=True)
    chosen: list[tuple[int, int]] = []
    for shape in ranked:
        if sum(map(shapes.count, chosen)) >= 0.95 * len(shapes):
            break
        chosen.append(shape)
    total = 0.0
    for row, idle in enumerate(free["x/gpu"]):
        cpu_left = free["cpu"][row] if "cpu" in free else 0
        for cpu, gpus in chosen:
            if gpus == 0 or cpu > cpu_left or gpus > idle:  # else no device is too small for it
                total += idle * shapes.count((cpu, gpus)) / sum(map(shapes.count, chosen))
    return total


@pytest.mark.parametrize("start", [0, pytest.param(60, marks=pytest.mark.long)])
def test_straightforward_versions_agree(start: int) -> None:
    for seed in range(start, start + (60 if start == 0 else 1000)):
        chance = random.Random(seed)
        free, pods = random_free(chance), random_pods(chance)
        columns = {name: column(*values) for name, values in free.items()}
        assert typical_requests(pods) == [pod for pod, _ in straightforward_typical(pods)], seed
        assert stranded(columns, typical_requests(pods)) == straightforward_stranded(free, pods), seed
        unit = {name: amount for name, amount in pods[0].items() if amount}
        if unit:
            assert hole_filling(columns, unit) == straightforward_holes(free, unit), seed
        if "x/gpu" in free:
            found = gpu_fragmentation(columns, pods)["x/gpu"]
            assert found == pytest.approx(straightforward_fragmentation(free, pods), abs=1e-5), seed


def test_a_straightforward_skew_agrees() -> None:
    for seed in range(60):
        chance = random.Random(seed)
        zones = [chance.choice(["a", "b", "c", ""]) for _ in range(6)]
        disks = [chance.choice(["ssd", "hdd"]) for _ in zones]
        nodes = [node(f"n{i}", zone=zones[i], labels={"disk": disks[i]}) for i in range(6)]
        placed = [(f"p{i}", chance.randrange(6), chance.choice("xyz")) for i in range(chance.randint(0, 14))]
        selector = {"x": {}, "y": {"nodeSelector": {"disk": "ssd"}}, "z": {}}
        cluster, _ = cluster_of(*nodes, *(pod(name, on=f"n{row}", **selector[of]) for name, row, of in placed))
        expected = {}
        for of in "xyz":
            rows = [row for _, row, its in placed if its == of]
            allowed = [row for row in range(6) if of != "y" or disks[row] == "ssd"]
            counts = {zones[row]: 0 for row in allowed if zones[row]}
            for row in rows:
                if row in allowed and zones[row]:
                    counts[zones[row]] += 1
            if len(rows) > 1:
                expected[of] = max(counts.values(), default=0) - min(counts.values(), default=0)
        found = skews(cluster, [ZONE], {f"default/{name}": of for name, _, of in placed})
        assert found.get(ZONE, dict.fromkeys(expected, 0)) == expected, seed
