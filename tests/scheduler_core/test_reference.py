"""Random small clusters: every column of every plugin equals the plain evaluation in `reference`, in both releases.

And what preemption and nominated pods ask of a single node (`filter_node`) equals the column of a cluster in which the
change has happened.
"""

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scheduler_core.api.objects import decode_all
from scheduler_core.cluster.cluster import Cluster
from scheduler_core.cluster.pod_info import PodInfo
from scheduler_core.config import load_configuration
from scheduler_core.framework.interface import SKIP, Change, CycleState, FilterPlugin, Status, Verdict
from scheduler_core.framework.runtime import Framework
from scheduler_core.framework.tie_break import Picker
from scheduler_core.plugins import REGISTRY, known_plugins
from scheduler_core.releases import get_release
from tests.examples import examples
from tests.scheduler_core import build, reference
from tests.scheduler_core.build import HOSTNAME, ZONE, Raw
from tests.scheduler_core.reference import MB, PREFERRED, REQUIRED, World

RELEASES = ["1.34", "1.27"]
APPS, RACK = ["a", "b", "c"], "rack"
EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
GPU = "example.com/gpu"
IMAGES = {"nginx:1.27": 90 * MB, "registry:5000/big:latest": 900 * MB, "huge:2": 2500 * MB, "tiny:latest": MB}


