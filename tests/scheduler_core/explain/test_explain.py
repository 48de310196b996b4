"""Explanations of cycles on small clusters: sentence, quantities, objections."""

import msgspec
import pytest

from scheduler_core.api.objects import decode_all
from scheduler_core.cluster.formatting import agree
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.explain import Answer, explain, render
from scheduler_core.explain.answer import Cause
from scheduler_core.explain.ladder import phrase_of
from scheduler_core.framework.interface import UNSCHEDULABLE, Status
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.answers import answers_of
from tests.scheduler_core.build import HOSTNAME, ZONE, claim, mounts, node, pod, selector, volume

BIG = pod("new", requests={"cpu": "2"})
TAINTS = (("a", "", "NoSchedule"),)


def why(*objects, key="default/new", **more):
    """Return the explanation of a pod after a run over all pending ones."""
    simulation = Simulation(list(objects), tie_break="name", **more)
    name = key.partition("/")[2]
    raw = next(raw for raw in objects if (raw["kind"], raw["metadata"]["name"]) == ("Pod", name))
    before = dict(simulation.cluster.pods)
    for trace in simulation.run():
        if trace.pod == key:
            (decoded,) = decode_all([raw])
            victims = [before[victim] for victim in trace.victims]
            return explain(trace, simulation, PodInfo(decoded, simulation.cluster.release), victims=victims)
        before = dict(simulation.cluster.pods)
    raise AssertionError(f"no cycle of {key}")


def near(answer, name):
    """Return the objections of one of the closest nodes, as (plugin, detail)."""
    found = next(n for n in answer.closest if n.node == name)
    return [(o.plugin, o.detail) for o in found.objections]


# ---- the sentence


def test_no_node_fits():
    answer = why(
        *(node(f"n{i}", cpu="1") for i in range(1, 6)),
        *(node(f"t{i}", taints=(("dedicated", "a", "NoSchedule"),)) for i in range(4)),
        *(pod(f"p{i}", on=f"n{i}", requests={"cpu": f"{750 + (0 if i == 4 else i)}m"}) for i in range(1, 6)),
        pod("new", requests={"cpu": "500m"}),
    )
    assert answer.sentence == (
        "No node that suits it has 0.5 cpu free: the closest, n4, is short by 0.25 cpu (requests 0.5, 0.25 of 1 free). "
        "4 other nodes have the untolerated taint dedicated=a:NoSchedule."
    )
    assert answer.result == "unschedulable"
    assert [(g.plugin, g.count) for g in answer.groups] == [("NodeResourcesFit", 5), ("TaintToleration", 4)]
    assert answer.groups[1].nodes == ["t0", "t1", "t2", "t3"]
    assert (answer.nodes, answer.looked, answer.feasible) == (9, 9, 0)


def test_sentences_of_one_cause():
    answer = why(node("n1", unschedulable=True), node("n2", cpu="1"), BIG)
    assert answer.sentence == (
        "n1 could take the pod, but is cordoned. 1 other node is smaller than the request of 2 cpu."
    )
    assert why(node("n1"), pod("new")).sentence == "Placed on n1, the only node."
    assert why(pod("new")).sentence == "There are no nodes."
    gated = why(node("n1"), pod("new", schedulingGates=[{"name": "a"}, {"name": "b"}]))
    assert gated.sentence == "It waits until the scheduling gates a and b are removed."


def test_rejected_before_any_node_was_evaluated():
    answer = why(node("n1"), pod("new", volumes=mounts("data")))
    assert answer.sentence == "Its PersistentVolumeClaim default/data does not exist."
    assert (answer.cause.kind, answer.cause.objects) == ("claim-missing", ["default/data"])
    assert answer.groups == []


# ---- objections on a node


def test_resources_with_units():
    answer = why(
        node("n1", cpu="2", memory="4Gi", pods=2, more={"example.com/gpu": "1"}),
        pod("old", on="n1", requests={"cpu": "1500m", "memory": "3Gi"}),
        pod("new", requests={"cpu": "750m", "memory": "2560Mi", "example.com/gpu": "4"}),
    )
    ((plugin, detail),) = near(answer, "n1")
    assert plugin == "NodeResourcesFit"
    assert detail == (
        "short by 0.25 cpu (requests 0.75, 0.5 of 2 free); short by 1.5Gi memory (requests 2.5Gi, 1Gi of 4Gi free); "
        "short by 3 example.com/gpu (requests 4, 1 of 1 free)"
    )
    shortfalls = answer.closest[0].objections[0].shortfalls
    assert [(s.resource, s.short) for s in shortfalls] == [("cpu", 250), ("memory", 3 << 29), ("example.com/gpu", 3)]


def test_a_full_node():
    answer = why(node("n1", pods=1), pod("old", on="n1"), pod("new"))
    assert near(answer, "n1") == [("NodeResourcesFit", "all 1 places for pods are taken")]
    assert answer.sentence == "n1 could take the pod, but all its pod slots are taken (1)."


