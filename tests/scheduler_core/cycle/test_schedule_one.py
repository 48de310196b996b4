"""A scheduling cycle: number of evaluated nodes, nominated pods, and effects of a late rejection."""

import random
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.schedule_one import Scheduler, nodes_to_find
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.framework import interface as fwk
from scheduler_core.plugins import REGISTRY
from scheduler_core.releases import get_release
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import HOSTNAME, REQUIRED, Raw, node, pod

# ---------------------------------------------------------------- how many nodes


@pytest.mark.parametrize(
    ("percentage", "nodes", "wanted"),
    [
        *[(0, 10, 10), (0, 99, 99), (0, 100, 100), (70, 10, 10), (40, 1000, 400), (33, 1001, 330), (100, 5000, 5000)],
        *[(0, 200, 100), (1, 1000, 100)],  # never fewer than 100
        *[(0, 1000, 420), (None, 1000, 420), (0, 5000, 500)],  # 50 - 1000 / 125 = 42%, 10%
        *[(0, 6000, 300), (0, 15000, 750)],  # 2%, but at least 5%
    ],
)
def test_the_number_of_feasible_nodes_to_find(percentage: int | None, nodes: int, wanted: int) -> None:
    assert nodes_to_find(percentage, nodes) == wanted


def test_a_configured_percentage_is_used_and_a_profile_may_have_its_own() -> None:
    def evaluated(config: Raw) -> int:
        objects = [*(node(f"n{i}") for i in range(400)), pod("p")]
        (trace,) = Simulation(objects, config={"apiVersion": API, "kind": "KubeSchedulerConfiguration", **config}).run()
        return int(trace.looked_mask().sum())

    assert evaluated({}) == 400 * 47 // 100
    assert evaluated({"percentageOfNodesToScore": 30}) == 120
    assert evaluated({"percentageOfNodesToScore": 30, "profiles": [{"percentageOfNodesToScore": 50}]}) == 200


@given(st.integers(1, 30), st.integers(0, 1 << 30), st.booleans())
def test_the_search_for_enough_nodes_equals_one_that_visits_one_node_after_the_other(
    nodes: int, seed: int, narrowed: bool
) -> None:
    chance = random.Random(seed)
    share = chance.random()
    codes = np.array([chance.random() < share for _ in range(nodes)], np.uint16)
    trace = CycleTrace("default/p", nodes=nodes, verdicts={"A": fwk.Verdict(codes, (fwk.unschedulable("no"),))})
    ring = sorted(chance.sample(range(nodes), chance.randint(1, nodes))) if narrowed else list(range(nodes))
    trace.subset = np.array(ring, np.intp) if narrowed else None
    if len(ring) == 1:
        return  # every node is wanted
    scheduler = Scheduler(Cluster(get_release("1.36")), {})
    scheduler.next_start_index, wanted = chance.randrange(nodes), chance.randint(1, len(ring) - 1)

    feasible, looked, processed = [], [], 0
    for step in range(len(ring)):
        row = ring[(scheduler.next_start_index + step) % len(ring)]
        if not codes[row] and len(feasible) == wanted:
            break
        looked.append(row)
        processed += 1
        if not codes[row]:
            feasible.append(row)

    assert scheduler._find_enough_feasible(trace, wanted, len(ring)) == processed
    assert trace.feasible_rows().tolist() == sorted(feasible)
    assert np.flatnonzero(trace.looked_mask()).tolist() == sorted(looked)


# ---------------------------------------------------------------- nominated pods


def only(*objects: Raw, **options: Any) -> CycleTrace:
    (trace,) = Simulation(list(objects), **options).run()
    return trace


def test_the_nominated_node_of_a_pod_is_tried_first_and_alone() -> None:
    nodes = [node(f"n{i}", unschedulable=i == 3) for i in range(5)]
    trace = only(*nodes, pod("p", status={"nominatedNodeName": "n2"}))
    assert (trace.node, trace.looked_mask().tolist()) == ("n2", [False, False, True, False, False])
    assert not trace.scores
    for gone in ("n3", "lost"):  # if it is not feasible, all nodes are evaluated
        trace = only(*nodes, pod("p", status={"nominatedNodeName": gone}))
        assert trace.result == "scheduled"
        assert trace.looked_mask().all()


@pytest.mark.parametrize(("release", "refused"), [("1.20", True), ("1.26", True), ("1.27", False), ("1.36", False)])
def test_anti_affinity_of_a_nominated_pod(release: str, refused: bool) -> None:
    """Where plugins return Skip, InterPodAffinity is left out for a pod that no term of a running pod matches."""
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
    far = {"podAntiAffinity": {REQUIRED: [term]}}
    nominated = pod("db", priority=9, affinity=far, status={"nominatedNodeName": "n1"})
    trace = cycle_after_nomination(release, nominated, pod("web", labels={"app": "web"}))
    assert (trace.result == "unschedulable") is refused
    if refused:
        assert "didn't satisfy existing pods anti-affinity rules" in trace.message


