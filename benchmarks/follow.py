"""`manage.py follow`: from a cold start to the first stored answer, then with many changes.

Starts the API server of the tests and a follower with its processes: seconds until the first stored answer why a pod
is pending and until all kinds are stored, processor seconds until then; memory of all processes (PSS); stored changes
in a second; how long changes take until they are stored and until they are analysed, sampled twice a second; seconds
to compute the state at a moment. --update measures both databases.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.processes import ROOT, memory_mb, processor_s, quantile
from benchmarks.product import in_this_process
from tests.api_server.process import ServerProcess, api_server
from tests.kubesched_ui.instance import Instance, postgres_server
from tests.kubesched_ui.live_clusters.settings_files import clusters_file

NAME = "live"
VARIANTS: dict[str, dict[str, Any]] = {"SQLite": {}, "PostgreSQL": {"postgres": True}}


def followed(server: ServerProcess, folder: Path, rate: float, seconds: float) -> dict[str, Any]:
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
                pids = Instance(folder).pids("")
                peak, used = max(peak, sum(memory_mb(pids, "Pss"))), processor_s(pids)
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
    stored, analysed = ([lag[place] for lag in lags] for place in (0, 1))
    return {
        "objects": objects,
        "first_answer_s": round(answer, 1),
        "complete_s": round(until_complete, 1),
        "processor_s_until_answer": round(until_answer, 1),
        "memory_mb": round(peak),
        "changes_per_s": round((changes - changes_before) / seconds),
        "stored_p50_s": quantile(stored, 0.5),
        "stored_p99_s": quantile(stored, 0.99),
        "analysed_p50_s": quantile(analysed, 0.5),
        "analysed_p99_s": quantile(analysed, 0.99),
        "state_processor_s": round(time.process_time() - before, 1),
    }


def measure(
    nodes: int = 5000,
    pods: int = 100_000,
    changes: float = 1000,
    seconds: float = 30,
    postgres: bool = False,
) -> Iterator[dict[str, Any]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(api_server("--nodes", str(nodes), "--pods", str(pods)))
        settings = {"CLUSTERS_FILE": str(clusters_file(folder, {NAME: server.url})), "LOG_LEVEL": "WARNING"}
        if postgres:
            settings["DATABASE_URL"] = stack.enter_context(postgres_server()).url
        stack.enter_context(in_this_process(folder, **settings))
        yield followed(server, folder, changes, seconds)
