"""Score plugins that 1.24 to 1.28 load several times, because a profile enables them again at score."""

from typing import Any

import pytest

from scheduler_core.api.profile import Repeated
from scheduler_core.config.loader import load
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import PREFERRED, Raw, node, pod

NAMES = ["NodeResourcesBalancedAllocation", "TaintToleration", "NodeResourcesFit", "ImageLocality", "NodeAffinity"]
FAST = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["fast"]}]}


def config(*weights: tuple[str, int], version: str = "v1beta3") -> dict[str, Any]:
    enabled = [{"name": name, "weight": weight} for name, weight in weights]
    return {
        "apiVersion": f"kubescheduler.config.k8s.io/{version}",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "plugins": {"score": {"enabled": enabled}}}],
    }


THREE = [("NodeResourcesBalancedAllocation", 1), ("TaintToleration", 1), ("NodeResourcesFit", 4)]


@pytest.mark.parametrize(
    ("count", "repeated"),
    [
        (1, {}),
        (2, {}),
        (3, {"NodeResourcesFit": Repeated(2, 3)}),  # A, C, C, B
        (4, {"ImageLocality": Repeated(2, 3)}),  # A, C, D, D, B
        (5, {"NodeAffinity": Repeated(3, 3)}),  # A, C, E, E, E, B, D
    ],
)
@pytest.mark.parametrize("release", ["1.24", "1.25", "1.26", "1.27", "1.28"])
def test_how_often_a_plugin_is_loaded(release: str, count: int, repeated: dict[str, Repeated]) -> None:
    """As the loop of expandMultiPointPlugins does in Go."""
    made = load(config(*((name, 3) for name in NAMES[:count])), get_release(release))
    profile = made.profiles[0]
    assert profile.repeated == repeated
    assert len(made.warnings) == len(repeated)
    for name, weight in profile.plugins["score"]:
        if name in NAMES[:count]:
            times = repeated[name].times if name in repeated else 1
            assert weight == (3**times if release in ("1.24", "1.25") else 3 * times)


@pytest.mark.parametrize(("release", "version"), [("1.23", "v1beta3"), ("1.24", "v1beta2"), ("1.29", "v1")])
def test_other_releases_and_versions_load_each_plugin_once(release: str, version: str) -> None:
    made = load(config(*THREE, version=version), get_release(release))
    assert not made.profiles[0].repeated
    assert not made.warnings


@pytest.mark.parametrize(("disabled", "repeats"), [("*", False), ("TaintToleration", True)])
def test_disabled_plugins_are_no_overrides(disabled: str, repeats: bool) -> None:
    """A, X, C: after A is deleted, C is at the second position as well as at the third."""
    changed = config(*THREE)
    changed["profiles"][0]["plugins"]["score"]["disabled"] = [{"name": disabled}]
    assert bool(load(changed, get_release("1.28")).profiles[0].repeated) == repeats


def cluster() -> list[Raw]:
    busy = pod("busy", on="n1", requests={"cpu": "4", "memory": "8Gi"}, image="img")
    prefers = {"nodeAffinity": {PREFERRED: [{"weight": 10, "preference": FAST}]}}
    nodes = [
        node("n1", cpu="8", memory="16Gi", labels={"disk": "fast"}, images={"img:latest": 900_000_000}),
        node("n2", cpu="8", memory="16Gi"),
    ]
    return [*nodes, busy, pod("p", requests={"cpu": "1", "memory": "2Gi"}, image="img", affinity=prefers)]


def cycle(release: str, *weights: tuple[str, int], objects: list[Raw] | None = None) -> CycleTrace:
    version = "v1beta3" if release < "1.29" else "v1"
    run = Simulation(objects or cluster(), release=release, config=config(*weights, version=version), tie_break="name")
    return list(run.run())[-1]


@pytest.mark.parametrize(
    ("release", "chosen", "totals"),
    [("1.26", "n2", {1096, 937}), ("1.27", "n2", {1096, 937}), ("1.28", "n2", {896, 737}), ("1.29", "n1", {589, 548})],
)
def test_the_score_counts_once_for_each_time(release: str, chosen: str, totals: set[int]) -> None:
    """Values of kube-scheduler 1.27.1, 1.28.3 and 1.29.1."""
    trace = cycle(release, *THREE)
    assert trace.node == chosen
    assert set(trace.total().tolist()) == totals


@pytest.mark.parametrize("release", ["1.24", "1.25"])
def test_a_score_that_is_weighed_twice_is_invalid(release: str) -> None:
    trace = cycle(release, *THREE)
    assert trace.result == "error"
    assert trace.error == (
        'applying score defaultWeights on Score plugins: plugin "NodeResourcesFit" returns an invalid score 148, '
        "it should in the range of [0, 100] after normalizing"
    )
    alone = [one for one in cluster() if one["metadata"]["name"] != "n2"]
    assert cycle(release, *THREE, objects=alone).node == "n1"  # one feasible node is not scored
    assert not cycle(release, *THREE[:2], ("NodeResourcesFit", 1)).error


@pytest.mark.parametrize("release", ["1.25", "1.26", "1.27", "1.28"])
def test_a_score_is_normalized_each_time(release: str) -> None:
    """TaintToleration reverses its scores each time: the second time the tainted node gets the higher one."""
    tainted = node("a", taints=(("k", "v", "PreferNoSchedule"),))
    weights = [("ImageLocality", 1), ("NodeAffinity", 1), ("TaintToleration", 1)]
    trace = cycle(release, *weights, objects=[tainted, node("b"), pod("p")])
    score = trace.scores["TaintToleration"]
    assert dict(zip(trace.feasible_rows().tolist(), score.normalized.tolist(), strict=True)) == {0: 100, 1: 0}
    once = cycle("1.29", *weights, objects=[tainted, node("b"), pod("p")]).scores["TaintToleration"]
    assert once.normalized.tolist() == [0, 100]
