"""Runs in virtual time: settings, events, queue sizes and pod timelines, resumed runs, limits, hostile input."""

import json
import socket
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import jsonschema
import pytest
from django.test import Client

from kubesched_ui.event_log.queue_sizes import LANES
from kubesched_ui.ingest import IngestError, ingest_files
from kubesched_ui.models import Run, Scenario
from kubesched_ui.presenters.events_at import LISTED
from kubesched_ui.runs import services, tasks
from kubesched_ui.scenarios.samples import FOLDER
from scheduler_core.releases import NEWEST, RELEASES
from tests.examples import selection
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.http_api import body, executed, get, post, start, upload

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

TEXT = (Path(__file__).parents[2] / "docs" / "websocket.schema.json").read_text()
SCHEMA = jsonschema.Draft202012Validator(json.loads(TEXT))
SAMPLES = sorted(path.stem for path in FOLDER.glob("1[3-8]-*.yaml"))


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail the test if it connects to a host."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("an outgoing request")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


def ran(client: Client, scenario: int, **settings: Any) -> dict[str, Any]:
    """Return a finished run."""
    run = executed(start(client, scenario, **settings).pk)
    found: dict[str, Any] = get(client, run.url)
    return found


def sample(client: Client, name: str, **settings: Any) -> dict[str, Any]:
    return ran(client, upload(client, (FOLDER / f"{name}.yaml").read_bytes()), **settings)


def events(client: Client, run: dict[str, Any], **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"{run['url']}/events", {"limit": 10_000, **query}).json()["events"]
    return found


def document(*objects: Any, **spec: Any) -> bytes:
    return json.dumps(
        {"apiVersion": "kubesched.dev/v1alpha1", "kind": "Scenario", "spec": {"objects": objects, **spec}}
    ).encode()


# ------------------------------------------------------------------------------------------------ recording


@pytest.mark.parametrize(
    ("name", "release"),
    [
        *((name, "") for name in SAMPLES if name != "13-queue"),
        ("16-preemption-in-time", "1.16"),
        pytest.param("13-queue", "", marks=pytest.mark.long),
    ],
)
def test_events_of_every_sample_match_the_schema(client: Client, name: str, release: str) -> None:
    run = sample(client, name, **({"release": release} if release else {}))
    assert (run["state"], run["in_time"], run["clock"]) == ("done", True, run["until"])
    found = events(client, run)
    SCHEMA.validate({"events": found})
    assert [e["seq"] for e in found] == list(range(1, run["last_seq"] + 1))
    assert [e["t"] for e in found] == sorted(e["t"] for e in found)
    assert all(e["data"].get("cause", 0) < e["seq"] for e in found)
    finished = [e for e in found if e["type"] == "cycle.finished"]
    assert len(finished) == run["cycles_done"]


@pytest.mark.parametrize("name", selection(SAMPLES, 3))
def test_queue_sizes_agree_with_the_events(client: Client, name: str) -> None:
    run = sample(client, name)
    found = {e["seq"]: e for e in events(client, run)}
    drawn = client.get(f"{run['url']}/lanes").json()
    assert (drawn["until"], drawn["lanes"], drawn["note"]) == (run["until"], list(LANES), "")
    queued = [
        [e["t"], e["pod"], e["data"]["to"], e["seq"]]
        for e in found.values()
        if e["type"] == "queue.moved" and e["data"]["to"] in LANES[:4]
    ]
    moves = [[t, drawn["pods"][index], LANES[lane], seq] for t, index, lane, seq in drawn["moves"]]
    assert [move for move in moves if move[2] in LANES[:4]] == queued
    bound = {e["pod"] for e in found.values() if e["type"] == "pod.bound"}
    assert {pod for _, pod, lane, seq in moves if lane == "bound" and seq > 1} == bound


