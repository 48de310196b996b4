"""Every binding that the follower has seen is stored in exactly one outcome, also if processes are killed."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from kubesched_ui.clusters import history, leases, resumption
from kubesched_ui.clusters.judging import DecisionAnalysis
from kubesched_ui.clusters.models import ChangeBlock, Checkpoint, Cluster, Decision
from kubesched_ui.clusters.writer import HistoryWriter, ReplacedCluster, forget_history
from scheduler_core.live.store import Store
from scheduler_core.live.watch_events import Gap, Item, Listed
from tests.examples import selection
from tests.scheduler_core.shadow.random_server import KINDS, STEPS, Server

pytestmark = pytest.mark.django_db(transaction=True)


class Following:
    """A follower with its judging process, both of which can be killed. `writes`: whether items are stored at once."""

    def __init__(self) -> None:
        Cluster.everything.create(name="c")
        cluster = leases.claim("c", "s:1")
        assert cluster
        self.start: dict[str, Any] = {"cluster": cluster.pk, "token": "s:1", "release": "1.36", "config": ""}
        self.start["kinds"] = list(KINDS)
        self.store = Store()
        self.begin_writer()
        self.writer.open_gap()
        self.delayed: list[Item] = []
        self.judging: DecisionAnalysis | None = None

    def begin_writer(self) -> None:
        objects = {kind: dict(self.store.by_key(kind)) for kind in KINDS}
        self.writer = HistoryWriter(Cluster.everything.get(), "s:1", objects)

    def begin_judging(self) -> None:
        self.judging = DecisionAnalysis(self.start)
        self.judging.resume()
        for kind, version in list(self.store.resource_versions.items()):
            self.judging.apply(Listed(kind, version, tuple(self.store.objects(kind)), 0.0))

    def take(self, item: Item, at_once: bool = True) -> None:
        self.store.apply(item)
        self.delayed.append(item)
        if at_once:
            self.write()
        if self.judging is not None:
            self.judging.apply(item)

    def write(self) -> None:
        if self.delayed:
            self.writer.write(self.delayed)
        self.delayed = []

    def list_again(self, server: Server) -> None:
        """Forget the history, because the server has another cluster, and begin with lists."""
        forget_history(self.start["cluster"], "s:1")
        self.store, self.delayed, self.judging = Store(), [], None
        self.begin_writer()
        self.writer.open_gap()
        server.seen.clear()
        for kind in KINDS:
            self.take(server.list(kind))
        self.writer.close_gap()
        self.begin_judging()

    def restart(self) -> None:
        """Kill the follower and its judging process; another follower continues from the stored history."""
        state = history.state_at(Cluster.everything.get())
        for kind in KINDS:
            assert {obj.key: obj for obj in state.typed(kind)} == self.store.by_key(kind)
        self.begin_writer()
        self.begin_judging()

    def kill(self, stores_first: bool) -> None:
        """Kill the judging process. `stores_first`: right after it has stored."""
        if stores_first and self.judging is not None:
            self.judging.store()
        self.begin_judging()


def decisions() -> list[tuple[str, int]]:
    return sorted(Decision.objects.exclude(outcome="").values_list("pod", "resource_version"))


@pytest.mark.parametrize("seed", selection(range(4), 4))
def test_every_binding_is_stored_once(seed: int) -> None:
    rng, server, following = random.Random(seed), Server(), Following()
    for kind in KINDS:
        following.take(server.list(kind))
    following.writer.close_gap()
    following.begin_judging()
    for _ in range(60):
        choice = rng.randrange(12)
        for item in server.step(rng.choice(STEPS), choice):
            following.take(item)
        if rng.random() < 0.15:
            following.kill(stores_first=rng.random() < 0.5)
        if rng.random() < 0.05:
            following.begin_writer()
    assert following.judging is not None
    following.kill(stores_first=True)
    judging = following.judging
    for item in judging.ordering.flush():
        judging.found += judging.judge.feed(item)
    judging.found += judging.judge.finish()
    judging.store()
    assert decisions() == sorted(server.seen)


@pytest.mark.parametrize("seed", selection(range(8), 4))
def test_another_store_replaces_all_objects(seed: int) -> None:
    rng, server, following = random.Random(seed), Server(), Following()
    for kind in KINDS:
        following.take(server.list(kind))
    following.writer.close_gap()
    following.begin_judging()
    for _ in range(40):
        if replaced := rng.random() < 0.15:
            items = list(server.replace(rng))
        else:
            items = list(server.step(rng.choice(STEPS), rng.randrange(12)))
        try:
            for item in items:
                following.take(item)
                if replaced and rng.random() < 0.05:
                    following.kill(stores_first=rng.random() < 0.5)
        except ReplacedCluster:
            following.list_again(server)
        if rng.random() < 0.1:
            following.writer.unsaved = 10**9
            following.writer.checkpoint_if_due()
            if following.writer.checkpointing is not None:
                following.writer.checkpointing.join()
        if rng.random() < 0.15:
            following.kill(stores_first=rng.random() < 0.5)
        if rng.random() < 0.1:
            following.restart()
    for item in server.bookmarks():
        following.take(item)
    following.restart()
    following.kill(stores_first=True)
    judging = following.judging
    assert judging is not None
    judging.found += judging.judge.finish()
    judging.store()
    mirror = judging.judge.mirror
    for kind in KINDS:
        assert mirror.store.by_key(kind) == server.objects[kind]
    mirror.cluster.nodes.refresh()
    assert set(mirror.cluster.nodes.rows) == set(server.objects["Node"])
    assert decisions() == sorted(server.seen)


def test_a_new_process_judges_what_the_last_one_left() -> None:
    server, following = Server(), Following()
    for kind in KINDS:
        following.take(server.list(kind))
    following.writer.close_gap()
    following.begin_judging()
    for _ in range(3):
        for step in ("create", "bind"):
            for item in server.step(step, 3):
                following.take(item)
    # no other kind is known beyond the bindings, so none is judged before the kill
    following.kill(stores_first=True)
    assert not Decision.objects.exists()
    server.time += 300
    judging = following.judging
    assert judging is not None
    for kind in KINDS:
        for item in server.step("bookmark", KINDS.index(kind)):
            following.take(item)
    judging.store()
    assert decisions() == server.seen
    assert not Decision.objects.filter(outcome="gap").exists()


def test_changes_that_are_not_stored_yet_are_a_gap() -> None:
    server, following = Server(), Following()
    for kind in KINDS:
        following.take(server.list(kind))
    following.writer.close_gap()
    following.begin_judging()
    for item in server.step("create", 0):
        following.take(item)
    for item in server.step("bind", 0):
        following.take(item, at_once=False)
    following.kill(stores_first=True)
    judging = following.judging
    assert judging is not None
    following.write()
    for item in judging.ordering.flush():
        judging.found += judging.judge.feed(item)
    judging.found += judging.judge.finish()
    judging.store()
    assert list(Decision.objects.values_list("pod", "outcome")) == [("default/p1", "gap")]


def test_without_the_history_the_check_begins_with_the_present_state() -> None:
    server, following = Server(), Following()
    for kind in KINDS:
        following.take(server.list(kind))
    following.writer.close_gap()
    cluster = Cluster.everything.get()
    version = cluster.resource_version
    assert resumption.items_since(cluster, version, KINDS)
    ChangeBlock.objects.all().delete()
    Checkpoint.objects.all().delete()
    assert resumption.items_since(Cluster.everything.get(), version, KINDS) == []


def test_a_stored_gap_is_a_gap_for_the_next_process() -> None:
    server, following = Server(), Following()
    for kind in KINDS:
        following.take(server.list(kind))
    following.writer.close_gap()
    version = server.version
    for step in ("break", "create", "create", "relist"):
        for item in server.step(step, 0):
            following.take(item)
    items = resumption.items_since(Cluster.everything.get(), version, KINDS)
    assert [(item.kind, item.after) for item in items if isinstance(item, Gap)] == [("Pod", version)]


def test_another_configuration_is_a_change_with_its_time() -> None:
    server, following = Server(), Following()
    for kind in KINDS:
        following.take(server.list(kind))
    following.writer.close_gap()
    following.begin_judging()
    following.kill(stores_first=True)
    following.kill(stores_first=True)
    assert Cluster.everything.get().report["configuration_changes"] == []
    following.start["release"] = "1.35"
    before = time.time()
    following.kill(stores_first=True)
    following.kill(stores_first=True)
    (change,) = Cluster.everything.get().report["configuration_changes"]
    assert before <= change["time"] <= time.time()
    assert (change["before"], change["after"]) == ("", "")
