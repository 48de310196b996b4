"""Killed processes: the stored history has no hole that is not marked as a gap."""

from __future__ import annotations

import os
import signal
import threading
import time
import urllib.error
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from scheduler_core.api.patches import merge_patch
from tests.api_server.process import ServerProcess, api_server
from tests.kubesched_ui.clusters import node, pod
from tests.kubesched_ui.instance import POSTGRES, REDIS, Instance, RedisServer, postgres_server, until
from tests.kubesched_ui.live_clusters.settings_files import clusters_file
from tests.kubesched_ui.test_processes import needs

pytestmark = pytest.mark.long

PODS = "/api/v1/namespaces/default/pods"


class Writes:
    """Changes pods of the API server in a thread, and keeps its state at each resourceVersion. `other`: the API server
    of a cluster that is followed only while a page of it is open."""

    def __init__(self, server: ServerProcess, other: ServerProcess) -> None:
        self.server, self.other = server, other
        self.states: dict[int, dict[str, str]] = {}  # resourceVersion -> pod -> its label
        self.state: dict[str, str] = {}
        self.stopping = False
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self) -> None:
        number = 0
        while not self.stopping:
            number += 1
            name = f"p{number * 7 % 25}"
            if name not in self.state:
                body = pod(name, "1")
                body["metadata"]["labels"] = {"n": str(number)}
                found = self.server.request("POST", PODS, body, **{"Content-Type": "application/json"})
                self.state[name] = str(number)
            elif number % 5:
                patch = {"metadata": {"labels": {"n": str(number)}}}
                kind = {"Content-Type": "application/merge-patch+json"}
                found = self.server.request("PATCH", f"{PODS}/{name}", patch, **kind)
                self.state[name] = str(number)
            else:
                found = self.server.request("DELETE", f"{PODS}/{name}")
                del self.state[name]
            self.states[int(found["metadata"]["resourceVersion"])] = dict(self.state)
            time.sleep(0.02)

    @property
    def newest(self) -> int:
        return max(self.states, default=0)


