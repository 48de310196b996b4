import random

import msgspec
import pytest

from scheduler_core.errors import InputError
from scheduler_core.experiments.cell import Done
from scheduler_core.experiments.loaded_cluster import LoadedCluster
from scheduler_core.experiments.loss import Loss
from scheduler_core.experiments.node_loss import loss_changes
from scheduler_core.experiments.questions import load_experiment
from scheduler_core.experiments.scenario_input import ScenarioInput
from scheduler_core.forks.mutations import read_changes
from scheduler_core.forks.stages import Stage, plan_single_pass
from scheduler_core.simulation import Simulation
from tests.scheduler_core.build import claim, mounts, node, pod, static_pod, volume
from tests.scheduler_core.experiments.questions import answer_of, scenario_of

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def owned(raw, kind="ReplicaSet", name="web"):
    raw["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}
    ]
    return raw


def budget(name, labels, status=None, policy="", **spec):
    found = {"kind": "PodDisruptionBudget", "apiVersion": "policy/v1", "metadata": {"name": name}}
    spec = {"selector": {"matchLabels": labels}, **spec} | ({"unhealthyPodEvictionPolicy": policy} if policy else {})
    return found | {"spec": spec} | ({"status": status} if status is not None else {})


class LossAnswer:
    """A loss experiment on objects, computed cell by cell."""

    def __init__(self, *objects, config=None, changes=(), seed=0, **parameters):
        text = msgspec.json.encode(list(objects))
        self.scenario = ScenarioInput("it", "", lambda: msgspec.json.decode(text))
        spec = {"question": "loss", "scenarios": [{"id": 1, "name": "it"}], "loss": parameters, "seeds": [seed]}
        if config:
            spec["configurations"] = [{"name": "own", "config": config}]
        if changes:
            spec["changes"] = [{"name": "changed", "changes": list(changes)}]
        document = {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Experiment", "spec": spec}
        self.experiment = load_experiment(msgspec.json.encode(document))
        self.cells = list(Loss().plan(self.experiment, {"it": self.scenario}))
        self.done = [Done(cell, Loss().compute(cell, self.scenario, lambda: None)) for cell in self.cells]
        self.losses = {loss["name"]: loss for one in self.done for loss in one.result["losses"]}
        self.answer = Loss().summarise(self.experiment, self.done)

    def outcomes(self, name):
        """Pod -> (outcome, node to which it goes) of a loss."""
        return {
            row["pod"].removeprefix("default/"): (row["outcome"], row.get("to", ""))
            for row in self.losses[name]["rows"]
        }


def nodes(count, **more):
    return [node(f"n{i}", cpu="4", zone=f"z{i % 3}", **more) for i in range(count)]


def web(name, on, cpu="1", **more):
    return owned(pod(name, on=on, requests={"cpu": cpu}, labels={"app": "web"}, **more))


# ---- what happens to each pod


def test_pods_of_a_lost_node():
    anywhere = [{"operator": "Exists"}]
    found = LossAnswer(
        *nodes(2),
        web("fits", "n0"),
        web("large", "n0", cpu="3500m"),
        owned(pod("agent", on="n0", tolerations=anywhere), "DaemonSet"),
        static_pod("etcd", on="n0"),
        pod("bare", on="n0"),
        web("leaving", "n0", cpu="0", deleted=True),
        only=["n0"],
    )
    assert found.outcomes("n0") == {
        "large": ("pending", ""),
        "bare": ("lost", ""),
        "fits": ("placed", "n1"),
        "agent": ("ends", ""),
        "etcd": ("ends", ""),
        "leaving": ("deleting", ""),
    }
    loss = found.losses["n0"]
    assert loss["reasons"][loss["rows"][0]["why"]].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert found.answer["answer"] == (
        "Node n0 cannot be lost without leaving pods pending: 1 of 6 pods. "
        "Without a controller, and so not created again: 1 pod."
    )
    assert found.answer["workloads"] == [{"workload": "ReplicaSet default/web", "pods": 1, "losses": 1}]


def test_drain_keeps_daemons_and_returns_pods_that_tolerate_everything():
    found = LossAnswer(
        *nodes(2),
        web("web", "n0"),
        web("stubborn", "n0", tolerations=[{"operator": "Exists"}], nodeSelector={HOSTNAME: "n0"}),
        owned(pod("agent", on="n0"), "DaemonSet"),
        static_pod("etcd", on="n0"),
        web("cache", "n0", volumes=[{"name": "tmp", "emptyDir": {}}]),
        mode="drain",
        only=["n0"],
    )
    assert found.outcomes("n0") == {
        "web": ("placed", "n1"),
        "stubborn": ("placed", "n0"),
        "agent": ("stays", ""),
        "etcd": ("stays", ""),
        "cache": ("placed", "n1"),
    }
    assert found.losses["n0"]["local_data"] == 1
    assert found.answer["answer"] == "Node n0 can be drained: none of its 5 pods stays pending."


def test_a_local_volume_stays_on_its_node():
    here = volume(
        "local", cls="fast", at={HOSTNAME: ["n0"]}, claimRef={"name": "data", "namespace": "default", "uid": "uid-data"}
    )
    data = claim("data", cls="fast", volume="local")
    base = [*nodes(2), here, data, owned(pod("db-0", on="n0", volumes=mounts("data")), "StatefulSet", "db")]
    for mode in ("drain", "loss"):
        found = LossAnswer(*base, mode=mode, only=["n0"])
        assert found.outcomes("n0") == {"db-0": ("pending", "")}
        assert "didn't match PersistentVolume's node affinity" in found.losses["n0"]["reasons"][0]


def test_a_pod_of_higher_priority_preempts():
    found = LossAnswer(*nodes(2), web("boss", "n0", cpu="3", priority=100), web("minor", "n1", cpu="3"), only=["n0"])
    assert found.outcomes("n0") == {"boss": ("nominated", "n1"), "minor": ("preempted", "")}
    assert found.answer["losses"][0]["down"] == 1


def test_pods_are_tried_by_priority():
    pods = [web("minor", "n0", cpu="3"), web("boss", "n0", cpu="1", priority=5)]
    found = LossAnswer(*nodes(2), *pods, web("there", "n1", cpu="1"), only=["n0"])
    assert found.outcomes("n0") == {"boss": ("placed", "n1"), "minor": ("pending", "")}


def test_the_loss_follows_the_run_of_the_scenario():
    """Pending pods of the scenario are placed first, with the changes of the cell."""
    pods = [owned(pod(f"web-{i}", requests={"cpu": "2"})) for i in range(4)]
    found = LossAnswer(node("n0"), node("n1"), node("spare"), *pods, changes=[{"cordon": "spare"}], only=["n0"])
    assert [outcome for outcome, _ in found.outcomes("n0").values()] == ["pending", "pending"]
    assert found.done[0].result["cycles"] == 4
    freed = LossAnswer(node("n0"), node("n1"), node("spare"), *pods, only=["n0"])
    assert {outcome for outcome, _ in freed.outcomes("n0").values()} == {"placed"}


def test_zones_and_groups():
    pods = [web(f"web-{i}", f"n{i}", cpu="3") for i in range(6)]
    found = LossAnswer(*nodes(6), *pods, scope="zone", virtualTime=False)
    assert {name: loss["nodes"] for name, loss in found.losses.items()} == {
        f"z{i}": [f"n{i}", f"n{i + 3}"] for i in range(3)
    }
    assert (
        found.answer["answer"] == "None of 3 zones can be lost without leaving pods pending; the worst is z0: 2 pods."
    )
    pools = [node(f"n{i}", labels={"pool": "small" if i < 4 else "large"}) for i in range(6)]
    found = LossAnswer(*pools, *pods, scope="group", label="pool", mode="drain")
    assert [(row["name"], row["nodes"], row["down"]) for row in found.answer["losses"]] == [
        ("small", 4, 4),
        ("large", 2, 2),
    ]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"only": ["n9"]}, "spec.loss.only: node n9 does not exist"),
        ({"scope": "zone"}, "spec.loss.scope: no node has the label topology.kubernetes.io/zone"),
        ({"label": "pool"}, "spec.loss.label: is only for the scope group"),
        ({"outage": "soon"}, "spec.loss.outage"),
        ({"outage": 0}, "spec.loss.outage: must be more than 0"),
    ],
)
def test_errors(parameters, message):
    with pytest.raises(InputError, match=message):
        LossAnswer(node("n0"), **parameters)


