"""Answers hold in simulations that know nothing of the analysis, and are those of a snapshot of the cluster."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.api.objects import Object, Pod, decode_all
from scheduler_core.framework.causes import WAITS
from scheduler_core.pending_pods.pending_answer import UNDECIDED, PendingAnswer
from scheduler_core.releases import RELEASES
from scheduler_core.simulation import Simulation
from scheduler_core.suggestions.answers import answers_of as answers_of_simulation
from tests.random_clusters import random_cluster
from tests.scheduler_core.pending_pods.mirrors import NOW, answers_of, fits, mirror_of, rejected


def without(objects: list[Object], gone: Any) -> list[Object]:
    """Return the objects without some pods. `gone`: tells whether a pod is one of them."""
    return [obj for obj in objects if not (isinstance(obj, Pod) and gone(obj))]


def check(objects: list[Object], found: PendingAnswer, release: str) -> None:
    key, leaving = found.key, {one.pod for one in found.details.leaving}
    if leaving:
        assert fits(without(objects, lambda pod: pod.key in leaving), key, release), found.sentence
    if found.cause == WAITS:
        assert fits(objects, key, release), found.sentence
    elif found.category != UNDECIDED:
        assert not fits(objects, key, release), found.sentence


def check_cluster(seed: int, release: str) -> int:
    """Check all answers. Return how many sentences were compared with those of a snapshot."""
    raws = random_cluster(seed)["objects"]
    for raw in raws:
        if raw["kind"] == "Pod" and not raw["spec"].get("nodeName"):
            rejected(raw)
    objects = decode_all(raws)
    answers = answers_of(mirror_of(copy.deepcopy(objects), release))
    assert not answers.update(NOW, limit=60).outdated
    simulation = Simulation(copy.deepcopy(objects), release=release, tie_break="name")
    groups = answers_of_simulation(simulation, fixes=False)
    sentences = {pod: group.answer.sentence for group in groups for pod in group.pods}
    compared = 0
    for found in answers.answers.values():
        check(objects, found, release)
        if found.details.answer is not None:
            assert found.sentence == found.details.answer.sentence == sentences[found.key]
            compared += 1
    return compared


@pytest.mark.parametrize("release", ["1.16", "1.19", "1.24", "1.30", "1.36"])
def test_a_random_cluster(release: str) -> None:
    assert check_cluster(11, release) > 3


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(st.integers(0, 100_000), st.sampled_from(list(RELEASES)))
def test_random_clusters(seed: int, release: str) -> None:
    check_cluster(seed, release)
