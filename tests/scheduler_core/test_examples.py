"""The examples of docs/examples run as out-of-tree plugins, by registry and by command line."""

import json
from pathlib import Path

import pytest

from scheduler_core.__main__ import main
from scheduler_core.errors import InputError
from scheduler_core.framework.out_of_tree import enabling, load_plugin, with_plugins
from scheduler_core.framework.per_node import PerNode, per_node
from scheduler_core.plugins import PLUGINS
from scheduler_core.simulation import Simulation
from tests.scheduler_core import build

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
PER_NODE = f"{EXAMPLES / 'per_node_plugin.py'}:RackLimit"
COLUMNAR = f"{EXAMPLES / 'columnar_plugin.py'}:PowerBudget"


def node(name, **labels):
    return build.node(name, labels=labels)


def pod(name, on="", priority=0, **labels):
    return build.pod(name, on=on, priority=priority, labels=labels, requests={"cpu": "100m", "memory": "128Mi"})


def traces(objects, registry):
    names = [name for name in registry if name not in PLUGINS]
    return list(Simulation(objects, registry=registry, config=enabling(names), tie_break="name").run())


def test_a_per_node_plugin_filters_and_scores():
    objects = [node("n1", rack="r1"), node("n2", rack="r2"), node("n3"), node("n4", rack="r3")]
    objects += [pod("a", "n1", app="web"), pod("b", "n1", app="web"), pod("c", "n2", app="db"), pod("new", app="web")]
    (trace,) = traces(objects, with_plugins([PER_NODE], PLUGINS))
    verdict = trace.verdicts["RackLimit"]
    refused = [verdict.at(row) for row in range(4)]
    assert refused[0].reasons == ("node(s) run 2 pods of this application",)
    assert refused[1:] == [None, None, None]
    score = trace.scores["RackLimit"]
    assert (score.raw.tolist(), score.weight) == ([10, 0, 0], 1)
    assert trace.node == "n2"


def test_preemption_calls_the_per_node_plugin_with_the_remaining_pods():
    objects = [node("n1"), pod("a", "n1", app="web"), pod("b", "n1", app="web"), pod("new", app="web", priority=10)]
    (trace,) = traces(objects, with_plugins([PER_NODE], PLUGINS))
    assert trace.result == "unschedulable"
    assert trace.nominated_node == "n1"
    assert len(trace.victims) == 1


def test_a_columnar_plugin_filters_and_scores():
    objects = [node("n1", watts="50"), node("n2", watts="200"), node("n3", watts="150"), pod("new", watts="100")]
    (trace,) = traces(objects, with_plugins([COLUMNAR], PLUGINS))
    assert trace.verdicts["PowerBudget"].at(0).reasons == ("node(s) had not enough watts",)
    assert trace.scores["PowerBudget"].raw.tolist() == [100, 50]
    assert trace.scores["PowerBudget"].normalized.tolist() == [100, 50]
    assert trace.node == "n2"


@pytest.mark.parametrize("spec", [PER_NODE, COLUMNAR])
def test_command_line_enables_a_plugin_by_name(spec, tmp_path, capsys):
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_text(json.dumps({"kind": "List", "items": [node("n1", watts="1"), node("n2"), pod("new")]}))
    assert main(["explain", str(snapshot), "--plugins", spec]) == 0
    assert spec.rpartition(":")[2] in capsys.readouterr().out


def test_an_error_of_a_columnar_plugin_has_its_line(tmp_path, capsys):
    plugin = tmp_path / "broken.py"
    members = "    name = 'Broken'\n    def filter(self, state, pod):\n        return 1 // 0\n"
    plugin.write_text(
        f"from scheduler_core.framework.interface import FilterPlugin\nclass Broken(FilterPlugin):\n{members}"
    )
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_text(json.dumps({"kind": "List", "items": [node("n1"), pod("new")]}))
    assert main(["explain", str(snapshot), "--plugins", f"{plugin}:Broken"]) == 2
    message = "out-of-tree plugin: failed: ZeroDivisionError: integer division or modulo by zero"
    assert f"{message} ({plugin}, line 5)" in capsys.readouterr().err


def test_a_configuration_may_set_weight_and_arguments():
    @per_node
    class Loud(PerNode):
        name = "Loud"

        def score_node(self, state, pod, node):
            return self.args["points"][node.name]

    plugins = {"score": {"enabled": [{"name": "Loud", "weight": 7}]}}
    arguments = [{"name": "Loud", "args": {"points": {"n1": 3, "n2": 90}}}]
    config = {"profiles": [{"plugins": plugins, "pluginConfig": arguments}]}
    objects = [node("n1"), node("n2"), pod("new")]
    (trace,) = Simulation(objects, registry={**PLUGINS, "Loud": Loud}, config=config).run()
    assert trace.scores["Loud"].weight == 7
    assert trace.scores["Loud"].raw.tolist() == [3, 90]
    assert trace.node == "n2"


def test_a_failing_filter_is_the_error_of_the_cycle():
    @per_node
    class Broken(PerNode):
        name = "Broken"

        def filter_node(self, state, pod, node):
            return 1 // 0

    (trace,) = traces([node("n1"), pod("new")], {**PLUGINS, "Broken": Broken})
    assert trace.result == "error"
    assert "Broken failed: ZeroDivisionError" in trace.error


@pytest.mark.parametrize(("points", "problem"), [(101, "must be an integer in 0..100, got 101"), (1.5, "got 1.5")])
def test_a_score_out_of_range_names_plugin_and_node(points, problem):
    @per_node
    class Odd(PerNode):
        name = "Odd"

        def score_node(self, state, pod, node):
            return points

    with pytest.raises(InputError, match=f"plugin Odd: score_node of pod default/new on node n1: .*{problem}"):
        traces([node("n1"), node("n2"), pod("new")], {**PLUGINS, "Odd": Odd})


def test_a_plugin_without_extension_points_is_rejected():
    class Idle(PerNode):
        name = "Idle"

    with pytest.raises(TypeError, match="Idle needs a name, and filter_node or score_node"):
        per_node(Idle)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("nonsense", "must be given as module:Class"),
        ("no_such_module:Thing", "cannot be loaded: ModuleNotFoundError"),
        ("json:JSONDecoder", "is not a plugin class"),
        ("json:Nothing", "there is no Nothing in json"),
        (f"{EXAMPLES / 'missing.py'}:Thing", "cannot be loaded: FileNotFoundError"),
    ],
)
def test_an_invalid_plugin_is_rejected(spec, problem):
    with pytest.raises(InputError, match=problem):
        load_plugin(spec)


def test_a_name_that_exists_is_rejected():
    with pytest.raises(InputError, match="the name NodeName is taken"):
        with_plugins(["scheduler_core.plugins.node_name:NodeName"], PLUGINS)