def test_all_untolerated_taints_are_named():
    taints = (("a", "1", "NoSchedule"), ("b", "", "NoExecute"), ("c", "", "PreferNoSchedule"))
    answer = why(node("n1", taints=taints), pod("new", tolerations=[{"key": "x", "operator": "Exists"}]))
    assert near(answer, "n1") == [("TaintToleration", "taint a=1:NoSchedule and b:NoExecute")]


def test_missing_labels():
    both = [{"key": "x", "operator": "Exists"}, {"key": "y", "operator": "Exists"}]
    tier = [{"key": "tier", "operator": "In", "values": ["a", "b"]}]
    terms = {"nodeSelectorTerms": [{"matchExpressions": both}, {"matchExpressions": tier}]}
    wanted = {"nodeSelector": {"disk": "ssd"}, **required("nodeAffinity", terms)}
    answer = why(node("n1", labels={"disk": "hdd"}), pod("new", **wanted))
    detail = "the pod wants disk=ssd (the node has disk=hdd); the pod wants tier in (a, b) (the node has no such label)"
    assert near(answer, "n1") == [("NodeAffinity", detail)]


def test_taken_host_ports():
    port = {"containerPort": 80, "hostPort": 8080}
    answer = why(node("n1"), pod("old", on="n1", ports=(port,)), pod("new", ports=(port,)))
    assert near(answer, "n1") == [("NodePorts", "host port 8080/TCP is taken by default/old")]


def required(kind, rule):
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": rule}}}


def required_pods(kind, **labels):
    return required(kind, [{"labelSelector": selector(**labels), "topologyKey": ZONE}])


def test_affinity_to_missing_pods():
    answer = why(node("n1", zone="a"), node("n2"), pod("new", **required_pods("podAffinity", app="db")))
    assert near(answer, "n1") == [("InterPodAffinity", f"no pod with app=db runs in {ZONE}=a")]
    assert near(answer, "n2") == [("InterPodAffinity", f"the node has no label {ZONE}")]


def test_anti_affinity_names_the_pods_of_the_domain():
    new, db = pod("new", **required_pods("podAntiAffinity", app="db")), pod("db", on="n2", labels={"app": "db"})
    answer = why(node("n1", zone="a"), node("n2", zone="a"), db, new)
    detail = f"default/db in {ZONE}=a matches its anti-affinity to app=db"
    assert near(answer, "n1") == near(answer, "n2") == [("InterPodAffinity", detail)]


def test_anti_affinity_of_running_pods():
    shy = pod("shy", on="n1", **required_pods("podAntiAffinity", app="web"))
    answer = why(node("n1", zone="a"), shy, pod("new", labels={"app": "web"}))
    assert near(answer, "n1") == [("InterPodAffinity", f"default/shy in {ZONE}=a keeps it away by anti-affinity")]


def test_topology_spread_has_quantities():
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    constraint["labelSelector"] = selector(app="web")
    web = {"labels": {"app": "web"}}
    answer = why(
        *(node("a1", zone="a"), node("b1", zone="b", cpu="1")),
        *(pod("w1", on="a1", **web), pod("full", on="b1", requests={"cpu": "1"})),
        pod("new", requests={"cpu": "1"}, topologySpreadConstraints=[constraint], **web),
    )
    assert near(answer, "a1") == [
        ("PodTopologySpread", f"{ZONE}=a has 1 matching pod, the fewest are 0 in b: the skew would be 2, maxSkew is 1")
    ]


def test_a_volume_in_another_zone():
    objects = volume("pv", at={ZONE: ["b"]}), claim("data", volume="pv"), pod("new", volumes=mounts("data"))
    detail = f"volume pv of claim default/data wants {ZONE}=b (the node has {ZONE}=a)"
    assert near(why(node("n1", zone="a"), *objects), "n1") == [("VolumeBinding", detail)]


def test_the_next_objection():
    taints = (("dedicated", "a", "NoSchedule"),)
    answer = why(node("n1", cpu="1", taints=taints), pod("new", requests={"cpu": "2"}, nodeSelector={"disk": "ssd"}))
    assert [plugin for plugin, _ in near(answer, "n1")] == ["TaintToleration", "NodeAffinity", "NodeResourcesFit"]


def test_the_closest_nodes_are_the_first_of_the_ladder():
    answer = why(
        node("tainted", cpu="1", taints=TAINTS),
        node("small", cpu="500m"),
        node("large", cpu="1500m"),
        pod("new", requests={"cpu": "2"}),
    )
    assert [n.node for n in answer.closest] == ["large", "small", "tainted"]


