"""Columns after any sequence of changes equal those of a new cluster, and counts by hand."""

import copy
import random
from typing import Any

import pytest

from scheduler_core.api import selectors
from scheduler_core.api.objects import LabelSelector, Namespace, Node, Requirement, decode
from scheduler_core.api.selectors import Selector
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.nodes import zone_key
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.errors import InputError
from scheduler_core.releases import get_release
from tests.examples import selection
from tests.scheduler_core.build import (
    HOSTNAME,
    PREFERRED,
    REGION,
    REQUIRED,
    ZONE,
    Raw,
    cluster,
    info,
    node,
    pod,
    selector,
)

RELEASE = get_release("1.34")
IMAGES = {"nginx:1": 100, "redis:7": 200, "app:latest": 300}
SELECTORS: list[Selector] = [
    selectors.EVERYTHING,
    selectors.NOTHING,
    selectors.from_labels({"app": "a"}),
    selectors.compile_selector(LabelSelector({}, [Requirement("app", "NotIn", ["a", "b"])])),
    selectors.compile_selector(LabelSelector({"app": "b"}, [Requirement("tier", "Exists")])),
]
NAMESPACES = [None, frozenset(("default",)), frozenset(("default", "other")), frozenset[str]()]


def term(dice: random.Random) -> Raw:
    key, labels = dice.choice([HOSTNAME, ZONE]), selector(app=dice.choice("ab"))
    elsewhere: list[Raw] = [
        {"namespaces": ["other"]},
        {"namespaceSelector": {}},
        {"namespaceSelector": selector(t="x")},
    ]
    return {"topologyKey": key, "labelSelector": labels, **dice.choice([{}, *elsewhere])}


def random_affinity(dice: random.Random) -> Raw:
    kinds: Raw = {}
    for kind in ("podAffinity", "podAntiAffinity"):
        if dice.random() < 0.4:
            required = [term(dice) for _ in range(dice.randrange(3))]
            weights = [dice.choice([1, 50]) for _ in range(dice.randrange(2))]
            preferred = [{"weight": weight, "podAffinityTerm": term(dice)} for weight in weights]
            kinds[kind] = {REQUIRED: required, PREFERRED: preferred}
    return kinds


def random_node(dice: random.Random, name: str) -> Raw:
    return node(
        name,
        zone=dice.choice(["", "z0", "z1", "z2"]),
        cpu=dice.choice(["1", "4", "2500m"]),
        memory=dice.choice(["1Gi", "8Gi"]),
        pods=dice.choice([2, 110]),
        more=dice.choice([{}, {"example.com/gpu": 4}, {"hugepages-2Mi": "64Mi", "ephemeral-storage": "9Gi"}]),
        images=dict(dice.sample(sorted(IMAGES.items()), dice.randrange(3))),
        unschedulable=dice.random() < 0.2,
        labels=dice.choice([{}, {REGION: "r1"}, {"disk": "ssd"}]),
    )


def random_pod(dice: random.Random, number: int) -> Raw:
    labels = {"app": dice.choice("abc")} if dice.random() < 0.8 else {}
    if dice.random() < 0.3:
        labels["tier"] = "web"
    amounts = {"cpu": dice.choice(["0", "100m", "1"]), "memory": "200Mi", "example.com/gpu": 1, "ephemeral-storage": 7}
    return pod(
        f"p{number}",
        namespace=dice.choice(["default", "other", "third"]),
        labels=labels,
        requests=dict(dice.sample(sorted(amounts.items(), key=str), dice.randrange(4))),
        # a port of its own: two users of one port are handled specially (see NodePorts)
        ports=({"hostPort": 1000 + number, "hostIP": dice.choice(["", "10.0.0.1"])},) if dice.random() < 0.3 else (),
        deleted=dice.random() < 0.2,
        affinity=random_affinity(dice),
    )


