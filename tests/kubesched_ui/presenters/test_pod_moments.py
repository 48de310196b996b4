"""The timeline of a pod in a single pass: its place in the queue, its cycles, and what happened to it later."""

import pytest
from django.test import Client

from kubesched_ui.event_log.log import RunLog
from kubesched_ui.models import PodResult, Run
from kubesched_ui.presenters.cycle_presenter import POINTS, steps
from kubesched_ui.presenters.pod_moments import QueuePlace, place_of
from kubesched_ui.runs.tasks import record
from kubesched_ui.work.models import Cancelled
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db


def moments(client: Client, run: Run, name: str) -> list[tuple[str, str, str]]:
    found = client.get(f"/runs/{run.pk}/pods/default/{name}/").context["moments"]
    return [(one.when, one.what, one.why) for one in found]


def test_places_are_those_of_the_queue(client: Client) -> None:
    run = ran(scenario(node("n1"), pod("a"), pod("b"), pod("urgent", priority=5)))
    places = {name: moments(client, run, name)[0] for name in ("urgent", "a", "b")}
    assert places == {
        "urgent": ("start", "Place 1 of 3 in the queue", "The first."),
        "a": ("start", "Place 2 of 3 in the queue", "1 pod was tried before it."),
        "b": ("start", "Place 3 of 3 in the queue", "2 pods were tried before it."),
    }
    assert moments(client, run, "b")[1][:2] == ("cycle 3", "The scheduling cycle began")
    assert run.remaining == []


def test_a_preemptor_and_its_victim(client: Client) -> None:
    run = ran(scenario(node("n1"), pod("low", "3"), pod("boss", "3", priority=9, schedulerName="other")), unbind=[])
    assert [what for _, what, _ in moments(client, run, "low")] == [
        "Place 1 of 1 in the queue", "The scheduling cycle began",
    ]  # fmt: skip
    victim = pod("victim", "3", on="n1") | {"status": {"phase": "Running"}}
    run = ran(scenario(node("n1"), victim, pod("first", "1"), pod("boss", "3", priority=9)))
    assert moments(client, run, "boss")[2] == ("cycle 1", "Nominated to n1", "Preemption evicts default/victim.")
    run = ran(scenario(node("n1"), pod("a", "3"), pod("boss", "3", priority=9)), pods=["default/a", "default/boss"])
    assert moments(client, run, "a")[-1] == ("cycle 2", "Evicted", "Preemption for default/boss.")


def test_the_place_of_a_pod_that_waits(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.conf.settings.RUN_BATCH_S", 0)
    stored = scenario(node("n1"), pod("bound", on="n1"), *(pod(f"p{number}", "100m") for number in range(9)))
    run = Run.objects.create(scenario=stored, tie_break=Run.TieBreak.NAME)
    assert place_of(run, "default/p8", None) is None
    claimed = Run.objects.claim(run.pk, "test")
    assert claimed
    seen: list[QueuePlace | None] = []

    def look(seq: int) -> None:
        now = Run.objects.get(pk=run.pk)
        result = PodResult.objects.filter(run=run, name="p8").first()
        seen.append(place_of(now, "default/p8", result))
        if now.cycles_done == 3:
            page = client.get(f"/runs/{run.pk}/pods/default/p8/").content.decode()
            assert 'data-ahead="5"' in page
            assert "5 pods are tried before it." in page
            bound = client.get(f"/runs/{run.pk}/pods/default/bound/").content.decode()
            assert "This run does not schedule this pod" in bound
            Run.objects.filter(pk=run.pk).update(cancel_requested=True)

    with pytest.raises(Cancelled):
        record(claimed, RunLog(claimed, look))
    assert len(seen) >= 4
    assert [place and (place.number, place.total, place.ahead) for place in seen] == [
        (9, 9, ahead) for ahead in (8, 7, 6, 5, 4)[: len(seen)]
    ]
    Run.objects.filter(pk=run.pk).update(state=Run.State.CANCELLED)
    assert moments(client, run, "p8") == [("end", "Place 9 of 9 in the queue", "The run ended before its turn.")]


def test_steps_have_the_recorded_durations() -> None:
    results = {"prefilter": ("pass", ""), "filter": ("pass", "1 of 1 fit"), "bind": ("pass", "n1")}
    found = steps(results, POINTS, {"filter": 250_000, "prefilter": 0})
    assert [(step.key, step.seconds) for step in found] == [("prefilter", None), ("filter", 0.00025), ("bind", None)]
