"""The claims `never` and `not now` hold in simulations that know nothing of the analysis."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.api.objects import Object, Pod, decode_all
from scheduler_core.pending_pods.pending_answer import FITS_NOW, NO_NODE_FITS, PendingAnswer
from scheduler_core.releases import RELEASES
from tests.random_clusters import random_cluster
from tests.scheduler_core.pending_pods.mirrors import NOW, answers_of, fits, mirror_of, rejected


def without(objects: list[Object], gone: Any) -> list[Object]:
    """Return the objects without some pods. `gone`: tells whether a pod is one of them."""
    return [obj for obj in objects if not (isinstance(obj, Pod) and gone(obj))]


def check(objects: list[Object], found: PendingAnswer, release: str) -> None:
    key = found.key
    if found.category == "not now":
        named = {one.pod for one in found.details.in_the_way}
        assert named, found.sentence
        assert not fits(objects, key, release), found.sentence
        assert fits(without(objects, lambda pod: pod.key in named), key, release), found.sentence
    elif found.cause == NO_NODE_FITS:
        assert not fits(objects, key, release), found.sentence
        assert not fits(without(objects, lambda pod: pod.key != key), key, release), found.sentence
        for node in {obj.spec.node_name for obj in objects if isinstance(obj, Pod)} - {""}:
            assert not fits(without(objects, lambda pod, node=node: pod.spec.node_name == node), key, release)
    elif found.cause == FITS_NOW:
        assert fits(objects, key, release), found.sentence


def check_cluster(seed: int, release: str) -> None:
    raws = random_cluster(seed)["objects"]
    for raw in raws:
        if raw["kind"] == "Pod" and not raw["spec"].get("nodeName"):
            rejected(raw)
    objects = decode_all(raws)
    answers = answers_of(mirror_of(copy.deepcopy(objects), release))
    assert not answers.update(NOW, limit=60).outdated
    for found in answers.answers.values():
        check(objects, found, release)


@pytest.mark.parametrize("release", ["1.16", "1.19", "1.24", "1.30", "1.36"])
def test_a_random_cluster(release: str) -> None:
    check_cluster(11, release)


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(st.integers(0, 100_000), st.sampled_from(list(RELEASES)))
def test_random_clusters(seed: int, release: str) -> None:
    check_cluster(seed, release)