def test_the_ladder_orders_nodes_by_the_number_of_changes():
    answer = why(
        node("n1", taints=TAINTS),
        node("n2", taints=TAINTS, cpu="3"),
        node("n3", cpu="1"),
        node("n4", unschedulable=True),
        pod("old", on="n2", requests={"cpu": "2"}, tolerations=[{"operator": "Exists"}]),
        pod("new", requests={"cpu": "2"}),
    )
    assert [(rung.changes, rung.nodes) for rung in answer.ladder] == [
        (1, ["n4"]),
        (1, ["n1"]),
        (2, ["n2"]),
        (None, ["n3"]),
    ]
    assert answer.ladder[-1].text == "1 node is smaller than the request of 2 cpu"
    assert answer.cause == Cause("cordoned", "NodeUnschedulable", ["n4"])


# ---- preemption


def test_preemption_with_victims_and_the_rule():
    answer = why(
        node("n1", cpu="2"),
        node("n2", cpu="2"),
        pod("low", on="n1", requests={"cpu": "2"}, priority=1),
        pod("lower", on="n2", requests={"cpu": "2"}, priority=0),
        pod("new", requests={"cpu": "1"}, priority=10),
    )
    assert (answer.preemption.nominated_node, answer.preemption.victims) == ("n2", ["default/lower"])
    assert answer.preemption.rule == "lowest highest priority of the victims"
    assert {c.node: c.victims for c in answer.preemption.candidates} == {"n1": ["default/low"], "n2": ["default/lower"]}
    assert answer.sentence.endswith(
        "It fits on n2 by evicting 1 pod (default/lower), "
        "chosen among 2 nodes by lowest highest priority of the victims."
    )
    # the victim still counts where it ran
    assert near(answer, "n2")[0][1] == "short by 1 cpu (requests 1, 0 of 2 free)"


def test_preemption_that_does_not_help():
    answer = why(node("n1", cpu="1"), pod("old", on="n1", requests={"cpu": "1"}), pod("new", requests={"cpu": "1"}))
    assert answer.preemption.refused == {"No preemption victims found for incoming pod": 1}


def test_preemption_that_is_not_allowed_or_finds_no_victim():
    never = why(node("n1", cpu="1"), pod("new", requests={"cpu": "2"}, preemptionPolicy="Never"))
    assert never.preemption.words == "The pod may not evict others: preemptionPolicy=Never."
    cordoned = why(node("n1", unschedulable=True), pod("new"))
    assert cordoned.preemption.words == "Evicting pods cannot help: no node rejects it because of other pods."


BY_PREEMPTION = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}


def config_with(preemptor):
    """Return a configuration in which the plugin alone evicts pods."""
    plugins = {"enabled": [{"name": preemptor}], "disabled": [{"name": "*"}]}
    points = {"preFilter": {"enabled": plugins["enabled"]}} if preemptor == "CapacityScheduling" else {}
    return {"profiles": [{"plugins": {**points, "postFilter": plugins}}]}


@pytest.mark.parametrize("release", ["1.16", "1.22", "1.34", "CapacityScheduling", "PreemptionToleration"])
@pytest.mark.parametrize("status", [None, BY_PREEMPTION])
def test_a_nominated_pod_waits_for_a_victim_that_is_being_deleted(release, status):
    plugin, config = "DefaultPreemption", None
    if not release[0].isdigit():
        plugin, config, release = release, config_with(release), "1.34"
    objects = (
        node("n1"),
        pod("victim", on="n1", requests={"cpu": "3"}, deleted=True, status=status),
        pod("new", requests={"cpu": "2"}, priority=10, status={"nominatedNodeName": "n1"}),
    )
    words = "It is nominated to n1 and waits until default/victim has ended."
    answer = why(*objects, release=release, config=config)
    assert answer.sentence.endswith(words)
    assert answer.cause == Cause("nominated", plugin, ["n1"], ["default/victim"])
    simulation = Simulation(list(objects), release=release, config=config)
    last = {trace.pod: trace for trace in simulation.run()}
    (alike,) = answers_of(simulation, last=last, fixes=False)
    assert alike.answer.sentence.endswith(words)
    assert alike.answer.cause is not None
    assert alike.answer.cause.plugin == plugin
    assert simulation.pending[0].nominated_node == "n1"
    again = CycleTrace.decode(last["default/new"].encode())
    assert explain(again, names=["n1"]).preemption.words == explain(last["default/new"], names=["n1"]).preemption.words


def test_nominated_pods_count_as_in_the_cycle():
    answer = why(
        node("n1", cpu="2"),
        pod("low", on="n1", requests={"cpu": "2"}),
        pod("urgent", requests={"cpu": "1500m"}, priority=100),
        pod("new", requests={"cpu": "1"}, priority=10),
    )
    ((plugin, detail),) = near(answer, "n1")
    assert plugin == "NodeResourcesFit"
    assert detail == "short by 0.5 cpu (requests 1, 0.5 of 2 free), counting pods that are nominated to the node"