def test_a_terminating_pod_is_skipped(client: Client) -> None:
    gone = pod("gone")
    gone["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    run = ran(client, upload(client, as_list(node("n1"), gone, pod("a"))), in_time=True)
    assert (run["placed"], run["unschedulable"], run["cycles_done"]) == (1, 0, 1)
    SCHEMA.validate({"events": events(client, run)})
    (skipped,) = events(client, run, type="pod.skipped")
    message = "skip schedule deleting pod: default/gone"
    assert (skipped["pod"], skipped["data"]["message"]) == ("default/gone", message)
    assert message in " ".join(events(client, run)[0]["data"]["warnings"])
    story = client.get(f"{run['url']}/pods/default/gone/history").json()
    assert [(h["lane"], h["text"]) for h in story["happened"]] == [
        ("gone", f"default/gone is being deleted and was skipped ({message})")
    ]
    drawn = client.get(f"{run['url']}/lanes").json()
    mine = [LANES[lane] for _, index, lane, _ in drawn["moves"] if drawn["pods"][index] == "default/gone"]
    assert mine == ["active", "gone"]


def test_the_event_that_wakes_a_pod_is_its_cause(client: Client) -> None:
    run = sample(client, "15-hints")
    story = client.get(f"{run['url']}/pods/default/alone/history").json()
    woken = [move for move in story["moves"] if move["from"] == "unschedulable"]
    assert [(m["t"], m["event"], m["cause"]["type"], m["cause"]["pod"]) for m in woken] == [
        (30.0, "AssignedPodDelete", "pod.deleted", "default/noisy")
    ]
    assert woken[0]["cause"]["text"] == "default/noisy left n1 (deleted)"
    (wait,) = story["critical_path"]
    assert (wait["from_t"], wait["to_t"], wait["where"]) == (0.0, 30.0, "unschedulable")
    assert "InterPodAffinity" in wait["waiting_for"]


def test_preemptor_and_victim_refer_to_each_other(client: Client) -> None:
    run = sample(client, "16-preemption-in-time")
    boss = client.get(f"{run['url']}/pods/default/boss/history").json()
    assert [(v["t"], v["pod"], v["node"]) for v in boss["preempted"]] == [(10.0, "default/worker", "n1")]
    assert boss["critical_path"][0]["waiting_for"] == "its victims on n1 to leave"
    assert boss["critical_path"][-1]["to_t"] == run["until"]  # it never got a node
    worker = client.get(f"{run['url']}/events", {"type": "pod.evicted"}).json()["events"]
    assert [(e["pod"], e["data"]["by"]) for e in worker] == [("default/worker", "default/boss")]
    (cause,) = (e for e in events(client, run) if e["seq"] == worker[0]["data"]["cause"])
    assert (cause["type"], cause["pod"]) == ("cycle.finished", "default/boss")


def test_a_failed_pod_waits_in_backoff(client: Client) -> None:
    run = sample(client, "14-backoff")
    story = client.get(f"{run['url']}/pods/default/unlucky/history").json()
    spent: dict[str, float] = {}
    for part in story["critical_path"]:
        spent[part["where"]] = spent.get(part["where"], 0) + part["to_t"] - part["from_t"]
    assert {where: round(seconds, 3) for where, seconds in spent.items()} == {"waiting": 0.7, "backoff": 40.4}
    assert [a["number"] for a in story["attempts"]] == [1, 2, 3, 4, 5, 6, 7]
    (row,) = client.get(f"{run['url']}/pods").json()["pods"]
    assert (row["result"], row["node"], row["attempts"]) == ("scheduled", "n1", 7)


def test_rows_of_a_cycle_refer_to_the_nodes_of_its_time(client: Client) -> None:
    run = sample(client, "17-taint-eviction")
    assert run["node_names"] == ["n1"]
    (listed,) = events(client, run, type="nodes.listed")
    assert listed["data"] == {"version": 1, "nodes": 2}
    late = [e["pod"] for e in events(client, run, type="pod.bound") if e["data"]["node"] == "n2"]
    assert len(late) == 2
    for name in late:
        (cycle,) = client.get(f"{run['url']}/pods/{name}").json()["cycles"]
        assert (cycle["selected"], list(cycle["filter"])) == ("n2", ["n1"])
        assert client.get(f"/runs/{run['id']}/pods/{name}/").status_code == 200
    for name in ("n1", "n2"):
        assert client.get(f"/runs/{run['id']}/nodes/{name}/").status_code == 200
    lines = client.get(f"{run['url']}/export")
    assert len(body(lines).splitlines()) == 1 + run["cycles_done"]


def test_events_of_a_type_are_read_in_pages(client: Client) -> None:
    run = sample(client, "13-queue")
    whole = events(client, run, type=["pod.bound", "pod.deleted"])
    assert {e["type"] for e in whole} == {"pod.bound", "pod.deleted"}
    parts: list[Any] = []
    since = 0
    while True:
        answer = client.get(
            f"{run['url']}/events", {"limit": 7, "since": since, "type": ["pod.bound", "pod.deleted"]}
        ).json()
        parts += answer["events"]
        if answer["last_seq"] == since:
            break
        since = answer["last_seq"]
    assert parts == whole
    assert run["placed"] + run["unschedulable"] + run["gated"] == client.get(f"{run['url']}/pods").json()["total"]


def test_a_resumed_run_fails_if_it_differs_from_its_stored_events(client: Client, settings: Any) -> None:
    scenario = upload(client, (FOLDER / "15-hints.yaml").read_bytes())
    run = executed(start(client, scenario).pk)
    Run.objects.filter(pk=run.pk).update(state="running", heartbeat_at=None, worker="", seed=1, release="1.27")
    last = run.event_blocks.order_by("-first_seq").first()
    assert last is not None
    last.delete()  # as if the worker had been lost before the end
    Run.objects.filter(pk=run.pk).update(last_seq=last.first_seq - 1)
    run = executed(run.pk)
    assert run.state == "failed"
    assert "Internal error" in run.error


# ------------------------------------------------------------------------------------------------ settings and limits


def test_a_snapshot_runs_as_a_single_pass_by_default(client: Client) -> None:
    owner = {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "site", "namespace": "default"}}
    template = {"metadata": {"labels": {"app": "site"}}, "spec": pod("x")["spec"]}
    owner["spec"] = {"replicas": 3, "selector": {"matchLabels": {"app": "site"}}, "template": template}  # type: ignore[assignment]
    scenario = upload(client, as_list(node("n1"), pod("fits"), pod("big", "64"), pod("other"), owner))
    once = ran(client, scenario)
    assert (once["in_time"], once["until"], once["cycles_done"]) == (False, None, 6)
    timed = ran(client, scenario, in_time=True, until=400, pods=["default/big"])
    assert (timed["until"], timed["placed"], timed["unschedulable"]) == (400.0, 0, 1)
    assert timed["cycles_done"] == 2  # after five minutes it is retried
    assert {e["pod"] for e in events(client, timed)} == {"", "default/big"}
    copies = ran(client, scenario, in_time=True, template=json.dumps(pod("more")), copies=2, pods=[])
    assert (copies["placed"], copies["until"]) == (2, 600.0)


