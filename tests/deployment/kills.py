"""Random kills and restarts of web, worker, broker and database processes, while clients watch runs. Expected:

every event once and in order for each client, an end for every run, and the decisions of an undisturbed run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.deployment.client import Browser, Follower, Watcher
from tests.deployment.compose import Machines
from tests.deployment.process import Process
from tests.kubesched_ui.instance import until

KINDS = {"web": 3, "worker": 4, "redis": 2, "postgres": 2}  # how many clients of each kind
HOW = ("SIGKILL", "restart", "SIGSTOP")
LONGEST_STOP_S = 8.0
ROWS = "SELECT id, scenario_id, state, starts FROM kubesched_ui_run"


def fingerprint(events: list[dict[str, Any]]) -> str:
    """Return the fingerprint of a run's events, in their order."""
    return digest([[e["seq"], e["t"], e["type"], e["pod"], e["attempt"], e["data"]] for e in events])


def digest(rows: list[Any]) -> str:
    text = json.dumps(rows)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass
class Observed:
    """Observations of clients. `problems`: sentences, ideally none."""

    watched: int = 0
    resumed: int = 0
    events: int = 0
    followed: int = 0
    decisions: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def take(self, who: str, run: int, events: list[dict[str, Any]], expected: str) -> None:
        """Check the events that a client received for a run."""
        seqs = [event["seq"] for event in events]
        if seqs != list(range(1, len(seqs) + 1)):
            at = next(n for n, seq in enumerate(seqs, 1) if seq != n)
            self.problems.append(f"{who}: event {at} of run {run} is number {seqs[at - 1]}")
        elif events[-1]["data"]["state"] != "done":
            self.problems.append(f"{who}: run {run} ended as {events[-1]['data']}")
        elif fingerprint(events) != expected:
            self.problems.append(f"{who}: run {run} differs from an undisturbed one")
        self.watched += 1
        self.events += len(events)

    def take_decisions(self, who: str, run: int, found: Follower, expected: str) -> None:
        """Check the decisions that a follower received of a run."""
        if not found.whole:
            cycles = [one["cycle"] for one in found.events]
            self.problems.append(f"{who}: cycles of run {run} are not all or not in order: {cycles}")
        elif digest(found.events) != expected:
            self.problems.append(f"{who}: the decisions of run {run} differ from those of an undisturbed one")
        self.followed += 1
        self.decisions += len(found.events)


