"""Event series of the event recorder: repetitions, and what the API server stores."""

import pytest

from kubesched_ui.lessons.event_recorder import recorded

FAILED = "FailedScheduling"


@pytest.mark.parametrize(
    ("times", "end", "objects"),
    [
        ([0], 100, [(1, 1)]),
        ([0, 10], 100, [(2, 2)]),
        ([0, 10, 20, 30], 100, [(4, 2)]),  # later repetitions are only counted
        ([0, 10, 20], 800, [(3, 3)]),  # the end of the series writes its count
        ([*range(0, 1801, 300)], 1801, [(7, 6)]),  # counts are written every half an hour
        ([*range(0, 1500, 300)], 1500, [(5, 2)]),
        ([0, 721], 800, [(1, 1), (1, 1)]),  # a single event expires, too
        ([0, 350], 800, [(2, 2)]),
    ],
)
def test_counts(times: list[float], end: float, objects: list[tuple[int, int]]) -> None:
    found = recorded([(t, FAILED, 0, f"message {t}") for t in times], end)
    assert [(event.count, event.written) for event in found] == objects
    assert found[0].note == "message 0"


def test_another_reason_is_another_event() -> None:
    found = recorded([(0, FAILED, 0, "no"), (5, "Scheduled", 0, "yes"), (6, FAILED, 0, "no")], 10)
    assert [(event.reason, event.count) for event in found] == [(FAILED, 2), ("Scheduled", 1)]


def test_another_version_of_the_pod_is_another_event() -> None:
    """The event that reports a changed message is still about the version before: the status is written after it."""
    versions = [(0, FAILED, 0, "old"), (10, FAILED, 1, "old"), (20, FAILED, 1, "new"), (30, FAILED, 2, "new")]
    found = recorded(versions, 40)
    assert [(event.note, event.count) for event in found] == [("old", 1), ("old", 2), ("new", 1)]