# ---- inputs


def cycle(*objects):
    """Return the simulation, the cycle of the only pending pod (the last object), and the pod."""
    simulation = Simulation(list(objects))
    (trace,) = simulation.run()
    return simulation, trace, PodInfo(decode_all(objects[-1:])[0], simulation.cluster.release)


def test_a_decoded_trace_gives_the_same_explanation():
    simulation, trace, info = cycle(node("n1", cpu="1"), node("n2", unschedulable=True), BIG)
    assert explain(CycleTrace.decode(trace.encode()), simulation, info) == explain(trace, simulation, info)


def test_without_the_cluster_there_are_reasons_without_quantities():
    simulation, trace, _ = cycle(node("n1", cpu="1"), node("n2", unschedulable=True), BIG)
    answer = explain(trace, names=simulation.nodes)
    assert answer.sentence == "n2 could take the pod, but is cordoned. 1 other node lacks cpu."
    with pytest.raises(ValueError, match="names of the nodes"):
        explain(trace)


def test_the_cluster_before_and_after_the_cycle_give_the_same_explanation():
    nodes = node("n1", zone="a"), node("n2", zone="b", cpu="1"), node("n3", zone="a", taints=TAINTS)
    old = pod("old", on="n2", requests={"cpu": "500m"})
    simulation, trace, info = cycle(*nodes, old, pod("new", requests={"cpu": "3"}))
    after = explain(trace, simulation.cluster, info)
    simulation.cluster.remove_pod(simulation.cluster.pods["default/new"])
    assert explain(trace, simulation.cluster, info) == after


def test_a_deleted_node_has_its_reasons():
    simulation, trace, info = cycle(node("n1", cpu="1"), node("n2", cpu="1"), BIG)
    names = list(simulation.nodes)
    simulation.cluster.nodes.remove_node("n1")
    simulation.cluster.nodes.refresh()
    answer = explain(trace, simulation, info, names)
    assert sorted(n.node for n in answer.closest) == ["n1", "n2"]
    assert near(answer, "n1") == [("NodeResourcesFit", "")]


def test_an_explanation_is_json_and_text():
    answer = why(node("n1", cpu="1"), node("n2", labels={HOSTNAME: "x"}, unschedulable=True), BIG)
    assert msgspec.json.decode(msgspec.json.encode(answer), type=Answer) == answer
    text = render(answer)
    assert text.startswith(f"default/new: {answer.sentence}\n")
    assert "n1: NodeResourcesFit: short by 1 cpu (requests 2, 1 of 1 free)" in text


# ---- reasons as phrases


@pytest.mark.parametrize(
    ("number", "plugin", "reasons", "words"),
    [
        (2, "NodeResourcesFit", ["Insufficient cpu", "Too many pods"], "lack cpu and a free pod slot"),
        (1, "NodeResourcesFit", ["Insufficient cpu", "Insufficient memory"], "lacks cpu and memory"),
        (1, "TaintToleration", ["node(s) had untolerated taint {a: b}"], "has the untolerated taint a=b"),
        (1, "Licenses", ["no license"], "is refused by Licenses (no license)"),
        (
            1,
            "GeneralPredicates",
            ["Insufficient cpu", "Insufficient memory", "node(s) didn't match node selector"],
            "lacks cpu and memory and does not match its node selector or affinity",
        ),
        (
            3,
            "MatchInterPodAffinity",
            ["node(s) didn't match pod affinity/anti-affinity", "node(s) didn't match pod anti-affinity rules"],
            "have a pod that it wants to be away from",
        ),
        (1, "CheckNodeCondition", ["node(s) were not ready"], "is not ready"),
        (
            2,
            "",
            ["node(s) didn't satisfy plugin(s) [NodeAffinity Mine] simultaneously"],
            "are excluded by NodeAffinity and Mine",
        ),
        (2, "", ["node is filtered out by the prefilter result"], "are excluded by PreFilter"),
        (2, "Silent", [], "are refused by Silent (Unschedulable)"),
    ],
)
def test_phrases(number: int, plugin: str, reasons: list[str], words: str) -> None:
    assert agree(number, phrase_of(plugin, Status(UNSCHEDULABLE, tuple(reasons)))) == words


def test_the_parts_of_a_predicate_are_obstacles_of_their_own() -> None:
    answer = why(
        node("n1", cpu="1"), node("n2"), pod("old", on="n2", requests={"cpu": "3"}),
        pod("new", requests={"cpu": "2"}, nodeSelector={"a": "b"}), release="1.16",
    )  # fmt: skip
    assert [(rung.changes, rung.text) for rung in answer.ladder] == [
        (2, "1 node lacks cpu and does not have a=b"),
        (None, "1 node is smaller than the request of 2 cpu"),
    ]
