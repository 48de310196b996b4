"""Configurations of 1.16: a Policy, v1alpha1, or none."""

from typing import Any

import pytest

from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.releases import get_release

RELEASE = get_release("1.16")
ALPHA = {"kind": "KubeSchedulerConfiguration", "apiVersion": "kubescheduler.config.k8s.io/v1alpha1"}
POLICY = {"kind": "Policy", "apiVersion": "v1"}


def names(point: str, config: Any = None, release: str = "1.16") -> list[str]:
    return [name for name, _ in load(config, get_release(release)).profiles[0].plugins[point]]


def test_the_default_provider() -> None:
    assert names("filter")[:2] == ["CheckNodeUnschedulable", "GeneralPredicates"]
    assert names("filter")[-1] == "MatchInterPodAffinity"
    assert dict(load(None, RELEASE).profiles[0].plugins["score"])["NodePreferAvoidPodsPriority"] == 10000
    assert names("reserve") == ["CheckVolumeBinding"]


def test_feature_gates_change_it() -> None:
    without = names("filter", release="1.16 TaintNodesByCondition=false")
    assert without[0] == "CheckNodeCondition"
    assert "CheckNodeUnschedulable" not in without
    assert "EvenPodsSpread" in names("filter", release="1.16 EvenPodsSpread=true")
    assert "ResourceLimitsPriority" in names("score", release="1.16 ResourceLimitsPriorityFunction=true")


def test_v1alpha1() -> None:
    config = {**ALPHA, "schedulerName": "mine", "percentageOfNodesToScore": 30, "disablePreemption": True}
    made = load({**config, "algorithmSource": {"provider": "ClusterAutoscalerProvider"}}, RELEASE)
    assert made.schedulers == ["mine"]
    assert made.percentage_of_nodes_to_score == 30
    assert made.warnings == ["disablePreemption is ignored: disable preemption in the settings of the run"]
    scores = dict(made.profiles[0].plugins["score"])
    assert "MostRequestedPriority" in scores
    assert "LeastRequestedPriority" not in scores


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({**ALPHA, "apiVersion": "kubescheduler.config.k8s.io/v1"}, "1.16 reads kubescheduler.config.k8s.io/v1alpha1"),
        ({**ALPHA, "algorithmSource": {"provider": "Mine"}}, "algorithmSource.provider: must be DefaultProvider or"),
        ({**ALPHA, "percentageOfNodesToScore": 101}, "percentageOfNodesToScore: must be in 0..100, got 101"),
        ({**POLICY, "predicates": [{"name": "HostNam"}]}, "is no predicate of 1.16, .* was HostName meant"),
        ({**POLICY, "priorities": [{"name": "bad_name", "weight": 1}]}, "must be letters, digits and dashes"),
    ],
)
def test_rejected_configurations(config: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(config, RELEASE)


def test_a_policy_lists_plugins_and_extenders_that_never_run() -> None:
    own = {"name": "mine", "argument": {"labelsPresence": {"labels": ["disk"], "presence": True}}}
    made = load({**POLICY, "predicates": [own], "extenders": [{"urlPrefix": "http://e"}]}, RELEASE)
    assert made.warnings[0] == "predicate mine: upstream accepts it but never runs it"
    assert "extenders are programs outside the scheduler" in made.warnings[1]
    assert [name for name, _ in made.profiles[0].plugins["filter"]] == [
        "CheckNodeUnschedulable",
        "PodToleratesNodeTaints",
    ]
