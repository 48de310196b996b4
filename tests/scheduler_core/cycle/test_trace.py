"""Trace of a cycle: it decodes unchanged, damage is detected, and it is small."""

import base64
import random
import zlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.cycle import column_packing
from scheduler_core.cycle import trace as trace_module
from scheduler_core.cycle.trace import CycleTrace, PostFilterTrace
from scheduler_core.errors import InputError
from scheduler_core.framework.interface import Status, Verdict
from scheduler_core.framework.score_columns import Score
from scheduler_core.simulation import Simulation
from tests.conformance import golden_cases
from tests.examples import sample, selection
from tests.scheduler_core.build import PREFERRED, node, pod, selector

pytestmark = pytest.mark.slow

ENOUGH = 60_000  # bytes that a cycle of 5,000 nodes may take


def same(one: Any, other: Any) -> bool:
    """Compare values, including arrays and structs. Tuples and lists are equal."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is not None and other is not None and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, dict):
        return list(one) == list(other) and same(list(one.values()), list(other.values()))
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Score) and isinstance(other, Score):
        return all(same(getattr(one, name), getattr(other, name)) for name in ("weight", "raw", "normalized"))
    if is_dataclass(one) and type(one) is type(other):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one) if f.compare)
    return bool(one == other)


def assert_same(one: CycleTrace, other: CycleTrace) -> None:
    for field in msgspec.structs.fields(CycleTrace):
        if not field.name.startswith("_"):
            name = field.name.removeprefix("made_")  # `scores` makes what is made when read
            assert same(getattr(one, name), getattr(other, name)), name


def traces(release: str) -> Iterator[tuple[list[str], CycleTrace]]:
    for case in sample(golden_cases(release), 300):
        options = {key: case.get(key) for key in ("config", "percentage", "pods")}
        preempt = case.get("preempt", False)
        simulation = Simulation(case["objects"], release=release[1:], preemption=preempt, **options)
        for cycle in simulation.run():
            yield simulation.nodes, cycle


@pytest.mark.parametrize("release", selection(["v1.34", "v1.27", "v1.24"], 3))
def test_a_trace_decodes_unchanged(release: str) -> None:
    results = set()
    for names, cycle in traces(release):
        before = cycle.golden(names)
        back = CycleTrace.decode(cycle.encode())
        assert back.golden(names) == before
        assert_same(cycle, back)
        for row in range(cycle.nodes):
            assert back.status_at(row) == cycle.status_at(row)
        results.add(cycle.result)
    assert results >= {"scheduled", "unschedulable"} | ({"gated"} if release >= "v1.27" else set())


int64 = st.integers(-(1 << 63), (1 << 63) - 1)
columns = st.one_of(
    st.lists(st.booleans(), max_size=40).map(lambda values: np.array(values, np.bool_)),
    *(
        st.lists(st.integers(low, high), max_size=40).map(lambda values: np.array(values, np.int64))
        for low, high in ((0, 1), (7, 8), (0, 15), (-3, 9), (0, 255), (1000, 1015), (-(1 << 40), 1 << 40))
    ),
    st.lists(int64, max_size=40).map(lambda values: np.array(values, np.int64)),
    st.tuples(int64, st.integers(1, 40)).map(lambda pair: np.full(pair[1], pair[0], np.int64)),
    st.lists(st.integers(0, 65535), max_size=40).map(lambda values: np.array(values, np.uint16)),
)


@given(columns)
def test_any_column_decodes_unchanged(column: Any) -> None:
    packed = msgspec.msgpack.decode(msgspec.msgpack.encode(column_packing.pack(column)))
    assert column_packing.unpack(packed).tolist() == column.astype(np.int64).tolist()


@given(st.integers(0, 40), st.lists(st.integers(-1, 40), max_size=40))
def test_rows_decode_unchanged(first: int, rows: list[int]) -> None:
    for column in (np.array(rows, np.intp), np.arange(first, first + len(rows))):
        packed = msgspec.msgpack.decode(msgspec.msgpack.encode(column_packing.pack_rows(column)))
        assert column_packing.unpack(packed).tolist() == column.tolist()


@given(st.lists(st.integers(0, 65535), min_size=1, max_size=4), st.integers(1, 2000), st.integers(0, 1 << 30))
def test_a_column_that_is_mostly_zero_decodes_unchanged(values: list[int], size: int, seed: int) -> None:
    column = np.zeros(size, np.uint16)
    for value in values:
        column[random.Random(seed + value).randrange(size)] = value
    packed = msgspec.msgpack.decode(msgspec.msgpack.encode(column_packing.pack_codes(column)))
    assert column_packing.unpack(packed).tolist() == column.tolist()


def equal_pods() -> tuple[list[str], list[CycleTrace]]:
    """Return the nodes and the cycles of equal pods, which share parts of their encoding."""
    taints = (("a", "b", "PreferNoSchedule"),)
    objects = [node(f"n{i}", cpu=f"{2 + i}", taints=taints if i else (), labels={"x": f"{i}"}) for i in range(4)]
    preference = {"matchExpressions": [{"key": "x", "operator": "Exists"}]}
    prefers = {"nodeAffinity": {PREFERRED: [{"weight": 3, "preference": preference}]}}
    objects.append(node("small", cpu="100m"))
    objects += [pod(f"p{i}", requests={"cpu": "300m", "memory": "64Mi"}, affinity=prefers) for i in range(6)]
    simulation = Simulation(objects, release="1.34", timer=lambda: 0)
    return simulation.nodes, list(simulation.run())


# The last cycle of `equal_pods`, encoded when version 2 was new.
SHARED = base64.b64decode(
    "AgCZ3AARqmRlZmF1bHQvcDUGAcsAAAAAAAAAAACpc2NoZWR1bGVkoKCibjAAoJCRsE5vZGVSZXNvdXJjZXNGaXSDqXByZWZpbHRlcgCmZmlsdGVy"
    "AKVzY29yZQCAoKDAwMDE/HgBhZBBTsMwEEVtSo/DqidohZAqVVUFgQU7Y0/CSLYnsp1FblEpDRI3AERFwgXoIgcjbkol6IKd/x/7v/l+GrcKUlHo"
    "cOHlI6hCg3tuLksrDMpr8FQ4Cb6Z2wBuRWqapmgxlO9LUvAjXqNYkQu+iac70oWBBRoMvu3fJJSTpqy8yR0ItR3GM7QKbfY5qB4UHMqAZP3bYN2T"
    "heqE+1/epo0b3NpDF/Gg4SU6S2HgIxFoQ0J9QxFJ+2WPFa8w1PXfK6PdZsx4x/N1/avxWfTPu9FkwtbVSQ5n1VeEHrNnQgsrQU21Jrlnc15v50Zk"
    "sOgN3X8oj4msY7tveVejo8Q8kZMDkZO8VW5zY2hlZHVsYWJsZUFuZFVucmVzb2x2YWJsZZGwSW5zdWZmaWNpZW50IGNwdaCUBQABxAEIxBeSlAUx"
    "CMQFIy0uLwCUBTIIxAUjLS4vAN0AAAAEkwBMTpMAREeTADxAkwA0OcQalcDAwMCSksCUBAAIxARkAAAAksCUBGQAxAA="
)


def test_cycles_of_equal_pods_decode_unchanged() -> None:
    names, traces = equal_pods()
    versions = []
    for trace in traces:
        data = trace.encode()
        versions.append(data[0])
        assert_same(CycleTrace.decode(data), trace)
    assert set(versions) == {trace_module.SHARED_VERSION}
    assert CycleTrace.decode(SHARED).golden(names) == traces[-1].golden(names)


def test_damaged_cycles_of_equal_pods_are_rejected() -> None:
    for position in range(len(SHARED)):
        for changed in (SHARED[:position], SHARED[:position] + b"\xff" + SHARED[position + 1 :]):
            try:
                CycleTrace.decode(changed)  # another shape may be a valid trace
            except InputError as error:
                if "damaged" not in str(error) and "version" not in str(error):
                    raise


def full_trace() -> CycleTrace:
    """Return a trace with every field set."""
    status = Status("Unschedulable", ("a", "b"), "NodePorts")
    rows = np.arange(3, dtype=np.intp)
    column = np.array([1, -5, 1 << 40], np.int64)
    candidates, rejected = {"n": (["default/v"], 1)}, [(status, np.array([1], np.intp))]
    postfilter = PostFilterTrace(status, "n", candidates, rejected, ["n", "o"], "fewest victims", True, ["default/w"])
    return CycleTrace(
        pod="default/p",
        number=7,
        attempt=3,
        nodes=3,
        profile="mine",
        time=12.5,
        start_index=2,
        batch_hint="n2",
        group="default/g",
        placement=rows[:2],
        result="unschedulable",
        message="0/3 nodes",
        error="what",
        **dict.fromkeys(("preenqueue", "prefilter", "subset_status", "reserve", "permit", "prebind", "bind"), status),
        subset=rows[1:],
        skipped_filter=["A"],
        skipped_score=["B"],
        merges=True,
        verdicts={"C": Verdict(np.array([0, 1, 2], np.uint16), (status, Status("Error", ("x",))))},
        nominated={1: None, 2: status},
        looked=np.array([True, False, True]),
        feasible=rows[:1],
        made_scores={"D": Score(3, column, np.array([0, 50, 100], np.int64))},
        node="n",
        selected_row=2,
        permit_waits={"E": 1.5},
        unschedulable_plugins=["C"],
        postfilter=postfilter,
        nominated_node="n",
        victims=["default/v"],
        durations={"filter": 12345678901},
    )


def test_every_field_is_stored() -> None:
    full, blank = full_trace(), CycleTrace("")
    for field in msgspec.structs.fields(CycleTrace):  # add a new field above and to the bytes
        if not field.name.startswith("_"):
            assert not same(getattr(full, field.name), getattr(blank, field.name)), f"{field.name} is not set"
    assert_same(full, CycleTrace.decode(full.encode()))


def test_damage_is_detected() -> None:
    good = full_trace().encode()
    dice = random.Random(1)
    bad = [
        b"",
        good[:1],
        good[:-1],
        good[: len(good) // 2],
        b"\0" + good[1:],
        bytes([good[0] + 1]) + good[1:],
        b"garbage",
    ]
    for _ in range(300):
        at = dice.randrange(1, len(good))
        bad.append(good[:at] + bytes([good[at] ^ (1 << dice.randrange(8))]) + good[at + 1 :])
    for data in bad[:7]:
        with pytest.raises(InputError, match="cycle trace"):
            CycleTrace.decode(data)
    unnoticed = 0
    for data in bad[7:]:
        try:
            assert_same(CycleTrace.decode(data), full_trace())  # the last byte has unused bits
            unnoticed += 1
        except InputError as error:
            if "cycle trace" not in str(error):
                raise
    assert unnoticed <= 3


def test_bytes_of_another_shape_are_detected() -> None:
    good = full_trace().encode()
    document = msgspec.msgpack.decode(zlib.decompress(good[1:]))

    def packed(content: Any) -> bytes:
        return good[:1] + zlib.compress(msgspec.msgpack.encode(content))

    assert_same(CycleTrace.decode(packed(document)), full_trace())
    odd: list[Any] = [None, 5, "x", [], {}, [[]], b"x", [1, 2], {"a": 1}, -1, 1 << 40, [1 << 40, 0, 0, b""]]
    shapes = list(odd)
    for index in range(len(document)):
        shapes += [[*document[:index], value, *document[index + 1 :]] for value in odd]
    shapes += [document[:-1], [*document, None], [document[0][:5], *document[1:]]]
    for shape in shapes:
        try:
            CycleTrace.decode(packed(shape))  # another shape may be a valid trace
        except InputError as error:
            if "damaged" not in str(error):
                raise


@given(st.binary(max_size=60))
def test_any_bytes_are_a_trace_or_rejected(data: bytes) -> None:
    for candidate in (data, bytes([trace_module.VERSION]) + data, bytes([trace_module.VERSION]) + zlib.compress(data)):
        with pytest.raises(InputError, match="cycle trace"):
            CycleTrace.decode(candidate)


def large_cluster(count: int) -> list[Any]:
    """Return a cluster without two equal nodes, so that no column is regular."""
    dice = random.Random(5)
    objects: list[Any] = []
    for number in range(count):
        taint = (("dedicated", f"team-{dice.randrange(40)}", dice.choice(["NoSchedule", "PreferNoSchedule"])),)
        objects.append(
            node(
                f"node-{number:05}",
                zone=f"z{dice.randrange(9)}",
                labels={"disk": dice.choice(["ssd", "hdd"]), "rack": f"r{dice.randrange(200)}"},
                cpu=f"{dice.randrange(1000, 64000)}m",
                memory=dice.randrange(1 << 30, 1 << 38),
                taints=taint if dice.random() < 0.4 else (),
                unschedulable=dice.random() < 0.1,
                images={f"img{i}:1": dice.randrange(1 << 33) for i in range(dice.randrange(4))},
            )
        )
        name = f"node-{dice.randrange(count):05}"
        amounts = {"cpu": f"{dice.randrange(1, 9000)}m", "memory": dice.randrange(1 << 20, 1 << 33)}
        labels = {"app": f"a{dice.randrange(5)}"}
        objects.append(pod(f"p{number}", on=name, requests=amounts, labels=labels, ports=({"hostPort": 80},)))
    return objects


def test_a_cycle_of_5000_different_nodes_is_small() -> None:
    """Every plugin takes part: seven different scores of each node, rejections by every filter."""
    near = {"topologyKey": "rack", "labelSelector": selector(app="a1")}
    ssd = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    spread = {"maxSkew": 2, **near}
    wants = {
        "requests": {"cpu": "100m", "memory": "1Mi"},
        "labels": {"app": "a1"},
        "image": "img1:1",
        "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
        "topologySpreadConstraints": [{**spread, "whenUnsatisfiable": "ScheduleAnyway"}],
        "affinity": {
            "podAffinity": {PREFERRED: [{"weight": 7, "podAffinityTerm": near}]},
            "nodeAffinity": {PREFERRED: [{"weight": 9, "preference": ssd}]},
        },
    }
    refused = {
        "requests": {"cpu": "30", "memory": "64Gi", "example.com/gpu": 1},
        "labels": {"app": "a1"},
        "ports": ({"hostPort": 80},),
        "nodeSelector": {"disk": "ssd"},
        "topologySpreadConstraints": [{**spread, "whenUnsatisfiable": "DoNotSchedule"}],
    }
    pending = [pod("scored", **wants), pod("refused", **refused)]  # type: ignore[arg-type]
    scored, rejected = Simulation([*large_cluster(5000), *pending], percentage=100).run()
    assert (scored.result, len(scored.scores)) == ("scheduled", 9)
    assert sum(score.raw.min() < score.raw.max() for score in scored.scores.values()) == 7
    assert rejected.result == "unschedulable"
    assert sum(verdict.codes is not None for verdict in rejected.verdicts.values()) >= 5
    for cycle in (scored, rejected):
        data = cycle.encode()
        assert len(data) <= ENOUGH
        assert_same(cycle, CycleTrace.decode(data))


def test_feasible_rows_of_a_search_are_decoded_whether_they_follow_from_the_verdicts_or_not() -> None:
    nodes = [node(f"n{i}", taints=[("a", "b", "NoSchedule")] if i % 13 == 0 else ()) for i in range(130)]
    simulation = Simulation([*nodes, *(pod(f"p{i}") for i in range(3))], release="1.34", percentage=50)
    for trace in simulation.run():
        assert trace.looked is not None
        assert trace.feasible is not None
        for rows in (trace.feasible, trace.feasible[1:]):  # the latter as if an extender had refused a node
            trace.feasible = rows
            decoded = CycleTrace.decode(trace.encode())
            assert decoded.feasible is not None
            assert decoded.feasible.tolist() == rows.tolist()