# ---- budgets


@pytest.mark.parametrize(
    ("one", "refused", "blocks"),
    [
        (budget("b", {"app": "web"}, minAvailable=2), 1, False),  # 3 healthy, 2 required: one of two at a time
        (budget("b", {"app": "web"}, minAvailable=3), 2, True),
        (budget("b", {"app": "web"}, minAvailable="50%"), 1, False),  # ceil(1.5) required
        (budget("b", {"app": "web"}, maxUnavailable="34%"), 0, None),  # ceil(1.02) = 2 may be unavailable
        (budget("b", {"app": "web"}, maxUnavailable=0), 2, True),
        (budget("b", {"app": "web"}, status={"disruptionsAllowed": 1}, maxUnavailable=0), 1, False),
        (budget("b", {"app": "other"}, minAvailable=9), 0, None),
        (budget("b", {}, minAvailable=3), 2, True),  # an empty selector selects all
    ],
)
def test_budget_of_a_drain(one, refused, blocks):
    pods = [web("a", "n0"), web("b", "n0"), web("c", "n1")]
    found = LossAnswer(*nodes(3), *pods, one, mode="drain", only=["n0"])
    loss = found.losses["n0"]
    assert loss["blocked"] == refused
    assert [one["blocks"] for one in loss["budgets"]] == ([] if blocks is None else [blocks])
    assert ("PodDisruptionBudgets block the drain of 1 node." in found.answer["answer"]) == bool(blocks)


