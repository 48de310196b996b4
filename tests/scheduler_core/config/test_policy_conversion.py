"""A Policy for a release that reads none: refused, with the configuration that does the same."""

from typing import Any

import pytest

from scheduler_core.config import UnreadPolicy, load_configuration
from scheduler_core.plugins import REGISTRY, known_plugins
from scheduler_core.releases import RELEASES, get_release
from scheduler_core.releases.feature_gates import numbered
from scheduler_core.simulation import Simulation
from tests.conformance import golden_cases

WITHOUT = [name for name in RELEASES if numbered(name) > (1, 22)]
KNOWN = known_plugins(REGISTRY)


def instead(release: str, **given: Any) -> str:
    with pytest.raises(UnreadPolicy, match=f"1.22 and older only, and this is {release}") as refused:
        load_configuration({"kind": "Policy", "apiVersion": "v1", **given}, get_release(release), known=KNOWN)
    return refused.value.instead


def parts(case: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in case["config"].items() if name not in ("kind", "apiVersion")}


def decided(case: dict[str, Any], release: str, config: Any) -> list[tuple[Any, ...]]:
    settings = {"pods": case["pods"], "preemption": case["preempt"], "percentage": case["percentage"]}
    run = Simulation(case["objects"], release=release, config=config, tie_break="name", **settings).run()
    return [(t.pod, t.result, t.node, None if t.feasible is None else t.feasible.tolist()) for t in run]


def test_it_decides_as_the_policy_did() -> None:
    """1.23 decides much as 1.22 does; Policies that can be said wholly come to the same nodes."""
    seen = 0
    for case in golden_cases("policy-v1.22"):
        written = instead("1.23", **parts(case))
        if not written or "Not expressible in a configuration" in written:
            continue
        try:
            wanted = decided(case, "1.22", case["config"])
        except ValueError:
            continue  # refused for what stands in it
        assert decided(case, "1.23", written) == wanted, case["name"]
        seen += 1
    assert seen > 2


@pytest.mark.parametrize("release", WITHOUT)
def test_every_newer_release_reads_what_is_written(release: str) -> None:
    for case in golden_cases("policy-v1.22"):
        if written := instead(release, **parts(case)):
            load_configuration(written, get_release(release), known=KNOWN)


def test_what_becomes_of_its_parts() -> None:
    present = {"labelsPresence": {"labels": ["example.com/rack", "b"], "presence": True}}
    written = instead(
        "1.36",
        predicates=[
            {"name": "MaxEBSVolumeCount"},
            {"name": "InARack", "argument": present},
            {"name": "CheckVolumeBinding"},
        ],
        priorities=[
            {"name": "MostRequestedPriority", "weight": 2},
            {"name": "NodePreferAvoidPodsPriority", "weight": 10000},
            {"name": "LeastRequestedPriority", "weight": 3},
        ],
        extenders=[{"urlPrefix": "http://extender.example/", "filterVerb": "filter"}],
        alwaysCheckAllPredicates=True,
    )
    config = load_configuration(written, get_release("1.36"), known=KNOWN)
    (profile,) = config.profiles
    assert [name for name, _ in profile.plugins["filter"]] == [
        *("NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodeVolumeLimits", "VolumeBinding")
    ]
    assert profile.plugins["score"] == (("NodeResourcesFit", 3),)
    assert profile.args["NodeResourcesFit"].scoring_strategy.type == "LeastAllocated"
    assert [one.url_prefix for one in config.extenders] == ["http://extender.example/"]
    (term,) = profile.args["NodeAffinity"].added_affinity["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"] == [
        {"key": "example.com/rack", "operator": "Exists"},
        {"key": "b", "operator": "Exists"},
    ]
    unsaid = written[written.index("# Not expressible") :]
    assert "MostAllocated together with another strategy" in unsaid
    assert "nodes that prefer to avoid pods" in unsaid
    assert "alwaysCheckAllPredicates" in unsaid


def test_a_policy_that_no_release_would_take_has_no_counterpart() -> None:
    assert instead("1.36", predicates=[{"name": "NoSuchThing"}]) == ""