def test_a_scenario_has_default_settings_for_its_runs(client: Client) -> None:
    scenario = upload(client, document(node("n1"), pod("a"), seed=7, tieBreak="name", until="90s", kubernetes="1.27"))
    run = ran(client, scenario)
    assert [run[key] for key in ("in_time", "seed", "tie_break", "until", "release")] == [True, 7, "name", 90.0, "1.27"]
    run = ran(client, scenario, seed=0, until=10, release="1.34")
    assert [run[key] for key in ("in_time", "seed", "until", "release")] == [True, 0, 10.0, "1.34"]
    assert ran(client, scenario, in_time=False)["in_time"] is False


@pytest.mark.parametrize(
    ("wanted", "status", "says"),
    [
        ({"in_time": True, "until": 8 * 86_400}, 400, "at most 604800 s (7 days)"),
        ({"in_time": True, "until": 0}, 422, "until"),
        ({"in_time": False, "until": 5}, 400, "is only for runs in virtual time"),
    ],
)
def test_an_invalid_end_is_rejected(client: Client, wanted: dict[str, Any], status: int, says: str) -> None:
    scenario = upload(client, as_list(node("n1"), pod("a")))
    assert says in post(client, f"/api/scenarios/{scenario}/runs", wanted, status)["error"]
    assert not Run.objects.exists()


def test_a_run_with_too_many_events_ends_with_its_results(client: Client, settings: Any) -> None:
    settings.RUN_MAX_RECORDS = 40
    arrivals = [{"name": "job", "every": "1s", "duration": "1s", "template": {"spec": pod("x")["spec"]}}]
    run = ran(client, upload(client, document(node("n1"), arrivals=arrivals, until="1h")))
    assert run["state"] == "failed"
    assert "more than 40 events" in run["error"]
    assert 0 < run["clock"] < 3600
    found = events(client, run)
    assert [e["seq"] for e in found] == list(range(1, len(found) + 1))
    assert found[-1]["type"] == "run.finished"