def test_expected_pods_come_from_the_replicas_of_the_controller():
    """Two of four replicas exist; 25% of four may be unavailable, so none may be evicted."""
    own = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "metadata": {"name": "web", "namespace": "default"}}
    own["spec"] = {"replicas": 4, "selector": {"matchLabels": {"app": "web"}}}
    pods = [web("a", "n0"), web("b", "n1")]
    found = LossAnswer(
        *nodes(3), *pods, own, budget("b", {"app": "web"}, maxUnavailable="25%"), mode="drain", only=["n0"]
    )
    assert found.losses["n0"]["budgets"] == [
        {
            "name": "default/b",
            "text": "allows 0 disruptions (2 of 4 pods healthy, 3 required)",
            "allowed": 0,
            "needed": 1,
            "blocks": True,
        }
    ]


def test_pending_pods_count_for_budgets():
    """One of three replicas is pending. Two are required, and two are healthy."""
    pods = [web("a", "n0"), web("b", "n1"), web("c", "", cpu="99")]
    found = LossAnswer(*nodes(3), *pods, budget("b", {"app": "web"}, maxUnavailable=1), mode="drain", only=["n0"])
    assert [one["text"] for one in found.losses["n0"]["budgets"]] == [
        "allows 0 disruptions (2 of 3 pods healthy, 2 required)"
    ]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"minAvailable": "10%"}, "allows 0 disruptions (Job default/batch has no scale)"),
        ({"maxUnavailable": 2}, "allows 0 disruptions (Job default/batch has no scale)"),
        ({}, "allows 0 disruptions (2 of 0 pods healthy, 0 required)"),
        ({"minAvailable": 1}, ""),
    ],
)
def test_budgets_for_which_the_disruption_controller_allows_nothing(spec, text):
    pods = [owned(pod(name, on=f"n{i}", labels={"app": "batch"}), "Job", "batch") for i, name in enumerate("ab")]
    found = LossAnswer(*nodes(3), *pods, budget("b", {"app": "batch"}, **spec), mode="drain", only=["n0"])
    assert [one["text"] for one in found.losses["n0"]["budgets"]] == ([text] if text else [])


def test_unhealthy_and_several():
    sick = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    pods = [web("a", "n0", status=sick), web("b", "n1"), web("c", "n1")]
    strict = budget("b", {"app": "web"}, minAvailable=3)
    assert LossAnswer(*nodes(3), *pods, strict, mode="drain", only=["n0"]).losses["n0"]["blocked"] == 1
    healthy = budget("b", {"app": "web"}, minAvailable=2)  # enough others are healthy
    assert LossAnswer(*nodes(3), *pods, healthy, mode="drain", only=["n0"]).losses["n0"]["blocked"] == 0
    always = budget("b", {"app": "web"}, minAvailable=3, policy="AlwaysAllow")
    assert LossAnswer(*nodes(3), *pods, always, mode="drain", only=["n0"]).losses["n0"]["blocked"] == 0
    both = LossAnswer(*nodes(3), *pods, healthy, budget("c", {"app": "web"}, minAvailable=0), mode="drain", only=["n0"])
    assert "several budgets" in both.losses["n0"]["rows"][0]["refused"]
    assert both.answer["losses"][0]["blocks"]


# ---- each loss equals a run


