"""Every binding that a source yields is in exactly one outcome, whatever happens to the source."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.live.ordering import Ordering
from scheduler_core.live.watch_events import Item
from scheduler_core.releases import get_release
from scheduler_core.shadow.judge import Judge
from scheduler_core.shadow.judgement import OUTCOMES
from tests.scheduler_core.shadow.random_server import KINDS, STEPS, Server


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 11)), max_size=60), st.booleans())
@settings(max_examples=150, deadline=None)
def test_every_binding_is_in_one_outcome(steps: list[tuple[str, int]], late_kind: bool) -> None:
    server, ordering, judge = Server(), Ordering(KINDS), Judge(get_release("1.36"))
    judgements = []
    position = 0

    def feed(items: Iterable[Item]) -> None:
        nonlocal position
        for item in items:
            judgements.extend(judge.feed(item))
            assert judge.settled_version >= position
            position = judge.settled_version

    for kind in KINDS[: 3 if late_kind else 4]:
        feed(ordering.add(server.list(kind)))
    for number, (step, choice) in enumerate(steps):
        for item in server.step(step, choice):
            feed(ordering.add(item))
        if late_kind and number == len(steps) // 2:
            feed(ordering.add(server.list("PersistentVolume")))
    # all judgements up to the settled version have been yielded
    there = {(one.pod, one.resource_version) for one in judgements}
    assert {one for one in server.seen if one[1] <= position} <= there
    feed(ordering.flush())
    judgements.extend(judge.finish())
    decisions = [(one.pod, one.resource_version) for one in judgements if one.kind == "decision"]
    assert sorted(decisions) == sorted(server.seen)
    summary = judge.summary()
    assert summary["decisions"] == len(server.seen) == sum(summary["classes"].values())
    assert set(summary["classes"]) <= set(OUTCOMES)


@pytest.mark.parametrize("seed", [*range(20), 991])
def test_another_store_replaces_all_objects(seed: int) -> None:
    rng = random.Random(seed)
    server, ordering, judge = Server(), Ordering(KINDS), Judge(get_release("1.36"))
    decisions = []

    def feed(items: Iterable[Item]) -> None:
        for item in items:
            decisions.extend(one for one in judge.feed(item) if one.kind == "decision")

    for kind in KINDS:
        feed(ordering.add(server.list(kind)))
    for _ in range(60):
        if rng.random() < 0.08:
            items = server.replace(rng)
        else:
            items = server.step(rng.choice(STEPS), rng.randrange(12))
        for item in items:
            feed(ordering.add(item))
    for item in server.bookmarks():
        feed(ordering.add(item))
    assert not ordering.waiting
    decisions.extend(one for one in judge.finish() if one.kind == "decision")
    for kind in KINDS:
        assert judge.mirror.store.by_key(kind) == server.objects[kind]
    judge.mirror.cluster.nodes.refresh()
    assert set(judge.mirror.cluster.nodes.rows) == set(server.objects["Node"])
    assert set(judge.mirror.pods) == set(server.objects["Pod"])
    assert sorted((one.pod, one.resource_version) for one in decisions) == sorted(server.seen)
    assert judge.summary()["decisions"] == len(server.seen)
