"""Measure many viewers of one run: real websockets on the running product, while pages are opened.

    python benchmarks/viewers.py [--viewers 1000] [--followers 50] [--nodes 5000] [--pods 10000] [--update FILE]

Starts the product, uploads a snapshot, and has crowds (benchmarks/watchers.py, in a process of its own) watch

* `alone`: a run without viewers, for the time of pages on this machine alone;
* `live`: the progress of a run from its beginning, as its page does; some also receive its decisions (follow mode), and
  a few clients read the whole log; pages are opened and single newcomers join meanwhile;
* `finished`: the log of the same run when it is over, for as few clients;
* `pod`: another run while it computes, only one pod's events (a fifth as many viewers, each a pod of their own);
* `in_time`: the progress of a run in virtual time while it computes;
* `killed`: the progress of a third run; in its middle all viewers are killed at once.

Prints one JSON object. All of it runs on one machine: what the crowd and the worker need, the web process lacks.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app import call, peak_memory, running
from watchers import Crowd

from scheduler_core.commands.bench import workload

CROWD = Path(__file__).with_name("watchers.py")
PAGES = ("/", "/runs/", "/api/runs/{run}", "/api/runs/{run}/pods?page_size=50", "/runs/{run}/")
EVERY_S = 0.2  # a page
PROGRESS, LOG, DECISIONS = "/progress", "?since=0", "/decisions?since=0"
LOG_CLIENTS = 20
TICKS = os.sysconf("SC_CLK_TCK")


class Web:
    """Processor time and memory of the web process."""

    def __init__(self, var: Path) -> None:
        self.var = var
        self.pid = next(
            int(folder.name)
            for folder in Path("/proc").glob("[0-9]*")
            if f"VAR_DIR={var}".encode() in environment(folder) and b"-m\0kubesched_ui.server" in words(folder)
        )

    def cpu_s(self) -> float:
        """Return the seconds of processor time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory_mb(self) -> int:
        """Return the resident memory."""
        found = re.search(r"VmRSS:\s*(\d+)", Path(f"/proc/{self.pid}/status").read_text())
        return int(found[1]) // 1024 if found else 0

    def share(self, seconds: float) -> float:
        """Return the percentage of a core that it uses in the next seconds."""
        before = self.cpu_s()
        time.sleep(seconds)
        return round((self.cpu_s() - before) / seconds * 100, 1)


def environment(folder: Path) -> bytes:
    try:
        return (folder / "environ").read_bytes()
    except OSError:
        return b""


def words(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:
        return b""


class PageOpener:
    """Opens pages and adds viewers while a crowd watches. `seconds`: page -> durations."""

    def __init__(self, address: str, run: int) -> None:
        self.address, self.run = address, run
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
        self.seconds[page].append(call(self.address + page.format(run=self.run))[1])

    def newcomer(self, number: int) -> None:
        """Wait for the first message of a new viewer, which there is once the run has started."""
        if not self.begun:
            self.begun = call(f"{self.address}/api/runs/{self.run}")[0]["cycles_done"] > 0
            return
        host, _, port = self.address.removeprefix("http://").partition(":")
        one = Crowd(host, int(port), f"/ws/runs/{self.run}/progress")
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
            "page_p95_ms": quantile(every, 0.95),
            "page_p95_ms_each": {page: quantile(seconds, 0.95) for page, seconds in self.seconds.items()},
            "newcomers": len(self.first_s),
            "newcomer_first_event_ms": {"p95": quantile(self.first_s, 0.95), "max": quantile(self.first_s, 1)},
        }


def quantile(seconds: list[float], share: float) -> int:
    """Return a quantile in milliseconds."""
    return round(sorted(seconds)[min(len(seconds) - 1, int(len(seconds) * share))] * 1e3) if seconds else 0