def cluster(chance, size):
    """Return a random cluster in which some pods are pending, and its nodes."""
    names = [f"n{i}" for i in range(size)]
    images = {"web:1": 80_000_000}
    objects = [
        node(
            n,
            cpu=chance.choice(["4", "6"]),
            zone=f"z{chance.randrange(3)}",
            images=images if chance.random() < 0.5 else None,
        )
        for n in names
    ]
    for i in range(size * 4):
        app = f"a{chance.randrange(5)}"
        labels = {"app": app}
        more = {}
        same = {"labelSelector": {"matchLabels": labels}}
        kind = chance.randrange(5)
        if kind == 0:
            more["topologySpreadConstraints"] = [
                {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **same}
            ]
        if kind == 1:
            terms = [{"topologyKey": HOSTNAME, **same}]
            more["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        if kind == 2:
            more["ports"] = ({"containerPort": 80, "hostPort": 8000 + chance.randrange(3)},)
        at = "" if chance.random() < 0.3 else chance.choice(names)
        made = pod(
            f"p{i}",
            on=at,
            labels=labels,
            requests={"cpu": f"{chance.randrange(2, 12)}00m"},
            image="web:1",
            priority=chance.choice([0, 0, 10]),
            **more,
        )
        if chance.random() < 0.9:
            owned(made, chance.choice(["ReplicaSet", "ReplicaSet", "StatefulSet", "DaemonSet"]), app)
        objects.append(made)
    return objects, names


def changed_by_hand(simulation, lost, mode):
    """The changes of a loss, written independently: delete or drain, then create what has a controller."""
    changes, again = [], []
    for name in lost:
        there = [info.pod for info in simulation.cluster.nodes.entries[name].pods.values()]
        changes.append({"drain": name})
        for one in there:
            owner = one.metadata.owner_references
            if owner and owner[0].kind == "DaemonSet":
                if mode == "loss":
                    changes.append({"delete": {"kind": "Pod", "namespace": "default", "name": one.name}})
            elif owner:
                raw = msgspec.to_builtins(one)
                raw["spec"].pop("nodeName", None)
                again.append((-(one.spec.priority or 0), {"create": {"kind": "Pod", **raw, "status": {}}}))
        if mode == "loss":
            changes.append({"delete": {"kind": "Node", "name": name}})
    return changes + [change for _, change in sorted(again, key=lambda entry: entry[0])]


def check_losses(seed, draws, release="1.36", most_nodes=13):
    """Compare losses, computed in turn on one loaded cluster, with runs of their own."""
    chance = random.Random(seed)
    objects, names = cluster(chance, chance.randint(4, most_nodes))
    mode = chance.choice(["loss", "drain"])
    document = [*objects]
    text = msgspec.json.encode(document)
    scenario = ScenarioInput("it", "", lambda: msgspec.json.decode(text))
    spec = {
        "question": "loss",
        "scenarios": [{"id": 1, "name": "it"}],
        "loss": {"mode": mode},
        "seeds": [seed],
        "releases": [release],
    }
    experiment = load_experiment(
        msgspec.json.encode({"apiVersion": "kubesched.dev/v1alpha1", "kind": "Experiment", "spec": spec})
    )
    (cell,) = Loss().plan(experiment, {"it": scenario})
    losses = {loss["name"]: loss for loss in Loss().compute(cell, scenario, lambda: None)["losses"]}
    moved = 0
    for name in chance.sample(names, min(draws, len(names))):
        alone = scenario.simulation(cell)
        for _ in alone.run():
            pass
        at = alone.scheduler.cycles + 1
        changes = changed_by_hand(alone, [name], mode)
        fresh = scenario.simulation(cell)
        plan_single_pass(fresh, [Stage(at=at, changes=read_changes(changes))], 0)
        traces = {trace.pod: trace for trace in fresh.run()}
        for row in losses[name]["rows"]:
            key = row["pod"]
            if row["outcome"] == "placed":
                assert fresh.cluster.pods[key].node == row["to"], (seed, name, key)
                moved += 1
            elif row["outcome"] in ("pending", "nominated"):
                assert key not in fresh.cluster.pods
                assert traces[key].message == losses[name]["reasons"][row["why"]], (seed, name, key)
                assert traces[key].nominated_node == row.get("to", "")
        preempted = {row["pod"] for row in losses[name]["rows"] if row["outcome"] == "preempted"}
        assert preempted == {victim for trace in traces.values() if trace.number >= at for victim in trace.victims}
    return moved


def test_each_loss_equals_a_run():
    assert sum(check_losses(seed, 2, most_nodes=6) for seed in range(3)) > 5


@pytest.mark.long
@pytest.mark.parametrize("release", ["1.16", "1.22", "1.28", "1.36"])
def test_each_loss_of_50_equals_a_run(release):
    assert sum(check_losses(seed, 2, release) for seed in range(100, 125)) > 100


@pytest.mark.long
def test_losses_do_not_affect_each_other():
    """The same loss first and last among others, and alone."""
    objects, names = cluster(random.Random(5), 10)
    found = LossAnswer(*objects)
    for name in names[:3]:
        assert LossAnswer(*objects, only=[name]).losses[name] == found.losses[name]
    loaded = LoadedCluster(found.cells[0], found.scenario, lambda: None)
    first = loss_changes(loaded.continuation(), [names[0]], "loss")
    assert loss_changes(loaded.continuation(), [names[0]], "loss") == first
    assert isinstance(loaded.continuation(), Simulation)


def test_pods_without_a_controller_are_counted_by_case() -> None:
    scenario = scenario_of(node("n0"), pod("bare", on="n0"))
    answer = answer_of("loss", scenario, seeds=[0, 1])["answer"]
    assert answer == (
        "Each of 2 cases (1 node, 2 each) can be lost without leaving pods pending. "
        "Without a controller, and so not created again: 2 pods in 2 cases."
    )
