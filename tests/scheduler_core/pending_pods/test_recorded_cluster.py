"""Answers for a recorded cluster: those that follow changes are those of a new start, and they hold."""

from pathlib import Path

import pytest

from scheduler_core.api.objects import Object, Pod
from scheduler_core.live import recorded_folder
from scheduler_core.live.cluster_mirror import ClusterMirror
from scheduler_core.live.ordering import in_order
from scheduler_core.pending_pods import answer as answers_module
from scheduler_core.pending_pods.answer import PendingAnswers
from scheduler_core.pending_pods.pending_answer import NEVER, NOT_NOW, PendingAnswer
from scheduler_core.releases import get_release
from tests.recordings import LIVE_A, LIVE_B
from tests.scheduler_core.pending_pods.mirrors import answers_of, fits

KINDS = ("Node", "Pod", "Namespace", "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSINode")


def objects_of(mirror: ClusterMirror) -> list[Object]:
    return [obj for kind in KINDS for obj in mirror.store.objects(kind)]


def check(mirror: ClusterMirror, found: PendingAnswer) -> None:
    objects = objects_of(mirror)
    if found.details.leaving:
        named = {one.pod for one in found.details.leaving}
        left = [obj for obj in objects if not (isinstance(obj, Pod) and obj.key in named)]
        assert fits(left, found.key, mirror.release.name), found.sentence
    elif found.category in (NEVER, NOT_NOW):
        assert not fits(objects, found.key, mirror.release.name), found.sentence


def differences(answers: PendingAnswers, now: float) -> list[tuple[str, str, str]]:
    """Return (pod, answer, answer of a new start) where category or cause differ."""
    fresh = answers_of(answers.mirror)
    fresh.update(now, limit=600)
    keys = fresh.answers.keys() | answers.answers.keys()
    pairs = [(key, answers.answers.get(key), fresh.answers.get(key)) for key in sorted(keys)]
    return [
        (key, one.sentence if one else "none", other.sentence if other else "none")
        for key, one, other in pairs
        if (one and (one.category, one.cause)) != (other and (other.category, other.cause))
    ]


@pytest.mark.long
@pytest.mark.parametrize("folder", [LIVE_A, LIVE_B])
def test_a_recorded_cluster(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers_module, "FIX_PAUSE", 1e9)
    items = list(recorded_folder.read(folder))
    mirror = ClusterMirror(get_release("1.36"))
    answers = answers_of(mirror)
    for number, item in enumerate(in_order(iter(items), {item.kind for item in items})):
        answers.note(mirror.apply(item))
        if number % 37 == 0:
            answers.update(mirror.time, limit=60)
        if number % 740 == 0:
            assert differences(answers, mirror.time) == []
            for found in list(answers.answers.values())[:: max(len(answers.answers) // 20, 1)]:
                check(mirror, found)
