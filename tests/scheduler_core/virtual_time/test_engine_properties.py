"""Invariants of virtual time runs, in 500 random small scenarios with many failures."""

import random
from collections import Counter
from typing import Any

import pytest

from scheduler_core.queue import ACTIVE, BACKOFF, GATED, UNSCHEDULABLE
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.examples import examples
from tests.scheduler_core.build import HOSTNAME, REQUIRED, ZONE, Raw, node, pod
from tests.scheduler_core.virtual_time_runs import scenario

pytestmark = pytest.mark.slow


def a_pod(chance: random.Random, name: str) -> Raw:
    cpu = chance.choice(["500m", "1", "2", "3"])
    spec: dict[str, Any] = {"requests": {"cpu": cpu}, "labels": {"app": chance.choice("xy")}}
    if chance.random() < 0.2:
        spec["schedulingGates"] = [{"name": "wait"}]
    if chance.random() < 0.3:
        spec["priorityClassName"] = "high"
    if chance.random() < 0.2:
        spec["tolerations"] = [{"key": "t", "operator": "Exists", "tolerationSeconds": chance.choice([None, 0, 5, 50])}]
        if spec["tolerations"][0]["tolerationSeconds"] is not None:
            spec["tolerations"][0]["effect"] = "NoExecute"
    if chance.random() < 0.2:
        term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": chance.choice([HOSTNAME, ZONE])}
        kind = chance.choice(["podAffinity", "podAntiAffinity"])
        spec["affinity"] = {kind: {REQUIRED: [term]}}
    if chance.random() < 0.2:
        spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
        spec["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": {"app": "y"}}}]
    if chance.random() < 0.1:
        spec["ports"] = ({"containerPort": 80, "hostPort": 80},)
    if chance.random() < 0.3:
        spec["terminationGracePeriodSeconds"] = chance.choice([0, 3, 20])
    raw = pod(name, **spec)
    del raw["spec"]["priority"]  # admission decides that
    if chance.random() < 0.4:
        raw["metadata"]["annotations"] = {"kubesched.dev/duration": f"{chance.randint(1, 90)}s"}
    return raw


def a_node(chance: random.Random, name: str) -> Raw:
    return node(name, cpu=chance.choice(["2", "4"]), zone=chance.choice(["z1", "z2"]), pods=chance.choice([3, 110]))


def an_entry(chance: random.Random, number: int) -> Raw:
    which, at = f"p{chance.randrange(12)}", round(chance.uniform(0, 200), chance.choice([0, 1, 3]))
    on = f"n{chance.randrange(4)}"
    entries: list[Raw] = [
        {"create": a_pod(chance, which)},
        {"create": a_pod(chance, f"q{number}")},
        {"update": a_pod(chance, which)},
        {"delete": {"kind": "Pod", "name": which, "namespace": "default"}},
        {"create": a_node(chance, on)},
        {"update": a_node(chance, on)},
        {"delete": {"kind": "Node", "name": on}},
        {"cordon": on},
        {"uncordon": on},
        {"drain": on},
        {"taint": {"node": on, "key": "t", "effect": chance.choice(["NoSchedule", "NoExecute"])}},
        {"untaint": {"node": on, "key": "t"}},
    ]
    weights = [8, 8, 4, 3, 3, 2, 1, 1, 2, 1, 2, 2]
    return {"at": at, **chance.choices(entries, weights)[0]}


def a_run(seed: int, release: str = "") -> ScenarioRun:
    chance = random.Random(seed)
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100}
    template = a_pod(chance, "x")
    kind = chance.choice(["Deployment", "StatefulSet", "DaemonSet"])
    replicas, made = chance.randint(1, 4), {"metadata": template["metadata"], "spec": template["spec"]}
    workload = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "w"}}
    workload["spec"] = {"replicas": replicas, "template": made}
    objects = [high, *(a_node(chance, f"n{i}") for i in range(chance.choice([0, 1, 2, 2, 3, 3])))]
    if chance.random() < 0.3:
        objects.append(workload)
    return ScenarioRun(
        scenario(
            *objects,
            timeline=[an_entry(chance, number) for number in range(chance.randint(10, 40))],
            until=chance.choice([150, 700]),
            kubernetes=[chance.choice(["1.34", "1.34", "1.27"]), release][bool(release)],
            seed=seed,
            tieBreak=chance.choice(["name", "seed"]),
            gracePeriods=chance.random() < 0.7,
            binding={
                "seconds": chance.choice([0, 0, 0.5, 7]),
                "failures": [{"pod": f"default/p{n}", "times": 2} for n in range(3)],
            },
        )
    )


