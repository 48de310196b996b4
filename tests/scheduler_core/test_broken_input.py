"""Invalid input gives an InputError that names the object and the field, or a valid decision."""

import copy
import datetime
import math
import random
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from scheduler_core.api.objects import describe
from scheduler_core.cycle.trace import CycleTrace
from scheduler_core.errors import InputError
from scheduler_core.simulation import Simulation
from tests.conformance import golden_cases
from tests.examples import examples
from tests.scheduler_core.build import PREFERRED, REQUIRED, Raw, node, pod, selector


def run(*objects: Any, release: str = "1.34") -> list[CycleTrace]:
    return list(Simulation(list(objects), release=release).run())


def container(**fields: Any) -> Raw:
    return pod("p", containers=[{"name": "c", **fields}])


def requests(**amounts: Any) -> Raw:
    return container(resources={"requests": amounts})


def node_affinity(*requirements: Raw) -> Raw:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(requirements)}]}
    return pod("p", affinity={"nodeAffinity": {REQUIRED: terms}})


def pod_affinity(**term: Any) -> Raw:
    return pod("p", affinity={"podAffinity": {REQUIRED: [term]}})


def spread(**fields: Any) -> Raw:
    return pod("p", topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "z", **fields}])


def preferred(weight: Any) -> Raw:
    term = {"weight": weight, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
    return pod("p", affinity={"nodeAffinity": {PREFERRED: [term]}})


def tainted(effect: str) -> Raw:
    return node("n", taints=(("a", "b", effect),))


TERM = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"
REQUESTS = "spec.containers[0].resources.requests"
BUDGET = {"kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
SET = {"kind": "ReplicaSet", "metadata": {"name": "r"}}
HALF_A_PAIR = "\ud800"


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        # quantities
        (requests(cpu="-1"), f"{REQUESTS}['cpu']"),
        (requests(cpu=-0.5), f"{REQUESTS}['cpu']"),
        (requests(memory="1Kg"), f"{REQUESTS}['memory']"),
        (requests(memory="1 Gi"), f"{REQUESTS}['memory']"),
        (requests(cpu=math.nan), f"{REQUESTS}['cpu']"),
        (requests(cpu=math.inf), f"{REQUESTS}['cpu']"),
        (requests(cpu="1e999999999999"), f"{REQUESTS}['cpu']"),
        (requests(cpu="1" * 100_000), f"{REQUESTS}['cpu']"),
        (requests(cpu=True), f"{REQUESTS}"),
        (pod("p", overhead={"cpu": ""}), "spec.overhead['cpu']"),
        (pod("p", resources={"limits": {"cpu": "x"}}), "spec.resources.limits['cpu']"),
        (node("n", cpu="-4"), "status.allocatable['cpu']"),
        (node("n", pods="many"), "status.allocatable['pods']"),
        (
            pod("p", status={"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "-1"}}]}),
            "status.containerStatuses[0].allocatedResources['cpu']",
        ),
        (
            {"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"capacity": {"storage": "-1Gi"}}},
            "spec.capacity['storage']",
        ),
        # numbers out of range
        (pod("p", priority=1 << 31), "spec.priority"),
        (pod("p", priority=10**400), "spec.priority"),
        (pod("p", priority=1.5), "spec.priority"),
        (container(ports=[{"hostPort": 70_000}]), "spec.containers[0].ports[0].hostPort"),
        (container(ports=[{"hostPort": -1}]), "spec.containers[0].ports[0].hostPort"),
        (spread(maxSkew=0), "spec.topologySpreadConstraints[0].maxSkew"),
        (spread(minDomains=-1), "spec.topologySpreadConstraints[0].minDomains"),
        (preferred(0), f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight"),
        (preferred(101), f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight"),
        (node("n", images={"a": -1}), "status.images[0].sizeBytes"),
        # unknown words
        (node_affinity({"key": "a", "operator": "in", "values": ["b"]}), f"{TERM}.operator"),
        (node_affinity({"key": "a", "operator": "Gt", "values": ["many"]}), f"{TERM}.values"),
        (node_affinity({"key": "a", "operator": "Gt", "values": ["1", "2"]}), f"{TERM}.values"),
        (node_affinity({"key": "a", "operator": "In"}), f"{TERM}.values"),
        (node_affinity({"key": "a", "operator": "Exists", "values": ["b"]}), f"{TERM}.values"),
        (node_affinity({"operator": "Exists"}), f"{TERM}.key"),
        (
            pod_affinity(topologyKey="z", labelSelector=selector([("a", "Gt", ["1"])])),
            f"spec.affinity.podAffinity.{REQUIRED}[0].labelSelector.matchExpressions[0].operator",
        ),
        (pod_affinity(labelSelector={}), f"spec.affinity.podAffinity.{REQUIRED}[0].topologyKey"),
        (spread(topologyKey=""), "spec.topologySpreadConstraints[0].topologyKey"),
        (spread(whenUnsatisfiable="Maybe"), "spec.topologySpreadConstraints[0].whenUnsatisfiable"),
        (spread(nodeTaintsPolicy="honor"), "spec.topologySpreadConstraints[0].nodeTaintsPolicy"),
        (pod("p", preemptionPolicy="Always"), "spec.preemptionPolicy"),
        (pod("p", tolerations=[{"operator": "In"}]), "spec.tolerations[0].operator"),
        (tainted("NoEntry"), "spec.taints[0].effect"),
        ({"kind": "StorageClass", "metadata": {"name": "s"}, "volumeBindingMode": "Later"}, "volumeBindingMode"),
        ({**BUDGET, "spec": {"selector": selector([("", "Exists", [])])}}, "spec.selector"),
        ({**SET, "spec": {"selector": selector([("a", "Is", [])])}}, "spec.selector"),
        # times
        (pod("p", status={"startTime": "yesterday"}), "status.startTime"),
        (
            {"kind": "Node", "metadata": {"name": "n", "creationTimestamp": "2026-02-30T00:00:00Z"}},
            "metadata.creationTimestamp",
        ),
        # shapes
        (pod("p", containers={}), "spec.containers"),
        (pod("p", containers=["c"]), "spec.containers[0]"),
        (pod("p", nodeName=7), "spec.nodeName"),
        (pod("p", tolerations=[[]]), "spec.tolerations[0]"),
        (pod("p", resourceClaims=[{(1, 2): 3}]), "spec.resourceClaims[0]"),
        ({"kind": "Pod", "metadata": {"name": "p", "labels": {"a": 1}}}, "metadata.labels[...]"),
        ({"kind": "Pod", "metadata": {"name": "p", "labels": ["a"]}}, "metadata.labels"),
        ({"kind": "Pod", "metadata": {"name": datetime.date(2026, 1, 1)}}, "metadata.name"),
        ({"kind": "Pod", "metadata": []}, "metadata"),
        ({"kind": "Pod", "metadata": {"name": ""}}, "metadata.name"),
        ({"kind": "Pod"}, "metadata.name"),
        ({"metadata": {"name": "p"}}, "kind"),
        ({"kind": None, "metadata": {"name": "p"}}, "kind"),
        # too large
        ({"kind": "Pod", "metadata": {"name": "p", "labels": {"a": "x" * 1_000_000}}}, "metadata.labels['a']"),
        ({"kind": "Pod", "metadata": {"name": "p", "labels": {"x" * 1_000_000: "a"}}}, "metadata.labels['xx"),
        ({"kind": "Node", "metadata": {"name": "n" * 1_000_000}}, "metadata.name"),
    ],
)
def test_the_error_names_object_and_field(raw: Any, field: str) -> None:
    with pytest.raises(InputError) as caught:
        run(node("other"), raw)
    assert caught.value.where == describe(raw)
    assert caught.value.field.startswith(field)
    assert caught.value.problem
    assert len(str(caught.value)) < 700, "an error must stay readable"


@pytest.mark.parametrize("raw", [None, 7, "Pod", [], math.nan])
def test_a_value_that_is_no_object_is_rejected(raw: Any) -> None:
    with pytest.raises(InputError, match="expected an object"):
        run(node("n"), raw)


def cyclic() -> Raw:
    raw: Raw = {"a": []}
    raw["a"].append(raw)
    return raw


def deep(depth: int) -> Raw:
    raw: Raw = {}
    for _ in range(depth):
        raw = {"a": raw}
    return raw


@pytest.mark.parametrize("tangled", [cyclic(), deep(100_000)], ids=["cycle", "deep"])
def test_cycles_and_depth_are_an_error_where_they_are_read(tangled: Raw) -> None:
    for raw in (
        {"kind": "Pod", "metadata": {"name": "p", "labels": tangled}},
        pod("p", containers=[{"name": tangled}]),
        pod("p", nodeName=[tangled]),
        pod("p", affinity={"nodeAffinity": tangled, "podAffinity": [tangled]}),
    ):
        with pytest.raises(InputError, match=r"Pod (default/)?p"):
            run(node("n"), raw)


def test_a_cycle_in_a_field_of_any_shape_is_an_error() -> None:
    with pytest.raises(InputError, match="nested too deeply"):
        run(node("n"), pod("p", volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": cyclic()}}]))


def test_half_of_a_surrogate_pair_is_an_error_that_can_be_printed() -> None:
    for raw in (
        pod(f"p{HALF_A_PAIR}"),
        pod("p", labels={"a": HALF_A_PAIR}),
        pod("p", labels={HALF_A_PAIR: "a"}),
        pod("p", nodeSelector={"a": HALF_A_PAIR}),
    ):
        with pytest.raises(InputError, match="Pod default/p") as caught:
            run(node("n"), raw)
        assert str(caught.value).encode()


def test_two_objects_of_one_name_are_an_error() -> None:
    for raw in (node("n"), pod("p"), BUDGET):
        name = raw["metadata"]["name"]
        with pytest.raises(InputError, match=rf"{raw['kind']} (default/)?{name}: metadata.name: occurs twice"):
            run(raw, raw)
    # without a namespace is the namespace "default"
    with pytest.raises(InputError, match="occurs twice"):
        run(pod("p"), {"kind": "Pod", "metadata": {"name": "p"}})
    assert run(node("p"), pod("p"), pod("p", namespace="other"))  # other kinds and namespaces are different objects


@pytest.mark.parametrize("release", ["1.34", "1.27"])
def test_null_is_absent(release: str) -> None:
    def nulls(raw: Any) -> Any:
        if isinstance(raw, dict):
            return {**{k: nulls(v) for k, v in raw.items()}, "unknown": None}
        return [*map(nulls, raw), None] if isinstance(raw, list) else raw

    plain: list[Raw] = [node("n", taints=(("a", "b", "NoSchedule"),)), pod("p", tolerations=[{"operator": "Exists"}])]
    bare = {"kind": "Pod", "metadata": {"name": "q", "labels": None}, "spec": None, "status": None}
    spec = dict.fromkeys(("affinity", "tolerations", "containers", "overhead", "volumes", "nodeSelector"))
    empty = {"kind": "Pod", "metadata": {"name": "r", "ownerReferences": None}, "spec": spec}
    (trace,) = run(*map(nulls, plain), release=release)
    assert (trace.result, trace.node) == ("scheduled", "n")
    for trace in run(plain[0], bare, empty, release=release):
        assert trace.message.startswith("0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.")


def test_pods_on_missing_nodes_do_not_count() -> None:
    """Upstream keeps them in its cache without showing them to plugins."""
    ghost = pod("ghost", on="gone", labels={"app": "a"}, requests={"cpu": "100"}, ports=({"hostPort": 80},))
    near = {"podAffinity": {REQUIRED: [{"topologyKey": "kubernetes.io/hostname", "labelSelector": selector(app="a")}]}}
    traces = run(node("n"), ghost, pod("p", ports=({"hostPort": 80},)), pod("q", affinity=near))
    assert [trace.result for trace in traces] == ["scheduled", "unschedulable"]


def test_a_pod_without_its_claim_is_unschedulable() -> None:
    lost = pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "lost"}}])
    (trace,) = run(node("n"), lost)
    assert trace.result == "unschedulable"
    assert 'persistentvolumeclaim "lost" not found' in trace.message


def test_no_nodes_and_no_objects() -> None:
    assert [trace.message for trace in run(pod("p"))] == ["no nodes available to schedule pods"]
    assert run() == []


def test_extreme_valid_quantities_are_accepted() -> None:
    most = "9223372036854775807"
    greedy = pod("p", requests={"cpu": "9000000000000000", "memory": "8Ei", "example.com/x": most})
    (trace,) = run(node("n"), greedy)
    wanted = "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient example.com/x, 1 Insufficient memory."
    assert trace.message.startswith(wanted)
    (trace,) = run(node("n", cpu="0.0000000001", memory=most), pod("p", requests={"cpu": "1n", "memory": "0"}))
    assert trace.result == "scheduled", "both round up: 1m fits in 1m"


@pytest.mark.parametrize(
    ("given", "field"),
    [({"percentage": 101}, "percentage"), ({"percentage": -1}, "percentage"), ({"tie_break": "dice"}, "tie_break")],
)
def test_run_options_are_checked(given: Raw, field: str) -> None:
    with pytest.raises(InputError) as caught:
        Simulation([node("n")], **given)
    assert caught.value.field == field


def test_selected_pods_must_be_pending() -> None:
    objects = [node("n"), pod("there", on="n"), pod("elsewhere", schedulerName="volcano")]
    for key, problem in (
        ("default/lost", "is not among the pending pods"),
        ("default/there", "already runs on n"),
        ("default/elsewhere", "no profile is named 'volcano'; there are default-scheduler"),
    ):
        with pytest.raises(InputError, match=f"Pod {key}.*{problem}"):
            Simulation(objects, pods=[key])
    assert Simulation(objects).pods == [], "pods of other schedulers are left to them"


# ---------------------------------------------------------------- mutations

ODD: list[Any] = [
    *(None, "", 0, -1, 1 << 31, 1 << 63, -(1 << 63), 10**400, 1e308, math.nan, math.inf, -0.0, True, [], {}, [[]]),
    *([None], {"": ""}, {"a": None}, "x" * 300, f"é\0{HALF_A_PAIR}", "../..", "-5", "1e400", "1Ki", ["a"], {"a": 1}),
    *("9223372036854775807", "0.0000000001", "NaN", "2026-13-45T00:00:00Z", "true", "\u202e", b"bytes", {1, 2}),
    datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
]
LARGE_TEXTS = ["9223372036854775807", "9E", "8Ei", "1n", "0", "-0", "9223372036854775807m", "1e30", ".5", "5."]
LARGE_NUMBERS = [0, 1, (1 << 31) - 1, 1 << 31, 1 << 62, (1 << 63) - 1, -1, 100, -(1 << 31), -(1 << 63)]

Path_ = tuple[Any, ...]


def paths(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Yield every path of an object with its value, without values added by mutation."""
    if path:
        yield path, value
    if len(path) < 20:
        steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for step, part in steps:
            yield from paths(part, (*path, step))


def mutate(objects: list[Any], dice: random.Random) -> None:
    """Apply up to three deletions, replacements, swaps, nestings or duplicates."""
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        raw = dice.choice(objects)
        places = list(paths(raw))
        if not places:
            continue
        (path, _), (_, other) = dice.choice(places), dice.choice(places)
        parent = raw
        for step in path[:-1]:
            parent = parent[step]
        match dice.randrange(7):
            case 0:
                del parent[path[-1]]
            case 1:
                parent[path[-1]] = deep(dice.choice((5, 50, 150)))
            case 2:
                objects.append(copy.deepcopy(raw))
            case 3:
                parent[path[-1]] = copy.deepcopy(other)
            case _:
                parent[path[-1]] = copy.deepcopy(dice.choice(ODD))


def inflate(objects: list[Any], dice: random.Random) -> None:
    """Replace up to ten numbers and quantities by the largest, smallest or most unusual of their kind."""
    for _ in range(dice.choice((1, 3, 6, 10))):
        raw = dice.choice(objects)
        amounts = [(p, v) for p, v in paths(raw) if type(v) is int or (isinstance(v, str) and v[:1].isdigit())]
        if amounts:
            path, value = dice.choice(amounts)
            for step in path[:-1]:
                raw = raw[step]
            raw[path[-1]] = dice.choice(LARGE_NUMBERS if type(value) is int else LARGE_TEXTS)


@pytest.fixture(scope="module")
def seeds() -> list[Raw]:
    """Return two small cases of every kind and release."""
    cases: list[Raw] = []
    for release in ("v1.27", "v1.34"):
        kinds: Counter[str] = Counter()
        for case in golden_cases(release):
            kind = case["name"].split("-")[0]
            kinds[kind] += 1
            if kinds[kind] <= 2 and kind != "sampling":
                cases.append(case)
    return cases


def replayed(case: Raw, objects: list[Any], seed: int) -> InputError | None:
    """Return the error of a snapshot, or None if every pod gets a decision. Fail the test for any other outcome."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            simulation = Simulation(objects, release=case["kubernetes"], config=case.get("config"), seed=seed)
            for trace in simulation.run():
                trace.encode()
                trace.golden(simulation.nodes)
    except InputError as error:
        return error
    except Exception as error:
        pytest.fail(f"seed {seed} of {case['name']}: {type(error).__name__}: {error}")
    return None


@pytest.mark.generated
@pytest.mark.parametrize(("change", "number", "at_least"), [(mutate, 1000, 150), (inflate, 500, 150)])
def test_mutated_snapshots_give_decisions_or_errors(seeds: list[Raw], change: Any, number: int, at_least: int) -> None:
    """They raise only InputError and log no warning, and many are still decided."""
    outcomes: Counter[str] = Counter()
    for seed in range(examples(number)):
        dice = random.Random(seed)
        case = dice.choice(seeds)
        objects = copy.deepcopy(case["objects"])
        change(objects, dice)
        error = replayed(case, objects, seed)
        outcomes["decided" if error is None else "error"] += 1
        if error is not None:
            assert error.where
            assert error.problem
            assert len(str(error)) < 1000
            assert str(error).encode()
    assert min(outcomes["error"], outcomes["decided"]) > examples(at_least), outcomes