def cycle_after_nomination(release: str, nominated: Raw, late: Raw) -> CycleTrace:
    """Run the cycle of the pod `late` on n1, to which the other one is nominated."""
    objects = [node("n1"), node("n2", unschedulable=True), nominated, late]
    pods = [f"default/{late['metadata']['name']}"]
    return next(Simulation(objects, release=release, pods=pods, preemption=False).run())


@pytest.mark.parametrize("release", ["1.20", "1.26", "1.36"])
@pytest.mark.parametrize("wants", ["ports", "spread", "disk"])
def test_resources_of_a_nominated_pod_are_taken(release: str, wants: str) -> None:
    """Its host port, spread and disk count on its node as if it ran there."""
    labels = {"app": "web"}
    constraint = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}
    specs: dict[str, dict[str, Any]] = {
        "ports": {"ports": ({"containerPort": 80, "hostPort": 80},)},
        "spread": {"topologySpreadConstraints": [constraint | {"labelSelector": {"matchLabels": labels}}]},
        "disk": {"volumes": [{"name": "v", "gcePersistentDisk": {"pdName": "disk"}}]},
    }
    nominated, late = (pod(name, priority=9, labels=labels, **specs[wants]) for name in ("db", "web"))
    assert cycle_after_nomination(release, nominated, late).node == "n1"
    nominated["status"] = {"nominatedNodeName": "n1"}
    assert cycle_after_nomination(release, nominated, late).result == "unschedulable"


def test_a_nomination_ends_when_the_pod_is_placed() -> None:
    objects = [node("n", cpu="3"), pod("a", priority=9, requests={"cpu": "1"}, status={"nominatedNodeName": "n"})]
    simulation = Simulation([*objects, pod("b", requests={"cpu": "2"})])
    assert [trace.result for trace in simulation.run()] == ["scheduled", "scheduled"]
    assert not simulation.cluster.nominator


# ---------------------------------------------------------------- test plugins

API = "kubescheduler.config.k8s.io/v1"
PluginStatus = fwk.Status | None


class Recorder(
    fwk.PreFilterPlugin, fwk.ReservePlugin, fwk.PermitPlugin, fwk.PreBindPlugin, fwk.BindPlugin, fwk.PostBindPlugin
):
    """Plugin that records its calls and returns configured statuses."""

    calls: ClassVar[list[str]] = []
    says: ClassVar[dict[str, PluginStatus]] = {}

    def _say(self, point: str) -> PluginStatus:
        self.calls.append(f"{self.name} {point}")
        return self.says.get(f"{self.name} {point}")

    def pre_filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Status | fwk.PreFilterResult | None:
        return self._say("prefilter")

    def reserve(self, state: fwk.CycleState, pod: PodInfo, node: str) -> PluginStatus:
        assert pod.key in self.cluster.pods, "the pod is assumed before Reserve"
        return self._say("reserve")

    def unreserve(self, state: fwk.CycleState, pod: PodInfo, node: str) -> None:
        assert pod.key in self.cluster.pods, "and forgotten after Unreserve"
        self._say("unreserve")

    def permit(self, state: fwk.CycleState, pod: PodInfo, node: str) -> tuple[PluginStatus, float]:
        return self._say("permit"), 7.5

    def pre_bind(self, state: fwk.CycleState, pod: PodInfo, node: str) -> PluginStatus:
        return self._say("prebind")

    def bind(self, state: fwk.CycleState, pod: PodInfo, node: str) -> PluginStatus:
        return self._say("bind")

    def post_bind(self, state: fwk.CycleState, pod: PodInfo, node: str) -> None:
        self._say("postbind")


class First(Recorder):
    name = "First"


class Second(Recorder):
    name = "Second"


def with_plugins(*plugins: type[fwk.Plugin], pods: int = 1, nodes: int = 1) -> Simulation:
    """Return a simulation of some pods, with these plugins before the default ones at every point."""
    names = [{"name": plugin.name} for plugin in plugins]
    bind = {"enabled": [n for n, p in zip(names, plugins, strict=True) if issubclass(p, fwk.BindPlugin)]}
    bind["disabled"] = [{"name": "DefaultBinder"}]
    points = {"multiPoint": {"enabled": names}, **({"bind": bind} if bind["enabled"] else {})}
    config = {"apiVersion": API, "kind": "KubeSchedulerConfiguration", "profiles": [{"plugins": points}]}
    registry = {**REGISTRY, **{plugin.name: plugin for plugin in plugins}}
    names_of_nodes = ["n", "m", "o"][:nodes]
    objects = [
        *(node(name, cpu="1") for name in names_of_nodes),
        *(pod(f"p{i}", requests={"cpu": "800m"}) for i in range(pods)),
    ]
    return Simulation(objects, config=config, registry=registry)


