"""Short summaries of settings and configurations."""

from dataclasses import fields, replace
from typing import Any

import pytest

from kubesched_ui.runs.config_summary import DEFAULT, config_summary
from kubesched_ui.runs.services import RunSettings
from kubesched_ui.runs.summary import differences

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PACKED = "{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]}"
OFF = "{plugins: {multiPoint: {disabled: [{name: PodTopologySpread}]}}}"
QUIET = "{plugins: {score: {disabled: [{name: '*'}]}}}"


@pytest.mark.parametrize("release", ["1.34", "1.27"])
@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("", ""),
        (HEAD, DEFAULT),
        (HEAD + "percentageOfNodesToScore: 30", "30% of nodes"),
        (HEAD + f"profiles: [{PACKED}]", "MostAllocated"),
        (HEAD + f"profiles: [{OFF}]", "PodTopologySpread off"),
        (HEAD + f"profiles: [{QUIET}]", "no plugin scores"),
        (HEAD + "profiles: [{plugins: {score: {enabled: [{name: ImageLocality, weight: 5}]}}}]", "ImageLocality ×5"),
        (
            HEAD + "profiles: [{plugins: {score: {disabled: [{name: TaintToleration}, {name: ImageLocality}]}}}]",
            "TaintToleration off at score, ImageLocality off",
        ),
        (
            HEAD + "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 9}}]}]",
            "InterPodAffinity configured",
        ),
        (
            HEAD + "profiles: [{schedulerName: default-scheduler}, {schedulerName: b, percentageOfNodesToScore: 9}]",
            "2 profiles, b: 9% of nodes",
        ),
        (HEAD + "extenders: [{urlPrefix: 'http://x.example/'}]", "1 extender ignored"),
        (HEAD.replace("/v1\n", "/v1beta3\n"), "v1beta3 defaults"),
        ("a: [", "unreadable"),
        ('{"kind": "Policy", "apiVersion": "v1"}', "Policy"),
    ],
)
def test_summary_of_a_configuration(release: str, text: str, summary: str) -> None:
    assert config_summary(text, release) == summary


@pytest.mark.parametrize(
    ("chosen", "summary"),
    [
        ({}, []),
        ({"seed": 7, "tie_break": "name"}, ["seed 7", "ties by name"]),
        ({"preemption": False, "percentage": 0}, ["no preemption", "0% of nodes"]),
        ({"in_time": True, "until": 600.0}, ["virtual time until 10 min"]),
        ({"unbind": ["a/b"], "pods": []}, ["1 pod rescheduled"]),
        ({"pods": ["a/b", "a/c"]}, ["2 pods chosen"]),
        ({"template": "{kind: Pod, metadata: {name: web}, spec: {}}", "copies": 3}, ["3 copies of web"]),
        ({"config": HEAD + f"profiles: [{PACKED}]"}, ["MostAllocated"]),
        ({"config": HEAD}, ["own configuration, as default"]),
    ],
)
def test_summary_of_settings(chosen: dict[str, Any], summary: list[str]) -> None:
    assert differences(RunSettings(**chosen), RunSettings()) == summary


def test_every_setting_is_in_the_summary() -> None:
    """A setting without a text is listed by its name."""
    others = {"release": "1.27"}  # has a column of its own
    config = f"{HEAD}percentageOfNodesToScore: 5"
    needed = {"until": {"in_time": True}, "copies": {"template": "{kind: Pod, spec: {}}"}}
    needed |= {"unknown_plugins": {"config": config}, "in_time": {"until": 60.0}}
    values = {"config": config, "unknown_plugins": "leave_out", "seed": 1, "tie_break": "name", "preemption": False}
    values |= {"percentage": 5, "pods": ["a/b"], "unbind": ["a/b"], "template": "{kind: Pod, spec: {}}", "copies": 2}
    values |= {"in_time": True, "until": 60.0}
    for field in fields(RunSettings):
        if field.name not in others:
            value = values.get(field.name, "something else")
            changed = replace(RunSettings(), **needed.get(field.name, {}), **{field.name: value})
            assert differences(changed, RunSettings()), field.name
