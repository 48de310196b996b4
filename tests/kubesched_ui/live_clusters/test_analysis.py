"""The analysis processes of a follower, fed through frames as by its pipe."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kubesched_ui.clusters import analysis, leases
from kubesched_ui.clusters.analysis import PendingAnalysis
from kubesched_ui.clusters.item_frames import START, Forget, FrameReader, framed, frames
from kubesched_ui.clusters.judging import DecisionAnalysis
from kubesched_ui.clusters.models import Cluster, Decision, PendingPod
from scheduler_core.api.objects import Object, decode
from scheduler_core.explain.packed_ladder import unpack
from scheduler_core.live import kinds as watched_kinds
from scheduler_core.live import recorded_folder
from scheduler_core.live.watch_events import DELETED, MODIFIED, Bookmark, Gap, Item, Listed, WatchEvent
from tests.kubesched_ui import clusters
from tests.recordings import LIVE_A, LIVE_MOST

pytestmark = pytest.mark.django_db(transaction=True)

KINDS = ("Node", "Pod", "Event")


def made(raw: dict[str, Any], version: int) -> Object:
    raw["metadata"]["resourceVersion"] = str(version)
    raw["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    obj = decode(raw)
    assert obj is not None
    return obj


def claimed(**start: Any) -> dict[str, Any]:
    """Return the first frame's values of a follower that has the lease of a new cluster."""
    Cluster.everything.create(name="c")
    cluster = leases.claim("c", "s:1")
    assert cluster
    return {"cluster": cluster.pk, "token": "s:1", "release": "1.36", "config": "", "kinds": list(KINDS)} | start


def analyse(part: Any, start: dict[str, Any], items: Iterable[Item | Forget], pause: float = 0.0) -> None:
    """Run an analysis on these items until their end. `pause`: seconds before the end."""

    class Pipe(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            found = super().read(size)
            if not found:
                time.sleep(pause)
            return found

    data = framed(START, start) + b"".join(frame for item in items for frame in frames(item))
    analysis.run(Pipe(data), part, "Pending pods are not explained")


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "STORE_EVERY_S", 0.05)


def cluster_items() -> Iterator[Item | Forget]:
    now = time.time()
    nodes = (made(clusters.node("n1"), 5), made(clusters.node("n2"), 6))
    refused = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/2 nodes are available",
    }
    pods = (
        made(clusters.pod("fits-nowhere", "64") | {"status": {"phase": "Pending", "conditions": [refused]}}, 7),
        made(clusters.pod("gated", schedulingGates=[{"name": "example.com/wait"}]), 8),
        made(clusters.pod("bound", on="n1"), 9),
    )
    yield Listed("Node", 10, nodes, now)
    yield Listed("Pod", 11, pods, now)
    yield Forget("Event")
    yield Bookmark("Node", 12, now)
    yield WatchEvent("Pod", MODIFIED, "default/bound", 13, made(clusters.pod("bound", "2", on="n1"), 13), now)


def test_items_come_out_of_frames_as_they_went_in() -> None:
    items = [
        *cluster_items(),
        Gap("Pod", 3, 9, 1.0),
        WatchEvent("Pod", DELETED, "a/b", 20, made(clusters.pod("b"), 3), 1.0),
    ]
    data = b"".join(frame for item in items for frame in frames(item))
    assert list(FrameReader(io.BytesIO(data)).items()) == items
    assert list(FrameReader(io.BytesIO(data[:-1])).items()) == items[:-1]  # cut within the last frame


@pytest.mark.usefixtures("fast")
def test_pending_pods_have_an_answer() -> None:
    start = claimed()
    PendingPod.objects.create(
        cluster_id=start["cluster"], key="default/gone", namespace="default", since="2026-01-01T00:00Z"
    )
    analyse(PendingAnalysis, start, cluster_items(), pause=0.5)
    rows = dict(PendingPod.objects.values_list("key", "category"))
    assert rows == {"default/fits-nowhere": "never", "default/gated": "not asked"}
    cluster = Cluster.everything.get()
    assert cluster.counts | {"kinds": {}} == {
        **{"nodes": 2, "pods": 3, "bound": 1, "pending": 2, "never": 1, "not now": 0, "not asked": 1, "kinds": {}}
    }
    assert cluster.analysed_version == 13
    assert cluster.view["pods"]["key"] == ["default/fits-nowhere", "default/gated", "default/bound"]
    gated = PendingPod.objects.get(cause="gated")
    assert gated.since.year == 2026
    found = {row.key: unpack(row.ladder, ["n1", "n2"]) or [] for row in PendingPod.objects.all()}
    shown = {key: [(rung.changes, rung.nodes) for rung in ladder] for key, ladder in found.items()}
    assert shown == {"default/fits-nowhere": [(None, ["n1", "n2"])], "default/gated": [(1, ["n1", "n2"])]}