def test_a_continued_run_that_fails_before_a_new_event_keeps_its_clock(
    client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RUN_MAX_RECORDS = 40
    arrivals = [{"name": "job", "every": "1s", "duration": "1s", "template": {"spec": pod("x")["spec"]}}]
    number = start(client, upload(client, document(node("n1"), arrivals=arrivals, until="1h"))).pk
    with monkeypatch.context() as patched:
        patched.setattr(tasks, "finish", Mock(side_effect=SystemExit))
        with pytest.raises(SystemExit):
            executed(number)
    Run.objects.update(heartbeat_at=None)  # as after some seconds
    lost = Run.objects.get()
    assert (lost.state, lost.last_seq > 1, lost.clock > 0) == ("running", True, True)
    run = executed(number)
    assert "more than 40 events" in run.error
    assert (run.state, run.clock, run.last_seq) == ("failed", lost.clock, lost.last_seq + 1)


def test_endless_pod_creation_is_stopped(client: Client, settings: Any) -> None:
    settings.RUN_MAX_PODS = 50
    deployment = {
        "kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "many"},
        "spec": {"replicas": 10_000, "template": {"spec": pod("x")["spec"]}},
    }  # fmt: skip
    run = ran(client, upload(client, document(node("n1"), deployment)))
    assert (run["state"], run["in_time"]) == ("failed", True)
    assert "more than 50 pods" in run["error"]


def test_cancelling_a_virtual_time_run_keeps_its_cycles(client: Client, settings: Any) -> None:
    settings.RUN_BATCH_CYCLES = 1
    started = start(client, upload(client, (FOLDER / "13-queue.yaml").read_bytes()))
    Run.objects.filter(pk=started.pk).update(cancel_requested=True)
    run = executed(started.pk)
    assert run.until is not None
    assert (run.state, run.clock < run.until) == ("cancelled", True)


# ------------------------------------------------------------------------------------------------ hostile documents


def test_extenders_are_left_out_with_a_warning_and_not_called(client: Client) -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [{"urlPrefix": "http://198.51.100.7:80/", "filterVerb": "filter", "bindVerb": "bind"}],
    }
    for in_time in (True, False):
        scenario = upload(client, document(node("n1"), pod("a"), config=config, until=60))
        run = ran(client, scenario, in_time=in_time, config=json.dumps(config))
        assert (run["state"], run["placed"]) == ("done", 1)
        *others, warning = events(client, run)[0]["data"]["warnings"]
        assert "extenders[0]" in warning
        assert "not called" in warning
        assert [one.startswith("In virtual time, the queue") for one in others] == [True] * in_time


def test_secrets_in_future_objects_are_not_stored() -> None:
    spec = pod("x")["spec"]
    spec["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": "hunter2"}}
    patch = {"kind": "Deployment", "name": "d", "patch": {"spec": {"template": {"spec": spec}}}}
    timeline = [{"at": 1, "create": {"kind": "Pod", "metadata": {"name": "p"}, "spec": spec}}]
    timeline += [{"at": 2, "create": secret}, {"at": 3, "patch": patch}]
    arrivals = [{"name": "a", "every": 1, "template": {"spec": spec}}]
    result = ingest_files([("s.json", document(node("n"), timeline=timeline, arrivals=arrivals))])
    assert "hunter2" not in json.dumps(result.time)
    assert [entry["at"] for entry in result.time["timeline"]] == [1, 3]
    assert (result.dropped["Secret"], result.dropped["env"]) == (1, 3)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"timelime": []}, "timelime"),
        ({"timeline": [{"at": "soon", "cordon": "n"}]}, "spec.timeline[0].at"),
        ({"timeline": [{"at": 1, "create": {"kind": "Pod", "spec": {}}}]}, "metadata.name"),
        ({"arrivals": [{"name": "a", "every": 0, "template": {}}]}, "spec.arrivals[0].every"),
        ({"until": "1e999"}, "spec.until"),
        ({"seed": "x"}, "spec.seed"),
    ],
)
def test_an_invalid_document_is_rejected_by_field(spec: dict[str, Any], says: str) -> None:
    with pytest.raises(IngestError) as refused:
        ingest_files([("s.json", document(node("n"), **spec))])
    assert says in str(refused.value)
    assert "s.json" in str(refused.value)


