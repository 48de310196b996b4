"""The dry run on many nodes at once decides as the filters do, node by node."""

import random
from typing import Any

import pytest

from scheduler_core.framework import interface as fwk
from scheduler_core.framework.out_of_tree import enabling
from scheduler_core.plugins import PLUGINS
from scheduler_core.plugins.node_ports import NodePorts
from scheduler_core.preemption.dry_run import VictimSelection
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import HOSTNAME, ZONE, Raw, node, pod, selector


def mixed(seed: int) -> list[Raw]:
    """Return a cluster in which resources, host ports, spreading and anti-affinity keep important pods off nodes."""
    random_ = random.Random(seed)
    objects = [node(f"n{i}", cpu=random_.choice("248"), pods=random_.choice("59"), zone=f"z{i % 2}") for i in range(8)]
    for i in range(0, 6, 2):
        budget = {"kind": "PodDisruptionBudget", "metadata": {"name": f"b{i}", "namespace": "default"}}
        budget |= {"spec": {"selector": selector(app=f"a{i}")}, "status": {"disruptionsAllowed": random_.randrange(2)}}
        objects.append(budget)
    for i in range(60):
        app, high, spec = f"a{random_.randrange(6)}", i >= 40, dict[str, Any]()
        term = {"labelSelector": selector(app=random_.choice((app, "a0")))}
        kind = random_.randrange(8)
        if kind == 0:
            required = [{"topologyKey": HOSTNAME, **term}]
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        elif kind == 1:
            constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **term}
            spec["topologySpreadConstraints"] = [constraint]
        if not high:
            spec |= {"on": f"n{i % 8}", "status": {"startTime": f"2026-01-01T00:00:0{random_.randrange(5)}Z"}}
        cpu = random_.choice(("500m", "1", "2", "3") if high else ("250m", "500m", "1"))
        priority = random_.choice((100, 200) if high else (0, 0, 10))
        ports = ({"containerPort": 80, "hostPort": 80},) if kind == 2 else ()
        objects.append(pod(f"p{i}", labels={"app": app}, requests={"cpu": cpu}, priority=priority, ports=ports, **spec))
    return objects


def decisions(objects: list[Raw], release: str) -> list[Any]:
    """Return what is decided if preemptors are tried again at once, and if they stay nominated."""
    runs = [Simulation(objects, release=release, retry_preemptors=again) for again in (True, False)]
    return [[trace.golden(run.nodes) for trace in run.run()] for run in runs]


@pytest.mark.parametrize("release", ["1.36", "1.28", "1.20"])
@pytest.mark.parametrize("seed", range(4))
def test_decides_as_filters_do(seed: int, release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = mixed(seed)
    together = decisions(objects, release)
    assert any(cycle.get("postfilter", {}).get("candidates") for cycle in together[0])
    monkeypatch.setattr(VictimSelection, "select", lambda self, rows: {})
    assert decisions(objects, release) == together


def test_asks_a_derived_plugin_on_every_node() -> None:
    """What an in-tree plugin says of its own results does not hold for a plugin that extends it."""

    class Odd(NodePorts):
        name = "Odd"

        def pre_filter(self, state: fwk.CycleState, pod: Any) -> None:
            return None

        def indifferent(self, state: fwk.CycleState, pod: Any) -> bool:
            return False

        def filter_node(self, state: fwk.CycleState, pod: Any, change: fwk.NodePodsChange) -> fwk.Status | None:
            return fwk.unschedulable("odd") if change.row == 0 else None

    objects = [*(node(f"n{i}", cpu="1") for i in range(2)), *(pod(f"low{i}", on=f"n{i}") for i in range(2))]
    for low in objects[2:]:
        low["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    objects.append(pod("high", requests={"cpu": "1"}, priority=1))
    (trace,) = Simulation(objects, config=enabling(["Odd"]), registry={**PLUGINS, "Odd": Odd}).run()
    assert trace.postfilter is not None
    assert list(trace.postfilter.candidates) == ["n1"]
    assert [status.message for status, _ in trace.postfilter.rejected] == ["odd"]