@pytest.fixture(
    scope="module",
    params=[
        "embedded",
        pytest.param("services", marks=[needs(POSTGRES, "PostgreSQL 15"), needs(REDIS, "redis-server")]),
    ],
)
def followed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield an instance that follows an API server that changes all the time."""
    var = tmp_path_factory.mktemp("var")
    with ExitStack() as services:
        server, other = (services.enter_context(api_server()) for _ in range(2))
        server.request("POST", "/api/v1/nodes", node("n1"), **{"Content-Type": "application/json"})
        environment, redis, postgres = {}, None, None
        if request.param == "services":
            redis = RedisServer()
            services.callback(redis.kill)
            postgres = services.enter_context(postgres_server())
            environment = {"REDIS_URL": redis.url, "DATABASE_URL": postgres.url}
        file = clusters_file(var, {"live": server.url}, {"other": other.url})
        instance = Instance(var, CLUSTERS_FILE=str(file), **environment)
        instance.redis, instance.postgres = redis, postgres
        services.callback(instance.interrupt)
        writes = Writes(server, other)
        writes.thread.start()
        assert f"http://127.0.0.1:{instance.port}" in instance.start()
        yield instance, writes
        writes.stopping = True
        writes.thread.join()


def stored(instance: Instance) -> int:
    """Return the newest stored resourceVersion; 0 if the server does not answer or has nothing."""
    with suppress(urllib.error.URLError, OSError):
        found = instance.api("GET", "/clusters")
        return max((int(one["resource_version"]) for one in found if one["name"] == "live"), default=0)
    return 0


def catches_up(instance: Instance, writes: Writes) -> None:
    newest = writes.newest
    until(lambda: stored(instance) >= newest, f"resourceVersion {newest}", 120)


def check(instance: Instance, writes: Writes) -> list[dict[str, Any]]:
    """Compare the stored history with what happened, except inside of gaps. Return the gaps."""
    catches_up(instance, writes)
    history = instance.api("GET", "/clusters/1/history")
    gaps = [(gap["after"], gap["until"]) for gap in history["gaps"] if gap["kind"] in ("", "Pod")]
    assert all(until is not None for _, until in gaps), gaps
    changes: list[Any] = []
    after = 0
    while page := instance.api("GET", f"/clusters/1/changes?after={after}&limit=1000"):
        changes += page
        after = max(change["resource_version"] for change in page)
    pods = [change for change in changes if change["kind"] == "Pod"]
    state: dict[str, Any] = {}
    position = compared = 0
    for version in sorted(version for version in writes.states if version <= history["last"]):
        while position < len(pods) and pods[position]["resource_version"] <= version:
            change = pods[position]
            key = change["key"].removeprefix("default/")
            if change["type"] == "D":
                state.pop(key, None)
            else:
                state[key] = change["value"] if change["type"] == "A" else merge_patch(state[key], change["value"])
            position += 1
        if version < history["first"] or any(after < version < end for after, end in gaps):
            continue
        found = {key: one["metadata"]["labels"]["n"] for key, one in state.items()}
        assert found == writes.states[version], (version, gaps)
        compared += 1
    assert compared > 50
    return history["gaps"]


def test_killed_followers_continue_where_the_history_ends(followed: Any) -> None:
    instance, writes = followed
    until(lambda: stored(instance) > 0, "the first stored changes", 120)
    until(lambda: instance.api("GET", "/clusters/1")["state"] == "following", "following")
    for part in ("follow -- live", "follow --pending", "follow --decisions", "kubesched_ui follow", "follow -- live"):
        instance.kill(part)
        catches_up(instance, writes)
    gaps = check(instance, writes)
    assert [gap["reason"] for gap in gaps] == ["The history begins here."]  # the server still had all changes


def test_a_killed_web_process_does_not_disturb_the_history(followed: Any) -> None:
    instance, writes = followed
    instance.kill("kubesched_ui.web.server")
    until(instance.serves, "the new web process")
    check(instance, writes)


def test_a_killed_broker_does_not_disturb_the_history(followed: Any) -> None:
    instance, writes = followed
    if instance.redis:
        instance.redis.kill()
        time.sleep(3)
        instance.redis.start()
    else:
        instance.kill("valkey-server")
    check(instance, writes)


def test_changes_wait_for_a_killed_database(followed: Any) -> None:
    instance, writes = followed
    if not instance.postgres:
        pytest.skip("SQLite has no process")
    before = writes.newest
    for pid in [instance.postgres.process.pid]:
        os.kill(pid, signal.SIGKILL)
    instance.postgres.process.wait()
    until(lambda: writes.newest > before + 20, "changes while there is no database")
    instance.postgres.start()
    check(instance, writes)


def test_what_the_server_forgot_while_nothing_followed_is_a_gap(followed: Any) -> None:
    instance, writes = followed
    catches_up(instance, writes)
    before = len(check(instance, writes))
    for pid in instance.pids("follow -- live"):
        os.kill(pid, signal.SIGSTOP)  # so that it is not replaced
    marked = writes.newest
    until(lambda: writes.newest > marked + 30, "changes that are not followed")
    writes.server.control("cut")
    writes.server.control("compact")
    instance.kill("follow -- live")
    until(lambda: stored(instance) > marked + 30, "the changes after the gap", 120)
    catches_up(instance, writes)
    gaps = check(instance, writes)
    assert len(gaps) > before
    assert any(gap["kind"] == "Pod" and gap["after"] <= marked + 31 and gap["until"] > marked for gap in gaps)


def test_a_cluster_is_contacted_only_while_a_page_of_it_is_open(followed: Any) -> None:
    instance, writes = followed
    number = next(one["id"] for one in instance.api("GET", "/clusters") if one["name"] == "other")
    assert instance.api("GET", f"/clusters/{number}")["state"] == "stopped"
    assert writes.other.control("requests") == []
    assert instance.api("POST", f"/clusters/{number}/watch")["message"] == "Starting to follow this cluster."
    until(lambda: instance.api("GET", f"/clusters/{number}")["state"] == "following", "following")
    assert writes.other.control("requests")
