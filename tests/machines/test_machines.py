"""Two web and four worker processes on PostgreSQL and Redis behind the proxy: one address, however many there are."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.kubesched_ui.test_processes import cluster
from tests.machines.client import Browser, Watcher, decisions
from tests.machines.compose import Machines
from tests.machines.servers import MISSING

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
TOKEN = "0123456789abcdef" * 2


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    machines = Machines(tmp_path_factory.mktemp("machines"))
    try:
        machines.up()
        yield machines
    finally:
        machines.down()


@pytest.fixture(scope="module")
def visitor(machines: Machines) -> Browser:
    return Browser(machines.url)


@pytest.fixture(scope="module")
def each(machines: Machines) -> list[Browser]:
    """Each web process, asked for itself."""
    return [Browser(f"http://{address}:8000", "localhost") for address in machines.webs.values()]


@pytest.fixture(scope="module")
def scenario(visitor: Browser) -> int:
    number: int = visitor.api("POST", "/scenarios?name=many", cluster(100, 500))["id"]
    return number


def start(visitor: Browser, scenario: int, **settings: Any) -> int:
    number: int = visitor.api("POST", f"/scenarios/{scenario}/runs", settings)["id"]
    return number


def test_both_web_processes_answer_behind_the_one_address(machines: Machines, visitor: Browser) -> None:
    for _ in range(10):
        assert visitor.ask("GET", "/")[0] == 200
    assert all(address in machines.nginx.answered() for address in machines.webs.values())


def test_a_form_and_its_notice_may_come_to_different_processes(visitor: Browser) -> None:
    for number in range(5):
        made = visitor.api("POST", f"/scenarios?name=short-lived-{number}", cluster(1, 1))["id"]
        status, _, page = visitor.form(f"/scenarios/{made}/", "delete/")
        assert (status, f"short-lived-{number}” and its runs are deleted" in page) == (200, True)


def test_progress_of_an_upload_is_told_by_the_other_process(each: list[Browser]) -> None:
    body = multipart(cluster(300, 4000), progress=TOKEN, **each[0].token("/"))
    answers: list[int] = []
    kind = "multipart/form-data; boundary=part"
    upload = threading.Thread(
        target=lambda: answers.append(each[0].ask("POST", "/upload/", body, Content_Type=kind)[0])
    )
    upload.start()
    told = []
    while upload.is_alive():
        told += [json.loads(each[1].ask("GET", f"/upload/{TOKEN}/")[2])]
    assert answers == [200]
    assert any(one.get("done", 0) > 0 for one in told)


def multipart(file: bytes, **fields: str) -> bytes:
    """A form with a file, its boundary `part`."""
    texts = [
        f'--part\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n' for name, text in fields.items()
    ]
    head = '--part\r\nContent-Disposition: form-data; name="file"; filename="a.json"\r\n\r\n'
    return "".join([*texts, head]).encode() + file + b"\r\n--part--\r\n"


def test_four_runs_on_four_workers_watched_through_the_proxy(visitor: Browser, scenario: int) -> None:
    runs = [start(visitor, scenario, seed=7) for _ in range(4)]
    watchers = [Watcher(visitor.url, run) for run in runs for _ in range(2)]
    threads = [threading.Thread(target=watcher.watch) for watcher in watchers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [watcher.whole for watcher in watchers] == [True] * 8
    assert all(decisions(watcher.events) == decisions(watchers[0].events) for watcher in watchers)
    assert all(watcher.codes[-1] == 1000 for watcher in watchers)


def test_pages_of_other_sites_are_told_apart_through_the_proxy(visitor: Browser, scenario: int) -> None:
    """The address that a browser knows reaches the application, port included."""
    for origin, status in {visitor.url: 202, "http://127.0.0.1": 403, "http://elsewhere.example": 403}.items():
        made = visitor.ask("POST", f"/api/scenarios/{scenario}/runs", {}, Origin=origin)
        assert made[0] == status, (origin, made)


def test_who_finds_no_web_process_is_told_when_to_come_back(machines: Machines) -> None:
    known, machines.names.known["web"] = machines.names.known["web"], [f"{machines.net}.99"]
    try:
        visitor = Browser(machines.url)
        status, headers, said = machines.until(
            lambda: (answer := visitor.ask("GET", "/api/runs"))[0] == 503 and answer, "the end of the old addresses"
        )
        assert (status, headers["Retry-After"]) == (503, "5")
        assert "Try again" in json.loads(said)["error"]
        status, headers, said = visitor.ask("GET", "/")
        assert (status, headers["Retry-After"], headers["Content-Type"]) == (503, "5", "text/plain; charset=utf-8")
    finally:
        machines.names.known["web"] = known
    machines.until(lambda: Browser(machines.url).ask("GET", "/")[0] == 200, "an answer")