def test_an_invalid_document_is_rejected_by_line() -> None:
    text = (FOLDER / "15-hints.yaml").read_text()
    wrong = text.replace("- at: 30\n", "- at: tomorrow\n")
    line = 1 + wrong[: wrong.index("tomorrow")].count("\n")
    with pytest.raises(IngestError, match=rf"line {line}: spec.timeline\[3\].at: 'tomorrow' is not a duration"):
        ingest_files([("s.yaml", wrong.encode())])


def test_a_virtual_time_scenario_is_exported_and_uploaded_again(client: Client) -> None:
    for name in SAMPLES:
        first = Scenario.objects.get(pk=upload(client, (FOLDER / f"{name}.yaml").read_bytes()))
        exported = client.get(f"/api/scenarios/{first.pk}/export").content
        second = Scenario.objects.get(pk=upload(client, exported))
        same = ("name", "description", "config", "time", "counts")
        assert [getattr(first, field) for field in same] == [getattr(second, field) for field in same]
        assert list(first.objects_of()) == list(second.objects_of())


def test_only_scenarios_with_steps_use_virtual_time() -> None:
    plain = ingest_files([("s.json", document(node("n"), pod("p"), kubernetes="v1.30.1", seed=3))])
    assert plain.time == {}
    workload = {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "d"}, "spec": {"template": {}}}
    assert ingest_files([("s.json", document(node("n"), workload))]).time
    running = workload | {"status": {"replicas": 1}}
    assert not ingest_files([("s.json", document(node("n"), running))]).time
    assert not ingest_files([("s.json", as_list(node("n"), workload))]).time


@pytest.mark.parametrize(
    ("cluster", "release"), [("", NEWEST), ("v1.29.3", "1.29.3"), ("v1.29.1", "1.29"), ("1.7", next(iter(RELEASES)))]
)
def test_the_default_release_is_that_of_the_cluster(cluster: str, release: str) -> None:
    scenario = Scenario.objects.create(name="s", kubernetes=cluster)
    assert services.defaults(scenario) == {"release": release}
    assert services.defaults(scenario, True)["until"] == 600


# ------------------------------------------------------------------------------------------------ queries


def text_of(parts: list[Any]) -> str:
    return "".join(part if isinstance(part, str) else next(iter(part.values())) for part in parts)


def test_events_at_a_second_are_in_order_with_their_causes(client: Client) -> None:
    run = sample(client, "17-taint-eviction")
    found = client.get(f"{run['url']}/moment", {"t": 65}).json()
    assert found["t"] == 60.0
    lines = [(line["depth"], text_of(line["parts"])) for line in found["events"]]
    assert lines[:5] == [
        (0, "step 2 of the scenario: patch Node n1"),
        (1, "node n1: condition Ready: True → Unknown"),
        (2, "node n1: taint node.kubernetes.io/unreachable:NoSchedule added"),
        (2, "node n1: taint node.kubernetes.io/unreachable:NoExecute added"),
        (3, "default/impatient will be evicted from n1 at 90 s"),
    ]
    assert found["events"][0]["parts"][2] == {"node": "n1"}
    assert found["told"] == found["events"]  # its name in version 1.0
    assert found["events"][4]["said"] == found["events"][4]["parts"]
    assert [line["seq"] for line in found["events"]] == sorted(line["seq"] for line in found["events"])
    assert found["before"] < 60 < found["after"]
    again = client.get(f"{run['url']}/moment", {"t": found["after"]}).json()
    assert again["before"] == 60.0
    late = [line["cause"] for line in again["events"] if line["cause"]]
    assert all(cause["t"] < again["t"] for cause in late)


