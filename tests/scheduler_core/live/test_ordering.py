import random

from scheduler_core.api.objects import Object
from scheduler_core.live.ordering import Ordering, in_order
from scheduler_core.live.watch_events import Bookmark, Gap, Listed, WatchEvent


def change(kind, version):
    return WatchEvent(kind, "MODIFIED", f"{kind}-{version}", version, Object(), float(version))


def test_a_change_waits_until_every_kind_is_known_beyond_it():
    ordering = Ordering(["Pod", "Node"])
    assert len(list(ordering.add(Listed("Pod", 5, (), 0.0)))) == 1
    assert len(list(ordering.add(Listed("Node", 6, (), 0.0)))) == 1
    assert not list(ordering.add(change("Pod", 8)))
    assert [item.resource_version for item in ordering.add(change("Node", 7))] == [7]
    assert [item.resource_version for item in ordering.add(Bookmark("Node", 9, 1.0))] == [8]
    assert ordering.resource_version == 8


def test_a_refused_kind_is_not_waited_for():
    ordering = Ordering(["Pod", "Node"])
    assert not list(ordering.add(change("Pod", 8)))
    assert list(ordering.forget("Node")) == [change("Pod", 8)]
    assert list(ordering.add(change("Pod", 9))) == [change("Pod", 9)]


def test_events_hold_nothing_back():
    ordering = Ordering(["Pod", "Event"])
    assert list(ordering.add(change("Pod", 8))) == [change("Pod", 8)]


def test_a_gap_comes_before_the_changes_after_it():
    ordering = Ordering(["Pod", "Node"])
    released = [
        *ordering.add(Gap("Pod", 4, 20, 0.0)),
        *ordering.add(change("Pod", 20)),
        *ordering.add(change("Node", 9)),
    ]
    assert released == [Gap("Pod", 4, 20, 0.0), change("Node", 9)]
    assert list(ordering.flush()) == [change("Pod", 20)]


def test_a_second_list_waits_for_the_changes_before_it():
    ordering = Ordering(["Pod", "Node"])
    first, again = Listed("Pod", 5, (), 0.0), Listed("Pod", 12, (), 2.0)
    released = [*ordering.add(first), *ordering.add(Listed("Node", 6, (), 0.0))]
    assert not [*ordering.add(change("Pod", 8)), *ordering.add(Gap("Pod", 8, 12, 2.0)), *ordering.add(again)]
    assert list(ordering.add(Bookmark("Node", 12, 3.0))) == [
        change("Pod", 8),
        Gap("Pod", 8, 12, 2.0),
        again,
        Bookmark("Node", 12, 3.0),
    ]
    assert released[0] == first


def test_a_list_of_another_store_comes_after_the_changes_of_the_former_one():
    ordering = Ordering(["Pod", "Node"])
    for kind in ("Pod", "Node"):
        assert list(ordering.add(Listed(kind, 50, (), 0.0)))
    assert not list(ordering.add(change("Pod", 60)))
    new = Listed("Pod", 7, (), 1.0)
    assert list(ordering.add(new)) == [change("Pod", 60), new]
    assert not list(ordering.add(change("Pod", 9)))
    nodes = Listed("Node", 8, (), 1.0)
    assert list(ordering.add(nodes)) == [nodes]
    assert list(ordering.add(Bookmark("Node", 10, 1.0))) == [change("Pod", 9)]


def test_any_interleaving_of_kinds_gives_one_order():
    rng = random.Random(3)
    versions = {kind: sorted(rng.sample(range(1000), 60)) for kind in ("Pod", "Node", "Service")}
    taken = {version for listed in versions.values() for version in listed}
    for _ in range(20):
        left, arrived = {kind: list(listed) for kind, listed in versions.items()}, []
        while any(left.values()):
            kind = rng.choice([kind for kind, rest in left.items() if rest])
            arrived.append(change(kind, left[kind].pop(0)))
        ordered = [item.resource_version for item in in_order(iter(arrived), versions)]
        assert ordered == sorted(ordered)
        assert set(ordered) == taken


def test_a_forgotten_kind_is_waited_for_again_once_it_is_listed() -> None:
    ordering = Ordering(["Node", "Pod"])
    list(ordering.add(Listed("Node", 5, (), 0.0)))
    list(ordering.add(Listed("Pod", 5, (), 0.0)))
    list(ordering.forget("Node"))
    assert list(ordering.add(Bookmark("Pod", 9, 0.0))) == [Bookmark("Pod", 9, 0.0)]
    list(ordering.add(Listed("Node", 10, (), 0.0)))
    assert list(ordering.add(Bookmark("Pod", 12, 0.0))) == []
    assert len(list(ordering.add(Bookmark("Node", 12, 0.0)))) == 2
