"""A Policy in a release without Policies is rejected, with an equivalent configuration."""

from typing import Any

import pytest

from scheduler_core.config import UnreadPolicy, load_configuration
from scheduler_core.plugins import REGISTRY, known_plugins
from scheduler_core.releases import RELEASES, get_release
from scheduler_core.releases.versions import numbered
from scheduler_core.simulation import Simulation
from tests.conformance import golden_cases
from tests.examples import selection

WITHOUT = [name for name in RELEASES if numbered(name) > (1, 22)]
KNOWN = known_plugins(REGISTRY)


def converted(release: str, **given: Any) -> str:
    with pytest.raises(UnreadPolicy, match=f"1.22 and older only, and this is {release}") as refused:
        load_configuration({"kind": "Policy", "apiVersion": "v1", **given}, get_release(release), known=KNOWN)
    return refused.value.instead


def parts(case: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in case["config"].items() if name not in ("kind", "apiVersion")}


def decided(case: dict[str, Any], release: str, config: Any) -> list[tuple[Any, ...]]:
    settings = {"pods": case["pods"], "preemption": case["preempt"], "percentage": case["percentage"]}
    run = Simulation(case["objects"], release=release, config=config, tie_break="name", **settings).run()
    return [(t.pod, t.result, t.node, None if t.feasible is None else t.feasible.tolist()) for t in run]


def test_the_configuration_decides_as_the_policy() -> None:
    """1.23 decides mostly as 1.22 does. Policies with an exact equivalent give the same nodes."""
    seen = 0
    for case in golden_cases("policy-v1.22"):
        written = converted("1.23", **parts(case))
        if not written or "Not expressible in a configuration" in written:
            continue
        try:
            wanted = decided(case, "1.22", case["config"])
        except ValueError:
            continue  # rejected for its content
        assert decided(case, "1.23", written) == wanted, case["name"]
        seen += 1
    assert seen > 2


@pytest.mark.parametrize("release", selection(WITHOUT, 3))
def test_every_newer_release_reads_the_configuration(release: str) -> None:
    for case in golden_cases("policy-v1.22"):
        if written := converted(release, **parts(case)):
            load_configuration(written, get_release(release), known=KNOWN)


def test_parts_of_the_configuration() -> None:
    present = {"labelsPresence": {"labels": ["example.com/rack", "b"], "presence": True}}
    written = converted(
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


def test_an_invalid_policy_has_no_equivalent() -> None:
    assert converted("1.36", predicates=[{"name": "NoSuchThing"}]) == ""