def test_events_are_read_in_pages(client: Client) -> None:
    run = sample(client, "16-preemption-in-time")
    whole = client.get(f"{run['url']}/moment", {"t": 10}).json()
    assert whole["next"] is None
    listed: list[Any] = []
    since = 0
    while since is not None:
        part = client.get(f"{run['url']}/moment", {"t": 10, "limit": 3, "since": since}).json()
        assert len(part["events"]) <= 3
        listed, since = listed + part["events"], part["next"]
    assert [line["seq"] for line in listed] == [line["seq"] for line in whole["events"]]
    every = [e["seq"] for e in events(client, run) if e["t"] == 10]
    assert {line["seq"] for line in listed} <= set(every)
    kinds = {e["type"] for e in events(client, run) if e["seq"] in {line["seq"] for line in listed}}
    assert {"scenario.step", "pod.created", "queue.moved", "cycle.finished", "pod.evicted"} <= kinds


@pytest.mark.parametrize("name", selection(SAMPLES, 3))
def test_every_event_is_listed_once(client: Client, name: str) -> None:
    """Reading second by second lists each event once."""
    run = sample(client, name)
    expected = [e["seq"] for e in events(client, run) if e["type"] in LISTED]
    t, seqs = 0.0, []
    while t is not None:
        found = client.get(f"{run['url']}/moment", {"t": t, "limit": 1000}).json()
        assert found["t"] == t
        seqs += [line["seq"] for line in found["events"]]
        t = found["after"]
    assert seqs == [seq for seq in expected if seq in set(seqs)]
    by_seq = {e["seq"]: e for e in events(client, run)}
    # an event that moves no pod and has no marker is listed with its neighbours
    assert {by_seq[seq]["type"] for seq in set(expected) - set(seqs)} <= {
        "object.changed", "pod.updated", "eviction.timed", "eviction.cancelled", "nodes.listed",
    }  # fmt: skip


def test_previously_bound_pods_are_counted(client: Client) -> None:
    there = [pod(f"there-{n}") | {"spec": pod("x")["spec"] | {"nodeName": "n1"}} for n in range(30)]
    timeline = [{"at": 10, "delete": {"kind": "Pod", "name": "there-3", "namespace": "default"}}]
    run = ran(client, upload(client, document(node("n1", "64"), pod("new"), *there, timeline=timeline, until=60)))
    found = client.get(f"{run['url']}/lanes/overview", {"bins": 60}).json()
    bound = dict(zip(found["lanes"], found["sizes"], strict=True))["bound"]
    assert (bound[0], bound[39], bound[41]) == (31, 31, 30)  # it is still terminating for 30 seconds
    assert (found["pods"], found["clock"]) == (31, 60)
    stretch = client.get(f"{run['url']}/lanes/stretch").json()
    assert stretch["counts"][LANES.index("bound")] == 30
    assert len(stretch["there"][LANES.index("bound")]) == 25  # the newest, and the terminating one
    page = client.get(f"/runs/{run['id']}/nodes/n1/").content.decode()
    assert "there-3" in page


def test_invalid_seconds_are_rejected(client: Client) -> None:
    run = sample(client, "15-hints")
    for query in ("t=-1", "t=x", "t=nan", "t=inf", "since=-1", "limit=0", "limit=100000"):
        assert client.get(f"{run['url']}/moment?{query}").status_code == 422, query
    assert client.get(f"{run['url']}/lanes/overview?bins=0").status_code == 422
    assert client.get(f"{run['url']}/lanes/stretch?t=1e400").status_code == 422
    assert client.get(f"{run['url']}/lanes/stretch?t=1e9").status_code == 200


def test_timeline_markers(client: Client) -> None:
    run = sample(client, "17-taint-eviction")
    rows = {row["row"]: row["marks"] for row in client.get(f"{run['url']}/lanes/overview").json()["track"]}
    steps = [(mark["t"], mark["kind"], mark["texts"]) for mark in rows["scenario"]]
    assert steps == [
        (30, "step", ["step 1 of the scenario: create Node n2"]),
        (60, "step", ["step 2 of the scenario: patch Node n1"]),
    ]
    assert [(mark["t"], mark["kind"]) for mark in rows["nodes"]] == [(30, "created"), (60, "condition"), (60, "taint")]
    assert [(mark["t"], mark["kind"], mark["count"]) for mark in rows["evictions"]] == [
        (90, "tainted", 1), (360, "tainted", 2),
    ]  # fmt: skip
