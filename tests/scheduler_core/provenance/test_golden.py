"""On conformance cases outside the tests, every tree evaluates to the recorded value, with another evaluator.

`--hypothesis-profile=exhaustive -m ""` checks more cases.
"""

from collections import Counter

import pytest

from scheduler_core.search.provenance import OWN_POINTS, POINTS
from tests.conformance import golden_cases
from tests.examples import at_least, selection
from tests.scheduler_core.provenance.cases import check

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("release", selection([f"1.{n}" for n in (20, 22, 23, 24, 25, 26, 28, 29, 30, 31, 32, 33)], 4))
def test_other_releases(release: str) -> None:
    for case in golden_cases(f"v{release}")[: at_least(2)]:  # resources, where they differ most
        assert list(check(case, counts=Counter())) == []


# `sampled`: one of so many cases; the sample has every kind, since there are ten of each, or three
@pytest.mark.parametrize(
    ("release", "sampled"),
    [("v1.34", 18), *(pytest.param(*more, marks=pytest.mark.long) for more in (("v1.27", 9), ("v1.36", 3)))],
)
def test_every_tree_evaluates_to_the_recorded_value(release: str, sampled: int) -> None:
    counts: Counter[str] = Counter()
    for case in golden_cases(release)[:: max(1, sampled // at_least(1))]:
        assert list(check(case, counts=counts)) == []
    spoken = {key.split()[1] for key in counts if key.startswith("filter ")}
    assert {"NodeResourcesFit", "TaintToleration", "NodeUnschedulable", "NodeName"} <= spoken
    assert {*POINTS, *OWN_POINTS} - {"permit"} == {key.split()[0] for key in counts}


def test_trees_of_declared_features_and_image_volumes() -> None:
    counts: Counter[str] = Counter()
    for case in golden_cases("areas-1.36/features"):
        assert list(check(case, 3, counts)) == []
    assert {"filter NodeDeclaredFeatures", "raw ImageLocality"} <= set(counts)


@pytest.mark.parametrize("folder", selection(["policy-v1.22", "policy-v1.20"], 2))
def test_trees_of_plugins_of_policies(folder: str) -> None:
    counts: Counter[str] = Counter()
    for case in golden_cases(folder, "labels-", "packing-", "serviceaffinity-", "volumes-"):
        assert list(check(case, counts=counts)) == []
    plugins = {"NodeLabel", "NodeResourcesLeastAllocated", "RequestedToCapacityRatio", "ServiceAffinity"}
    assert {f"normalized {plugin}" for plugin in plugins} <= set(counts)
    assert {"filter NodeLabel", "filter ServiceAffinity"} <= set(counts)


def test_trees_of_selector_spread() -> None:
    counts: Counter[str] = Counter()
    spread = [{"name": "SelectorSpread", "weight": 3}]
    plugins = {"preScore": {"enabled": spread}, "score": {"enabled": [*spread, {"name": "NodeResourcesMostAllocated"}]}}
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1beta1", "kind": "KubeSchedulerConfiguration"}
    config |= {"profiles": [{"plugins": plugins}]}
    for case in golden_cases("v1.20", "defaultspread", "mixed"):
        assert list(check({**case, "config": config}, counts=counts)) == []
    assert {"raw SelectorSpread", "normalized SelectorSpread", "raw NodeResourcesMostAllocated"} <= set(counts)


@pytest.mark.parametrize("folder", selection(["v1.16", "policy-v1.16"], 2))
def test_trees_of_predicates_and_priorities(folder: str) -> None:
    counts: Counter[str] = Counter()
    for case in golden_cases(folder):
        if not case["name"].startswith("refused"):
            assert list(check(case, 8, counts)) == []
    assert counts["raw LeastRequestedPriority"]
    assert counts["filter GeneralPredicates"]
