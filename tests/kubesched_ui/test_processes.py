"""Killed processes: nothing is lost or doubled. All tests run in both set-ups."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.conformance import golden_cases
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.instance import CHECKOUT, POSTGRES, REDIS, Instance, RedisServer, postgres_server, until

pytestmark = pytest.mark.long

NODES, PODS = 300, 1500


def cluster(nodes: int = NODES, pods: int = PODS) -> bytes:
    """Nodes of 16 CPUs and pods of 1. Some stay pending if there are more than 16 per node."""
    items = [node(f"n{n:04}", "16", "64Gi", labels={"zone": f"z{n % 3}"}) for n in range(nodes)]
    return as_list(*items, *(pod(f"p{n:05}", memory="1Gi") for n in range(pods)))


def needs(found: object, what: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not found, reason=f"{what} is not installed")


@pytest.fixture(
    scope="module",
    params=[
        "embedded",  # as the browser tests do
        pytest.param("services", marks=[needs(POSTGRES, "PostgreSQL 15"), needs(REDIS, "redis-server")]),
    ],
)
def instance(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    var = tmp_path_factory.mktemp("var")
    with ExitStack() as services:
        environment, redis, postgres = {}, None, None
        if request.param == "services":
            redis = RedisServer()
            services.callback(redis.kill)
            postgres = services.enter_context(postgres_server())
            environment = {"REDIS_URL": redis.url, "DATABASE_URL": postgres.url}
        instance = Instance(var, **environment)
        instance.redis, instance.postgres = redis, postgres
        services.callback(instance.interrupt)
        assert f"http://127.0.0.1:{instance.port}" in instance.start()
        yield instance


@pytest.fixture(scope="module")
def scenario(instance: Instance) -> int:
    number: int = instance.api("POST", "/scenarios?name=many", cluster())["id"]
    return number


def test_generated_requests_find_no_error_in_the_api(instance: Instance) -> None:
    """A sample of what scripts/try_api.py sends. It deletes scenarios, so it precedes the tests of `scenario`."""
    command = [sys.executable, "scripts/try_api.py", f"http://127.0.0.1:{instance.port}", "1", "1", "", "fuzzing"]
    tried = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=300)
    assert tried.returncode == 0, tried.stdout[-5000:] + tried.stderr[-1000:]


def check(instance: Instance, run: int) -> None:
    """Check the result of the run, and that every event, cycle and result is stored once."""
    found = instance.finished(run)
    assert (found["state"], found["cycles_done"], found["placed"]) == ("done", PODS, PODS), found["error"]
    events = instance.events(run)
    assert [e["seq"] for e in events] == list(range(1, found["last_seq"] + 1))
    finished = [e["pod"] for e in events if e["type"] == "cycle.finished"]
    assert sorted(finished) == [f"default/p{n:05}" for n in range(PODS)]
    assert [e["type"] for e in events].count("run.finished") == 1
    page = instance.api("GET", f"/runs/{run}/pods?page_size=1")
    assert page["total"] == PODS
    bound = {e["pod"]: e["data"]["node"] for e in events if e["type"] == "bind"}
    assert len(bound) == PODS


def start_run(instance: Instance, scenario: int, **settings: Any) -> int:
    number: int = instance.api("POST", f"/scenarios/{scenario}/runs", settings)["id"]
    return number


def running(instance: Instance, run: int) -> None:
    """Wait until the run is half done."""
    until(lambda: instance.api("GET", f"/runs/{run}")["cycles_done"] > 20, "the run's first cycles")


def test_a_slow_reader_of_an_export_leaves_its_process_to_others(instance: Instance, scenario: int) -> None:
    """It reads 64 kB a second of 40 MB, and may use one process."""
    run = start_run(instance, scenario)
    check(instance, run)
    path, ended = f"/api/runs/{run}/export?format=jsonl", threading.Event()

    def read_slowly(client: socket.socket) -> None:
        while not ended.wait(1):
            client.recv(1 << 16)

    with socket.create_connection(("127.0.0.1", instance.port)) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert client.recv(12) == b"HTTP/1.1 200"
        reader = threading.Thread(target=read_slowly, args=(client,))
        reader.start()
        try:
            with urlopen(f"http://127.0.0.1:{instance.port}{path}", timeout=60) as answer:
                assert len(answer.read().splitlines()) == PODS + 1
        finally:
            ended.set()
            reader.join()


def test_a_killed_worker_is_replaced_and_the_run_continues(instance: Instance, scenario: int) -> None:
    reference = start_run(instance, scenario, seed=5)
    check(instance, reference)
    run = start_run(instance, scenario, seed=5)
    running(instance, run)
    instance.kill("celery")
    check(instance, run)
    assert decisions(instance, run) == decisions(instance, reference)


def decisions(instance: Instance, run: int) -> list[Any]:
    """Return the decisions of a run, without times."""
    return [e for e in instance.events(run) if e["type"] in ("filter", "score", "select", "cycle.finished")]


def test_a_killed_web_process_is_replaced_and_clients_resume(instance: Instance, scenario: int) -> None:
    run = start_run(instance, scenario)
    got: list[dict[str, Any]] = []
    client = threading.Thread(target=lambda: got.extend(instance.events(run)))
    client.start()
    running(instance, run)
    instance.kill("kubesched_ui.web.server")
    until(instance.serves, "the web process")
    client.join(120)
    check(instance, run)
    assert [e["seq"] for e in got] == list(range(1, len(got) + 1))
    assert got[-1]["type"] == "run.finished"


def test_metrics_and_backup_work_during_a_run(instance: Instance, scenario: int, tmp_path: Path) -> None:
    run = start_run(instance, scenario)
    running(instance, run)
    until(lambda: instance.status("/readyz") == 200, "that it is ready")
    with urlopen(f"http://127.0.0.1:{instance.port}/metrics", timeout=60) as answer:
        metrics = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#")
    assert metrics["kubesched_database_up"] == "1.0"
    assert float(metrics["kubesched_database_bytes"]) > 100_000
    under_way = [metrics[f'kubesched_work{{kind="{lane}",state="running"}}'] for lane in ("short", "long")]
    assert sum(map(float, under_way)) >= 1
    file = tmp_path / "backup"
    assert instance.command("backup", str(file)).returncode == 0
    refused = instance.command("restore", str(file), "--replace")
    assert (refused.returncode, "Nothing was changed" in refused.stderr) == (1, True)
    check(instance, run)


def crowd(instance: Instance, run: int, query: str = "", *options: str) -> subprocess.Popen[str]:
    """Start thirty viewers in a separate process."""
    url = f"ws://127.0.0.1:{instance.port}/ws/runs/{run}?since=0{query}"
    command = [sys.executable, "-m", "benchmarks", "watchers", url, "30", "--seconds", "120", *options]
    return subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)


def test_thirty_viewers_of_every_kind(instance: Instance, scenario: int) -> None:
    in_time = start_run(instance, scenario, in_time=True, until=30)
    runs = [start_run(instance, scenario), in_time]
    crowds = [crowd(instance, runs[0]), crowd(instance, runs[0], "&pod=default/p00700", "--gaps")]
    crowds.append(crowd(instance, in_time))
    metrics = [json.loads(one.communicate(timeout=150)[0]) for one in crowds]
    # the run is finished
    metrics.append(json.loads(crowd(instance, runs[0], "", "--plain").communicate(timeout=150)[0]))
    last = [str(instance.finished(run)["last_seq"]) for run in (runs[0], runs[0], in_time, runs[0])]
    assert [one["codes"] for one in metrics] == [{"1000": 30}] * 4
    assert [one["wrong"] for one in metrics] == [{}] * 4
    assert [one["last_seq"] for one in metrics] == [{seq: 30} for seq in last]
    assert metrics[3]["mb"] > 5 * metrics[0]["mb"]  # the same, uncompressed


def test_killed_viewers_are_disconnected(instance: Instance, scenario: int) -> None:
    (web,) = instance.pids("kubesched_ui.web.server")

    def sockets() -> int:
        links = [os.readlink(link) for link in Path(f"/proc/{web}/fd").iterdir() if link.is_symlink()]
        return sum(link.startswith("socket:") for link in links)

    before, run = sockets(), start_run(instance, scenario)
    many = crowd(instance, run)
    until(lambda: sockets() >= before + 30, "thirty sockets")
    many.kill()
    many.communicate()
    until(lambda: sockets() <= before + 5, "the end of their sockets")
    check(instance, run)


def test_a_database_outage_closes_every_socket_and_clients_resume(instance: Instance, scenario: int) -> None:
    if instance.postgres is None:
        pytest.skip("SQLite is never away")
    run = start_run(instance, scenario)
    got: list[list[int]] = [[] for _ in range(8)]
    codes: list[list[int]] = [[] for _ in got]

    def watch(seqs: list[int], closed: list[int]) -> None:
        while not closed or closed[-1] != 1000:
            try:
                url = f"ws://127.0.0.1:{instance.port}/ws/runs/{run}?since={seqs[-1] if seqs else 0}"
                with connect(url, max_size=None) as ws:
                    while True:
                        seqs += [e["seq"] for e in json.loads(ws.recv(timeout=60))["events"]]
            except ConnectionClosed as gone:
                closed.append(gone.rcvd.code if gone.rcvd else 0)
                time.sleep(0.2)

    clients = [threading.Thread(target=watch, args=both) for both in zip(got, codes, strict=True)]
    for client in clients:
        client.start()
    until(lambda: all(got), "the first events of all")
    instance.postgres.stop()
    until(lambda: all(codes), "the end of all sockets")
    assert {closed[0] for closed in codes} <= {1011, 1000}, "1000 where the run was over before"
    instance.postgres.start()
    for client in clients:
        client.join(120)
    check(instance, run)
    last = instance.finished(run)["last_seq"]
    assert got == [list(range(1, last + 1))] * 8


def test_a_killed_broker_loses_neither_active_nor_queued_runs(instance: Instance, scenario: int) -> None:
    runs = [start_run(instance, scenario) for _ in range(3)]
    running(instance, runs[0])
    if instance.redis:
        instance.redis.kill()
    else:
        instance.kill("valkey-server")
    runs.append(start_run(instance, scenario))  # with Redis: during the outage
    if instance.redis:
        instance.redis.start()
    for run in runs:
        check(instance, run)


def test_cancel_and_delete(instance: Instance, scenario: int) -> None:
    run = start_run(instance, scenario)
    running(instance, run)
    instance.api("POST", f"/runs/{run}/cancel")
    found = instance.finished(run)
    assert found["state"] == "cancelled"
    assert 0 < found["cycles_done"] < PODS
    assert instance.events(run)[-1]["data"]["state"] == "cancelled"
    instance.api("DELETE", f"/runs/{run}")
    check(instance, start_run(instance, scenario))


def test_conformance_cases_over_http_have_the_result_of_the_core(
    instance: Instance, tmp_path: Path, checkout: Path
) -> None:
    cases = tmp_path / "cases.jsonl"
    chosen = golden_cases("v1.34")[::40]
    cases.write_text("".join(json.dumps(case) + "\n" for case in chosen))
    in_process = subprocess.run(
        [sys.executable, "-m", "scheduler_core", "replay", cases], cwd=checkout, capture_output=True, text=True
    )
    answers = [json.loads(line) for line in in_process.stdout.splitlines()]
    assert [replayed(instance, case) for case in chosen] == answers


def replayed(instance: Instance, case: dict[str, Any]) -> dict[str, Any]:
    """Upload a case, run it and return its decisions as `scheduler_core replay` writes them."""
    settings = {"release": case["kubernetes"], "preemption": bool(case.get("preempt")), "pods": case["pods"]}
    settings |= {
        "percentage": case.get("percentage"),
        "config": json.dumps(case["config"]) if case.get("config") else None,
    }
    run = instance.record(as_list(*case["objects"]), tie_break="name", **settings)["run"]
    pods = [instance.api("GET", f"/runs/{run}/pods/{pod}") for pod in dict.fromkeys(case["pods"])]
    found = {"node_order": instance.api("GET", f"/runs/{run}")["node_names"]}
    found["cycles"] = [cycle for pod in pods for cycle in pod["cycles"]]
    return {key: case[key] for key in ("name", "kubernetes")} | found


def test_nul_characters_are_rejected_on_every_database(instance: Instance) -> None:
    body = as_list(node("n0000", labels={"a": "\0"}), pod("p00000", nodeSelector={"a": "\0"}))
    made = instance.api("POST", "/scenarios?name=nul", body)["id"]
    run = start_run(instance, made)
    assert instance.finished(run)["state"] == "done"
    for address, status in {
        f"/runs/{run}/?q=%00&result=%00": 200,
        f"/runs/{run}/pods/%00/x/": 404,
        f"/runs/{run}/pods/default/%00/": 404,
        f"/scenarios/{made}/objects/?kind=%00": 200,
        f"/api/runs/{run}/pods/default/%00": 404,
        f"/api/runs/{run}/pods?q=%00": 422,
    }.items():
        assert instance.status(address) == status, address
    image = {"kind": "Pod", "spec": {"containers": [{"name": "c", "image": "a\0"}]}}
    changes = [{"create": image | {"metadata": {"name": "x"}}}]
    for path, wanted in {
        f"/scenarios/{made}/runs": {"template": json.dumps(image), "copies": 1},
        f"/runs/{run}/fork": {"at": 1, "changes": changes},
    }.items():
        with pytest.raises(HTTPError) as refused:
            instance.api("POST", path, wanted)
        assert (refused.value.code, b"NUL" in refused.value.read()) == (400, True)


def test_simulate_uses_the_same_data(instance: Instance, tmp_path: Path) -> None:
    (tmp_path / "some.json").write_bytes(cluster(2, 3))
    done = instance.command("simulate", str(tmp_path / "some.json"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("scheduled") == 3


def test_a_second_instance_on_the_same_data_is_refused(instance: Instance) -> None:
    second = instance.command("run")
    assert second.returncode == 1
    assert "already running" in second.stderr


def test_after_killing_all_processes_the_instance_restarts(tmp_path: Path) -> None:
    instance = Instance(tmp_path)
    instance.start()
    scenario = instance.api("POST", "/scenarios", cluster())["id"]
    run = start_run(instance, scenario)
    running(instance, run)
    for pid in instance.pids(""):
        with suppress(ProcessLookupError):  # it may have ended with its parent
            os.kill(pid, signal.SIGKILL)
    until(lambda: not instance.pids(""), "the end of all processes")
    assert str(instance.port) in instance.start()
    check(instance, run)
    assert instance.interrupt() == 0
    until(lambda: not instance.pids(""), "the end of all processes")
    assert not (tmp_path / "broker.sock").exists()
    assert oct((tmp_path / "secret_key").stat().st_mode)[-3:] == "600"


def test_a_port_in_use_is_reported(tmp_path: Path, instance: Instance) -> None:
    other = Instance(tmp_path, PORT=str(instance.port))
    refused = other.command("run")
    assert refused.returncode == 1
    assert f"Port {instance.port}" in refused.stderr
