"""What a follower says about its cluster, and what it does after an interruption."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from kubesched_ui.clusters.analysis_process import AnalysisProcess
from kubesched_ui.clusters.follower import NO_RIGHTS, Follower, _visible, described
from kubesched_ui.clusters.item_frames import Forget
from kubesched_ui.clusters.models import Cluster
from kubesched_ui.clusters.writer import ReplacedCluster
from scheduler_core.api.objects import decode
from scheduler_core.live.reflector import KindHealth
from scheduler_core.live.store import Store
from scheduler_core.live.watch_events import Listed


def follower(*health: KindHealth, complete: bool = True) -> Any:
    found = Follower(Cluster(name="c"), "t", None)  # type: ignore[arg-type]
    found.source = SimpleNamespace(health={one.kind: one for one in health}, version={})  # type: ignore[assignment]
    found.complete, found.analyses = complete, []
    return found


def one(kind: str, state: Any, **columns: Any) -> KindHealth:
    return KindHealth(kind, state, **{"last_event": time.time(), **columns})


def test_the_state_of_a_follower() -> None:
    node, lost = one("Node", "watching"), one("Node", "retrying", stale_since=5.0, message="nodes: m")
    pod, refused = one("Pod", "watching"), one("Pod", "refused")
    assert follower(node, pod)._state() == ("following", "")
    assert follower(lost, pod)._state() == ("following", "nodes: m")
    # Kinds that are never served do not make a lost cluster look followed.
    assert follower(lost, refused)._state() == ("connecting", "nodes: m")
    assert follower(lost, one("Workload", "not served"))._state() == ("connecting", "nodes: m")
    assert follower(refused)._state() == ("failed", NO_RIGHTS)
    assert follower(one("Node", "retrying", message="m"), complete=False)._state() == ("failed", "m")
    # Stored objects count as known only once they are watched.
    assert follower(one("Node", "waiting", stale_since=5.0))._state() == ("connecting", "")
    state, message = follower(one("Node", "watching", last_event=1.79e9))._state()
    assert (state, message) == ("connecting", "The API server has sent nothing since 2026-09-21 14:13:20 UTC.")


def test_a_page_shows_at_once_that_a_kind_is_stale() -> None:
    before, after = (_visible({"Node": described(one("Node", "watching", stale_since=at))}) for at in (0.0, 5.0))
    assert before != after


def test_a_kind_that_is_served_again_is_sent_again() -> None:
    store = Store()
    store.apply(Listed("Node", 7, (), 0.0))
    analysis = AnalysisProcess("pending", {}, store)
    analysis.process = SimpleNamespace()  # type: ignore[assignment]
    node = one("Node", "refused")
    found = follower(node)
    found.analyses = [analysis]
    found._forget_and_remember()
    assert list(analysis.queue) == [Forget("Node")]
    node.state = "watching"
    found._forget_and_remember()
    found._forget_and_remember()
    assert [type(item) for item in analysis.queue] == [Forget, Listed]
    assert found.scheduler_changed
    assert not any(isinstance(item, Forget) for item in analysis._snapshot())


class Answers:
    """A transport that gives one body for each request."""

    def __init__(self, *bodies: bytes) -> None:
        self.bodies = list(bodies)

    @asynccontextmanager
    async def get(self, path: str, query: Any, **options: Any) -> AsyncIterator[Any]:
        async def chunks() -> AsyncIterator[bytes]:
            yield self.bodies.pop(0)

        yield SimpleNamespace(status=200, chunks=chunks)


def test_another_cluster_behind_the_same_address_is_noticed() -> None:
    """Its resourceVersions may be near the stored ones, so that watches go on."""
    body = b'{"metadata":{"name":"kube-system","uid":"%s","resourceVersion":"5"}}'
    known = decode({"kind": "Namespace", "metadata": {"name": "kube-system", "uid": "one", "resourceVersion": "5"}})
    assert known

    async def main() -> None:
        health = one("Node", "watching")
        found = follower(health)
        found.transport = Answers(body % b"one", body % b"other")
        found.store.apply(Listed("Namespace", 5, (known,), 0.0))
        verifying = asyncio.create_task(found._verify())
        await asyncio.sleep(1.1)
        assert len(found.transport.bodies) == 2  # no interruption, no request
        found.failing = True
        await asyncio.sleep(1.1)
        assert not found.failing
        found.failing = True
        with pytest.raises(ReplacedCluster):
            await asyncio.wait_for(verifying, 5)

    asyncio.run(main())