class Model:
    """Plain model of the cluster: nodes by zone in order of arrival, pods with their node."""

    def __init__(self) -> None:
        self.zones: dict[str, list[str]] = {}
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, tuple[Raw, str]] = {}
        self.namespaces: dict[str, dict[str, str]] = {}

    def set_node(self, made: Node) -> None:
        zone = zone_key(made)
        if made.name not in self.zones.get(zone, ()):
            self._leave(made.name)
            self.zones.setdefault(zone, []).append(made.name)
        self.nodes[made.name] = made

    def remove_node(self, name: str) -> None:
        self._leave(name)
        self.nodes.pop(name, None)

    def _leave(self, name: str) -> None:
        for names in self.zones.values():
            if name in names:
                names.remove(name)
        self.zones = {zone: names for zone, names in self.zones.items() if names}

    def order(self) -> list[str]:
        """Return one node of each zone in turn."""
        stacks = [list(names) for names in self.zones.values()]
        dealt = []
        while any(stacks):
            for stack in stacks:
                if stack:
                    dealt.append(stack.pop(0))
        return dealt

    def rebuilt(self) -> Cluster:
        made = Cluster(RELEASE)
        for name, labels in self.namespaces.items():
            made.apply(namespace(name, labels))
        for names in self.zones.values():
            for name in names:
                made.apply(self.nodes[name])
        for raw, on in self.pods.values():
            made.add_pod(info(raw), on)
        made.nodes.refresh()
        return made


