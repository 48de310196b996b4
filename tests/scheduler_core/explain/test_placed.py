"""The sentence of a pod that was placed: what singled out its node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scheduler_core.api.objects import decode_all
from scheduler_core.api.plugin_args import UtilizationShapePoint
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain import Answer, explain
from scheduler_core.explain.scores import ScoreRules
from scheduler_core.framework.interface import ScorePlugin
from scheduler_core.framework.per_node import PerNode, per_node
from scheduler_core.framework.score_columns import Score
from scheduler_core.legacy.priorities import PRIORITIES, LeastRequestedPriority
from scheduler_core.plugins import PLUGINS
from scheduler_core.plugins.requested_to_capacity_ratio import RequestedToCapacityRatio, RequestedToCapacityRatioArgs
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import ZONE, node, pod

BUSY = pod("old", on="n2", requests={"cpu": "2"})
NEW = pod("new", requests={"cpu": "1"})


def placed(*objects: Any, **settings: Any) -> Answer:
    """Return the explanation of the cycle of the last pod."""
    simulation = Simulation(list(objects), pods=["default/new"], **{"tie_break": "name", **settings})
    (trace,) = simulation.run()
    (decoded,) = decode_all([objects[-1]])
    return explain(trace, simulation, PodInfo(decoded, simulation.cluster.release))


def with_args(plugin: str, **args: Any) -> dict[str, Any]:
    """Return a configuration with arguments of one plugin."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": plugin, "args": args}]}],
    }


def scored(chosen: int = 0, by: str = "by name", best: Any = None, **columns: list[int]) -> str:
    """Return the sentence of a cycle with these weighted scores of the nodes n0, n1, ..."""
    columns_of = {name: np.array(column, np.int64) for name, column in columns.items()}
    names = [f"n{row}" for row in range(len(next(iter(columns.values()))))]
    trace = CycleTrace("default/new", nodes=len(names), result="scheduled", node=f"n{chosen}", selected_row=chosen)
    trace.feasible = None
    trace.made_scores = {name: Score(1, column, column) for name, column in columns_of.items()}
    words = {name: f"the {name.lower()}est" for name in columns} if best is None else best
    return explain(trace, names=names, rules=ScoreRules(words, by)).sentence


def test_one_plugin_decides() -> None:
    answer = placed(node("n1"), node("n2"), BUSY, NEW)
    assert answer.duel is not None
    margin = answer.top[0].total - answer.top[1].total
    assert answer.duel.margin == margin == sum(d.difference for d in answer.duel.differences)
    assert answer.sentence == (
        f"Placed on n1, the emptiest of 2 nodes that fit, {margin} ahead of n2 (NodeResourcesFit {margin})."
    )
    assert answer.decision is not None
    assert answer.decision.plugins == ["NodeResourcesFit"]


def test_the_strategy_decides_about_the_words() -> None:
    most = with_args("NodeResourcesFit", scoringStrategy={"type": "MostAllocated"})
    answer = placed(node("n1"), node("n2"), BUSY, NEW, config=most)
    assert answer.node == "n2"
    assert answer.sentence.startswith("Placed on n2, the fullest of 2 nodes that fit, ")
    shape = [{"utilization": 0, "score": 0}, {"utilization": 50, "score": 10}, {"utilization": 100, "score": 0}]
    ratio = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}}
    answer = placed(node("n1"), node("n2"), BUSY, NEW, config=with_args("NodeResourcesFit", scoringStrategy=ratio))
    assert "the one with the preferred utilization among 2 nodes that fit" in answer.sentence


def test_two_plugins_decide() -> None:
    assert scored(Full=[9, 9, 1], Near=[5, 1, 5]) == (
        "Placed on n0, the nearest and the fullest of 3 nodes that fit, 4 ahead of n1 (Near 4)."
    )


def test_one_plugin_decides_among_the_best_of_another() -> None:
    """n2 is nearer than n0 but not full: among the full ones, n0 is the nearest."""
    assert scored(Full=[9, 9, 1], Near=[3, 1, 5]) == (
        "Placed on n0, the nearest of the 2 that Full scores highest among 3 nodes that fit, 2 ahead of n1 (Near 2)."
    )


def test_only_the_total_decides() -> None:
    assert scored(A=[5, 9, 1], B=[5, 0, 6]) == (
        "Placed on n0, the one with the highest total among 3 nodes that fit, 1 ahead of n1 (B 5, A -4)."
    )


def test_small_differences_are_summed_up() -> None:
    sentence = scored(A=[9, 1], B=[7, 1], C=[6, 1], D=[1, 3], E=[1, 2])
    assert sentence.endswith("16 ahead of n1 (A 8, B 6, C 5, 2 others -3).")


def test_a_plugin_without_words() -> None:
    assert scored(best={}, Rack=[5, 1]) == (
        "Placed on n0, the best for Rack among 2 nodes that fit, 4 ahead of n1 (Rack 4)."
    )


