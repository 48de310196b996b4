"""Debugger endpoints of stored runs: cluster state, objects, search."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.event_log import log
from kubesched_ui.models import RecordingBlock, Run, Scenario
from kubesched_ui.queries import recording_cache
from kubesched_ui.runs import build_simulation
from kubesched_ui.runs.tasks import execute_run
from kubesched_ui.scenarios.samples import FOLDER
from scheduler_core.recording.recording import Recording, facts_from, objects_from
from scheduler_core.simulation import Simulation
from scheduler_core.virtual_time.scenario_run import ScenarioRun
from tests.clusters import LARGEST_CLUSTERS, cluster_id
from tests.conformance import golden_cases
from tests.examples import selection
from tests.kubesched_ui.api.run_records import assert_alike, events_of
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.http_api import executed, get, post, ran, start, upload
from tests.scheduler_core.recording.core_states import (
    ROOT,
    Raw,
    WatchedRun,
    apply_change,
    comparable_state,
    watch_once,
    watch_time,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

EXAMPLES = ROOT / "docs" / "examples" / "time"
TIMED = [*sorted(FOLDER.glob("1[3-8]-*.yaml")), *sorted(EXAMPLES.glob("*.yaml"))]
GROUPED = "20-pod-group"  # states within a pod group: tests/kubesched_ui/runs/test_groups.py
ONE_PASS = sorted(path for path in FOLDER.glob("*.yaml") if path.stem != GROUPED)
CASES = golden_cases("v1.34", "preemption", "preemptaff")[:8]
CYCLES = 50


def ask(client: Client, run: Run, what: str = "state", status: int = 200, **query: Any) -> Any:
    return get(client, f"{run.url}/{what}", status, **query)


def watched(run: Run) -> WatchedRun:
    """Play the run in the core and return its state before every cycle."""
    seen = WatchedRun()
    if run.in_time:
        in_time, _ = build_simulation.start_in_virtual_time(run)
        list(watch_time(in_time.engine, in_time.until, seen))
    else:
        simulation = build_simulation.start(run).simulation
        list(watch_once(simulation, seen))
    return seen


def check(client: Client, run: Run) -> None:
    """Compare 50 random moments of the stored run, and the changes between two of them."""
    seen, chance = watched(run), random.Random(run.pk)
    assert len(seen.traces) == run.cycles_done
    numbers = range(1, run.cycles_done + 2)
    states = {k: ask(client, run, cycle=k) for k in chance.sample(numbers, min(CYCLES, len(numbers)))}
    for number, state in states.items():
        assert state["cycle"] == number
        assert comparable_state(state) == seen.states[number - 1], f"{run}, before cycle {number}"
        if number <= run.cycles_done:
            assert state["t"] == round(seen.times[number - 1], 6)
    for _ in range(10):
        before, after = chance.choice(list(states)), chance.choice(list(states))
        change = ask(client, run, cycle=after, since=before)
        assert change["since"] == before
        assert apply_change(states[before], change) == states[after]


@pytest.mark.parametrize("path", selection(TIMED, 4), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_states_of_a_virtual_time_run(client: Client, path: Any) -> None:
    run = ran(client, path.read_bytes())
    assert run.in_time
    check(client, run)


@pytest.mark.parametrize("path", selection(ONE_PASS, 4), ids=lambda path: path.stem)
def test_states_of_a_single_pass_run(client: Client, path: Any) -> None:
    check(client, ran(client, path.read_bytes(), in_time=False, seed=5))


@pytest.mark.parametrize("case", selection(CASES, 4), ids=lambda case: case["name"])
def test_states_of_conformance_cases_with_preemption(client: Client, case: Raw) -> None:
    check(client, ran(client, as_list(*case["objects"])))


@pytest.mark.parametrize("path", selection(LARGEST_CLUSTERS[:3], 3), ids=cluster_id)
def test_states_of_a_real_cluster(client: Client, path: Any) -> None:
    number = upload(client, path.read_bytes())
    pods = [o for o in Scenario.objects.get(pk=number).objects_of(["Pod"]) if o["spec"].get("nodeName")]
    keys = [build_simulation.pod_key(obj) for obj in pods if obj.get("status", {}).get("phase") == "Running"]
    run = start(client, number, unbind=keys[::2], unknown_plugins="leave_out")
    execute_run(run.pk)
    run.refresh_from_db()
    assert run.cycles_done > 10
    check(client, run)


# ------------------------------------------------------------------------------------------------ resumed runs


class Killed(BaseException):
    """Raised instead of the death of a worker."""


def dies_after(original: Callable[[Any], Iterator[Any]], count: int) -> Callable[[Any], Iterator[Any]]:
    def run(self: Any) -> Iterator[Any]:
        for number, item in enumerate(original(self), 1):
            if number == count:
                raise Killed
            yield item

    return run


def run_twice(
    client: Client, data: bytes, after: int, monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> tuple[Run, Run]:
    """Return a run, and the same run after its worker died and another one resumed it."""
    whole = ran(client, data, **settings)
    run = start(client, whole.scenario_id, **settings)
    cls: Any = ScenarioRun if whole.in_time else Simulation
    with monkeypatch.context() as patched:
        patched.setattr(cls, "run", dies_after(cls.run, after))
        with pytest.raises(Killed):
            execute_run(run.pk)
    stored = Run.objects.get(pk=run.pk)
    assert 0 < stored.last_seq < whole.last_seq
    Run.objects.filter(pk=run.pk).update(heartbeat_at=None)
    return whole, executed(run.pk)


def compare_twice(client: Client, data: bytes, after: int, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
    whole, again = run_twice(client, data, after, monkeypatch, **settings)
    assert_alike(whole, again)
    for part in ("moves", "facts", "objects"):
        assert stored_values(whole, part) == stored_values(again, part)
    check(client, again)


def stored_values(run: Run, part: str) -> list[Any]:
    blocks = recording_cache.blocks_of(run, part)
    if part == "objects":
        return [obj for block in blocks for obj in objects_from(block)]
    tables = {"": facts_from(blocks).table} if part == "facts" else Recording(blocks).tables
    return [(n, c, table.all(c)) for n, table in tables.items() for c in table.columns if c != "duration"]


@pytest.mark.parametrize(
    ("name", "after"),
    [
        pytest.param("13-queue", 900, marks=pytest.mark.long),
        *(("14-backoff", 30), ("16-preemption-in-time", 25), ("17-taint-eviction", 40)),
    ],
)
def test_a_resumed_virtual_time_run_is_recorded_as_one_without_interruption(
    client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any, name: str, after: int
) -> None:
    settings.RUN_BATCH_CYCLES = 3
    compare_twice(client, (FOLDER / f"{name}.yaml").read_bytes(), after, monkeypatch)


TIES = as_list(*(node(f"n{n}") for n in range(5)), *(pod(f"p{n:02}") for n in range(15)))


@pytest.mark.parametrize(("ties", "after"), [(False, 2), (False, 4), (True, 7)])
def test_a_resumed_single_pass_run_is_recorded_as_one_without_interruption(
    client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any, ties: bool, after: int
) -> None:
    settings.RUN_BATCH_CYCLES = 1
    case = max(CASES, key=lambda case: len(case["pods"]))
    compare_twice(client, TIES if ties else as_list(*case["objects"]), after, monkeypatch, seed=3)


def test_a_running_run_can_be_queried_up_to_its_last_cycle(
    client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.RUN_BATCH_CYCLES = 1
    run = start(client, upload(client, as_list(node("n1"), *(pod(f"p{i}") for i in range(6)))))
    assert "has not started" in ask(client, run, status=409)["error"]
    with monkeypatch.context() as patched:
        patched.setattr(Simulation, "run", dies_after(Simulation.run, 4))
        with pytest.raises(Killed):
            execute_run(run.pk)
    assert ask(client, run)["cycle"] == 4
    assert len(ask(client, run)["nodes"][0]["pods"]) == 3
    assert "1..4" in ask(client, run, cycle=5, status=400)["error"]
    assert ask(client, run, "find", where="cycle > 0")["total"] == 3
    Run.objects.filter(pk=run.pk).update(heartbeat_at=None)
    execute_run(run.pk)
    assert ask(client, run)["cycle"] == ask(client, run, "find", where="cycle > 0")["total"] + 1 > 4


# ------------------------------------------------------------------------------------------------ stored recordings


def test_a_recording_is_deleted_with_its_run(client: Client) -> None:
    run = ran(client, as_list(node("n1"), pod("a")))
    assert RecordingBlock.objects.filter(run=run).exists()
    assert client.delete(run.url).status_code == 204
    assert not RecordingBlock.objects.exists()
    assert client.get(f"{run.url}/state").status_code == 404


def test_a_run_without_a_recording_says_so(client: Client) -> None:
    run = ran(client, as_list(node("n1"), pod("a")))
    RecordingBlock.objects.filter(run=run).delete()
    recording_cache._kept.clear()
    queries = {"state": {}, "find": {"where": "true"}, "object": {"kind": "Node", "name": "n1"}, "map": {}}
    post(client, f"{run.url}/breakpoints", {"where": "true"}, 409)
    for what, query in (queries | {"map/tape": {"after": 0}}).items():
        error = ask(client, run, what, status=409, **query)["error"]
        assert "has no recording" in error
        assert "Run it again" in error


def test_a_failed_run_stores_no_more_than_its_cycles(
    client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.RUN_BATCH_CYCLES, settings.RUN_BATCH_S = 2, 3600
    run = start(client, upload(client, as_list(node("n1"), *(pod(f"p{i}") for i in range(6)))))

    original = log.RunLog.write

    def failing(self: Any, batch: Any) -> None:
        if self.run.cycles_done == 2:
            raise RuntimeError("made to fail")
        original(self, batch)

    monkeypatch.setattr(log.RunLog, "write", failing)
    execute_run(run.pk)
    run.refresh_from_db()
    assert (run.state, run.cycles_done) == ("failed", 2)
    assert ask(client, run)["cycle"] == 3
    assert len(stored_values(run, "facts")[0][2]) == 2


def test_the_size_of_recordings_is_bounded(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    recording_cache._kept.clear()
    made = [ran(client, as_list(*(node(f"n{i}") for i in range(9)), pod(f"a{i}"))) for i in range(9)]
    one = recording_cache.recording_of(made[0]).size * recording_cache.TEXT_FACTOR
    monkeypatch.setattr(recording_cache, "KEPT_BYTES", one * 3.5)
    for run in made:
        ask(client, run)
    assert len(recording_cache._kept) == 3
    assert recording_cache.key_of(made[-1]) in recording_cache._kept
    reads = []
    monkeypatch.setattr(recording_cache, "blocks_of", lambda *args: reads.append(args))
    ask(client, made[-1])
    assert not reads


# ------------------------------------------------------------------------------------------------ timepoints


def test_timepoints_in_virtual_time_are_cycles_seconds_or_events(client: Client) -> None:
    # The kubelet of n1 confirms the deletions when it reports again.
    ready = b'{status: {conditions: [{type: Ready, status: "True"}]}}'
    recovery = b"    - at: 400\n      patch: {kind: Node, name: n1, patch: " + ready + b"}\n"
    run = ran(client, (FOLDER / "17-taint-eviction.yaml").read_bytes() + recovery)
    found = events_of(run)
    deleted = next(e for e in found if e["type"] == "pod.deleted" and e["data"]["node"])
    node_name, pod_name = deleted["data"]["node"], deleted["pod"]

    def pods(**moment: Any) -> list[str]:
        nodes: dict[str, list[str]] = {n["name"]: n["pods"] for n in ask(client, run, **moment)["nodes"]}
        return nodes[node_name]

    assert pod_name in pods(seq=deleted["seq"] - 1)
    assert pod_name not in pods(seq=deleted["seq"])
    assert pod_name in pods(t=deleted["t"] - 0.001)
    assert pod_name not in pods(t=deleted["t"])
    assert ask(client, run, t=deleted["t"])["t"] == deleted["t"]
    change = ask(client, run, seq=deleted["seq"], since=deleted["seq"] - 1)
    assert [n["name"] for n in change["nodes"]] == [node_name]
    before, after = (ask(client, run, t=t) for t in (0, run.until))
    assert apply_change(before, ask(client, run, t=run.until, since=0)) == after
    assert ask(client, run) | {"t": 0} == after | {"t": 0}
    updates = [e for e in found if e["type"] == "node.changed" and e["data"]["change"] == "updated"]
    tainted = next(e for e in updates if any(what["of"] == "taint" for what in e["data"]["what"]))
    old, new = (ask(client, run, seq=tainted["seq"] - i)["nodes"] for i in (1, 0))
    assert [n["taints"] for n in old] != [n["taints"] for n in new]


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ({"cycle": 0}, 422, "cycle"),
        ({"cycle": 4}, 400, "must be in 1..3, got 4"),
        ({"cycle": 10**30}, 422, "cycle"),
        ({"cycle": "x"}, 422, "cycle"),
        ({"t": -1}, 422, "t"),
        ({"t": "nan"}, 422, "t"),
        ({"cycle": 1, "t": 1}, 400, "one of cycle, t and seq"),
        ({"seq": 1}, 400, "is only for runs in virtual time"),
        ({"cycle": 1, "since": 9}, 400, "must be in 1..3, got 9"),
        ({"cycle": 1, "since": 1.5}, 400, "since: must be a whole number"),
        ({"cycle": 1, "since": "inf"}, 422, "since"),
    ],
)
def test_invalid_timepoints_are_rejected(client: Client, query: Raw, status: int, says: str) -> None:
    run = ran(client, as_list(node("n1"), pod("a"), pod("b")))
    assert says in ask(client, run, status=status, **query)["error"]


def test_a_single_pass_has_one_instant(client: Client) -> None:
    run = ran(client, as_list(node("n1"), pod("a"), pod("b")))
    assert ask(client, run, t=0) == ask(client, run, t=99) | {"t": 0} == ask(client, run, cycle=3)


def test_objects_at_a_timepoint(client: Client) -> None:
    run = ran(client, (FOLDER / "17-taint-eviction.yaml").read_bytes())
    first = ask(client, run, "object", kind="Node", name="n1", t=0)
    assert (first["apiVersion"], first["kind"]) == ("v1", "Node")
    last = ask(client, run, "object", kind="Node", name="n1")
    assert first.get("spec", {}).get("taints", []) != last.get("spec", {}).get("taints", [])
    late = next(n["name"] for n in ask(client, run)["nodes"] if n["name"] != "n1")
    assert "at that timepoint" in ask(client, run, "object", kind="Node", name=late, t=0, status=404)["error"]
    name = ask(client, run)["nodes"][1]["pods"][0].partition("/")
    placed = ask(client, run, "object", kind="Pod", namespace=name[0], name=name[2])
    assert placed["spec"]["nodeName"] == late


# ------------------------------------------------------------------------------------------------ search


def test_search_in_stored_runs(client: Client) -> None:
    run = ran(client, (FOLDER / "10-preemption.yaml").read_bytes(), in_time=False)
    found = ask(client, run, "find", where="victims.size() > 0")
    assert found["total"] == 1
    (match,) = found["matches"]
    assert match.keys() == {"cycle", "pod", "attempt", "t"}
    assert (match["pod"], found["next_from"]) == ("default/urgent", None)
    refused = ask(client, run, "find", where='result == "unschedulable" && refused_by("NodeResourcesFit")')
    assert {m["pod"] for m in refused["matches"]} == {"default/urgent", "default/patient"}
    assert ask(client, run, "find", where='refused_on("n1") && !refused_on("nowhere")')["total"] == refused["total"]


def test_next_and_previous_go_from_match_to_match(client: Client) -> None:
    run = ran(client, as_list(node("n1"), *(pod(f"p{i}") for i in range(3))))
    assert run.cycles_done == 3
    forward = ask(client, run, "find", where="true", direction="next", **{"from": 1})
    assert ([m["cycle"] for m in forward["matches"]], forward["next_from"], forward["total"]) == ([1], 2, 3)
    back = ask(client, run, "find", where="true", direction="previous", **{"from": 2})
    assert ([m["cycle"] for m in back["matches"]], back["next_from"]) == ([2], 1)
    every = ask(client, run, "find", where="true", direction="all", limit=2)
    assert ([m["cycle"] for m in every["matches"]], every["next_from"]) == ([1, 2], 3)
    assert ask(client, run, "find", where="true", direction="next", **{"from": 4})["matches"] == []


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ({"where": "pod == 3"}, 400, "line 1, column 5: found no matching overload"),
        ({"where": ""}, 400, "is empty"),
        ({"where": "x" * 3000}, 400, "is longer than 2,000 characters"),
        ({"where": "true\0"}, 422, "where"),
        ({"where": "true", "limit": 0}, 422, "limit"),
        ({"where": "true", "limit": 10_001}, 422, "limit"),
        ({"where": "true", "from": 0}, 422, "from"),
        ({"where": "true", "direction": "up"}, 422, "direction"),
        ({}, 422, "where"),
    ],
)
def test_invalid_searches_are_rejected(client: Client, query: Raw, status: int, says: str) -> None:
    run = ran(client, as_list(node("n1"), pod("a")))
    error = ask(client, run, "find", status=status, **query)
    assert says in error["error"]
    if "column" in says and status == 400:
        assert (error["line"], error["column"]) == (1, 5)
