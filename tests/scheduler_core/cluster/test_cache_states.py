"""States of a pod in the scheduler cache and their transitions.

Source: pkg/scheduler/backend/cache/interface.go.
"""

from collections.abc import Callable

import pytest

from scheduler_core.cluster.cache_states import CacheState, Lifecycle
from tests.scheduler_core.build import cluster, info, node, pod


class CachedPod:
    """A pod and its transitions."""

    def __init__(self) -> None:
        self.cluster, _ = cluster(node("n1"), node("n2"))
        self.life = Lifecycle(self.cluster)
        self.pod = info(pod("a"))
        self.moves: dict[str, Callable[[], object]] = {
            "assume": lambda: self.life.assume(self.pod, "n1"),
            "finish": lambda: self.life.finish_binding(self.pod),
            "forget": lambda: self.life.forget(self.pod),
            "add": lambda: self.life.add(self.pod, "n1"),
            "update": lambda: self.life.update(self.pod, info(pod("a"))),
            "remove": lambda: self.life.remove(self.pod),
        }

    def make(self, *moves: str) -> CacheState | None:
        for move in moves:
            self.moves[move]()
        return self.life.state_of(self.pod.key)


@pytest.mark.parametrize(
    ("moves", "state"),
    [
        ("assume", CacheState.ASSUMED),
        ("assume finish", CacheState.FINISHED),
        ("assume finish add", CacheState.ADDED),
        ("assume add", CacheState.ADDED),
        ("add", CacheState.ADDED),
        ("add update", CacheState.ADDED),
        ("assume forget", None),
        ("assume finish forget", None),
        ("add remove", None),
        ("add remove add", CacheState.ADDED),
    ],
)
def test_possible_transitions(moves: str, state: CacheState | None) -> None:
    one = CachedPod()
    assert one.make(*moves.split()) == state
    assert (one.pod.key in one.cluster.pods) == (state is not None)


@pytest.mark.parametrize(
    "moves",
    [
        *("finish", "forget", "update", "remove"),
        *("assume assume", "assume update", "assume remove", "assume finish finish", "assume finish assume"),
        *("add add", "add assume", "add finish", "add forget", "assume finish update", "assume finish remove"),
        *("assume forget forget", "add remove remove"),
    ],
)
def test_impossible_transitions_are_rejected(moves: str) -> None:
    *before, last = moves.split()
    one = CachedPod()
    state = one.make(*before)
    with pytest.raises(RuntimeError, match=f"cannot {last}"):
        one.moves[last]()
    assert one.life.state_of(one.pod.key) == state


def test_a_confirmation_may_name_another_node() -> None:
    one = CachedPod()
    one.make("assume", "finish")
    one.life.add(one.pod, "n2")
    assert one.cluster.pods[one.pod.key].node == "n2"
    assert not one.cluster.nodes.entries["n1"].pods
