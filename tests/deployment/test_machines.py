"""Two web and four worker processes on PostgreSQL and Redis behind the proxy act as one service.

One test, because starting them takes most of its time. Each step is independent.
"""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.deployment.bad_days import live_through
from tests.deployment.client import Browser, Watcher, decisions
from tests.deployment.compose import Machines
from tests.deployment.kills import Trial
from tests.deployment.loads import loads
from tests.deployment.servers import MISSING, wait_for
from tests.kubesched_ui.instance import until
from tests.kubesched_ui.test_processes import cluster

TOKEN = "0123456789abcdef" * 2


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_many_processes_are_one_service(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    try:
        machines.up(preparing=2)
        visitor = Browser(machines.url)
        migrations_run_once(machines)
        both_answer(machines, visitor)
        no_secret_is_logged(machines, visitor)
        a_form_shows_its_message(visitor)
        progress_is_shared(machines)
        origins_are_distinguished(visitor)
        runs_on_all_workers(visitor)
        a_rolling_restart(machines, visitor)
        no_web_process(machines)
        four_kills(machines)
        # A sample of scripts/try_bad_days.py.
        assert live_through(machines, "read only", seconds=2, size=300, clients=2)["problems"] == []
    finally:
        machines.down()


def both_answer(machines: Machines, visitor: Browser) -> None:
    for _ in range(10):
        assert visitor.ask("GET", "/")[0] == 200
    assert all(address in machines.nginx.answered() for address in machines.webs.values())


def no_secret_is_logged(machines: Machines, visitor: Browser) -> None:
    for begin in ("/shared/", "/account/invitation/", "/classes/"):
        assert visitor.ask("GET", f"{begin}{'s3cret-' * 6}/?q=s3cret")[0] in (404, 410)
        until(lambda line=f" GET {begin}... ": line in machines.nginx.answered(), f"a line of{begin}")
    logs = [process.log.read_text() for process in machines.processes.values()]
    assert not [text for text in logs if "s3cret" in text]


def a_form_shows_its_message(visitor: Browser) -> None:
    """They may reach different processes."""
    for number in range(4):
        made = visitor.api("POST", f"/scenarios?name=short-lived-{number}", cluster(1, 1))["id"]
        status, _, page = visitor.form(f"/scenarios/{made}/", "delete/")
        assert (status, f"short-lived-{number}” and its runs were deleted" in page) == (200, True)


def progress_is_shared(machines: Machines) -> None:
    one, other = each(machines)
    with uploading(one) as answers:
        assert until(lambda: readiness(other), "progress")["size"] > 0
    assert answers == [201]
    assert readiness(other) == {}


def each(machines: Machines) -> list[Browser]:
    """Return the web processes, addressed directly."""
    return [Browser(f"http://{address}:8000", "localhost") for address in machines.webs.values()]


def readiness(web: Browser) -> dict[str, Any]:
    progress: dict[str, Any] = json.loads(web.ask("GET", f"/upload/{TOKEN}/")[2])
    return progress


@contextmanager
def uploading(web: Browser) -> Iterator[list[int]]:
    """Return the status of an upload, once it is sent and read."""
    parts = [f'--part\r\nContent-Disposition: form-data; name="progress"\r\n\r\n{TOKEN}\r\n']
    parts.append('--part\r\nContent-Disposition: form-data; name="file"; filename="a.json"\r\n\r\n')
    body = "".join(parts).encode() + cluster(100, 3000) + b"\r\n--part--\r\n"
    answers: list[int] = []

    def send() -> None:
        answers.append(web.ask("POST", "/api/scenarios", body, Content_Type="multipart/form-data; boundary=part")[0])

    with threads([send]):
        yield answers


@contextmanager
def threads(work: list[Callable[[], Any]]) -> Iterator[None]:
    started = [threading.Thread(target=one) for one in work]
    for thread in started:
        thread.start()
    yield
    for thread in started:
        thread.join()


def origins_are_distinguished(visitor: Browser) -> None:
    """The application receives the host name of the browser, including the port."""
    for origin, status in {visitor.url: 201, "http://127.0.0.1": 403, "http://elsewhere.example": 403}.items():
        assert visitor.ask("POST", "/api/scenarios", cluster(1, 1), Origin=origin)[0] == status, origin


def migrations_run_once(machines: Machines) -> None:
    """An empty database, and two machines that started together."""
    stored = [re.findall(r"sample scenarios, (\d+) new", machines.log_of(f"migrate-{n}"))[0] for n in (1, 2)]
    assert sorted(number == "0" for number in stored) == [False, True]
    names = machines.postgres.sql("SELECT name FROM kubesched_ui_scenario WHERE origin = 'sample'").splitlines()
    assert len(names) == len(set(names)) > 0


def runs_on_all_workers(visitor: Browser) -> None:
    scenario = visitor.api("POST", "/scenarios?name=some", cluster(50, 200))["id"]
    runs = [visitor.api("POST", f"/scenarios/{scenario}/runs", {"seed": 7})["id"] for _ in range(4)]
    watchers = [Watcher(visitor.url, run) for run in runs]
    with threads([watcher.watch for watcher in watchers]):
        pass
    assert [(watcher.whole, watcher.codes[-1]) for watcher in watchers] == [(True, 1000)] * 4
    assert all(decisions(watcher.events) == decisions(watchers[0].events) for watcher in watchers)


def a_rolling_restart(machines: Machines, visitor: Browser) -> None:
    """Web processes are stopped in turn: requests are answered, sockets reconnect, runs continue elsewhere."""
    scenario = visitor.api("POST", "/scenarios?name=many", cluster(200, 2000))["id"]
    run = visitor.api("POST", f"/scenarios/{scenario}/runs", {})["id"]
    watchers = [Watcher(visitor.url, run) for _ in range(4)]
    with threads([watcher.watch for watcher in watchers]):
        until(lambda: all(watcher.events for watcher in watchers), "the first events")
        holder = until(
            lambda: next((n for n in machines.workers if f"Run {run}:" in machines.log_of(n)), ""), "a worker"
        )
        assert machines.processes[holder].stop() == 0
        assert re.search(rf"Run {run} .* is released by a worker that stops", machines.log_of(holder))
        machines.processes[holder].start()
        leaves_and_comes_back(machines, "web-1")
    assert [watcher.whole for watcher in watchers] == [True] * 4
    assert {code for watcher in watchers for code in watcher.codes} <= {1000, 1012}
    assert 1012 in {code for watcher in watchers for code in watcher.codes}
    assert machines.postgres.sql(f"SELECT starts FROM kubesched_ui_run WHERE id = {run}") == "1"


def leaves_and_comes_back(machines: Machines, name: str) -> None:
    """An upload is incomplete when the web process is stopped."""
    process, body = machines.processes[name], cluster(1, 1)
    upload = http.client.HTTPConnection(machines.webs[name], 8000, timeout=60)
    upload.putrequest("POST", "/api/scenarios", skip_host=True)
    for header, value in {
        "Host": "localhost",
        "Content-Length": str(len(body)),
        "Content-Type": "application/json",
    }.items():
        upload.putheader(header, value)
    upload.endheaders()
    upload.send(body[:100])
    with threads([process.stop]):
        until(lambda: not machines.serves(name), "the end of taking connections")
        upload.send(body[100:])
        assert upload.getresponse().status == 201
        upload.close()
    assert process.wait(30) == 0
    process.start()
    wait_for(machines.webs[name], 8000)


def no_web_process(machines: Machines) -> None:
    """Without a web process, clients get 503 with Retry-After."""
    known, machines.names.known["web"] = machines.names.known["web"], [f"{machines.net}.99"]
    visitor = Browser(machines.url)
    answer = until(lambda: (a := visitor.ask("GET", "/api/runs"))[0] == 503 and a, "the end of the old addresses")
    assert answer[1]["Retry-After"] == "5"
    assert "Try again" in json.loads(answer[2])["error"]
    status, headers, _ = visitor.ask("GET", "/")
    assert (status, headers["Retry-After"], headers["Content-Type"]) == (503, "5", "text/plain; charset=utf-8")
    machines.names.known["web"] = known
    until(lambda: visitor.ask("GET", "/")[0] == 200, "an answer")


def four_kills(machines: Machines) -> None:
    """A sample of scripts/try_kills.py: one kill of each kind of process."""
    trial = Trial(machines, seed=1, clients=4, say=print)
    trial.prepare(loads(100, 600)[:2])
    trial.start()
    for number, kind in enumerate(("worker", "postgres", "web", "redis"), 1):
        trial.kill(number, kind, "SIGKILL")
        time.sleep(1)
    trial.finish()
    assert trial.seen.problems == []
    assert trial.seen.watched > 0
    assert trial.seen.followed > 0
