"""Tune: scenarios with a known best strategy, the same trials for the same seed, and the Pareto front."""

import copy
import json
from typing import Any

import pytest

from scheduler_core.config.loader import load
from scheduler_core.errors import InputError
from scheduler_core.experiments.document import Experiment
from scheduler_core.experiments.local_run import run_experiment
from scheduler_core.experiments.parameters import TuneAim, TuneParameters
from scheduler_core.experiments.questions import load_experiment
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.experiments.tune import mix, value_text
from scheduler_core.experiments.tuned_configuration import SearchSpace, choices_of
from scheduler_core.releases import RELEASES, get_release
from tests.scheduler_core.build import Raw, node, pod

MOST = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
"""
SPREADS, PACKS = "requested_share:cpu:stddev", "nodes_used"


def cluster(nodes: int = 6, pods: int = 6) -> list[Raw]:
    """Return equal nodes, each large enough for all pods."""
    return [*(node(f"n{i}") for i in range(nodes)), *(pod(f"p{i}", requests={"cpu": "500m"}) for i in range(pods))]


def document(tune: Raw, config: str = "", **spec: Any) -> Experiment:
    configurations = [{"name": "given", "config": config or None}]
    whole = {"question": "tune", "scenarios": [{"id": 1}], "configurations": configurations, "tune": tune, **spec}
    text = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Experiment", "spec": whole}
    return load_experiment(json.dumps(text))


def answer(experiment: Experiment, objects: list[Raw]) -> Any:
    source = ScenarioInput("scenario 1", "digest", lambda: copy.deepcopy(objects))
    return run_experiment(experiment, {"scenario 1": source})


def aim(metric: str, **more: Any) -> Raw:
    return {"metric": metric, **more}


def strategy(found: Any) -> str:
    loaded = load(found["configuration"], get_release("1.36"))
    return str(loaded.profiles[0].args["NodeResourcesFit"].scoring_strategy.type)


def test_most_allocated_is_found_where_packing_is_best() -> None:
    """All six pods fit on one node; LeastAllocated uses six."""
    both = ["LeastAllocated", "MostAllocated"]
    found = answer(document({"aims": [aim(PACKS)], "trials": 6, "batch": 3, "strategies": both}), cluster())
    assert strategy(found) == "MostAllocated"
    assert found["metrics"] == {PACKS: 1}
    assert found["answer"] == "The best of 6 configurations changes Nodes with pods from 6 to 1."
    assert [row["values"] for row in found["trials"]][:2] == [[6], [1]]


def test_least_allocated_is_found_where_spreading_is_best() -> None:
    """One pod on each node has a standard deviation of 0; MostAllocated puts all on one."""
    both = ["LeastAllocated", "MostAllocated"]
    found = answer(document({"aims": [aim(SPREADS)], "trials": 6, "batch": 3, "strategies": both}, MOST), cluster())
    assert strategy(found) == "LeastAllocated"
    assert found["metrics"] == {SPREADS: 0}


def test_a_trial_with_which_a_plugin_leaves_no_pod_pending_is_the_best() -> None:
    """Spread over both nodes, the small pods leave no node for the large one."""
    objects = [*cluster(2, 2), pod("large", requests={"cpu": 4})]
    tune = {"aims": [aim("pending_by:NodeResourcesFit")], "trials": 3, "strategies": ["MostAllocated"]}
    found = answer(document(tune), objects)
    assert (found["metrics"], strategy(found)) == ({"pending_by:NodeResourcesFit": 0}, "MostAllocated")
    found = answer(document({"aims": [aim("pending_by:TaintToleration")], "trials": 2}), objects)
    assert (found["metrics"], found["best"]) == ({"pending_by:TaintToleration": 0}, 0)


def test_the_given_configuration_is_the_best_of_equals() -> None:
    found = answer(document({"aims": [aim(SPREADS)], "trials": 4, "batch": 4}), cluster())
    assert found["best"] == 0
    assert found["answer"].startswith("None of 4 configurations is better than the given one")
    assert strategy(found) == "LeastAllocated"


def test_costs_compare_every_metric_with_the_given_configuration() -> None:
    found = answer(document({"aims": [aim(PACKS)], "trials": 3, "batch": 3}), cluster())
    costs = {row["metric"]: row for row in found["costs"]}
    assert (costs[PACKS]["change"], costs[PACKS]["aim"]) == ("better", True)
    assert (costs[SPREADS]["change"], costs[SPREADS]["given"]) == ("worse", 0)
    assert costs["placed"]["change"] == "equal"


def test_the_same_seed_gives_the_same_trials_and_another_seed_others() -> None:
    tune = {"aims": [aim(PACKS)], "trials": 9, "batch": 3}
    first, again = (answer(document(tune, seeds=[5]), cluster(3, 3)) for _ in range(2))
    assert first == again
    other = answer(document(tune, seeds=[6]), cluster(3, 3))
    assert [row["choices"] for row in other["trials"]] != [row["choices"] for row in first["trials"]]


def test_values_are_means_over_seeds_and_scenarios() -> None:
    experiment = document({"aims": [aim(PACKS)], "trials": 1}, seeds=[1, 2], scenarios=[{"id": 1}, {"id": 2}])
    inputs = {
        f"scenario {number}": ScenarioInput(f"scenario {number}", str(number), lambda pods=number: cluster(6, pods * 2))
        for number in (1, 2)
    }
    [row] = run_experiment(experiment, inputs)["trials"]
    assert (row["values"], row["cells"]) == ([3], [0, 1, 2, 3])


@pytest.mark.long
def test_weights_are_found_in_a_search() -> None:
    """A preferred node affinity of the pods and the spread over nodes are opposed: only a small weight of NodeAffinity
    uses all nodes."""
    term = {"weight": 100, "preference": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    nodes = [node(f"n{i}", labels={"a": "b"} if i == 0 else {}) for i in range(6)]
    pods = [pod(f"p{i}", requests={"cpu": "500m", "memory": "1Gi"}, affinity=affinity) for i in range(6)]
    tune = {"aims": [aim(SPREADS)], "trials": 60, "batch": 10, "plugins": ["NodeAffinity", "NodeResourcesFit"]}
    found = answer(document(tune), [*nodes, *pods])
    assert found["trials"][0]["values"][0] > 0.2
    assert found["metrics"][SPREADS] == 0


@pytest.mark.long
def test_a_pareto_front_of_200_trials() -> None:
    objects = [node(f"n{i}") for i in range(8)]
    objects += [pod(f"p{i}", requests={"cpu": f"{250 * (1 + i % 5)}m", "memory": f"{1 + i % 3}Gi"}) for i in range(24)]
    aims = [aim(PACKS), aim("requested_share:cpu:max", better="lower")]
    found = answer(document({"aims": aims, "front": True, "trials": 200, "batch": 25}), objects)
    points = [row["values"] for row in found["trials"]]
    assert len(points) == 200
    for number in found["front"]:
        nodes, most = points[number]
        assert not any(a <= nodes and b <= most and (a < nodes or b < most) for a, b in points)
    assert len({tuple(points[number]) for number in found["front"]}) >= 3
    assert set(found["choices"]) <= set(map(str, found["front"]))


@pytest.mark.parametrize("release", [name for name in RELEASES if get_release(name).api_versions])
def test_configurations_are_valid_for_each_release(release: str) -> None:
    tune = TuneParameters(aims=[TuneAim(metric=PACKS)], percentage=True)
    made = get_release(release)
    if not set(made.api_versions) & {"v1", "v1beta3", "v1beta2"}:
        with pytest.raises(InputError, match=r"needs 1\.22 or newer"):
            SearchSpace.create(tune, "", release)
        return
    space = SearchSpace.create(tune, "", release)
    load(space.default_text(), made)
    for choices in space.first_choices():
        text = space.configuration(choices | {"weight:NodeResourcesFit": 0, "weight:ImageLocality": 7})
        weights = dict(load(text, made).profiles[0].plugins["score"])
        assert "NodeResourcesFit" not in weights
        assert weights["ImageLocality"] == 7
        assert choices_of(space.configuration(choices), space) == choices


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            {"releases": ["1.21"]},
            "spec.releases[0]: Kubernetes 1.21 has no scoring strategies; tune needs 1.22 or newer",
        ),
        ({"releases": ["1.36", "1.35"]}, "spec.releases: must have one entry"),
        ({"seeds": {"count": 9000}}, "spec.tune.trials: 3 trials would have 27,000 cells"),
        ({"tune": None}, "spec.tune: is missing; it names the aims"),
        (
            {"config": MOST.partition("profiles")[0].replace("/v1", "/v1beta1"), "releases": ["1.22"]},
            "spec.configurations[0].config: tune needs a KubeSchedulerConfiguration of",
        ),
    ],
)
def test_a_document_that_cannot_be_tuned_is_refused_when_it_is_loaded(spec: Raw, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        document(**{"tune": {"aims": [aim(PACKS)], "trials": 3}, **spec})
    assert problem in str(refused.value)


def test_other_settings_of_the_given_configuration_stay() -> None:
    given = MOST.replace("- pluginConfig:", "- schedulerName: mine\n  pluginConfig:").replace(
        "args: {scoringStrategy", "args: {ignoredResources: [example.com/a], scoringStrategy"
    )
    space = SearchSpace.create(TuneParameters(aims=[TuneAim(metric=PACKS)]), given, "1.36")
    [first, _] = space.first_choices()
    assert first["strategy"] == "LeastAllocated"
    [profile] = load(space.configuration(first), get_release("1.36")).profiles
    assert profile.scheduler_name == "mine"
    assert profile.args["NodeResourcesFit"].ignored_resources == ("example.com/a",)


def test_values_as_text() -> None:
    assert value_text(PACKS, 1204.0) == "1,204"
    assert value_text(SPREADS, 0.17432) == "17.4%"
    assert value_text("stranded:memory", 2.0**33) == "8Gi"
    assert value_text("hole_filling", 2.5) == "2.5"


def test_one_trial_may_be_best_in_every_aim() -> None:
    tune = {"aims": [aim(PACKS), aim("pending")], "front": True, "trials": 3, "batch": 3}
    found = answer(document(tune), cluster())
    sentence = (
        "Of 3 configurations, trial 1 is best in every aim: Nodes with pods from 6 to 1, Pods pending from 0 to 0."
    )
    assert found["answer"] == sentence


def test_a_mix_weighs_relative_changes() -> None:
    aims = [TuneAim(metric="placed", weight=2), TuneAim(metric=PACKS)]
    assert mix(aims, [110, 5], [100, 10]) == pytest.approx(-2 * 0.1 - 0.5)
    assert mix(aims[:1], [110], [100]) == -110


@pytest.mark.parametrize(
    ("tune", "problem"),
    [
        ({"aims": []}, "spec.tune.aims: must have 1..8 aims"),
        ({"aims": [aim("speed")]}, "spec.tune.aims[0].metric: 'speed' is not a metric"),
        ({"aims": [aim("pending_by:Fit")]}, "spec.tune.aims[0].metric: 'Fit' is not a plugin"),
        ({"aims": [aim("nodes")]}, "spec.tune.aims[0].better: is missing"),
        ({"aims": [aim(PACKS), aim(PACKS)]}, "spec.tune.aims[1].metric: nodes_used occurs twice"),
        ({"aims": [aim(PACKS)], "front": True}, "spec.tune.front: needs at least two aims"),
        ({"aims": [aim(PACKS)], "trials": 10**9}, "spec.tune.trials: must be in 1..1,000"),
        ({"aims": [aim(PACKS)], "plugins": ["Nope"]}, "spec.tune.plugins[0]: 'Nope' does not score"),
    ],
)
def test_wrong_parameters_are_refused_with_the_field(tune: Raw, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        answer(document(tune), cluster())
    assert problem in str(refused.value)