def namespace(name: str, labels: dict[str, str]) -> Namespace:
    made = decode({"kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    assert isinstance(made, Namespace)
    return made


class RandomChanges:
    """Random changes to a cluster and to the model."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.cluster, self.model = Cluster(RELEASE), Model()
        self.infos: dict[str, PodInfo] = {}
        self.number = 0

    def step(self) -> None:
        dice, cluster, model = self.dice, self.cluster, self.model
        name = f"n{dice.randrange(7)}"
        match dice.choice(["node", "node", "node", "gone", "pod", "pod", "pod", "pod", "off", "off", "refresh", "ns"]):
            case "node":
                made = decode(random_node(dice, name))
                assert isinstance(made, Node)
                cluster.apply(made)
                model.set_node(made)
            case "gone":
                if name in model.nodes:
                    cluster.remove(model.nodes[name])
                    model.remove_node(name)
            case "pod":
                self.number += 1
                raw = random_pod(dice, self.number)
                made_pod = info(raw)
                cluster.add_pod(made_pod, name)
                self.infos[made_pod.key] = made_pod
                model.pods[made_pod.key] = (raw, name)
            case "off" if self.infos:
                key = dice.choice(sorted(self.infos))
                cluster.remove_pod(self.infos.pop(key))
                del model.pods[key]
            case "ns":
                labels = dice.choice([{}, {"t": "x"}])
                model.namespaces["other"] = labels
                cluster.apply(namespace("other", labels))
            case "refresh":
                cluster.nodes.refresh()
                self.read_columns()

    def read_columns(self) -> None:
        """Read columns at random times. They must also be right if they are older than what they count."""
        columns = self.cluster.columns
        columns.matching(self.dice.choice(NAMESPACES), self.dice.choice(SELECTORS), self.dice.random() < 0.5)
        columns.terms_matching(info(random_pod(self.dice, 0)))


def table(made: Cluster) -> dict[str, Any]:
    """Return every column of a cluster as plain values."""
    nodes = made.nodes
    return {
        "names": nodes.names,
        "rows": nodes.rows,
        "objects": nodes.nodes,
        "allocatable": {k: v.tolist() for k, v in nodes.allocatable.items() if v.any()},
        "requested": {k: v.tolist() for k, v in nodes.requested.items() if v.any()},
        "nonzero": [nodes.nonzero_cpu.tolist(), nodes.nonzero_memory.tolist()],
        "pods": [nodes.pod_count.tolist(), nodes.allowed_pods.tolist()],
        "unschedulable": nodes.unschedulable.tolist(),
        "ports": {
            port: users
            for port, per_node in nodes.host_ports.items()
            if (users := {name: ips for name, ips in per_node.items() if ips})
        },
        "images": {image: (size, set(holders)) for image, (size, holders) in nodes.images.items()},
        "keys": [sorted(pod.key for pod in nodes.pods_of(row)) for row in range(len(nodes))],
        "running": {key: pod.node for key, pod in sorted(made.pods.items())},
    }


def columns(made: Cluster, incoming: list[PodInfo]) -> list[Any]:
    """Return the counts of the selector columns, and of the term columns for these pods, by node."""
    names = made.nodes.names
    found: list[Any] = [
        dict(zip(names, made.columns.matching(namespaces, wanted, terminating).counts.tolist(), strict=True))
        for wanted in SELECTORS
        for namespaces in NAMESPACES
        for terminating in (True, False)
    ]
    for each in incoming:
        carried = {}
        for column in made.columns.terms_matching(each):
            assert column.total == column.counts.sum()
            if column.total:
                assert (column.role, column.term.key) not in carried
                counts = zip(names, column.counts.tolist(), strict=True)
                carried[column.role, column.term.key] = {name: count for name, count in counts if count}
        found.append(carried)
    return found


def test_columns_count_pods_and_their_terms() -> None:
    term = {"topologyKey": ZONE, "labelSelector": selector(app="a")}
    p = pod("p", on="n", labels={"app": "a"}, affinity={"podAffinity": {REQUIRED: [term]}})
    q = pod("q", on="m", labels={"app": "a"}, deleted=True)
    made, _ = cluster(node("n"), node("m"), p, q, pod("r", on="m", namespace="other", labels={"app": "b"}))
    found = columns(made, [info(pod("x", labels={"app": "a"})), info(pod("y", labels={"app": "b"}))])
    names = made.nodes.names
    assert [[counts[name] for name in names] for counts in found[:8]] == [
        *([1, 2], [1, 1], [1, 1], [1, 0], [1, 2], [1, 1], [0, 0], [0, 0])
    ]
    assert [list(each.values()) for each in found[-2:]] == [[{"n": 1}], []]


@pytest.mark.parametrize("seed", selection(range(60), 4))
def test_any_sequence_of_changes_equals_a_new_cluster(seed: int) -> None:
    walk = RandomChanges(seed)
    for number in range(80):
        walk.step()
        if number % 20 == 19:
            walk.cluster.nodes.refresh()
            assert walk.cluster.nodes.names == walk.model.order()
            at_once = walk.model.rebuilt()
            assert table(walk.cluster) == table(at_once)
            incoming = [info(random_pod(walk.dice, 0)) for _ in range(4)]
            assert columns(walk.cluster, incoming) == columns(at_once, incoming)


def test_a_zone_is_region_and_zone_and_the_beta_labels_take_precedence() -> None:
    both = {ZONE: "new", "failure-domain.beta.kubernetes.io/zone": "old"}
    made = decode(node("n", labels=both))
    assert isinstance(made, Node)
    assert "old" in zone_key(made)
    alone = [decode(node("n", labels=labels)) for labels in ({ZONE: "z"}, {REGION: "z"}, {ZONE: "z", REGION: "z"}, {})]
    assert len({zone_key(n) for n in alone if isinstance(n, Node)}) == 4


def test_a_pod_runs_once() -> None:
    made, _ = cluster(node("n"), node("m"), pod("p", on="n"))
    with pytest.raises(InputError, match=r"Pod default/p: spec.nodeName: already runs on n"):
        made.add_pod(info(pod("p")), "m")
    assert made.nodes.pod_count.tolist() == [1, 0]


def test_finished_pods_do_not_count() -> None:
    ended = [pod(phase, on="n", status={"phase": phase}) for phase in ("Succeeded", "Failed")]
    made, pending = cluster(node("n"), *ended, pod("r", on="n", status={"phase": "Running"}), pod("q"))
    assert made.nodes.pod_count.tolist() == [1]
    assert list(pending) == ["default/q"]


def test_columns_of_nodes_are_updated_if_a_node_changes() -> None:
    made, _ = cluster(node("n", labels={"disk": "ssd"}), node("m"))
    wanted = Requirement("disk", "In", ["ssd"])
    assert made.nodes.requirement_mask(wanted).tolist() == [True, False]
    changed = copy.deepcopy(made.nodes.nodes[1])
    changed.metadata.labels["disk"] = "ssd"
    made.apply(changed)
    assert made.nodes.requirement_mask(wanted).tolist() == [True, True]


def test_a_sum_beyond_int64_wraps_as_in_go():
    half = 1 << 62
    there, _ = cluster(node("n1"), *(pod(f"p{i}", on="n1", requests={"memory": str(half)}) for i in range(2)))
    requested = there.nodes.requested["memory"]
    assert requested.tolist() == [-(1 << 63)]
    there.add_pod(info(pod("late", requests={"memory": str(half)})), "n1")
    assert requested.tolist() == [-half]
    there.remove_pod(there.pods["default/late"])
    assert requested.tolist() == [-(1 << 63)]
