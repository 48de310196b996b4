"""Benchmark the reading of a live cluster: from the first request to the complete state, then with many changes.

    python benchmarks/live.py [--nodes 5000] [--pods 100000] [--changes 1000] [--git-version v1.36.2]
    python benchmarks/live.py --update docs/performance.md

Starts the test API server in a process of its own, follows it and prints one JSON line: seconds until the nodes and the
pods are listed, until all kinds are; peak memory of this process; the lag from a change on the server to its arrival,
while the server makes `--changes` changes of pods in a second; and the requests. With --update, measures an API server
that sends the list with the watch (1.36) and one that is listed in pages (1.33), and writes a table.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scheduler_core.legacy.configuration import load  # noqa: E402
from scheduler_core.live.aiohttp_transport import AiohttpTransport, Endpoint  # noqa: E402
from scheduler_core.live.cluster_mirror import ClusterMirror  # noqa: E402
from scheduler_core.live.source import LiveSource  # noqa: E402
from scheduler_core.live.watch_events import Listed, WatchEvent  # noqa: E402
from scheduler_core.pending_pods.answer import PendingAnswers  # noqa: E402
from scheduler_core.releases import NEWEST, RELEASES  # noqa: E402
from tests.api_server.process import ServerProcess, api_server  # noqa: E402

VERSIONS = ("v1.36.2", "v1.33.1")


async def follow(server: ServerProcess, changes: float, seconds: float) -> dict[str, Any]:
    """Follow the server until the state is complete, and then through changes. Return the figures."""

    async def connect() -> Endpoint:
        return Endpoint("the server", server.url)

    begin, processor = time.time(), time.process_time()
    transport = AiohttpTransport(connect)
    source, mirror = LiveSource(transport), ClusterMirror(RELEASES[NEWEST])
    first_answer = 0.0
    listed: dict[str, float] = {}
    arrivals: list[tuple[int, float]] = []
    end = float("inf")
    items = source.items()
    async for item in items:
        mirror.apply(item)
        now = time.time()
        if isinstance(item, Listed):
            listed[item.kind] = now - begin
            if not first_answer and {"Node", "Pod"} <= listed.keys():
                pod, answers = next(iter(mirror.pending)), PendingAnswers(mirror, load(None, mirror.release))
                answer = answers.answer(pod, now)
                first_answer = time.time() - begin
            if len(listed) == len(source.health):
                complete, end = now, now + seconds
                listing, lists_peak = time.process_time() - processor, peak_memory()
                await asyncio.to_thread(server.control, "churn", rate=changes, seconds=seconds)
        elif isinstance(item, WatchEvent) and item.kind == "Pod":
            arrivals.append((item.resource_version, now))
        if now >= end:
            break
    await items.aclose()  # type: ignore[attr-defined]
    await transport.close()
    times = {revision: changed for revision, _, changed in json_of(server, "times?resource=pods&after=0")}
    lags = sorted(now - times[revision] for revision, now in arrivals if revision in times)
    requests = [request for request in server.control("requests") if request["resource"]]
    undecodable = sum(len(health.undecodable) for health in source.health.values())
    return {
        "nodes": len(mirror.store.objects("Node")),
        "pods": len(mirror.store.objects("Pod")),
        "nodes_and_pods_s": round(max(listed["Node"], listed["Pod"]), 1),
        "first_answer_s": round(first_answer, 1),
        "first_answer": answer.sentence,
        "complete_s": round(complete - begin, 1),
        "processor_s": round(listing, 1),
        "memory_complete_mb": lists_peak,
        "memory_mb": peak_memory(),
        "changes": len(lags),
        "changes_per_s": round(len(lags) / seconds),
        "lag_p50_ms": round(1000 * statistics.median(lags), 1) if lags else None,
        "lag_p99_ms": round(1000 * lags[int(len(lags) * 0.99)], 1) if lags else None,
        "lag_max_ms": round(1000 * lags[-1], 1) if lags else None,
        "undecodable": undecodable,
        "lists": lists_of(requests),
        "requests": dict(Counter(request["verb"] for request in requests)),
    }


def json_of(server: ServerProcess, path: str) -> Any:
    return server.request("GET", f"/test/{path}")


def lists_of(requests: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the largest number of lists of a kind, pages of the largest list, and requests for unlimited lists."""
    lists = [request for request in requests if request["verb"] == "list"]
    initial = [r for r in requests if r["verb"] == "watch" and "sendInitialEvents" in r["query"]]
    begun = Counter(r["resource"] for r in [*lists, *initial] if "continue" not in r["query"] and r["status"] == 200)
    return {
        "most_per_kind": max(begun.values()),
        "pages_of_pods": sum(request["resource"] == "pods" for request in lists),
        "without_limit": sum("limit" not in request["query"] for request in lists),
    }


def shown(figure: Any) -> str:
    if isinstance(figure, dict):
        return ", ".join(f"{name} {count}" for name, count in figure.items())
    return f"{figure:,}"


def peak_memory() -> int:
    """Return the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def update(document: Path, options: argparse.Namespace) -> None:
    """Measure each version in a process of its own, and write the table between the markers of the document."""
    rows = []
    for version in VERSIONS:
        command = [sys.executable, __file__, "--git-version", version]
        for name in ("nodes", "pods", "changes", "seconds"):
            command += [f"--{name}", str(getattr(options, name))]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(json.dumps({"git_version": version, **answer}), flush=True)
        rows.append(answer)
    lines = ["<!-- live -->", f"| figure | {' | '.join(VERSIONS)} |", "| --- | --: | --: |"]
    lines += [
        f"| {name} | {' | '.join(shown(row[name]) for row in rows)} |" for name in rows[0] if name != "first_answer"
    ]
    text = document.read_text()
    block = "\n".join([*lines, "<!-- /live -->"])
    document.write_text(re.sub(r"<!-- live -->.*<!-- /live -->", lambda _: block, text, flags=re.S))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--changes", type=float, default=1000, help="changes of pods in a second")
    parser.add_argument("--seconds", type=float, default=30, help="seconds of changes after the state is complete")
    parser.add_argument("--git-version", default=VERSIONS[0], help="release of the API server")
    parser.add_argument("--update", type=Path, metavar="DOCUMENT", help="write the table of both versions")
    options = parser.parse_args()
    if options.update:
        update(options.update, options)
        return
    arguments = ["--nodes", str(options.nodes), "--pods", str(options.pods)]
    with api_server(*arguments, "--git-version", options.git_version) as server:
        print(json.dumps(asyncio.run(follow(server, options.changes, options.seconds))))


if __name__ == "__main__":
    main()