def calls_of(says: dict[str, PluginStatus], pods: int = 1) -> tuple[Simulation, list[CycleTrace], list[str]]:
    """Return the run, its traces and the calls after PreFilter."""
    Recorder.calls.clear()
    Recorder.says = says
    simulation = with_plugins(First, Second, pods=pods)
    traces = list(simulation.run())
    return simulation, traces, [call for call in Recorder.calls if not call.endswith("prefilter")]


def test_all_points_are_called_in_order() -> None:
    simulation, (trace,), calls = calls_of({})
    assert calls == [
        *("First reserve", "Second reserve", "First permit", "Second permit", "First prebind", "Second prebind"),
        *("First bind", "First postbind", "Second postbind"),
    ]
    assert (trace.result, trace.node, trace.message) == ("scheduled", "n", "")
    assert list(simulation.cluster.pods) == ["default/p0"]


UNDONE = ["Second unreserve", "First unreserve"]
RESERVED, PERMITTED = ["First reserve", "Second reserve"], ["First permit", "Second permit"]
PREBOUND = [*RESERVED, *PERMITTED, "First prebind"]


STOPPED = {
    "First reserve": ["First reserve"],
    "Second reserve": RESERVED,
    "First permit": [*RESERVED, "First permit"],
    "Second permit": [*RESERVED, *PERMITTED],
    "First prebind": PREBOUND,
    "First bind": [*PREBOUND, "Second prebind", "First bind"],
}


@pytest.mark.parametrize("at", list(STOPPED)[:4])
def test_a_rejection_undoes_the_reservation(at: str) -> None:
    """All Reserve plugins are called in reverse order, also those that had not reserved yet."""
    simulation, (trace,), made = calls_of({at: fwk.unschedulable("not here", "not now")})
    assert made == [*STOPPED[at], *UNDONE]
    assert (trace.result, trace.message) == ("unschedulable", "0/1 nodes are available: 1 not here, 1 not now.")
    assert trace.unschedulable_plugins == [at.split()[0]]
    refused = trace.reserve or trace.permit
    assert refused is not None
    assert (refused.plugin, refused.reasons) == (at.split()[0], ("not here", "not now"))
    assert (trace.selected_row, trace.postfilter) == (-1, None)
    assert simulation.cluster.pods == {}
    assert simulation.cluster.nodes.requested["cpu"].tolist() == [0], "its room is free again"


@pytest.mark.parametrize("at", STOPPED)
def test_an_error_is_no_decision_and_undoes_the_same(at: str) -> None:
    simulation, (trace,), made = calls_of({at: fwk.error("disk on fire")})
    assert made == [*STOPPED[at], *UNDONE]
    assert (trace.result, trace.error, trace.message) == ("error", "disk on fire", "disk on fire")
    assert trace.unschedulable_plugins == []
    assert simulation.cluster.pods == {}


def test_a_rejected_pod_leaves_its_resources_to_the_next() -> None:
    _, traces, _ = calls_of({"Second permit": fwk.unresolvable("no")}, pods=2)
    assert [trace.message for trace in traces] == ["0/1 nodes are available: 1 no."] * 2, "not: Insufficient cpu"


def test_permit_may_delay_a_pod() -> None:
    simulation, (other, waited), calls = calls_of({"First permit": fwk.WAITING, "Second permit": fwk.WAITING}, pods=2)
    assert "Insufficient cpu" in other.message, "it counts on its node meanwhile"
    assert (waited.pod, waited.permit_waits) == ("default/p0", {"First": 7.5, "Second": 7.5})
    assert waited.result == "unschedulable", "all pods were tried, and no plugin decided"
    assert "rejected due to timeout after waiting 7.5s at plugin First" in waited.message
    assert calls == [*RESERVED, *PERMITTED, *UNDONE], "not bound"
    assert simulation.cluster.pods == {}


def test_a_rejection_takes_precedence_over_waiting() -> None:
    _, (trace,), calls = calls_of({"First permit": fwk.WAITING, "Second permit": fwk.unschedulable("no")})
    assert (trace.result, trace.permit_waits) == ("unschedulable", {})
    assert calls[-2:] == UNDONE


def test_binding_is_done_by_the_first_plugin_that_accepts() -> None:
    _, (trace,), calls = calls_of({"First bind": fwk.SKIPPED})
    assert [call for call in calls if call.endswith(" bind")] == ["First bind", "Second bind"]
    assert trace.result == "scheduled"
    simulation, (trace,), calls = calls_of({"First bind": fwk.SKIPPED, "Second bind": fwk.SKIPPED})
    assert trace.result == "error"
    assert calls[-2:] == UNDONE
    assert simulation.cluster.pods == {}