@pytest.mark.usefixtures("fast")
def test_characters_that_pages_must_not_show_are_stored_as_escapes() -> None:
    evil = "0/1\x1b[31m \u202eecin"
    refused = {"type": "PodScheduled", "status": "False", "reason": evil, "message": evil}
    waiting = clusters.pod("waits", "64") | {"status": {"phase": "Pending", "conditions": [refused]}}
    now = time.time()
    node = clusters.node("n1", labels={"evil": evil})
    items = [Listed("Node", 5, (made(node, 5),), now), Listed("Pod", 6, (made(waiting, 6),), now), Forget("Event")]
    analyse(PendingAnalysis, claimed(), items, pause=0.5)
    row, cluster = PendingPod.objects.get(), Cluster.everything.get()
    stored = json.dumps([row.sentence, row.details, cluster.view], ensure_ascii=False)
    assert r"\\x1b[31m \\u202eecin" in stored
    assert stored.isprintable()
    assert "u001b" not in stored


@pytest.mark.usefixtures("fast")
def test_a_kind_that_is_served_again_counts_again() -> None:
    items = list(cluster_items())
    node = next(item for item in items if isinstance(item, Listed) and item.kind == "Node")
    analyse(PendingAnalysis, claimed(), [Forget("Node"), *items[1:], node, *items[1:]], pause=0.5)
    assert PendingPod.objects.get(key="default/fits-nowhere").cause == "request-exceeds-nodes"
    Cluster.everything.all().delete()
    analyse(PendingAnalysis, claimed(), [*items, Forget("Node")], pause=0.5)
    assert PendingPod.objects.get(key="default/fits-nowhere").cause == "nodes-unknown"


@pytest.mark.usefixtures("fast")
def test_rights_on_one_namespace_limit_the_answers() -> None:
    kinds = watched_kinds.in_namespace("default")
    analyse(PendingAnalysis, claimed() | {"namespace": watched_kinds.namespace_of(kinds)}, cluster_items(), pause=0.5)
    limits = PendingPod.objects.get(key="default/fits-nowhere").details["limits"]
    assert limits[0].endswith("because only the pods of one namespace can be read: default.")
    assert watched_kinds.namespace_of(watched_kinds.KINDS) == ""


def test_an_unusable_configuration_is_one_sentence() -> None:
    analyse(PendingAnalysis, claimed(config="kind: Unknown"), cluster_items())
    message = Cluster.everything.get().analysis_message
    assert message.startswith("Pending pods are not explained: ")
    assert message.endswith(".")


@pytest.mark.usefixtures("fast")
def test_without_the_lease_nothing_is_stored() -> None:
    start = claimed()
    Cluster.everything.update(follower="other:1")
    analyse(PendingAnalysis, start, cluster_items(), pause=0.3)
    assert not PendingPod.objects.exists()


@pytest.mark.long
@pytest.mark.parametrize(("folder", "configuration"), [(LIVE_A, "default"), (LIVE_MOST, "MostAllocated")])
def test_recorded_decisions_are_explained(folder: Path, configuration: str) -> None:
    items = list(recorded_folder.read(folder))
    kinds = sorted({item.kind for item in items})
    version = max(item.resource_version for item in items if not isinstance(item, Gap))
    ends = [Bookmark(kind, version + 1, items[-1].time + 60) for kind in kinds]
    analyse(DecisionAnalysis, claimed(kinds=kinds), [*items, *ends], pause=3)
    assert Decision.objects.filter(outcome="unexplained").count() == 0
    assert Decision.objects.exclude(outcome="").count() > 50
    report = Cluster.everything.get().report
    assert max(report["configuration"], key=report["configuration"].get) == configuration
