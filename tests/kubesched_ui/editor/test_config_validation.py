"""Scheduler configuration in the editor: errors of a run at their line, and the effective configuration."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched_ui.editor import schema
from kubesched_ui.editor.analysis import analyze
from kubesched_ui.editor.apply_edits import apply_changes
from kubesched_ui.ingest.yaml_writer import to_yaml
from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.releases import NEWEST, get_release
from tests.examples import examples
from tests.kubesched_ui.editor.sample_texts import OURS, edited, paths, problems

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
CONFIG = f"""\
{HEAD}profiles:
  - schedulerName: default-scheduler
  - schedulerName: batch   # for the night
    plugins:
      score:
        disabled: [{{name: ImageLocality}}]
        enabled:
          - {{name: NodeAffinity, weight: 7}}   # near its data
    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy: {{type: MostAllocated, resources: [{{name: cpu, weight: 1}}]}}
extenders:
  - urlPrefix: http://a.example
    prioritizeVerb: score
    weight: 2
"""


def within(text: str) -> str:
    """Return the text as the configuration of a scenario."""
    return OURS + "spec:\n  config:\n    " + text.rstrip("\n").replace("\n", "\n    ") + "\n"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("profiles:", "percentageOfNodesToScor: 5\nprofiles:", 3,
         "percentageOfNodesToScor: is not a field of KubeSchedulerConfiguration; "
         "did you mean percentageOfNodesToScore?"),
        ("profiles:", "percentageOfNodesToScore: 500\nprofiles:", 3,
         "percentageOfNodesToScore: must be in 0..100, got 500"),
        ("plugins:", "plugin:", 6, "profiles[1].plugin: is not a field of KubeSchedulerProfile; did you mean plugins?"),
        ("score:\n", "scor:\n", 7, "profiles[1].plugins.scor: is not a field of Plugins; did you mean score?"),
        ("enabled:", "enable:", 9,
         "profiles[1].plugins.score.enable: is not a field of PluginSet; did you mean enabled?"),
        ("weight: 7", "weight: much", 10, "profiles[1].plugins.score.enabled[0].weight: must be a whole number"),
        ("scoringStrategy:", "scoringStrateg:", 14,
         "profiles[1].pluginConfig[0].args.scoringStrateg: is not a field of NodeResourcesFitArgs; "
         "did you mean scoringStrategy?"),
        ("type: MostAllocated", "type: Most", 14,
         "profiles[1].pluginConfig[0].args.scoringStrategy.type: must be one of LeastAllocated"),
        ("weight: 1}]", "weight: 500}]", 14, "args.scoringStrategy.resources[0].weight: must be in 1..100"),
        ("schedulerName: batch ", "schedulerName: default-scheduler ", 5,
         "profiles[1].schedulerName: another profile has this name"),
        ("    weight: 2", "    weight: 0", 18, "extenders[0].weight: must be greater than 0"),
        ("urlPrefix", "urlPrefx", 16, "extenders[0].urlPrefx: is not a field of Extender; did you mean urlPrefix?"),
        ("{name: NodeAffinity, weight: 7}", "{name: NodeName}", 9, "plugin 'NodeName' does not extend score"),
    ],
)  # fmt: skip
def test_an_error_of_a_run_is_at_its_line(old: str, new: str, line: int, message: str) -> None:
    assert old in CONFIG
    text = CONFIG.replace(old, new, 1)
    (found,) = problems(text)
    assert found[:2] == (line, "error")
    assert message in found[2]
    (inside,) = problems(within(text))
    assert inside[:2] == (line + 4, "error")
    assert inside[2] == f"spec.config.{found[2]}"


def test_unknown_plugins_of_the_release_give_a_warning() -> None:
    text = CONFIG.replace("name: NodeAffinity", "name: NodeAffinty").replace(
        "name: ImageLocality", "name: YuniKornPlugin"
    )
    first, second = analyze(text)["problems"]
    assert first["message"].endswith(
        f'there is no plugin "YuniKornPlugin" in kube-scheduler {NEWEST}; it is ignored '
        "(Apache YuniKorn: delegates to the queues of YuniKorn)"
    ), first["message"]
    assert second["message"] == (
        f'profiles[1].plugins.score.enabled[0].name: there is no plugin "NodeAffinty" in kube-scheduler {NEWEST}; '
        "it is ignored; did you mean NodeAffinity?"
    )
    assert (second["severity"], second["fix"], second["value"], second["line"]) == ("warning", "NodeAffinity", True, 9)
    assert problems(CONFIG.replace("name: ImageLocality", 'name: "*"')) == []
    old = CONFIG.replace("name: ImageLocality", "name: NodePreferAvoidPods").replace("/v1\n", "/v1beta2\n")
    assert "in kube-scheduler 1.22" in problems(within(old).replace("spec:\n", "spec:\n  kubernetes: '1.22'\n"))[0][2]


def test_policies_and_texts_are_validated() -> None:
    assert "Policy" in problems("kind: Policy\napiVersion: v1\n")[0][2]
    inside = OURS + "spec:\n  config: |\n    kind: KubeSchedulerConfiguration\n    profiles: 3\n"
    assert problems(inside)[0][:2] == (4, "error")


def test_completions_are_those_of_the_core() -> None:
    found = json.loads(schema.completion_json())
    assert (
        found["kinds"]["KubeSchedulerConfiguration"]["kubescheduler.config.k8s.io/v1"] == "KubeSchedulerConfiguration"
    )
    assert found["types"]["ScenarioSpec"]["fields"]["config"][0] == "KubeSchedulerConfiguration"
    assert found["types"]["NodeResourcesFitArgs"]["fields"]["scoringStrategy"][0] == "ScoringStrategy"
    scheduler = found["scheduler"]
    assert scheduler["args"]["kubescheduler.config.k8s.io/v1"]["PodTopologySpread"] == "PodTopologySpreadArgs"
    assert "score" in scheduler["releases"]["1.36"]["kubescheduler.config.k8s.io/v1"]["ImageLocality"]
    kubernetes = set(schema.table()["types"])
    assert kubernetes.isdisjoint(schema.configurations()["types"]), "a name is one type's"


def test_the_release_is_that_of_the_scenario() -> None:
    assert analyze(CONFIG)["config"]["value"]["kind"] == "KubeSchedulerConfiguration"
    assert analyze(OURS + "spec: {kubernetes: '1.27'}\n")["release"] == "1.27"
    assert analyze(OURS + "spec: {kubernetes: '9.9'}\n")["release"] == NEWEST


@pytest.mark.parametrize("place", ["config", "scenario"])
def test_a_weight_of_a_profile_changes_one_line(place: str) -> None:
    text = CONFIG if place == "config" else within(CONFIG)
    read = analyze(text)
    value = copy.deepcopy(read[place]["value"])
    config = value if place == "config" else value["spec"]["config"]
    config["profiles"][1]["plugins"]["score"]["enabled"][0]["weight"] = 9
    edit = apply_changes(text, [{place: value}])
    assert edit
    assert [line.strip() for line in edit["lines"]] == ["- {name: NodeAffinity, weight: 9}   # near its data"]
    config["profiles"][0]["plugins"] = {"score": {"enabled": [{"name": "ImageLocality", "weight": 3}]}}
    changed = edited(text, {place: value})
    assert "schedulerName: batch   # for the night" in changed
    assert "# near its data" in changed
    now = analyze(changed)[place]["value"]
    assert now == value


@pytest.mark.parametrize("place", ["config", "scenario"])
def test_the_form_of_strategy_and_weights_changes_every_profile_and_keeps_comments(place: str) -> None:
    text = CONFIG if place == "config" else within(CONFIG)
    changed = edited(text, {"scoring": {"strategy": "", "weight.NodeAffinity": "9", "weight.ImageLocality": ""}})
    assert "- {name: NodeAffinity, weight: 9}   # near its data" in changed
    assert "schedulerName: batch   # for the night" in changed
    assert changed.count("name: NodeAffinity") == 2
    assert not problems(changed)
    assert "MostAllocated" not in edited(text, {"scoring": {"strategy": "LeastAllocated"}})


def test_the_form_of_strategy_and_weights_begins_a_configuration() -> None:
    empty = edited("", {"scoring": {"strategy": "MostAllocated"}})
    assert analyze(empty)["scenario"]["value"]["spec"]["config"]["profiles"][0]["pluginConfig"][0] == {
        "name": "NodeResourcesFit",
        "args": {"scoringStrategy": {"type": "MostAllocated"}},
    }
    old = OURS + "spec:\n  kubernetes: '1.21'\n"
    assert not problems(edited(old, {"scoring": {"weight.NodeAffinity": "5"}})), "the default is disabled there"
    assert apply_changes("", [{"scoring": {"strategy": "", "weight.NodeAffinity": ""}}]) is None
    for text, form, why in (
        ("", {"weight.NodeAffinity": "much"}, "must be a whole number"),
        ("", {"strategy": "Best"}, "must be one of"),
        ("", [], "must be an object"),
        (OURS + "spec: {kubernetes: '1.16'}\n", {"strategy": "MostAllocated"}, "enter a Policy instead"),
        (OURS + "spec: {config: {profiles: 3}}\n", {"strategy": "MostAllocated"}, "without a kind"),
    ):
        with pytest.raises(InputError, match=why):
            apply_changes(text, [{"scoring": form}])


BASE = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "percentageOfNodesToScore": 30,
    "leaderElection": {"leaderElect": False},
    "profiles": [
        {
            "schedulerName": "a",
            "plugins": {"score": {"enabled": [{"name": "NodeAffinity", "weight": 2}], "disabled": [{"name": "*"}]}},
            "pluginConfig": [
                {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated", "resources": []}}},
                {"name": "NodeAffinity", "args": {"addedAffinity": {}}},
            ],
        }
    ],
    "extenders": [{"urlPrefix": "http://a", "weight": 1, "managedResources": [{"name": "a.b/c"}]}],
}
odd = st.sampled_from([None, 0, -1, 3, 1.5, True, "", "a", "Score", [], {}, [None], [{}], {"a": 1}, {"name": "x"}])
keys = st.sampled_from(
    ["name", "args", "plugins", "enabled", "score", "weight", "profiles", "typo", "kind", "apiVersion"]
)


@settings(max_examples=examples(200))
@given(st.data())
def test_errors_are_exactly_those_of_a_run(data: st.DataObject) -> None:
    value: Any = copy.deepcopy(BASE)
    *way, last = data.draw(st.sampled_from(paths(value)[1:]))
    place = value
    for step in way:
        place = place[step]
    if isinstance(place, dict) and data.draw(st.booleans()):
        place[data.draw(keys)] = data.draw(odd)
    else:
        place[last] = data.draw(odd)
    if value.get("kind") != "KubeSchedulerConfiguration":
        return
    text = to_yaml(value)
    try:
        load(text, get_release(NEWEST), unknown="leave_out")
        refused = False
    except InputError:
        refused = True
    read = analyze(text)
    assert bool(read["errors"]) == refused, (text, read["problems"])