class Maker:
    """Makes random objects of a world."""

    def __init__(self, seed: int, subject: str = "") -> None:
        self.dice = random.Random(seed)
        self.subject = subject  # the plugin that matters: what it looks at is made more often
        self.number = 0

    def some(self, share: float) -> bool:
        return self.dice.random() < share

    def requirement(self) -> Raw:
        key = self.dice.choice([ZONE, RACK, "size", "none"])
        operator = self.dice.choice(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
        if operator in ("Gt", "Lt"):
            return {"key": "size", "operator": operator, "values": [self.dice.choice(["1", "3"])]}
        values = self.dice.sample(["z0", "z1", "r0", "r1", "2"], 2) if operator in ("In", "NotIn") else []
        return {"key": key, "operator": operator, "values": values}

    def node_term(self) -> Raw:
        return {"matchExpressions": [self.requirement() for _ in range(self.dice.choice([1, 1, 2]))]}

    def preferred_terms(self) -> list[Raw]:
        number = self.dice.choice([0, 1, 2])
        return [{"weight": self.dice.choice([1, 30, 100]), "preference": self.node_term()} for _ in range(number)]

    def selector(self) -> Raw | None:
        if self.some(0.1):
            return None
        if self.some(0.1):
            return {}
        if self.some(0.6):
            return {"matchLabels": {"app": self.dice.choice(APPS)}}
        operator = self.dice.choice(["In", "NotIn", "Exists", "DoesNotExist"])
        values = self.dice.sample(APPS, 2) if operator in ("In", "NotIn") else []
        return {
            "matchExpressions": [{"key": self.dice.choice(["app", "tier"]), "operator": operator, "values": values}]
        }

    def pod_term(self) -> Raw:
        term: Raw = {"topologyKey": self.dice.choice([HOSTNAME, ZONE, RACK]), "labelSelector": self.selector()}
        if self.some(0.2):
            term["namespaces"] = self.dice.sample(["default", "other", "gone"], self.dice.choice([1, 2]))
        if self.some(0.2):
            term["namespaceSelector"] = self.dice.choice([{}, {"matchLabels": {"team": "x"}}])
        return {key: value for key, value in term.items() if value is not None}

    def affinity(self, share: float) -> Raw:
        made: Raw = {}
        if self.some(share):
            made["nodeAffinity"] = {PREFERRED: self.preferred_terms()}
            if self.some(0.5):
                terms = [self.node_term() for _ in range(self.dice.choice([1, 2]))]
                made["nodeAffinity"][REQUIRED] = {"nodeSelectorTerms": terms}
        for kind in ("podAffinity", "podAntiAffinity"):
            if self.some(share):
                preferred = [
                    {"weight": self.dice.choice([1, 7, 100]), "podAffinityTerm": self.pod_term()}
                    for _ in range(self.dice.choice([0, 1, 2]))
                ]
                required = [self.pod_term() for _ in range(self.dice.choice([0, 0, 1, 2]))]
                made[kind] = {REQUIRED: required, PREFERRED: preferred}
        return made

    def spreading(self) -> list[Raw]:
        made = []
        for _ in range(self.dice.choice([1, 1, 2])):
            each: Raw = {
                "maxSkew": self.dice.choice([1, 1, 2]),
                "topologyKey": self.dice.choice([HOSTNAME, ZONE, RACK]),
                "whenUnsatisfiable": self.dice.choice(["DoNotSchedule", "ScheduleAnyway"]),
                "labelSelector": self.selector(),
            }
            if self.some(0.3) and each["whenUnsatisfiable"] == "DoNotSchedule":
                each["minDomains"] = self.dice.choice([1, 2, 4])
            if self.some(0.3):
                each["nodeAffinityPolicy"] = self.dice.choice(["Honor", "Ignore"])
            if self.some(0.3):
                each["nodeTaintsPolicy"] = self.dice.choice(["Honor", "Ignore"])
            if self.some(0.2):
                each["matchLabelKeys"] = ["tier", "none"]
            made.append({key: value for key, value in each.items() if value is not None})
        return made

    def node(self, number: int) -> Raw:
        labels = {HOSTNAME: f"n{number}"}
        for key, values in ((ZONE, ["z0", "z1", "z2"]), (RACK, ["r0", "r1"]), ("size", ["1", "2", "4", "big"])):
            if self.some(0.8):
                labels[key] = self.dice.choice(values)
        allocatable: Raw = {"pods": self.dice.choice([3, 110]), "cpu": self.dice.choice([0, 1000, 4000, 7777])}
        allocatable["memory"] = self.dice.choice([0, 500 * MB, 8000 * MB + 7])
        for name, amount in ((GPU, 4), ("ephemeral-storage", 10**9)):
            if self.some(0.5):
                allocatable[name] = amount
        images = self.dice.sample(sorted(IMAGES.items()), self.dice.randrange(4))
        return {
            "kind": "Node",
            "metadata": {"name": f"n{number}", "labels": labels},
            "spec": {
                "unschedulable": self.some(0.15),
                "taints": [
                    {"key": self.dice.choice("st"), "value": self.dice.choice(["", "x"]), "effect": effect}
                    for effect in self.dice.sample(EFFECTS, self.dice.choice([0, 0, 1, 2]))
                ],
            },
            "status": {
                "allocatable": allocatable,
                "images": [{"names": [name], "sizeBytes": size} for name, size in images],
            },
        }

    def container(self, share: float) -> Raw:
        amounts = {
            "cpu": self.dice.choice([0, 1, 250, 900, 5000]),
            "memory": self.dice.choice([0, 1, 64 * MB, 400 * MB]),
            GPU: self.dice.choice([0, 1, 3]),
            "ephemeral-storage": self.dice.choice([0, 3 * 10**8]),
        }
        number = self.dice.choice([0, 1, 2, 2, 4])
        made: Raw = {"resources": {"requests": dict(self.dice.sample(sorted(amounts.items()), number))}}
        made["image"] = self.dice.choice([*IMAGES, "tiny", "registry:5000/big", "unknown"])
        if self.some(0.6 if self.subject == "NodePorts" else share):
            made["ports"] = [{"hostPort": self.dice.choice([80, 443]), "protocol": self.dice.choice(["TCP", "UDP"])}]
            if self.some(0.5):
                made["ports"][0]["hostIP"] = self.dice.choice(["10.0.0.1", "10.0.0.2", "0.0.0.0"])
        return made

    def pod(self, name: str, on: str, share: float) -> Raw:
        labels = {"app": self.dice.choice(APPS)} if self.some(0.9) else {}
        if self.some(0.3):
            labels["tier"] = "web"
        spec: Raw = {"nodeName": on, "containers": [self.container(share) for _ in range(self.dice.choice([1, 1, 2]))]}
        if self.some(0.2):
            spec["initContainers"] = [self.container(share), {**self.container(share), "restartPolicy": "Always"}]
            self.dice.shuffle(spec["initContainers"])
        if self.some(0.1):
            spec["overhead"] = {"cpu": 100, "memory": 5 * MB}
        if self.some(0.1):
            spec["resources"] = {"requests": {"cpu": 1500}}
        if affinity := self.affinity(share):
            spec["affinity"] = affinity
        metadata = {"name": name, "namespace": self.dice.choice(["default", "default", "other"]), "labels": labels}
        if on and self.some(0.15):
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        return {"kind": "Pod", "metadata": metadata, "spec": spec}

    def incoming(self) -> Raw:
        made = self.pod("incoming", "", 0.5)
        spec = made["spec"]
        if self.some(0.9 if self.subject == "PodTopologySpread" else 0.3):
            spec["topologySpreadConstraints"] = self.spreading()
        if self.some(0.3):
            spec["nodeSelector"] = self.dice.choice([{ZONE: "z0"}, {RACK: "r1", "size": "2"}, {}])
        spec["tolerations"] = [
            {
                "key": self.dice.choice(["s", "t"]),
                "operator": self.dice.choice(["Exists", "Equal"]),
                "effect": self.dice.choice(["", *EFFECTS]),
            }
            for _ in range(self.dice.choice([0, 0, 1, 2]))
        ]
        if self.some(0.1):
            spec["tolerations"] = [{"operator": "Exists"}]
        return made

    def arguments(self) -> dict[str, Raw]:
        """What a profile sets of each plugin."""
        args: dict[str, Raw] = {}
        resources = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 3}, {"name": GPU, "weight": 2}]
        strategy: Raw = {"type": self.dice.choice(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"])}
        strategy["resources"] = resources[: self.dice.choice([1, 2, 3])]
        if strategy["type"] == "RequestedToCapacityRatio":
            shapes = [
                [(0, 0), (100, 10)],
                [(0, 10), (33, 5), (100, 0)],
                [(20, 3), (70, 9)],
                [(10, 0), (55, 10), (90, 1)],
            ]
            shape = [{"utilization": u, "score": s} for u, s in self.dice.choice(shapes)]
            strategy["requestedToCapacityRatio"] = {"shape": shape}
        if self.some(0.7):
            args["NodeResourcesFit"] = {"scoringStrategy": strategy}
        if self.some(0.3):
            args.setdefault("NodeResourcesFit", {"scoringStrategy": strategy})["ignoredResources"] = [GPU]
        if self.some(0.3):
            balanced = [{"name": name, "weight": 1} for name in ("cpu", "memory", GPU)]
            args["NodeResourcesBalancedAllocation"] = {"resources": balanced}
        if self.some(0.3):
            added: Raw = {PREFERRED: self.preferred_terms()}
            if self.some(0.5):
                added[REQUIRED] = {"nodeSelectorTerms": [self.node_term()]}
            args["NodeAffinity"] = {"addedAffinity": added}
        if self.some(0.5):
            args["InterPodAffinity"] = {"hardPodAffinityWeight": self.dice.choice([0, 1, 40])}
            if self.some(0.5):
                args["InterPodAffinity"]["ignorePreferredTermsOfExistingPods"] = True
        if self.some(0.3):
            rack = {
                "maxSkew": 1,
                "topologyKey": RACK,
                "whenUnsatisfiable": self.dice.choice(["DoNotSchedule", "ScheduleAnyway"]),
            }
            args["PodTopologySpread"] = {"defaultingType": "List", "defaultConstraints": [rack]}
        return args

    def world(self, release: str) -> World:
        nodes = [self.node(number) for number in range(self.dice.choice([1, 3, 6]))]
        names = [node["metadata"]["name"] for node in nodes]
        pods = [self.pod(f"p{i}", self.dice.choice(names), 0.25) for i in range(self.dice.choice([0, 4, 10]))]
        services = [
            {
                "kind": "Service",
                "metadata": {"name": f"s-{app}", "namespace": "default"},
                "spec": {"selector": {"app": app}},
            }
            for app in self.dice.sample(APPS, self.dice.choice([0, 2]))
        ]
        namespaces = {"default": {"team": self.dice.choice(["x", "y"])}, "other": {}}
        return World(nodes, pods, services, namespaces, release, self.arguments() if self.some(0.7) else {})


def core(world: World, incoming: Raw) -> tuple[Cluster, Framework, PodInfo]:
    """The same world in the core: amounts of cpu are written in millicores."""
    objects: list[Raw] = copy.deepcopy([*world.nodes, *world.pods, *world.services, incoming])
    for name, labels in world.namespaces.items():
        objects.append({"kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    _write_millicores(objects)
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": name, "args": args} for name, args in world.args.items()]}],
    }
    release = get_release(world.release)
    (profile,) = load_configuration(config, release, known=known_plugins(REGISTRY), unknown="error").profiles
    cluster = Cluster(release)
    (pod,) = cluster.load(decode_all(objects))
    return cluster, Framework(profile, REGISTRY, cluster, Picker(None), 100), pod


def _write_millicores(value: Any) -> None:
    if isinstance(value, dict):
        for key, part in value.items():
            if key == "cpu" and isinstance(part, int):
                value[key] = f"{part}m"
            else:
                _write_millicores(part)
    elif isinstance(value, list):
        for part in value:
            _write_millicores(part)


FILTERS: dict[str, Callable[[World, Raw, Raw], reference.Told]] = {
    "NodeUnschedulable": reference.unschedulable,
    "TaintToleration": reference.taints,
    "NodeAffinity": reference.node_affinity,
    "NodePorts": reference.ports,
    "NodeResourcesFit": reference.fit,
    "PodTopologySpread": reference.spread,
    "InterPodAffinity": reference.pod_affinity,
}


def verdict(plugin: FilterPlugin, state: CycleState, pod: PodInfo) -> Verdict | None:
    """The plugin's column after its PreFilter; None if that says there is nothing to filter."""
    if hasattr(plugin, "pre_filter"):
        said = plugin.pre_filter(state, pod)
        if isinstance(said, Status) and said.code == SKIP:
            return None
        assert not isinstance(said, Status), said
    return plugin.filter(state, pod)


def plain(status: Status | None) -> reference.Told:
    return None if status is None else (status.code, tuple(sorted(status.reasons)))


def expected(told: reference.Told) -> reference.Told:
    return None if told is None else (told[0], tuple(sorted(told[1])))


@pytest.mark.generated
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", FILTERS)
def test_filter_columns(name: str, release: str) -> None:
    refused = passed = 0
    for seed in range(examples(250)):
        maker = Maker(seed, name)
        world, incoming = maker.world(release), maker.incoming()
        cluster, framework, pod = core(world, incoming)
        (plugin,) = (p for p in framework.filter if p.name == name)
        column = verdict(plugin, CycleState(), pod)
        for node in world.nodes:
            row = cluster.nodes.rows[node["metadata"]["name"]]
            ours = None if column is None else plain(column.at(row))
            theirs = expected(FILTERS[name](world, incoming, node))
            assert ours == theirs, f"seed {seed}, {node['metadata']['name']}"
            refused, passed = refused + (theirs is not None), passed + (theirs is None)
    assert min(refused, passed) > examples(30), "both answers must occur"


def score_columns(world: World, incoming: Raw, nodes: list[Raw]) -> dict[str, tuple[list[int], list[int]] | None]:
    """Plugin -> (raw, normalised) over the feasible nodes; None for a plugin that has nothing to score."""

    def each(score: Callable[[World, Raw, Raw], int]) -> list[int]:
        return [score(world, incoming, node) for node in nodes]

    fit, balanced = each(reference.fit_score), each(reference.balanced_score)
    images, taints = each(reference.image_score), each(reference.taints_score)
    affinity = each(reference.node_affinity_score)
    zeros = [0] * len(nodes)
    preferred = incoming["spec"].get("affinity", {}).get("nodeAffinity", {}).get(PREFERRED)
    added = world.args.get("NodeAffinity", {}).get("addedAffinity", {}).get(PREFERRED)
    near = reference.pod_affinity_scores(world, incoming, nodes)
    spreading = reference.constraints(world, incoming, "ScheduleAnyway")
    shared = world.args.get("NodeResourcesBalancedAllocation", {}).get(
        "resources", [{"name": "cpu"}, {"name": "memory"}]
    )
    request = reference.asked(world, incoming)
    found: dict[str, tuple[list[int], list[int]] | None] = {
        "NodeResourcesFit": (fit, fit),
        "NodeResourcesBalancedAllocation": (balanced, balanced),
        "ImageLocality": (images, images),
        "TaintToleration": (taints, reference.default_normalized(taints, reverse=True)),
        "NodeAffinity": (affinity, reference.default_normalized(affinity, reverse=False)),
        "PodTopologySpread": reference.spread_scores(world, incoming, nodes),
        "InterPodAffinity": near or (zeros, zeros),
    }
    if world.new:  # newer releases leave out what has nothing to say
        if near is None:
            found["InterPodAffinity"] = None
        if not spreading:
            found["PodTopologySpread"] = None
        if not preferred and not added:
            found["NodeAffinity"] = None
        if not any(request.get(r["name"]) for r in shared):
            found["NodeResourcesBalancedAllocation"] = None
    return found


@pytest.mark.generated
@pytest.mark.parametrize("release", RELEASES)
def test_score_columns(release: str) -> None:
    spoke: dict[str, set[int]] = {}
    for seed in range(examples(400)):
        maker = Maker(10_000 + seed)
        world, incoming = maker.world(release), maker.incoming()
        cluster, framework, pod = core(world, incoming)
        by_name = {node["metadata"]["name"]: node for node in world.nodes}
        rows: Any = slice(None)
        names = cluster.nodes.names
        if len(names) > 2 and maker.some(0.6):
            rows = np.array(sorted(maker.dice.sample(range(len(names)), len(names) - 1)), np.intp)
            names = [names[row] for row in rows]
        state = CycleState()
        assert framework.run_pre_score(state, pod, rows) is None
        ours = framework.run_score(state, pod, rows)
        for plugin, theirs in score_columns(world, incoming, [by_name[name] for name in names]).items():
            if theirs is None:
                assert plugin not in ours, f"seed {seed}, {plugin}"
                continue
            _, raw, normalized = ours[plugin]
            assert (raw.tolist(), normalized.tolist()) == theirs, f"seed {seed}, {plugin}"
            assert raw.dtype == normalized.dtype == np.int64
            spoke.setdefault(plugin, set()).update(theirs[1])
    assert set(spoke) == {p.name for p in framework.score} - {"VolumeBinding"}
    assert min(map(len, spoke.values())) > 1, "every plugin must have made a difference"


def plainly_spread(incoming: Raw, moved: list[Raw]) -> None:
    """Only hard constraints, and nothing that upstream's PodTopologySpread judges its own way (see the last test)."""
    for each in incoming["spec"].get("topologySpreadConstraints", []):
        each["whenUnsatisfiable"] = "DoNotSchedule"
        if reference.empty(each.get("labelSelector")):
            each["labelSelector"] = {"matchLabels": {"app": "a"}}
    for pod in moved:
        pod["metadata"].pop("deletionTimestamp", None)


@pytest.mark.generated
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", ["NodeResourcesFit", "NodePorts", "PodTopologySpread", "InterPodAffinity"])
def test_a_change_on_one_node_is_judged_as_if_it_had_happened(name: str, release: str) -> None:
    differed = 0
    for seed in range(examples(250)):
        maker = Maker(20_000 + seed, name)
        world, incoming = maker.world(release), maker.incoming()
        node = maker.dice.choice(world.nodes)
        here = world.on(node)
        removed = maker.dice.sample(here, maker.dice.randrange(len(here) + 1))
        added = [maker.pod(f"a{i}", node["metadata"]["name"], 0.4) for i in range(maker.dice.choice([0, 1, 2]))]
        used = [port for pod in [*here, *added] for port in reference.wanted_ports(world, pod)]
        if name == "NodePorts" and len(set(used)) < len(used):
            continue  # two users of one port cannot be; of such the first to go frees it, upstream too
        if name == "PodTopologySpread":
            plainly_spread(incoming, [*removed, *added])
        after = World(**{**vars(world), "pods": [p for p in world.pods if p not in removed] + added})

        cluster, framework, pod = core(world, incoming)
        (plugin,) = (p for p in framework.filter if p.name == name)
        state = CycleState()
        column = verdict(plugin, state, pod)
        if column is None:
            continue  # what is skipped is skipped for the whole cycle
        assert plugin.filter_node is not None
        row = cluster.nodes.rows[node["metadata"]["name"]]
        gone = [cluster.pods[f"{reference.namespace(p)}/{p['metadata']['name']}"] for p in removed]
        come = [_info(after, incoming, p) for p in added]
        change = Change(row, come, gone, [*((p, -1) for p in gone), *((p, 1) for p in come)])
        judged = plain(plugin.filter_node(state, pod, change))

        after_cluster, framework, pod = core(after, incoming)
        (plugin,) = (p for p in framework.filter if p.name == name)
        column_after = verdict(plugin, CycleState(), pod)
        row = after_cluster.nodes.rows[node["metadata"]["name"]]
        happened = None if column_after is None else plain(column_after.at(row))
        assert judged == happened, f"seed {seed}"
        differed += judged != plain(column.at(cluster.nodes.rows[node["metadata"]["name"]]))
    assert differed > examples(5), "the changes must matter"


def _info(world: World, incoming: Raw, raw: Raw) -> PodInfo:
    """A pod of the world after the change, as it comes to a node of the world before it."""
    cluster, _, _ = core(world, incoming)
    return cluster.pods[f"{reference.namespace(raw)}/{raw['metadata']['name']}"]


@pytest.mark.parametrize("release", RELEASES)
def test_a_spread_change_counts_pods_that_are_not_counted_at_first(release: str) -> None:
    """Pods being deleted, and all under an empty selector, count nothing; but coming and going they do, as upstream."""

    def judged(world: World, selector: Raw, removed: tuple[str, ...], added: tuple[Raw, ...]) -> tuple[Any, Any]:
        spreading = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}
        incoming = maker.pod("incoming", "", 0)
        incoming["metadata"].update(namespace="default", labels={"app": "a"})
        incoming["spec"]["topologySpreadConstraints"] = [{**spreading, "labelSelector": selector}]
        cluster, framework, pod = core(world, incoming)
        (plugin,) = (p for p in framework.filter if p.name == "PodTopologySpread")
        state = CycleState()
        column = verdict(plugin, state, pod)
        assert column is not None
        assert plugin.filter_node is not None
        row = cluster.nodes.rows["n0"]
        gone = [cluster.pods[f"default/{name}"] for name in removed]
        change = Change(row, [build.info(p, release) for p in added], gone)
        return plain(column.at(row)), plain(plugin.filter_node(state, pod, change))

    skewed = ("Unschedulable", ("node(s) didn't match pod topology spread constraints",))
    maker = Maker(0)
    nodes = [build.node("n0", cpu=1), build.node("n1", cpu=1)]
    running = [build.pod(f"p{i}", on=on, labels={"app": "a"}) for i, on in enumerate(["n0", "n0", "n1"])]
    leaving = build.pod("leaving", on="n0", labels={"app": "a"}, deleted=True)
    world = World(nodes, [*running, leaving], release=release)
    assert judged(world, {"matchLabels": {"app": "a"}}, ("leaving",), ()) == (skewed, None)
    assert judged(world, {}, (), (build.pod("new", labels={"app": "a"}),)) == (None, skewed)
