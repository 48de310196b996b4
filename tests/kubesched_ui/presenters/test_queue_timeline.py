"""Queue sizes over virtual time equal those of a replay of the moves, one by one."""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesched_ui.event_log.queue_sizes import LANE, LANES, NOWHERE, Columns, Move, decode, encode
from kubesched_ui.event_log.timeline_markers import KINDS, TRACK, TimelineMark
from kubesched_ui.models import Run
from kubesched_ui.presenters import queue_timeline

LENGTH = 20.0


@st.composite
def recordings(draw: Any) -> queue_timeline.Recording:
    """Draw pods that are bound before the run, moves of a few pods at a few times, and markers."""
    begun = draw(st.integers(0, 6))
    steps = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, len(LANES) - 1)), max_size=60))
    where: dict[str, int] = {}
    index: dict[str, int] = {}
    moves: list[Move] = []

    def move(t: float, pod: str, lane: int, seq: int) -> None:
        number = index.setdefault(pod, len(index))
        moves.append(Move(t, number, lane, where.get(pod, NOWHERE), seq))
        where[pod] = lane

    for pod in range(begun):
        move(0.0, f"ns/{pod}", LANE["bound"], 1)
    t = 0.0
    for seq, (later, pod, lane) in enumerate(steps, 2):
        t += later / 8
        move(t, f"ns/{pod}", lane, seq)
    batches = draw(st.integers(1, 4))
    cuts = [len(moves) * n // batches for n in range(batches + 1)]
    seen = -1
    texts = []
    for first, last in pairwise(cuts):
        if last > first:
            newest = max(seen, *(m.pod for m in moves[first:last]))
            texts.append(encode(moves[first:last], list(index)[seen + 1 : newest + 1]))
            seen = newest
    columns = decode(texts)
    kinds = draw(st.lists(st.tuples(st.integers(0, 160), st.sampled_from(KINDS)), max_size=12))
    marks = [TimelineMark(eighths / 8, kind, "", "", n, kind) for n, (eighths, kind) in enumerate(sorted(kinds))]
    moments = np.unique([0.0, *columns.t.tolist(), *(mark.t for mark in marks)])
    return queue_timeline.Recording(columns, begun, marks, moments, max(LENGTH, float(moments[-1])))


def replay(columns: Columns, done: int) -> dict[str, str]:
    """Return pod -> queue after so many moves."""
    found: dict[str, str] = {}
    for pod, lane in zip(columns.pod[:done].tolist(), columns.lane[:done].tolist(), strict=True):
        found[columns.names[pod]] = LANES[lane]
    return found


def given_to(recording: queue_timeline.Recording) -> Any:
    return mock.patch.object(queue_timeline, "recording_of", return_value=recording)


@given(recordings())
def test_encoded_columns_are_decoded(recording: queue_timeline.Recording) -> None:
    columns = recording.columns
    assert len(columns.names) == len({*columns.pod.tolist()})
    where: dict[int, int] = {}
    for pod, lane, left in zip(columns.pod.tolist(), columns.lane.tolist(), columns.left.tolist(), strict=True):
        assert left == where.get(pod, NOWHERE)
        where[pod] = lane
    assert columns.t.tolist() == sorted(columns.t.tolist())
    assert columns.seq.tolist() == sorted(columns.seq.tolist())


@given(recordings(), st.integers(1, 30), st.floats(0, 25), st.floats(0, 25))
def test_sizes_are_the_largest_of_each_interval(
    recording: queue_timeline.Recording, bins: int, one: float, other: float
) -> None:
    start, end = sorted((one, other))
    with given_to(recording):
        found = queue_timeline.overview(Run(), bins, start, end)
    edges = np.linspace(found["from"], found["to"], bins + 1).tolist()
    t = recording.columns.t.tolist()
    for part in range(bins):
        last = part == bins - 1
        inside = [
            n + 1 for n, at in enumerate(t) if edges[part] <= at < edges[part + 1] or (last and at == edges[part + 1])
        ]
        before = sum(at < edges[part] for at in t)
        counts = [Counter(replay(recording.columns, done).values()) for done in [before, *inside]]
        for place, lane in enumerate(found["lanes"]):
            assert found["sizes"][place][part] == max(count[lane] for count in counts)


@given(recordings(), st.integers(1, 20), st.integers(1, 4))
def test_every_interval_is_exact(recording: queue_timeline.Recording, size: int, most: int) -> None:
    with (
        given_to(recording),
        mock.patch.object(queue_timeline, "STRETCH", size),
        mock.patch.object(queue_timeline, "NEWEST", most),
    ):
        t, seen, moments, parts = 0.0, recording.begun, [], 0
        while True:
            found = queue_timeline.stretch(Run(), t)
            assert found["from"] == t
            moves = found["moves"]
            count = len(moves["t"])
            check_beginning(recording, seen, found, most)
            columns = recording.columns
            assert moves["t"] == columns.t[seen : seen + count].tolist()
            assert [found["pods"][pod] for pod in moves["pod"]] == [
                columns.names[pod] for pod in columns.pod[seen : seen + count].tolist()
            ]
            assert moves["lane"] == columns.lane[seen : seen + count].tolist()
            assert moves["seq"] == columns.seq[seen : seen + count].tolist()
            moments += found["moments"]
            seen, t, parts = seen + count, found["to"], parts + 1
            if t == recording.until:
                break
            assert queue_timeline.stretch(Run(), t - 1e-6)["from"] == found["from"]
        assert seen == len(recording.columns.t)
        assert parts <= 1 + (seen - recording.begun) / size
        assert moments == [*(m for m in recording.moments.tolist() if m < recording.until), recording.until]


def check_beginning(recording: queue_timeline.Recording, done: int, found: dict[str, Any], most: int) -> None:
    """Counts include all pods. Of the pods that do not move, the newest are listed in order."""
    where = replay(recording.columns, done)
    counts = Counter(where.values())
    assert found["counts"] == [counts[lane] for lane in LANES]
    order = [recording.columns.names[pod] for pod in recording.columns.pod[:done].tolist()]
    moving = {found["pods"][pod] for pod in found["moves"]["pod"]}
    for place, lane in enumerate(LANES):
        pods = sorted((pod for pod in where if where[pod] == lane), key=lambda pod: len(order) - order[::-1].index(pod))
        still = [pod for pod in pods if pod not in moving]
        assert [found["pods"][pod] for pod in found["there"][place]] == [
            pod for pod in pods if pod in moving or pod in still[-most:]
        ]


@given(recordings(), st.integers(1, 30))
def test_no_marker_is_lost(recording: queue_timeline.Recording, bins: int) -> None:
    with given_to(recording):
        rows = queue_timeline.overview(Run(), bins)["track"]
    assert [row["row"] for row in rows] == list(TRACK)
    counted: Counter[str] = Counter()
    for row in rows:
        places = [mark["t"] for mark in row["marks"]]
        assert len(places) <= bins * len(TRACK[row["row"]])
        for mark in row["marks"]:
            assert mark["kind"] in TRACK[row["row"]]
            assert 0 < len(mark["texts"]) <= min(3, mark["count"])
            assert mark["t"] <= mark["to"] <= mark["t"] + recording.until / bins + 1e-9
            counted[mark["kind"]] += mark["count"]
    assert counted == Counter(mark.kind for mark in recording.marks)


def test_every_kind_of_marker_has_text_and_a_shape() -> None:
    folder = Path(__file__).parents[3] / "static" / "js" / "timeline"
    for file in ("event_track.js", "drawing.js"):
        text = (folder / file).read_text()
        assert [kind for kind in KINDS if not re.search(rf"^  {kind}: ", text, re.M)] == [], file
    styles = (folder.parents[1] / "css" / "timeline.css").read_text()
    assert [kind for kind in KINDS if kind != "changed" and f".mark-{kind}" not in styles] == []


@pytest.mark.django_db
def test_a_queued_run_has_empty_queues() -> None:
    from kubesched_ui.models import Scenario

    run = Run.objects.create(scenario=Scenario.objects.create(name="s"), in_time=True, until=60)
    assert queue_timeline.overview(run, 10)["to"] == 0
    assert queue_timeline.stretch(run, 5)["moves"]["t"] == []
    assert queue_timeline.moves(run, 0)["moves"] == []
