from typing import Any

import numpy as np
import pytest

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import CycleState, Int64, Rows
from scheduler_core.plugins import PLUGINS
from scheduler_core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import HOSTNAME, PREFERRED, ZONE, node, pod

NODES = 40


def attracted(name: str, key: str, weight: int) -> dict[str, Any]:
    side = "podAffinity" if weight > 0 else "podAntiAffinity"
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "a"}}}
    return pod(
        name, labels={"app": "a"}, affinity={side: {PREFERRED: [{"weight": abs(weight), "podAffinityTerm": term}]}}
    )


def scores(key: str, weight: int, release: str, registry: Any = PLUGINS) -> list[tuple[list[int], list[int]]]:
    """Return the raw and the normalized scores of each cycle."""
    nodes = [node(f"n{i}", zone=f"z{i % 3}", labels={"rack": f"r{i % 20}"}) for i in range(NODES)]
    nodes[1]["metadata"]["labels"]["some"] = nodes[2]["metadata"]["labels"]["some"] = "s"
    pods = [attracted(f"p{i}", key, weight) for i in range(12)]
    nodes.append(pod("first", on="n1", labels={"app": "a"}))
    simulation = Simulation([*nodes, *pods], release=release, percentage=100, registry=registry)
    traces = [trace.scores.get("InterPodAffinity") for trace in simulation.run()]
    return [(score.raw.tolist(), score.normalized.tolist()) for score in traces if score is not None]


@pytest.mark.parametrize("release", ["1.18", "1.36"])
@pytest.mark.parametrize("key", [ZONE, "rack", HOSTNAME, "some"])
@pytest.mark.parametrize("weight", [7, -7])
def test_scores_are_scaled_from_the_lowest_to_the_highest_node(key, weight, release):
    scored = scores(key, weight, release)
    assert any(len(set(raw)) > 1 for raw, _ in scored)
    for raw, normalized in scored:
        lowest, highest = min(raw), max(raw)
        if release == "1.18":  # nodes are compared with 0 as well
            lowest, highest = min(lowest, 0), max(highest, 0)
        span = float(highest - lowest)
        assert normalized == [int(100.0 * ((one - lowest) / span)) if span else 0 for one in raw]


class Opposite(InterPodAffinity):
    """A plugin outside the tree with other scores than the plugin that it extends."""

    def score(self, state: CycleState, pod: PodInfo, rows: Rows) -> Int64:
        return np.negative(super().score(state, pod, rows))


def test_other_scores_of_a_plugin_that_extends_it_are_scaled():
    for raw, normalized in scores(ZONE, 7, "1.36", {**PLUGINS, "InterPodAffinity": Opposite}):
        best = {name for name, one in enumerate(raw) if one == max(raw)}
        assert len(best) == NODES or best == {name for name, one in enumerate(normalized) if one == 100}
