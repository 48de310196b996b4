"""Scoring form: the configuration that it creates, in every release."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched_ui.runs.config_summary import config_summary
from kubesched_ui.runs.scoring import RATIO, STRATEGIES, Scoring, offered, scored, scoring_in
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.releases import NEWEST, RELEASES, get_release

POLICY = '{"kind": "Policy", "apiVersion": "v1"}'
OWN = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 70
profiles:
- schedulerName: one
  plugins:
    score: {enabled: [{name: ImageLocality, weight: 4}]}
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 3}]}}
- schedulerName: two
"""


def effective(text: str, release: str = NEWEST) -> list[dict[str, Any]]:
    found = load(text or None, get_release(release), unknown="error")
    return [dict(profile.plugins["score"]) for profile in found.profiles]


@pytest.mark.parametrize("release", [name for name in RELEASES if name != "1.16"])
def test_every_release_reads_the_configuration(release: str) -> None:
    for strategy in STRATEGIES[1:]:
        text = scored("", release, Scoring(strategy, {"ImageLocality": 9, "NodeAffinity": 0}))
        summary = config_summary(text, release)
        assert strategy in summary, text
        assert "ImageLocality ×9" in summary
        (scores,) = effective(text, release)
        assert scores["ImageLocality"] == 9
        assert "NodeAffinity" not in scores
        assert "NodeResourcesLeastAllocated" not in scores  # up to 1.21, it would cancel the other strategy
        assert config_summary(scored(text, release, Scoring(STRATEGIES[0])), release).count("Allocated") == 0


def test_an_empty_form_changes_nothing() -> None:
    assert scored(OWN, NEWEST, Scoring()) == OWN
    assert scored("", NEWEST, Scoring()) == scored("", NEWEST, Scoring("LeastAllocated")) == ""


def test_the_rest_of_a_configuration_is_kept() -> None:
    text = scored(OWN, NEWEST, Scoring("LeastAllocated", {"ImageLocality": 0, "PodTopologySpread": 7}))
    found = load(text, get_release(NEWEST))
    assert found.percentage_of_nodes_to_score == 70
    assert [profile.scheduler_name for profile in found.profiles] == ["one", "two"]
    for profile, scores in zip(found.profiles, effective(text), strict=True):
        strategy: Any = profile.args["NodeResourcesFit"]
        assert strategy.scoring_strategy.type == "LeastAllocated"
        assert scores["PodTopologySpread"] == 7
        assert "ImageLocality" not in scores
    strategy = found.profiles[0].args["NodeResourcesFit"]
    assert [(one.name, one.weight) for one in strategy.scoring_strategy.resources] == [("cpu", 3)]


def test_a_ratio_has_a_shape() -> None:
    found = load(scored("", NEWEST, Scoring(RATIO)), get_release(NEWEST))
    fit: Any = found.profiles[0].args["NodeResourcesFit"]
    assert [point.utilization for point in fit.scoring_strategy.requested_to_capacity_ratio.shape] == [0, 100]


def test_the_form_is_read() -> None:
    form = {"strategy": "MostAllocated", "weight.ImageLocality": " 5 ", "weight.NodeAffinity": "", "seed": "3"}
    assert scoring_in(form) == Scoring("MostAllocated", {"ImageLocality": 5})
    assert scoring_in({}) == Scoring()
    shown = offered("1.34", form)
    assert (shown["chosen"], shown["open"]) == ("MostAllocated", True)
    assert ("ImageLocality", 1, " 5 ") in shown["weights"]
    assert offered("1.16")["weights"] == []
    assert offered("9.99")["weights"]


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"strategy": "Most"}, "Run: strategy: must be one of LeastAllocated, "),
        ({"weight.ImageLocality": "-1"}, "Run: weight.ImageLocality: must be a whole number in 0..100, got '-1'"),
        ({"weight.ImageLocality": "101"}, "Run: weight.ImageLocality: must be"),
        ({"weight.ImageLocality": "x"}, "Run: weight.ImageLocality: must be"),
        ({"weight.ImageLocality": "²"}, "Run: weight.ImageLocality: must be"),
    ],
)
def test_an_invalid_form_is_rejected(form: dict[str, str], problem: str) -> None:
    with pytest.raises(InputError) as refused:
        scoring_in(form)
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize(
    ("config", "release", "scoring", "problem"),
    [
        ("", "1.16", Scoring("MostAllocated"), "Run: strategy: is not part of kube-scheduler 1.16"),
        (POLICY, "1.22", Scoring("MostAllocated"), "Run: strategy: cannot be set in a Policy"),
        ("kind: [", NEWEST, Scoring("MostAllocated"), "KubeSchedulerConfiguration"),
        ("", NEWEST, Scoring(weights={"NodeName": 3}), "Run: weight.NodeName: is no default Score plugin of 1."),
    ],
)
def test_unsupported_scoring_is_rejected(config: str, release: str, scoring: Scoring, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        scored(config, release, scoring)
    assert str(refused.value).startswith(problem)
