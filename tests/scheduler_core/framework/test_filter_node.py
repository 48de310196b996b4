"""`filter_node`, used by preemption and for nominated pods, equals the filter column of the changed cluster."""

import random
from collections import Counter
from typing import Any

import pytest

from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.framework.interface import CycleState, FilterPlugin, NodePodsChange, Status
from scheduler_core.simulation import Simulation
from tests.conformance import golden_cases
from tests.examples import selection
from tests.scheduler_core import build
from tests.scheduler_core.build import HOSTNAME, Raw

FITS, SKIPPED = ("",), ()
KINDS = ("ports", "spread", "podaffinity", "preemptaff", "volumes", "mixed")
PLUGINS = {"InterPodAffinity", "NodePorts", "NodeResourcesFit", "NodeVolumeLimits", "PodTopologySpread"}


def judged(plugin: FilterPlugin, pod: PodInfo, row: int, change: NodePodsChange | None = None) -> tuple[str, ...]:
    """Return code and reasons of the plugin for a node: from its column, or after the change."""
    state = CycleState()
    prefiltered = plugin.pre_filter(state, pod) if hasattr(plugin, "pre_filter") else None
    if isinstance(prefiltered, Status):
        return SKIPPED
    column = plugin.filter(state, pod)
    if change is None:
        status = column.at(row)
    else:
        assert plugin.filter_node is not None
        status = plugin.filter_node(state, pod, change)
    return FITS if status is None else (status.code, *sorted(status.reasons))


def begun(objects: list[Raw], release: str, config: Raw | None = None) -> tuple[Simulation, list[FilterPlugin]]:
    simulation = Simulation(objects, release=release, config=config)
    simulation.cluster.nodes.refresh()
    framework = next(iter(simulation.scheduler.profiles.values()))
    return simulation, [plugin for plugin in framework.filter if plugin.filter_node is not None]


def two_users_of_a_port(pods: list[PodInfo]) -> bool:
    """Tell whether two pods use a port. The first to leave frees it, as upstream."""
    ports = [port for pod in pods for port in pod.host_ports]
    return len(set(ports)) < len(ports)


def not_counted_at_first(incoming: PodInfo, moved: list[PodInfo]) -> bool:
    """See test_a_spread_change_counts_pods_that_were_not_counted."""
    constraints = incoming.pod.spec.topology_spread_constraints
    selectors = [each.label_selector for each in constraints]
    empty = any(s is not None and not s.match_labels and not s.match_expressions for s in selectors)
    return empty or any(pod.terminating for pod in moved)


@pytest.mark.parametrize("release", selection(["v1.34", "v1.27"], 2))
def test_a_change_on_one_node_gives_the_verdict_of_the_changed_cluster(release: str) -> None:
    """Some running pods of the node leave, and some waiting pods are added."""
    dice, differed = random.Random(1), Counter[str]()
    for case in golden_cases(release, *KINDS):
        simulation, plugins = begun(case["objects"], case["kubernetes"], case.get("config"))
        cluster = simulation.cluster
        for incoming in simulation.pending:
            for node, row in cluster.nodes.rows.items():
                here = list(cluster.nodes.pods_of(row))
                gone = dice.sample(here, dice.randrange(len(here) + 1))
                others = [pod for pod in simulation.pending if pod is not incoming]
                come = dice.sample(others, min(len(others), dice.randrange(4)))
                change = NodePodsChange(row, come, gone, [*((pod, -1) for pod in gone), *((pod, 1) for pod in come)])
                known = [
                    *(["NodePorts"] if two_users_of_a_port([*here, *come]) else []),
                    *(["PodTopologySpread"] if not_counted_at_first(incoming, [*gone, *come]) else []),
                ]
                before = {p.name: judged(p, incoming, row) for p in plugins if p.name not in known}
                verdicts = {p.name: judged(p, incoming, row, change) for p in plugins if p.name not in known}
                for pod in gone:
                    cluster.remove_pod(pod)
                for pod in come:
                    cluster.add_pod(pod, node)
                after = {p.name: judged(p, incoming, row) for p in plugins if p.name not in known}
                for pod in come:
                    cluster.remove_pod(pod)
                for pod in gone:
                    cluster.add_pod(pod, node)
                for name, first in before.items():
                    if first != SKIPPED:  # a skipped plugin is skipped for the whole cycle
                        assert verdicts[name] == (after[name] or FITS), (
                            f"{name}: {case['name']}, {incoming.key} on {node}"
                        )
                        differed[name] += verdicts[name] != first
    assert {name for name, count in differed.items() if count > 9} >= PLUGINS, f"the changes must matter: {differed}"


@pytest.mark.parametrize("release", ["1.34", "1.27"])
def test_a_spread_change_counts_pods_that_were_not_counted(release: str) -> None:
    """Terminating pods, and all pods under an empty selector, count only when added or removed, as upstream."""
    running = [build.pod(f"p{i}", on=on, labels={"app": "a"}) for i, on in enumerate(["n0", "n0", "n1"])]
    leaving = build.pod("leaving", on="n0", labels={"app": "a"}, deleted=True)

    def both(selector: Raw, removed: tuple[str, ...], added: tuple[Raw, ...]) -> tuple[Any, Any]:
        spread = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}
        constraints = [{**spread, "labelSelector": selector}]
        pod = build.pod("p", labels={"app": "a"}, topologySpreadConstraints=constraints)
        objects = [build.node("n0"), build.node("n1"), *running, leaving, pod]
        simulation, plugins = begun(objects, release)
        cluster, (incoming,) = simulation.cluster, simulation.pending
        plugin, row = next(p for p in plugins if p.name == "PodTopologySpread"), cluster.nodes.rows["n0"]
        gone = [cluster.pods[f"default/{name}"] for name in removed]
        change = NodePodsChange(row, [build.info(p, release) for p in added], gone)
        return judged(plugin, incoming, row), judged(plugin, incoming, row, change)

    skewed = ("Unschedulable", "node(s) didn't match pod topology spread constraints")
    assert both({"matchLabels": {"app": "a"}}, ("leaving",), ()) == (skewed, FITS)
    assert both({}, (), (build.pod("new", labels={"app": "a"}),)) == (FITS, skewed)