def crowd(address: str, path: str, number: int, *options: str) -> subprocess.Popen[str]:
    url = f"ws{address[4:]}{path}"
    command = [sys.executable, str(CROWD), url, str(number), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(process.communicate()[0])
    return found


def start(address: str, scenario: int, **settings: Any) -> int:
    return int(call(f"{address}/api/scenarios/{scenario}/runs", {"percentage": 100, **settings})[0]["id"])


def finished(address: str, run: int) -> dict[str, Any]:
    while (found := call(f"{address}/api/runs/{run}")[0])["state"] in ("queued", "running"):
        time.sleep(0.5)
    return dict(found)


def watched(address: str, web: Web, run: int, path: str, number: int, *options: str) -> dict[str, Any]:
    """Let viewers watch a run to its end. Measure the processor time of the web process."""
    began, cpu = time.perf_counter(), web.cpu_s()
    report = answer(crowd(address, f"/ws/runs/{run}{path}", number, *options))
    report["seconds"], report["web_cpu_s"] = round(time.perf_counter() - began, 1), round(web.cpu_s() - cpu, 1)
    return report


def live(address: str, web: Web, scenario: int, number: int, followers: int) -> tuple[int, dict[str, Any]]:
    run = start(address, scenario)
    with PageOpener(address, run) as opener:
        log = crowd(address, f"/ws/runs/{run}{LOG}", LOG_CLIENTS)
        decisions = crowd(address, f"/ws/runs/{run}{DECISIONS}", followers)
        report = watched(address, web, run, PROGRESS, number)
        report["log"], report["decisions"] = answer(log), answer(decisions)
    ended = finished(address, run)
    missed = followers - report["decisions"]["last_seq"].get(str(ended["cycles_done"]), 0)
    report["decisions"]["missed_the_end"] = missed
    report["missed_the_end"] = number - report["last_seq"].get(str(ended["last_seq"]), 0)
    report |= opener.report() | {"events": ended["last_seq"], "run_s": lasted(ended), "web_mb": web.memory_mb()}
    return run, report


def alone(address: str, scenario: int) -> dict[str, Any]:
    run = start(address, scenario)
    with PageOpener(address, run) as opener:
        ended = finished(address, run)
    return opener.report() | {"run_s": lasted(ended)}


def lasted(run: dict[str, Any]) -> float:
    from datetime import datetime

    began, ended = (datetime.fromisoformat(run[name]) for name in ("started_at", "finished_at"))
    return round((ended - began).total_seconds(), 1)


def of_pods(address: str, web: Web, scenario: int, number: int) -> dict[str, Any]:
    run = start(address, scenario)
    began, cpu = time.perf_counter(), web.cpu_s()
    pods = [f"default/pod-{n * 7:06d}" for n in range(number)]
    crowds = [crowd(address, f"/ws/runs/{run}?since=0&pod={pod}", 1, "--gaps") for pod in pods[:20]]
    rest = watched(address, web, run, f"{LOG}&pod={pods[-1]}", number - 20, "--gaps")
    report = [answer(one) for one in crowds]
    return {
        "viewers": number,
        "wrong": sum(len(one["wrong"]) for one in [*report, rest]),
        "messages": rest["messages"],
        "seconds": round(time.perf_counter() - began, 1),
        "web_cpu_s": round(web.cpu_s() - cpu, 1),
    }


def killed(address: str, web: Web, scenario: int, number: int) -> dict[str, Any]:
    """Kill all viewers in the middle of the run."""
    run = start(address, scenario)
    many = crowd(address, f"/ws/runs/{run}{PROGRESS}", number)
    while (found := call(f"{address}/api/runs/{run}")[0])["cycles_done"] < found["cycles_total"] / 5:
        time.sleep(0.1)
    many.kill()
    many.communicate()
    first, state = web.share(10), call(f"{address}/api/runs/{run}")[0]["state"]
    return {"first_10_s_percent": first, "then_percent": web.share(10), "run_after_10_s": state}


def measure(address: str, var: Path, given: argparse.Namespace) -> dict[str, Any]:
    objects = workload("basic", given.nodes, given.pods)
    document = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
    scenario = call(f"{address}/api/scenarios", document)[0]["id"]
    web = Web(var)
    report: dict[str, Any] = {"load_before": os.getloadavg()[0], "web_mb_before": web.memory_mb()}
    report["alone"] = alone(address, scenario)
    run, report["live"] = live(address, web, scenario, given.viewers, given.followers)
    report["finished"] = watched(address, web, run, LOG, LOG_CLIENTS)
    report["pod"] = of_pods(address, web, scenario, max(21, given.viewers // 5))
    report["in_time"] = watched(address, web, start(address, scenario, in_time=True, until=60), PROGRESS, given.viewers)
    report["killed"] = killed(address, web, scenario, given.viewers)
    peak = peak_memory(var)["web"]
    return report | {"web_mb_peak": round(peak), "load_after": os.getloadavg()[0]}


def rows(report: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the table of docs/performance.md."""
    now, over, alone = report["live"], report["finished"], report["alone"]
    return [
        ("viewers of the run page", now["viewers"]),
        ("viewers who did not see the end", now["missed_the_end"]),
        ("the run, s; until every viewer saw its end, s", f"{now['run_s']}; {now['slowest_s']}"),
        ("sent to them, MB; processor time of the web process, s", f"{now['mb']}; {now['web_cpu_s']}"),
        (f"events of the run, each to {LOG_CLIENTS} clients of its log", f"{now['events']:,}"),
        ("clients who missed one, or had one twice", sum(now["log"]["wrong"].values()) + sum(over["wrong"].values())),
        ("sent to them, MB", now["log"]["mb"]),
        ("viewers in follow mode", now["decisions"]["viewers"]),
        ("of these, who missed a decision, had one twice or did not see the end", missed_decisions(now["decisions"])),
        ("sent to them, MB; until each had all, s", f"{now['decisions']['mb']}; {now['decisions']['slowest_s']}"),
        ("first message of a newcomer meanwhile, ms (p95, slowest)", message_pair(now["newcomer_first_event_ms"])),
        ("pages meanwhile, ms (p95)", now["page_p95_ms"]),
        ("pages during a run without viewers, ms (p95)", alone["page_p95_ms"]),
        ("the log of the same run when it is over: all clients have it after, s; processor time, s", pair(over)),
        ("progress of a run in virtual time: the same", pair(report["in_time"])),
        (f"{report['pod']['viewers']} who watch a pod each: processor time, s", report["pod"]["web_cpu_s"]),
        ("all killed at once: percent of a core in the first 10 s, in the next", pair_of(report["killed"])),
        ("memory of the web process, MB: before, peak", f"{report['web_mb_before']}, {report['web_mb_peak']}"),
        ("load of the machine (2 cores) before, after", f"{report['load_before']:.1f}, {report['load_after']:.1f}"),
    ]


def missed_decisions(found: dict[str, Any]) -> int:
    missed: int = sum(found["wrong"].values()) + found["missed_the_end"]
    return missed


def message_pair(found: dict[str, Any]) -> str:
    return f"{found['p95']}, {found['max']}"


def pair(found: dict[str, Any]) -> str:
    return f"{found['slowest_s']}; {found['web_cpu_s']}"


def pair_of(found: dict[str, Any]) -> str:
    return f"{found['first_10_s_percent']}, {found['then_percent']}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Many viewers of one run.")
    parser.add_argument("--viewers", type=int, default=1000)
    parser.add_argument("--followers", type=int, default=50, help="viewers who also receive the decisions")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=10000)
    parser.add_argument("--update", type=Path, help="the document whose figures are replaced")
    given = parser.parse_args()
    with running() as (address, var):
        report = measure(address, var, given)
    print(json.dumps(report))
    if given.update:
        table = "\n".join(f"| {name} | {value} |" for name, value in rows(report))
        body = f"<!-- viewers -->\n| figure | value |\n| --- | --- |\n{table}\n<!-- /viewers -->"
        text = given.update.read_text()
        given.update.write_text(re.sub(r"<!-- viewers -->.*<!-- /viewers -->", lambda _: body, text, flags=re.DOTALL))


if __name__ == "__main__":
    main()
