"""Benchmark `manage.py follow`: from a cold start to the first stored answer, then with many changes.

    python benchmarks/follow.py [--nodes 5000] [--pods 100000] [--changes 1000] [--postgres]
    python benchmarks/follow.py --update docs/performance.md

Starts the test API server and a follower with its processes, and prints one JSON line: seconds until the first stored
answer why a pod is pending and until all kinds are stored, processor seconds until then; memory of all processes (PSS);
stored changes in a second; how long changes take until they are stored and until they are analysed, sampled twice a
second; seconds to compute the state at a moment. With --update, measures both databases and writes a table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.api_server.process import ServerProcess, api_server  # noqa: E402
from tests.kubesched_ui.instance import postgres_server  # noqa: E402
from tests.kubesched_ui.live_clusters.settings_files import clusters_file  # noqa: E402

NAME = "live"
TICKS = os.sysconf("SC_CLK_TCK")


def processes(pid: int) -> list[int]:
    """Return a process and all below it."""
    found = [pid]
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            found += processes(int(child))
    return found


def use_of(pid: int) -> tuple[float, float]:
    """Return the memory in MB (PSS) and the processor seconds of a process and all below it."""
    memory = seconds = 0.0
    for one in processes(pid):
        with suppress(OSError):
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text()
            memory += int(re.search(r"^Pss:\s+(\d+)", rollup, re.M)[1]) / 1024  # type: ignore[index]
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            seconds += (int(fields[11]) + int(fields[12])) / TICKS
    return memory, seconds


def measure(server: ServerProcess, rate: float, seconds: float) -> dict[str, Any]:
    """Follow the server. Return the figures."""
    from kubesched_ui.clusters import history
    from kubesched_ui.clusters.models import Cluster, PendingPod

    def row() -> Any:
        return Cluster.everything.only("state", "changes", "lag_seconds", "analysis_lag_seconds").first()

    began, answer, complete, peak = time.time(), 0.0, 0.0, 0.0
    lags: list[tuple[float, float]] = []
    changes_before = changes = 0
    with subprocess.Popen([sys.executable, "manage.py", "follow", NAME], cwd=ROOT) as follower:
        try:
            while not complete or time.time() < complete + seconds + 15:
                time.sleep(0.5)
                now, found = time.time(), row()
                memory, used = use_of(follower.pid)
                peak = max(peak, memory)
                assert follower.poll() is None, "the follower ended"
                if not answer and PendingPod.objects.exclude(category="").exists():
                    answer, until_answer = now - began, used
                if answer and not complete and found.state == "following":
                    complete, changes_before = now, found.changes
                    until_complete = now - began
                    server.control("churn", rate=rate, seconds=seconds)
                elif complete and complete + 5 < now < complete + seconds:
                    lags.append((found.lag_seconds or 0.0, found.analysis_lag_seconds or 0.0))
                changes = found.changes if found else 0
        finally:
            follower.terminate()
    cluster = Cluster.everything.get(name=NAME)
    before = time.process_time()
    objects = sum(1 for _ in history.state_at(cluster, cluster.resource_version - 100).every())
    stored, analysed = (sorted(lag[place] for lag in lags) for place in (0, 1))
    return {
        "objects": objects,
        "first_answer_s": round(answer, 1),
        "complete_s": round(until_complete, 1),
        "processor_s_until_answer": round(until_answer, 1),
        "memory_mb": round(peak),
        "changes_per_s": round((changes - changes_before) / seconds),
        "stored_p50_s": stored[len(stored) // 2],
        "stored_p99_s": stored[int(len(stored) * 0.99)],
        "analysed_p50_s": analysed[len(analysed) // 2],
        "analysed_p99_s": analysed[int(len(analysed) * 0.99)],
        "state_processor_s": round(time.process_time() - before, 1),
    }


def update(document: Path, options: argparse.Namespace) -> None:
    """Measure both databases, each in a process of its own, and write the table between the markers of the document."""
    rows = {}
    for name, more in (("SQLite", []), ("PostgreSQL", ["--postgres"])):
        command = [sys.executable, __file__, *more]
        for option in ("nodes", "pods", "changes", "seconds"):
            command += [f"--{option}", str(getattr(options, option))]
        done = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rows[name] = json.loads(done.splitlines()[-1])
        print(json.dumps({"database": name, **rows[name]}), flush=True)
    lines = ["<!-- follow -->", f"| figure | {' | '.join(rows)} |", "| --- | --: | --: |"]
    figures = next(iter(rows.values()))
    lines += [f"| {figure} | {' | '.join(f'{row[figure]:,}' for row in rows.values())} |" for figure in figures]
    block = "\n".join([*lines, "<!-- /follow -->"])
    text = re.sub(r"<!-- follow -->.*<!-- /follow -->", lambda _: block, document.read_text(), flags=re.S)
    document.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--changes", type=float, default=1000, help="changes of pods in a second")
    parser.add_argument("--seconds", type=float, default=30, help="seconds of changes after the state is complete")
    parser.add_argument("--postgres", action="store_true", help="use PostgreSQL instead of SQLite")
    parser.add_argument("--update", type=Path, metavar="DOCUMENT", help="write the table of both databases")
    options = parser.parse_args()
    if options.update:
        update(options.update, options)
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(api_server("--nodes", str(options.nodes), "--pods", str(options.pods)))
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "kubesched_ui.settings",
            "KUBESCHED_VAR_DIR": str(folder),
            "KUBESCHED_CLUSTERS_FILE": str(clusters_file(folder, {NAME: server.url})),
            "KUBESCHED_LOG_LEVEL": "WARNING",
        }
        if options.postgres:
            os.environ["KUBESCHED_DATABASE_URL"] = stack.enter_context(postgres_server()).url
        import django

        django.setup()
        subprocess.run([sys.executable, "manage.py", "migrate", "-v", "0"], cwd=ROOT, check=True)
        print(json.dumps(measure(server, options.changes, options.seconds)))


if __name__ == "__main__":
    main()
