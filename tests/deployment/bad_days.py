"""Outages that an operator may have: runs are active, users send requests and uploads, and then the database

is full, locked, read-only, slow or silent, or clocks are wrong. Afterwards nothing is lost, and every response during
the outage was a result or a clear error.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.deployment.client import Browser
from tests.deployment.compose import Machines
from tests.deployment.kills import Trial, hold
from tests.deployment.loads import loads
from tests.kubesched_ui.test_processes import cluster

Trouble = Callable[[Machines], Any]  # a context manager
BALLAST = "ballast"


@contextmanager
def full(machines: Machines) -> Iterator[None]:
    """Fill the file system of PostgreSQL's data."""
    ballast = machines.postgres.place / BALLAST
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def locked(machines: Machines) -> Iterator[None]:
    """Lock the table of runs, as a migration does."""
    import psycopg

    with psycopg.connect(machines.postgres.url) as connection:
        connection.execute("LOCK TABLE kubesched_ui_run, kubesched_ui_scenario IN ACCESS EXCLUSIVE MODE")
        yield


@contextmanager
def read_only(machines: Machines) -> Iterator[None]:
    """Make the database read-only, as a standby."""
    sql = machines.postgres.sql
    sql("ALTER SYSTEM SET default_transaction_read_only = on")
    sql("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        sql("ALTER SYSTEM RESET default_transaction_read_only")
        sql("SELECT pg_reload_conf()")


@contextmanager
def slow(machines: Machines) -> Iterator[None]:
    """Delay each message by a tenth of a second in both directions."""
    assert machines.link is not None
    machines.link.delay = 0.1
    try:
        yield
    finally:
        machines.link.delay = 0.0


@contextmanager
def silent(machines: Machines) -> Iterator[None]:
    """Stop the database and all clients that wait for it; then continue."""
    hold(machines.postgres, 8)
    yield


@contextmanager
def clocks(machines: Machines) -> Iterator[None]:
    """Set the clocks of two workers and of a web process hours back and forth."""
    wrong = {"worker-1": 7200, "worker-2": -7200, "web-1": 3600}
    for name, seconds in wrong.items():
        machines.set_clock(name, seconds)
    try:
        yield
    finally:
        for name in wrong:
            machines.set_clock(name, 0)


DAYS: dict[str, Trouble] = {
    "slow": slow,
    "silent": silent,
    "locked": locked,
    "read only": read_only,
    "clocks": clocks,
    "full": full,
}


def live_through(machines: Machines, name: str, seconds: float, size: int, clients: int = 6) -> dict[str, Any]:
    """Return the result of an outage; `problems` is empty if all went well. `size`: pods of the largest run."""
    trial = Trial(machines, seed=1, clients=clients, say=lambda result: None)
    trial.prepare(loads(size // 5, size)[:2])
    stored = Browser(machines.url).api("POST", "/scenarios?name=before", cluster(2, 2))["id"]
    trial.start()
    time.sleep(1)
    with DAYS[name](machines):
        answers = probe(machines, trial, seconds)
    trial.finish()
    after = Browser(machines.url)
    if after.ask("GET", f"/api/scenarios/{stored}")[0] != 200:
        trial.seen.problems.append("what was stored before is not there")
    if after.ask("POST", "/api/scenarios", cluster(1, 1))[0] != 201:
        trial.seen.problems.append("nothing can be stored afterwards")
    result = {"day": name, "runs": len(trial.runs), "watched": trial.seen.watched, "resumed": trial.seen.resumed}
    return result | {"answers": dict(sorted(answers.items())), "seconds": trial.now(), "problems": trial.seen.problems}


def probe(machines: Machines, trial: Trial, seconds: float) -> Counter[str]:
    """Send the requests of users during the outage: pages, uploads, starts of runs."""
    answers: Counter[str] = Counter()
    visitor, end = Browser(machines.url), time.monotonic() + seconds
    scenario = next(iter(trial.expected))
    requests: list[tuple[str, str, Any]] = [
        ("GET", "/", None),
        ("GET", "/runs/", None),
        ("GET", "/api/runs", None),
        ("POST", "/api/scenarios", cluster(20, 300)),
        ("POST", f"/api/scenarios/{scenario}/runs", {}),
    ]
    while time.monotonic() < end:
        for method, path, body in requests:
            try:
                status, headers, text = visitor.ask(method, path, body, seconds=60)
            except OSError as error:
                trial.seen.problems.append(f"{method} {path}: {error!r}")
                continue
            answers[f"{method} {path.replace(str(scenario), 'N')} {status}"] += 1
            if status >= 400 and (status != 503 or not headers.get("Retry-After")):
                trial.seen.problems.append(f"{method} {path}: {status} {text[:300]}")
            elif status >= 400:
                answers[message_of(text)] += 1
        time.sleep(0.3)
    return answers


def message_of(text: str) -> str:
    """Return the text of a response, for a page its main part."""
    body = text.partition("<main")[2].partition("</main>")[0] or text
    return " ".join(word for part in body.split("<") for word in part.rpartition(">")[2].split())[:160]


def on_a_small_disk(folder: Path, megabytes: int) -> list[str]:
    """Return the command that mounts a small file system there, if root runs it."""
    return ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
