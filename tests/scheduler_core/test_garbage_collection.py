"""Objects stay exempt from garbage collection until unfreeze_objects()."""

import gc

from scheduler_core.garbage_collection import freeze_objects, unfreeze_objects, without_collecting


def test_without_collecting_keeps_frozen_objects() -> None:
    freeze_objects()
    frozen = gc.get_freeze_count()
    with without_collecting():
        assert not gc.isenabled()
    assert gc.get_freeze_count() >= frozen * 0.9
    assert gc.isenabled()


def test_without_collecting_moves_new_objects_to_the_oldest_generation() -> None:
    unfreeze_objects()
    try:
        with without_collecting():
            made = [[] for _ in range(1000)]  # type: ignore[var-annotated]
        assert gc.get_freeze_count() == 0
        assert not {id(item) for item in made} & {id(item) for item in gc.get_objects(0)}
    finally:
        freeze_objects()
