"""The reading of a live cluster: from the first request to the complete state, then with many changes.

Follows the API server of the tests, which has a process of its own: seconds until the nodes and the pods are listed,
until the first answer why a pod is pending, until all kinds are listed; peak memory of this process; the lag from a
change on the server to its arrival, while the server makes --changes changes of pods a second; and the requests.
--update measures an API server that sends the list with the watch (1.36) and one that is listed in pages (1.33).
"""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from benchmarks.processes import memory_mb, quantile
from scheduler_core.config.loader import load
from scheduler_core.live.aiohttp_transport import AiohttpTransport, Endpoint
from scheduler_core.live.cluster_mirror import ClusterMirror
from scheduler_core.live.source import LiveSource
from scheduler_core.live.watch_events import Listed, WatchEvent
from scheduler_core.pending_pods.answer import PendingAnswers
from scheduler_core.releases import NEWEST, RELEASES
from tests.api_server.process import ServerProcess, api_server

VARIANTS = {version: {"git_version": version} for version in ("v1.36.2", "v1.33.1")}


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
                answers.answer(pod, now)
                first_answer = time.time() - begin
            if len(listed) == len(source.health):
                complete, end = now, now + seconds
                listing, lists_peak = time.process_time() - processor, memory_mb([os.getpid()], "VmHWM")[0]
                await asyncio.to_thread(server.control, "churn", rate=changes, seconds=seconds)
        elif isinstance(item, WatchEvent) and item.kind == "Pod":
            arrivals.append((item.resource_version, now))
        if now >= end:
            break
    await items.aclose()  # type: ignore[attr-defined]
    await transport.close()
    times = {revision: changed for revision, _, changed in server.request("GET", "/test/times?resource=pods&after=0")}
    lags = [now - times[revision] for revision, now in arrivals if revision in times]
    requests = [request for request in server.control("requests") if request["resource"]]
    undecodable = sum(len(health.undecodable) for health in source.health.values())
    return {
        "nodes": len(mirror.store.objects("Node")),
        "pods": len(mirror.store.objects("Pod")),
        "nodes_and_pods_s": round(max(listed["Node"], listed["Pod"]), 1),
        "first_answer_s": round(first_answer, 1),
        "complete_s": round(complete - begin, 1),
        "processor_s": round(listing, 1),
        "memory_complete_mb": lists_peak,
        "memory_mb": memory_mb([os.getpid()], "VmHWM")[0],
        "changes": len(lags),
        "changes_per_s": round(len(lags) / seconds),
        "lag_p50_ms": round(1000 * quantile(lags, 0.5), 1),
        "lag_p99_ms": round(1000 * quantile(lags, 0.99), 1),
        "lag_max_ms": round(1000 * quantile(lags, 1), 1),
        "undecodable": undecodable,
        "lists": lists_of(requests),
        "requests": dict(Counter(request["verb"] for request in requests)),
    }


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


def measure(
    nodes: int = 5000,
    pods: int = 100_000,
    changes: float = 1000,
    seconds: float = 30,
    git_version: str = "v1.36.2",
) -> Iterator[dict[str, Any]]:
    arguments = ["--nodes", str(nodes), "--pods", str(pods), "--git-version", git_version]
    with api_server(*arguments) as server:
        yield asyncio.run(follow(server, changes, seconds))