@pytest.mark.parametrize(
    ("by", "ending"),
    [
        ("by name", "equal with n1, decided by name."),
        ("by the run's seed", "equal with n1, decided by the run's seed."),
        ("", "equal with n1, one of which was picked."),
    ],
)
def test_ties_name_what_decides_them(by: str, ending: str) -> None:
    assert scored(by=by, Full=[5, 5, 1]) == f"Placed on n0, the fullest of 3 nodes that fit, {ending}"


def test_all_are_equal() -> None:
    answer = placed(node("n1"), node("n2"), node("n3"), NEW)
    assert answer.ties == ["n1", "n2", "n3"]
    assert answer.sentence == "Placed on n1, one of 3 nodes that fit, all with the same total, decided by name."


def test_nodes_that_were_not_looked_at_are_counted() -> None:
    sentence = placed(*(node(f"n{i:03}") for i in range(300)), NEW, percentage=0).sentence
    assert "one of 144 nodes that fit (144 of 300 were looked at), all with the same total" in sentence


def test_the_only_one_that_fits() -> None:
    answer = placed(node("n1"), node("n2", unschedulable=True), NEW)
    assert answer.sentence == "Placed on n1, the only one that fits: 1 is cordoned."
    assert answer.top == []


def test_the_nominated_node() -> None:
    new = pod("new")
    new["status"] = {"nominatedNodeName": "n2"}
    assert placed(node("n1"), node("n2"), new).sentence == (
        "Placed on n2, to which it was nominated: it fits there, so no other node was looked at."
    )


def test_a_change_of_a_fork_places_the_pod() -> None:
    for full, sentence in (
        (False, "Placed on n2, where a change of the fork places it; n1 has a higher total."),
        (True, "Placed on n2, where a change of the fork places it, although it does not fit."),
    ):
        simulation = Simulation([node("n1"), node("n2", unschedulable=full), BUSY, NEW], tie_break="name")
        simulation.scheduler.places["default/new"] = "n2"
        (trace,) = simulation.run()
        assert explain(trace, names=["n1", "n2"]).sentence == sentence


def test_words_of_preferences() -> None:
    avoided = node("n1", taints=(("a", "", "PreferNoSchedule"),))
    assert placed(avoided, node("n2"), NEW).sentence.startswith(
        "Placed on n2, the one with the fewest PreferNoSchedule taints that the pod does not tolerate among 2 nodes "
        "that fit, "
    )
    alike = {"matchLabels": {"app": "x"}}
    spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": alike}
    old = pod("old", on="n1", requests={"cpu": "0"}, labels={"app": "x"})
    new = pod("new", labels={"app": "x"}, topologySpreadConstraints=[spread])
    answer = placed(node("n1", zone="a"), node("n2", zone="b"), old, new)
    assert "the best for the pod's topology spread among 2 nodes that fit" in answer.sentence


def test_a_plugin_outside_the_tree_has_its_own_words() -> None:
    @per_node
    class Oldest(PerNode):
        name = "Oldest"
        best = "the oldest"

        def score_node(self, state: Any, pod: Any, node: Any) -> int:
            return 50 if node.name == "n2" else 0

    enabled = {"plugins": {"multiPoint": {"enabled": [{"name": "Oldest", "weight": 9}]}}}
    config = with_args("NodeResourcesFit") | {"profiles": [enabled]}
    answer = placed(node("n1"), node("n2"), NEW, config=config, registry={**PLUGINS, "Oldest": Oldest})
    assert answer.sentence == "Placed on n2, the oldest of 2 nodes that fit, 450 ahead of n1 (Oldest 450)."


@pytest.mark.parametrize("name", [*PLUGINS, *PRIORITIES])
def test_each_plugin_that_scores_has_words(name: str) -> None:
    plugin = {**PLUGINS, **PRIORITIES}[name]
    if not issubclass(plugin, ScorePlugin) or name in ("EqualPriority", "VolumeBinding"):  # equal scores for all nodes
        return
    own = plugin.describe_best.__func__ is not ScorePlugin.describe_best.__func__  # type: ignore[attr-defined]
    assert own or plugin.best.startswith("the ")


@pytest.mark.parametrize(
    ("scores", "best"),
    [((0, 10), "the fullest"), ((10, 0), "the emptiest"), ((0, 10, 0), "the one with the preferred utilization")],
)
def test_words_of_shapes(scores: tuple[int, ...], best: str) -> None:
    shape = tuple(UtilizationShapePoint(utilization=50 * i, score=score) for i, score in enumerate(scores))
    assert RequestedToCapacityRatio.describe_best(RequestedToCapacityRatioArgs(shape=shape)) == best
    assert LeastRequestedPriority.describe_best(None) == "the emptiest"