def test_prefilter_rejects_the_pod_for_all_nodes() -> None:
    _, (trace,), calls = calls_of({"Second prefilter": fwk.unresolvable("never")})
    assert calls == []
    assert trace.message.startswith("0/1 nodes are available: never.")
    assert trace.unschedulable_plugins == ["Second"]
    assert trace.verdicts == {}, "no filter ran"
    _, (trace,), _ = calls_of({"First prefilter": fwk.error("broken")})
    assert (trace.result, trace.error) == ("error", "broken")


def test_prefilter_continues_after_unschedulable_but_not_after_unresolvable() -> None:
    calls_of({"First prefilter": fwk.unschedulable("no")})
    assert [call for call in Recorder.calls if call.endswith("prefilter")] == ["First prefilter", "Second prefilter"]
    calls_of({"First prefilter": fwk.unresolvable("never")})
    assert [call for call in Recorder.calls if call.endswith("prefilter")] == ["First prefilter"]


class Gate(fwk.PreEnqueuePlugin):
    name = "Gate"

    def pre_enqueue(self, pod: PodInfo) -> PluginStatus:
        return fwk.unresolvable("closed")


class Broken(fwk.FilterPlugin):
    name = "Broken"

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        return fwk.Verdict.of_statuses([fwk.error("cannot say")] * len(self.cluster.nodes))


class BrokenOnOne(fwk.FilterPlugin):
    name = "BrokenOnOne"

    def filter(self, state: fwk.CycleState, pod: PodInfo) -> fwk.Verdict:
        return fwk.Verdict.of_statuses([fwk.error("cannot say"), *[None] * (len(self.cluster.nodes) - 1)])


class BrokenScore(fwk.PreScorePlugin):
    name = "BrokenScore"

    def pre_score(self, state: fwk.CycleState, pod: PodInfo, rows: fwk.Rows) -> PluginStatus:
        return fwk.error("cannot prepare")


def test_a_gated_pod_has_no_cycle() -> None:
    (trace,) = with_plugins(Gate).run()
    assert (trace.result, trace.verdicts, trace.node) == ("gated", {}, "")
    assert trace.preenqueue is not None
    assert (trace.preenqueue.plugin, trace.preenqueue.reasons) == ("Gate", ("closed",))


def test_errors_of_filter_and_prescore_are_no_decisions() -> None:
    (trace,) = with_plugins(Broken).run()
    assert (trace.result, trace.error, trace.postfilter) == (
        "error",
        'running "Broken" filter plugin: cannot say',
        None,
    )
    message = 'running PreScore plugin "BrokenScore": cannot prepare'
    (trace,) = with_plugins(BrokenScore, nodes=2).run()
    assert (trace.result, trace.error, trace.node, trace.scores) == ("error", message, "", {})
    (trace,) = with_plugins(BrokenScore).run()
    assert trace.result == "scheduled", "one feasible node is not scored"


@pytest.mark.parametrize("collects", [True, False])
def test_an_error_of_filter_on_one_node_fails_the_cycle(collects: bool) -> None:
    simulation = with_plugins(BrokenOnOne, nodes=3)
    simulation.scheduler.collects_rejectors = collects
    (trace,) = simulation.run()
    assert (trace.result, trace.error) == ("error", 'running "BrokenOnOne" filter plugin: cannot say')


def test_a_pod_of_an_unknown_scheduler_is_an_error() -> None:
    simulation = Simulation([node("n"), pod("p", schedulerName="volcano")])
    (info,) = simulation.pending
    with pytest.raises(InputError, match=r"Pod default/p: spec.schedulerName: no profile of that name"):
        simulation.scheduler.schedule_one(info)


@pytest.mark.parametrize("release", ["1.26", "1.27", "1.30", "1.36"])
def test_the_api_server_refuses_to_bind_a_pod_with_gates(release: str) -> None:
    """If a profile disables SchedulingGates, a gated pod gets a node, and its binding fails."""
    gates = "preEnqueue" if release != "1.26" else "preFilter"
    plugins = {gates: {"disabled": [{"name": "SchedulingGates"}]}}
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config["profiles"] = [{"schedulerName": "default-scheduler", "plugins": plugins if release != "1.26" else {}}]
    held = pod("held", schedulingGates=[{"name": "example.com/hold"}])
    simulation = Simulation([node("n1"), held], release=release, config=config, tie_break="name")
    trace = next(simulation.run())
    if release == "1.26":  # its API server stores no gates by default
        assert trace.result == "scheduled"
        return
    assert (trace.result, trace.node) == ("error", "n1")
    refused = 'Operation cannot be fulfilled on pods/binding "held": pod held has non-empty .spec.schedulingGates'
    assert trace.error == f'running Bind plugin "DefaultBinder": {refused}'
    assert "default/held" not in simulation.cluster.pods
