"""The stored history equals what the source yielded, at each resourceVersion and after interruptions."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError

from kubesched_ui.clusters import history, leases, queries, writer
from kubesched_ui.clusters.models import ChangeBlock, Checkpoint, Cluster, HistoryGap
from kubesched_ui.clusters.writer import HistoryWriter, LostLease, ReplacedCluster, forget_history
from scheduler_core.api.objects import Node, Object, Pod, decode
from scheduler_core.live.store import Store
from scheduler_core.live.watch_events import ADDED, DELETED, MODIFIED, Bookmark, Gap, Item, Listed, WatchEvent
from tests.kubesched_ui import clusters

pytestmark = pytest.mark.django_db(transaction=True)


def pod(name: str, version: int, **more: Any) -> Object:
    raw = clusters.pod(name, str(version % 7 + 1), **more)
    raw["metadata"]["resourceVersion"] = str(version)
    obj = decode(raw)
    assert obj is not None
    return obj


def changes(source: random.Random, count: int, start: int = 101) -> Iterator[WatchEvent]:
    """Yield changes of up to 20 pods."""
    alive: dict[str, Object] = {}
    for version in range(start, start + count):
        name = f"p{source.randrange(20)}"
        key, now = f"default/{name}", time.time()
        if key in alive and source.random() < 0.3:
            yield WatchEvent("Pod", DELETED, key, version, alive.pop(key), now)
            continue
        kind = MODIFIED if key in alive else ADDED
        on = {"on": "n1"} if source.random() < 0.5 else {}
        alive[key] = pod(name, version, **on)
        yield WatchEvent("Pod", kind, key, version, alive[key], now)


def followed(name: str = "c", token: str = "s:1") -> tuple[Cluster, HistoryWriter]:
    """Return a cluster and the writer of its follower, with the stored objects."""
    Cluster.everything.get_or_create(name=name)
    cluster = leases.claim(name, token)
    assert cluster
    state = history.state_at(cluster)
    objects = {kind: {obj.key: obj for obj in state.typed(kind)} for kind in state.objects}
    return cluster, HistoryWriter(cluster, token, objects)


def listed(version: int = 100, *objects: Object) -> list[Item]:
    now = time.time()
    return [Listed("Node", version, (), now), Listed("Pod", version, objects, now)]


def objects_at(cluster: Cluster, version: int) -> dict[str, Object]:
    return {obj.key: obj for obj in history.state_at(cluster, version).every()}


def wait_for_checkpoint(one: HistoryWriter) -> None:
    one.checkpoint_if_due()
    assert one.checkpointing
    one.checkpointing.join()


@pytest.mark.parametrize("seed", range(2))
def test_the_state_at_each_version_is_what_the_source_yielded(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "LEAST_BYTES", 500)
    monkeypatch.setattr(writer, "BLOCK", 7)
    monkeypatch.setattr(writer, "TAIL", 5)
    source, store = random.Random(seed), Store()
    cluster, one = followed()
    one.open_gap()
    one.write(listed())
    one.close_gap()
    expected, batch = {}, list[Item]()
    for event in changes(source, 100):
        store.apply(event)
        expected[event.resource_version] = dict(store.by_key("Pod"))
        batch.append(event)
        if source.random() < 0.2:
            one.write(batch)
            batch = []
            if source.random() < 0.3:
                one.unsaved = 1000
                wait_for_checkpoint(one)
        if source.random() < 0.05:  # the follower is killed, and the unwritten changes come again
            cluster, one = followed()
            for again in batch:
                one.write([again])
            batch = []
    one.write(batch)
    assert Checkpoint.objects.count() > 2
    for version, state in expected.items():
        assert objects_at(cluster, version) == state, version
    assert (queries.history(cluster).first, queries.history(cluster).last) == (100, 200)


def test_small_batches_share_a_block() -> None:
    cluster, one = followed()
    one.write(listed())
    for event in changes(random.Random(0), 40):
        one.write([event])
    assert ChangeBlock.objects.count() == 1
    assert Cluster.everything.get().changes == 40
    assert queries.history(cluster).changes == 40


def test_a_list_after_a_gap_is_stored_as_its_differences() -> None:
    cluster, one = followed()
    one.write(listed(100, pod("a", 90), pod("b", 91)))
    old = one.objects["Pod"]["default/b"]
    new = (pod("a", 120), pod("c", 130))
    events = [WatchEvent("Pod", MODIFIED, "default/a", 120, new[0], 2.0)]
    # The follower is killed between the differences and the list: it continues from before the gap.
    one.write([Gap("Pod", 100, 140, 2.0), *events])
    assert Cluster.everything.get().versions["Pod"] == 100
    cluster, one = followed()
    events += [
        WatchEvent("Pod", ADDED, "default/c", 130, new[1], 2.0),
        WatchEvent("Pod", DELETED, "default/b", 140, old, 2.0),
    ]
    one.write([Gap("Pod", 100, 140, 2.0), *events, Listed("Pod", 140, new, 2.0)])
    assert Cluster.everything.get().versions["Pod"] == 140
    assert objects_at(cluster, 140) == {obj.key: obj for obj in new}
    gap = HistoryGap.objects.get()
    assert (gap.kind, gap.after, gap.until) == ("Pod", 100, 140)


def test_the_opening_gap_stays_open_if_the_first_list_is_interrupted() -> None:
    cluster, one = followed()
    one.open_gap()
    one.write(listed()[:1])
    cluster, one = followed()
    assert queries.history(cluster).last == 0
    one.open_gap()
    one.write(listed(110, pod("a", 90))[1:])
    one.close_gap()
    assert HistoryGap.objects.get().until == 110
    assert queries.history(cluster).first == 110


def namespace(uid: str) -> Object:
    obj = decode({"kind": "Namespace", "metadata": {"name": "kube-system", "uid": uid, "resourceVersion": "5"}})
    assert obj is not None
    return obj


@pytest.mark.parametrize(
    "item",
    [Listed("Pod", 99, (), 0.0), Listed("Namespace", 200, (namespace("b"),), 0.0)],
    ids=["older", "another kube-system"],
)
def test_the_history_of_a_replaced_cluster_is_deleted(item: Listed) -> None:
    cluster, one = followed()
    one.write([*listed(100, pod("a", 90)), Listed("Namespace", 100, (namespace("a"),), time.time())])
    one.write([Listed("Pod", 100, (pod("a", 90),), time.time())])  # the same state again
    _, one = followed()
    with pytest.raises(ReplacedCluster):
        one.write([Gap("Pod", 100, 300, time.time()), item])
    with pytest.raises(LostLease):
        forget_history(cluster.pk, "other:1")
    assert ChangeBlock.objects.exists()
    forget_history(cluster.pk, "s:1")
    assert not ChangeBlock.objects.exists()
    cluster, one = followed()
    assert (cluster.resource_version, one.objects, one.versions) == (0, {}, {})
    one.write(listed(50, pod("b", 40)))
    assert list(objects_at(cluster, 50)) == ["default/b"]


def test_a_follower_without_the_lease_writes_nothing() -> None:
    _, old = followed(token="a:1")
    Cluster.everything.update(heartbeat_at=None)  # silent
    followed(token="b:1")
    with pytest.raises(LostLease):
        old.write(listed(100, pod("a", 90)))
    assert not ChangeBlock.objects.exists()


def test_only_one_of_two_supervisors_gets_the_lease() -> None:
    Cluster.everything.create(name="c")
    assert leases.claim("c", "a:1")
    assert leases.claim("c", "b:1") is None
    assert leases.claim("c", "a:2")  # of the same supervisor, whose first follower has ended
    leases.release(Cluster.everything.get().pk, "a:2")
    assert leases.claim("c", "b:1")


def test_changes_wait_for_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    _, one = followed()
    one.write(listed())
    written, failures = one._write, iter([OperationalError("connect"), OperationalError("connect")])

    def fails_after_commit(*args: Any) -> None:
        written(*args)
        for error in failures:
            raise error

    monkeypatch.setattr(writer, "AGAIN_S", 0)
    monkeypatch.setattr(one, "_write", fails_after_commit)
    one.write([WatchEvent("Pod", ADDED, "default/a", 101, pod("a", 101), 1.0)])
    assert ChangeBlock.objects.get().count == 1
    assert Cluster.everything.get().changes == 1


def test_changes_wait_for_disk_space(monkeypatch: pytest.MonkeyPatch) -> None:
    _, one = followed()
    texts = []

    def recent_problem() -> str:
        texts.append(Cluster.everything.get().message)
        return "The disk is almost full." if len(texts) < 3 else ""

    monkeypatch.setattr(writer, "AGAIN_S", 0)
    monkeypatch.setattr(writer.disk_space, "recent_problem", recent_problem)
    one.write(listed(100, pod("a", 90)))
    assert texts == ["", "The disk is almost full.", "The disk is almost full."]
    assert Cluster.everything.get().message == ""
    assert ChangeBlock.objects.get().count == 1


def test_after_the_restoration_of_a_backup_everything_is_listed() -> None:
    cluster, one = followed()
    one.write(listed(100, pod("a", 90)))
    ChangeBlock.objects.all().delete()  # not part of a backup
    cluster, one = followed()
    assert one.versions == {}
    one.open_gap()
    one.write(listed(200, pod("a", 90), pod("b", 150)))
    one.close_gap()
    assert queries.history(cluster).first == 200
    assert objects_at(cluster, 200).keys() == {"default/a", "default/b"}


def test_bookmarks_are_stored() -> None:
    _, one = followed()
    one.write([*listed(), Bookmark("Node", 170, 1.0)])
    assert Cluster.everything.get().versions == {"Node": 170, "Pod": 100}


def test_types() -> None:
    cluster, one = followed()
    raw = clusters.node("n1")
    raw["metadata"]["resourceVersion"] = "50"
    node = decode(raw)
    assert node
    one.write([Listed("Node", 100, (node,), 1.0), Listed("Pod", 100, (pod("a", 60),), 1.0)])
    assert {type(obj) for obj in queries.state_at(cluster, 100)} == {Node, Pod}
