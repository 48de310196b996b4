"""Many viewers of one run: real websockets on the running product, while pages are opened.

Uploads a snapshot, and has crowds (`benchmarks watchers`, in a process of its own) watch

* `alone`: a run without viewers, for the time of pages on this machine alone;
* `live`: the progress of a run from its beginning, as its page does; some also receive its decisions (follow mode), and
  a few clients read the whole log; pages are opened and single newcomers join meanwhile;
* `finished`: the log of the same run when it is over, for as few clients;
* `pod`: another run while it computes, only one pod's events (a fifth as many viewers, each a pod of their own);
* `in_time`: the progress of a run in virtual time while it computes;
* `killed`: the progress of a third run; in its middle all viewers are killed at once.

All of it runs on one machine: what the crowd and the worker need, the web process lacks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from benchmarks.processes import ROOT, memory_mb, processor_s, quantile
from benchmarks.product import PATIENCE_S, Product, running
from benchmarks.watchers import Crowd
from scheduler_core.commands.bench import workload

PAGES = ("/", "/runs/", "/api/runs/{run}", "/api/runs/{run}/pods?page_size=50", "/runs/{run}/")
EVERY_S = 0.2  # a page
PROGRESS, LOG, DECISIONS = "/progress", "?since=0", "/decisions?since=0"
LOG_CLIENTS = 20
FIGURES = {
    "viewers of the run page": "{live[viewers]}",
    "viewers who did not see the end": "{live[missed_the_end]}",
    "the run, s; until every viewer saw its end, s": "{live[run_s]}; {live[slowest_s]}",
    "sent to them, MB; processor time of the web process, s": "{live[mb]}; {live[web_cpu_s]}",
    f"events of the run, each to {LOG_CLIENTS} clients of its log": "{live[events]:,}",
    "clients who missed one, or had one twice": "{log_wrong}",
    "sent to them, MB": "{live[log][mb]}",
    "viewers in follow mode": "{live[decisions][viewers]}",
    "of these, who missed a decision, had one twice or did not see the end": "{live[decisions][missed]}",
    "sent to them, MB; until each had all, s": "{live[decisions][mb]}; {live[decisions][slowest_s]}",
    "first message of a newcomer meanwhile, ms (p95, slowest)": "{live[newcomer_ms][p95]}, {live[newcomer_ms][max]}",
    "pages meanwhile, ms (p95)": "{live[page_p95_ms]}",
    "pages during a run without viewers, ms (p95)": "{alone[page_p95_ms]}",
    "the log of the same run when it is over: all clients have it after, s; processor time, s": (
        "{finished[slowest_s]}; {finished[web_cpu_s]}"
    ),
    "progress of a run in virtual time: the same": "{in_time[slowest_s]}; {in_time[web_cpu_s]}",
    "all who watch a pod each: their number; processor time, s": "{pod[viewers]}; {pod[web_cpu_s]}",
    "all killed at once: percent of a core in the first 10 s, in the next": (
        "{killed[first_10_s_percent]}, {killed[then_percent]}"
    ),
    "memory of the web process, MB: before, peak": "{web_mb_before}, {web_mb_peak}",
    "load of the machine (2 cores) before, after": "{load_before:.1f}, {load_after:.1f}",
}


class PageOpener:
    """Opens pages and adds viewers while a crowd watches. `seconds`: page -> durations."""

    def __init__(self, product: Product, run: int) -> None:
        self.product, self.run = product, run
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.first_s: list[float] = []
        self.begun = False
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.again, args=(work,)) for work in (self.page, self.newcomer)]

    def __enter__(self) -> PageOpener:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join()

    def again(self, work: Callable[[int], None]) -> None:
        number = 0
        while not self.over.wait(EVERY_S):
            work(number)
            number += 1

    def page(self, number: int) -> None:
        page = PAGES[number % len(PAGES)]
        self.seconds[page].append(self.product.call(page.format(run=self.run))[1])

    def newcomer(self, number: int) -> None:
        """Wait for the first message of a new viewer, which there is once the run has started."""
        if not self.begun:
            self.begun = self.product.call(f"/api/runs/{self.run}")[0]["cycles_done"] > 0
            return
        one = Crowd("127.0.0.1", self.product.port, f"/ws/runs/{self.run}/progress")
        one.join()
        while not one.messages and one.viewers[0].code is None:
            for key, _ in one.selector.select(1):
                one.read(key.data)
        self.first_s.append(one.viewers[0].first_s or 999.0)
        one.leave(one.viewers[0], 0)

    def report(self) -> dict[str, Any]:
        every = [second for seconds in self.seconds.values() for second in seconds]
        return {
            "pages": len(every),
            "page_p95_ms": milliseconds(every, 0.95),
            "page_p95_ms_each": {page: milliseconds(seconds, 0.95) for page, seconds in self.seconds.items()},
            "newcomers": len(self.first_s),
            "newcomer_ms": {"p95": milliseconds(self.first_s, 0.95), "max": milliseconds(self.first_s, 1)},
        }


def milliseconds(seconds: list[float], share: float) -> int:
    return round(quantile(seconds, share) * 1e3)


def lasted(run: dict[str, Any]) -> float:
    began, ended = (datetime.fromisoformat(run[name]) for name in ("started_at", "finished_at"))
    return round((ended - began).total_seconds(), 1)


class Trial:
    """Crowds that watch runs of one scenario."""

    def __init__(self, product: Product, scenario: int, viewers: int) -> None:
        self.product, self.scenario, self.viewers = product, scenario, viewers

    def start(self, **settings: Any) -> int:
        return self.product.start_run(self.scenario, percentage=100, **settings)

    def finished(self, run: int) -> dict[str, Any]:
        return dict(self.product.finished(run, PATIENCE_S))

    def cpu_s(self) -> float:
        return processor_s(self.product.role("web"))

    def percent_of_a_core(self, seconds: float) -> float:
        """Return what the web process uses in the next seconds."""
        before = self.cpu_s()
        time.sleep(seconds)
        return round((self.cpu_s() - before) / seconds * 100, 1)

    def crowd(self, run: int, path: str, number: int, *options: str) -> subprocess.Popen[str]:
        url = f"ws{self.product.address[4:]}/ws/runs/{run}{path}"
        command = [sys.executable, "-m", "benchmarks", "watchers", url, str(number), *options]
        return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)

    def watched(self, run: int, path: str, number: int, *options: str) -> dict[str, Any]:
        """Let viewers watch a run to its end. Measure the processor time of the web process."""
        began, cpu = time.perf_counter(), self.cpu_s()
        report = answer(self.crowd(run, path, number, *options))
        report["seconds"], report["web_cpu_s"] = round(time.perf_counter() - began, 1), round(self.cpu_s() - cpu, 1)
        return report

    def live(self, followers: int) -> tuple[int, dict[str, Any]]:
        run = self.start()
        with PageOpener(self.product, run) as opener:
            log = self.crowd(run, LOG, LOG_CLIENTS)
            decisions = self.crowd(run, DECISIONS, followers)
            report = self.watched(run, PROGRESS, self.viewers)
            report["log"], report["decisions"] = answer(log), answer(decisions)
        ended = self.finished(run)
        followed = report["decisions"]
        missed = followers - followed["last_seq"].get(str(ended["cycles_done"]), 0)
        followed["missed"] = sum(followed["wrong"].values()) + missed
        report["missed_the_end"] = self.viewers - report["last_seq"].get(str(ended["last_seq"]), 0)
        return run, report | opener.report() | {"events": ended["last_seq"], "run_s": lasted(ended)}

    def alone(self) -> dict[str, Any]:
        run = self.start()
        with PageOpener(self.product, run) as opener:
            ended = self.finished(run)
        return opener.report() | {"run_s": lasted(ended)}

    def of_pods(self, number: int) -> dict[str, Any]:
        run, began, cpu = self.start(), time.perf_counter(), self.cpu_s()
        pods = [f"default/pod-{n * 7:06d}" for n in range(number)]
        crowds = [self.crowd(run, f"{LOG}&pod={pod}", 1, "--gaps") for pod in pods[:20]]
        rest = self.watched(run, f"{LOG}&pod={pods[-1]}", number - 20, "--gaps")
        wrong = sum(len(one["wrong"]) for one in [*map(answer, crowds), rest])
        seconds, used = round(time.perf_counter() - began, 1), round(self.cpu_s() - cpu, 1)
        return {"viewers": number, "wrong": wrong, "seconds": seconds, "web_cpu_s": used}

    def killed(self) -> dict[str, Any]:
        """Kill all viewers in the middle of the run."""
        run = self.start()
        many = self.crowd(run, PROGRESS, self.viewers)
        while (found := self.product.call(f"/api/runs/{run}")[0])["cycles_done"] < found["cycles_total"] / 5:
            time.sleep(0.1)
        many.kill()
        many.communicate()
        return {"first_10_s_percent": self.percent_of_a_core(10), "then_percent": self.percent_of_a_core(10)}


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(process.communicate()[0])
    return found


def measure(viewers: int = 1000, followers: int = 50, nodes: int = 5000, pods: int = 10000) -> Iterator[dict[str, Any]]:
    with running() as product:
        trial = Trial(product, product.upload(workload("basic", nodes, pods)), viewers)
        web = product.role("web")
        report: dict[str, Any] = {"load_before": os.getloadavg()[0], "web_mb_before": max(memory_mb(web, "VmRSS"))}
        report["alone"] = trial.alone()
        run, report["live"] = trial.live(followers)
        report["finished"] = trial.watched(run, LOG, LOG_CLIENTS)
        report["log_wrong"] = sum(sum(one["wrong"].values()) for one in (report["live"]["log"], report["finished"]))
        report["pod"] = trial.of_pods(max(21, viewers // 5))
        report["in_time"] = trial.watched(trial.start(in_time=True, until=60), PROGRESS, viewers)
        report["killed"] = trial.killed()
        yield report | {"web_mb_peak": product.peak_mb()["web"], "load_after": os.getloadavg()[0]}