def check(run: ScenarioRun) -> None:
    """Run to the end. Check all invariants after every instant."""
    timeline, expected = run.engine, 1
    while timeline.next_instant() <= run.until:
        before = timeline.clock.now
        timeline.step()
        assert timeline.clock.now >= before
        for record in timeline._records:
            assert record.seq == expected, "records follow each other without gaps"
            assert record.cause < record.seq
            expected += 1
        timeline._records.clear()
        look(run)


def look(run: ScenarioRun) -> None:
    api, queue, cluster = run.api, run.engine.queue, run.api.cluster
    # no pod is in two queues, none both waits and is on a node, and none is missing
    parts = [
        (ACTIVE, [p.key for p in queue.active]),
        (BACKOFF, [p.key for p in queue.backoff]),
        (UNSCHEDULABLE, [key for key, p in queue.unschedulable.items() if not p.gated]),
        (GATED, [key for key, p in queue.unschedulable.items() if p.gated]),
    ]
    seen = Counter(key for _, keys in parts for key in keys)
    assert not seen or max(seen.values()) == 1
    assert seen.keys() <= api.pods.keys()
    assert not seen.keys() & cluster.pods.keys()
    # every pod waits, is being bound, or runs; a pod that is being bound is assumed
    assumed = set(api.lifecycle.assumed())
    assert set(api.pods) - seen.keys() - cluster.pods.keys() == set()
    assert {key for key, info in cluster.pods.items() if key not in assumed} <= api.pods.keys()
    for key in cluster.pods.keys() - assumed:
        assert cluster.pods[key] is api.pods[key]
    # no node exceeds its allocatable resources
    nodes = cluster.nodes
    nodes.refresh()
    for row, name in enumerate(nodes.names):
        pods = list(nodes.pods_of(row))
        assert len(pods) == nodes.pod_count[row]
        for resource, requested in nodes.requested.items():
            assert requested[row] == sum(p.requests.get(resource, 0) for p in pods), f"{name}: {resource}"
    # the nominator contains pending pods only
    for name in cluster.nominator.nodes():
        assert all(p.key in seen for p in cluster.nominator.on(name))


def test_no_pod_exceeds_the_resources_of_its_node() -> None:
    """Nodes do not shrink here, so none ever exceeds its allocatable."""
    for seed in range(40):
        run = a_run(seed)
        run.scenario.spec.timeline = [e for e in run.scenario.spec.timeline if "Node" not in str(e.update)]
        run = ScenarioRun(run.scenario)
        for record in run.run():
            if record.kind == "pod.bound":
                nodes = run.api.cluster.nodes
                nodes.refresh()
                for resource, column in nodes.allocatable.items():
                    assert (nodes.requested[resource] <= column).all()


@pytest.mark.generated
@pytest.mark.parametrize("batch", range(4))
def test_invariants(batch: int) -> None:
    for seed in range(batch, examples(500), 4):
        run = a_run(seed)
        check(run)
        if run.engine.binder.seconds == 0:
            assert run.api.lifecycle.assumed() == [], f"seed {seed}: a pod is assumed for ever"


def test_invariants_before_plugins() -> None:
    for seed in range(20):
        check(a_run(seed, "1.16"))


def test_the_same_seed_gives_the_same_run() -> None:
    for seed in range(20):
        first, second = (
            [r.trace.encode() if r.trace else (r.seq, r.time, r.kind, r.data, r.cause) for r in a_run(seed).run()]
            for _ in range(2)
        )
        assert first == second