class Trial:
    """`say`: is called with a dict for each kill."""

    def __init__(self, machines: Machines, seed: int, clients: int, say: Callable[[dict[str, Any]], None]) -> None:
        self.machines, self.chance, self.say = machines, random.Random(seed), say
        self.seen, self.over = Observed(), threading.Event()
        self.expected: dict[int, str] = {}  # scenario -> fingerprint
        self.decisions: dict[int, str] = {}  # scenario -> digest of its decisions
        self.runs: dict[int, int] = {}  # run -> scenario
        self.began = time.monotonic()
        self.threads = [threading.Thread(target=self._drive, daemon=True, name="driver")]
        for n in range(clients):
            work = (self._ask, self._watch, self._follow)[n % 3]
            self.threads.append(threading.Thread(target=work, args=(f"client {n}", random.Random(n)), daemon=True))

    # ---- setup

    def prepare(self, clusters: list[bytes]) -> None:
        """Store the clusters and run each undisturbed."""
        visitor = Browser(self.machines.url)
        for text in clusters:
            scenario = visitor.api("POST", "/scenarios", text)["id"]
            run = visitor.api("POST", f"/scenarios/{scenario}/runs", {})["id"]
            self.expected[scenario] = fingerprint(Watcher(self.machines.url, run).watch().events)
            self.decisions[scenario] = digest(Follower(self.machines.url, run).watch().events)

    def start(self) -> None:
        for thread in self.threads:
            thread.start()
        until(lambda: self.runs, "the first run")

    def finish(self, seconds: float = 300) -> None:
        """Stop killing and wait until everything is finished."""
        self.over.set()
        end = time.monotonic() + seconds
        for thread in self.threads:
            thread.join(max(0.0, end - time.monotonic()))
            if thread.is_alive():
                self.seen.problems.append(f"{thread.name} did not come to its end within {seconds:.0f} s")
        self._judge_all(end)

    def _judge_all(self, end: float) -> None:
        """Check every run, including those whose start was not confirmed."""
        visitor, sql = Browser(self.machines.url), self.machines.postgres.sql
        known = ", ".join(map(str, self.expected))
        while time.monotonic() < end and sql(
            f"{ROWS} WHERE state IN ('queued', 'running') AND scenario_id IN ({known})"
        ):
            time.sleep(0.5)
        rows = sql(f"{ROWS} WHERE scenario_id IN ({known}) ORDER BY id")
        for run, scenario, state, starts in (row.split("|") for row in rows.splitlines()):
            self.runs[int(run)] = int(scenario)
            if state != "done":
                self.seen.problems.append(f"run {run} is {state} after {starts} starts")
                continue
            events = list(self._events(visitor, int(run)))
            self.seen.take("afterwards", int(run), events, self.expected[int(scenario)])
            self.seen.watched -= 1

    def _drive(self) -> None:
        """Keep some runs active."""
        visitor, chance = Browser(self.machines.url), random.Random(0)
        while not self.over.is_set():
            active = [run for run in self.runs if self._state(visitor, run) in ("queued", "running")]
            if len(active) < 4:
                scenario = chance.choice(list(self.expected))
                made = self._patiently(visitor, "POST", f"/scenarios/{scenario}/runs", {})
                self.runs[made["id"]] = scenario
            time.sleep(0.2)

    def _state(self, visitor: Browser, run: int) -> str:
        return str(self._patiently(visitor, "GET", f"/runs/{run}")["state"])

    # ---- clients

    def _watch(self, who: str, chance: random.Random) -> None:
        """Follow runs by websocket."""
        for run in self._next(chance):
            watcher = Watcher(self.machines.url, run)
            try:
                watcher.watch(silent=10)
            except (TimeoutError, KeyError, ValueError) as error:
                self.seen.problems.append(f"{who}: {error!r}")
            self.seen.resumed += watcher.came - 1
            self.seen.take(who, run, watcher.events, self.expected[self.runs[run]])

    def _follow(self, who: str, chance: random.Random) -> None:
        """Follow the decisions of runs by websocket."""
        for run in self._next(chance):
            follower = Follower(self.machines.url, run)
            try:
                follower.watch(silent=10)
            except (TimeoutError, KeyError, ValueError) as error:
                self.seen.problems.append(f"{who}: {error!r}")
            self.seen.resumed += follower.came - 1
            self.seen.take_decisions(who, run, follower, self.decisions[self.runs[run]])

    def _ask(self, who: str, chance: random.Random) -> None:
        """Follow runs by HTTP requests."""
        visitor = Browser(self.machines.url)
        for run in self._next(chance):
            self.seen.take(who, run, list(self._events(visitor, run)), self.expected[self.runs[run]])

    def _next(self, chance: random.Random) -> Iterator[int]:
        """Yield the runs that a client follows, one of the latest each time, none twice."""
        known: set[int] = set()
        while not self.over.is_set():
            if new := [run for run in list(self.runs)[-4:] if run not in known]:
                run = chance.choice(new)
                known.add(run)
                yield run
            else:
                time.sleep(0.2)

    def _events(self, visitor: Browser, run: int) -> Iterator[dict[str, Any]]:
        since, last = 0, ""
        while last != "run.finished":
            found = self._patiently(visitor, "GET", f"/runs/{run}/events?since={since}&limit=1000")
            yield from found["events"]
            if found["events"]:
                since, last = found["events"][-1]["seq"], found["events"][-1]["type"]
            else:
                time.sleep(0.5)

    def _patiently(self, visitor: Browser, method: str, path: str, body: Any = None) -> Any:
        """Return the response, with retries. Any other response must be a 503 with Retry-After."""
        end = time.monotonic() + 240
        while time.monotonic() < end:
            try:
                status, headers, text = visitor.ask(method, f"/api{path}", body, seconds=20)
            except OSError:
                status, headers, text = 0, {}, ""  # the responding process was killed
            self.seen.statuses[status] += 1
            if status and status < 300:
                try:
                    return json.loads(text)
                except ValueError:
                    continue  # disconnected
            if status and (status != 503 or not headers.get("Retry-After") or "error" not in text):
                self.seen.problems.append(f"{method} {path}: {status} {text[:200]}")
            time.sleep(0.3)
        raise TimeoutError(f"{method} {path} had no answer within 240 s")

    # ---- kills

    def kill(self, number: int, kind: str = "", how: str = "") -> None:
        """Kill or stop one process, a random one by default."""
        kind = kind or self.chance.choices(list(KINDS), weights=list(KINDS.values()))[0]
        name = self.chance.choice([name for name in self.machines.processes if name.partition("-")[0] == kind])
        how, process = how or self.chance.choice(HOW), self.machines.processes[name]
        stopped = round(self.chance.uniform(0.5, LONGEST_STOP_S), 1) if how == "SIGSTOP" else None
        counts = {
            "kill": number,
            "of": name,
            "how": how,
            "stopped_s": stopped,
            "at_s": self.now(),
            "runs": len(self.runs),
        }
        self.say(counts)
        if how == "SIGKILL":
            process.kill_group()
        elif how == "restart":
            restart(process)
        else:
            hold(process, stopped)

    def now(self) -> float:
        return round(time.monotonic() - self.began, 1)


def restart(process: Process) -> None:
    process.stop(60)
    process.start()


def hold(process: Process, seconds: float | None) -> None:
    """Suspend a process and its children for a while."""
    assert process.popen is not None
    pids = family(process.popen.pid)
    for pid in pids:
        send(pid, signal.SIGSTOP)
    time.sleep(seconds or 0)
    for pid in pids:
        send(pid, signal.SIGCONT)


def send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def family(pid: int) -> list[int]:
    """Return the process and all of its descendants."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(folder.name))
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found
