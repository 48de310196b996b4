"""Accounts with several web processes behind one address share sessions, tokens and rate limits."""

from __future__ import annotations

import contextlib
import json
import re
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

from tests.deployment.client import Browser, Watcher
from tests.deployment.compose import Machines
from tests.deployment.servers import MISSING
from tests.kubesched_ui.instance import until
from tests.kubesched_ui.test_processes import cluster

PASSWORD = "correct horse battery staple"


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_users_sign_in_at_one_address(tmp_path: Path) -> None:
    machines = Machines(tmp_path, workers=1, ACCOUNTS="1")
    try:
        machines.up()
        ada, stranger = Browser(machines.url), Browser(machines.url)
        assert stranger.ask("GET", "/api/runs")[0] == 401
        first_administrator(machines, ada)
        for path in ("/", "/runs/", "/api/runs") * 6:  # of either process
            assert ada.ask("GET", path)[0] == 200, path
        scenario = ada.api("POST", "/scenarios?name=private", cluster(20, 40))["id"]
        run = ada.api("POST", f"/scenarios/{scenario}/runs", {})["id"]
        until(lambda: ada.api("GET", f"/runs/{run}")["state"] == "done", "the run")
        assert {stranger.ask("GET", f"/api/runs/{run}")[0] for _ in range(4)} == {401}
        assert events_for(machines, run, cookies(ada))[-1]["type"] == "run.finished"
        assert events_for(machines, run, "") == []
        all_accept_a_token(machines, ada, run)
        attempts_are_counted_together(machines)
    finally:
        machines.down()


def first_administrator(machines: Machines, ada: Browser) -> None:
    """Each web process logs its own bootstrap link. Eight browsers use them at once, and one account is created."""
    links = [until(lambda name=name: link_of(machines, name), f"the link of {name}") for name in machines.webs]
    people = [ada, *(Browser(machines.url) for _ in range(7))]
    for number, browser in enumerate(people):
        assert browser.ask("GET", links[number % len(links)])[0] == 200

    def sign_up(number: int) -> int:
        fields = {"username": f"person-{number}", "password1": PASSWORD, "password2": PASSWORD, "email": ""}
        return people[number].form("/account/signup/", "", **fields)[0]

    with ThreadPoolExecutor(len(people)) as crowd:
        statuses = list(crowd.map(sign_up, range(len(people))))
    made = machines.postgres.sql("SELECT username FROM auth_user").split()
    administrators = machines.postgres.sql("SELECT username FROM auth_user WHERE is_superuser").split()
    assert (len(made), administrators) == (1, made), statuses
    first = people[int(made[0].removeprefix("person-"))]
    ada.cookies, ada.opener = first.cookies, first.opener


def link_of(machines: Machines, name: str) -> str:
    found = re.findall(r"/account/invitation/[\w-]+/", machines.log_of(name))
    return found[0] if found else ""


def cookies(browser: Browser) -> str:
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.cookies)


def events_for(machines: Machines, run: int, cookie: str) -> list[dict[str, str]]:
    """Return the events that a socket with these cookies receives until it is closed."""
    events: list[dict[str, str]] = []
    address = Watcher(machines.url, run).address
    with (
        contextlib.suppress(ConnectionClosedError),  # for others the run does not exist
        connect(address, additional_headers={"Cookie": cookie}, max_size=None) as socket,
    ):
        for message in socket:
            events += json.loads(message).get("events", [])
    return events


def all_accept_a_token(machines: Machines, ada: Browser, run: int) -> None:
    fields = {"name": "laptop", "scope": "read", "days": "30"}
    body = urllib.parse.urlencode(fields | ada.token("/account/")).encode()
    response = ada.ask("POST", "/account/tokens/", body, Content_Type="application/x-www-form-urlencoded")[2]
    secret = re.findall(r'value="(ks_[\w-]+)"', response)[0]
    program = Browser(machines.url)

    def statuses() -> set[int]:
        return {program.ask("GET", f"/api/runs/{run}", Authorization=f"Bearer {secret}")[0] for _ in range(6)}

    assert statuses() == {200}
    number = re.findall(r"/account/tokens/(\d+)/revoke/", ada.ask("GET", "/account/")[2])[0]
    assert ada.form("/account/", f"tokens/{number}/revoke/")[0] == 200
    assert statuses() == {401}


def attempts_are_counted_together(machines: Machines) -> None:
    """Five wrong passwords for a name count together, whichever process received them."""
    thief = Browser(machines.url)
    response = [thief.form("/account/login/", "", login="person-0", password=f"wrong {n}")[2] for n in range(6)]
    assert ["Too many failed" in text for text in response] == [False] * 5 + [True]
