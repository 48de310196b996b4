"""Run queue: order, estimates and time limits."""

import re
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from kubesched_ui.ingest import ingest_files
from kubesched_ui.ingest.store import store
from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs import estimate, queue, services, tasks
from kubesched_ui.runs.services import RunSettings
from kubesched_ui.work.turns import user_key
from scheduler_core.api import duration
from tests.kubesched_ui.clusters import as_list, node, pod

SHORT, LONG = Run.Lane.SHORT, Run.Lane.LONG


def small(pods: int = 3) -> Scenario:
    return store(ingest_files([("a.json", as_list(node("n"), *(pod(f"p{i}") for i in range(pods))))]), "small")


def queued(scenario: Scenario, lane: str = LONG, **columns: Any) -> Run:
    return Run.objects.create(**{"scenario": scenario, "lane": lane, "heartbeat_at": timezone.now()} | columns)


def running(scenario: Scenario, lane: str = LONG, **columns: Any) -> Run:
    state = {"state": "running", "worker": "w", "started_at": timezone.now()}
    return queued(scenario, lane, **state | columns)


@pytest.fixture
def users(db: None) -> list[User]:
    return [User.objects.create(username=name) for name in ("ada", "bob", "eve")]


def run_names(lane: str = LONG) -> list[str]:
    return [Run.objects.get(pk=run.pk).name for run in queue.queue_order(lane)]


def test_users_take_turns(users: list[User]) -> None:
    scenario, (ada, bob, eve) = small(), users
    for number in (1, 2, 3):
        queued(scenario, owner=ada, name=f"ada {number}")
    queued(scenario, owner=bob, name="bob 1")
    queued(scenario, owner=bob, name="bob 2", low=True)
    queued(scenario, owner=eve, name="eve 1")
    assert run_names() == ["ada 1", "bob 1", "eve 1", "ada 2", "ada 3", "bob 2"]
    running(scenario, owner=ada)
    assert run_names() == ["bob 1", "eve 1", "ada 1", "ada 2", "ada 3", "bob 2"]
    Run.objects.filter(state="running").update(state="done")
    assert run_names()[0] == "bob 1"  # one of her runs has started since


def test_without_accounts_scenarios_take_turns(db: None) -> None:
    first, second = small(), small()
    for number in (1, 2):
        queued(first, name=f"first {number}")
    queued(second, name="second 1")
    queued(first, name="before there were lanes", lane="")
    assert run_names() == ["first 1", "second 1", "first 2", "before there were lanes"]


def test_a_user_has_a_limited_number_of_active_long_runs(users: list[User], settings: Any) -> None:
    scenario, (ada, bob, _) = small(), users
    settings.RUN_LONG_PER_PERSON = 1
    mine, mine_too, hers = (queued(scenario, owner=who) for who in (ada, ada, bob))
    assert queue.claim_next(LONG, "a") == mine
    assert queue.claim_next(LONG, "b") == hers
    assert queue.claim_next(LONG, "c") is None
    assert queue.claim_next(SHORT, "c") is None
    Run.objects.filter(pk=mine.pk).update(state="done")
    assert queue.claim_next(LONG, "c") == mine_too


def test_short_runs_are_unlimited_and_do_not_wait_for_long_ones(users: list[User], settings: Any) -> None:
    scenario, (ada, *_) = small(), users
    settings.RUN_LONG_PER_PERSON = 1
    running(scenario, owner=ada)
    queued(scenario, owner=ada)
    some = [queued(scenario, SHORT, owner=ada) for _ in range(2)]
    assert [queue.claim_next(SHORT, "a"), queue.claim_next(SHORT, "b")] == some


def test_a_run_of_a_lost_worker_is_claimed_again(db: None) -> None:
    lost = running(small(), heartbeat_at=timezone.now() - timedelta(minutes=5), worker="gone")
    taken = queue.claim_next(LONG, "new")
    assert taken == lost
    assert taken is not None
    assert taken.worker == "new"


@pytest.mark.django_db(transaction=True)
def test_a_short_run_finishes_while_a_long_one_is_blocked(sent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario, hold, began = small(), threading.Event(), threading.Event()
    recorded = tasks.record

    def record(run: Run, log: Any) -> None:
        if run.lane == LONG:
            began.set()
            hold.wait(60)
        recorded(run, log)

    monkeypatch.setattr(tasks, "record", record)
    long, short = queued(scenario, LONG), queued(scenario, SHORT)

    def work() -> None:
        tasks.take_long(long.pk)
        connection.close()

    worker = threading.Thread(target=work)
    worker.start()
    assert began.wait(60)
    tasks.take_short(short.pk)
    short.refresh_from_db()
    long.refresh_from_db()
    assert (short.state, long.state) == ("done", "running")
    hold.set()
    worker.join(60)
    long.refresh_from_db()
    assert long.state == "done"


@pytest.mark.django_db(transaction=True)
def test_a_message_triggers_the_next_run_of_the_queue(sent: list[tuple[str, int]], users: list[User]) -> None:
    scenario, (ada, bob, _) = small(), users
    over: list[int] = []
    services.run_finished.connect(lambda run_id, **_: over.append(run_id), weak=False, dispatch_uid="test")
    running(scenario, owner=ada, starts=1)
    hers, his = queued(scenario, owner=ada), queued(scenario, owner=bob)
    tasks.take_long(hers.pk)
    services.run_finished.disconnect(dispatch_uid="test")
    hers.refresh_from_db()
    his.refresh_from_db()
    assert (hers.state, his.state, over) == ("queued", "done", [his.pk])
    assert sent == [("kubesched.take_long", hers.pk)]


@pytest.mark.django_db(transaction=True)
def test_a_run_that_exceeds_the_short_limit_moves_to_the_long_queue(sent: list[tuple[str, int]], settings: Any) -> None:
    settings.RUN_BATCH_CYCLES = 1
    run = queued(small(5), SHORT)
    settings.RUN_SHORT_GRACE = 0
    tasks.take_short(run.pk)
    run.refresh_from_db()
    assert (run.state, run.lane, run.starts, run.error) == ("queued", "long", 0, "")
    assert run.estimate_s is not None
    assert ("kubesched.take_long", run.pk) in sent
    stored = run.cycles_done
    tasks.take_long(run.pk)
    run.refresh_from_db()
    assert (run.state, run.cycles_done, run.placed + run.unschedulable) == ("done", 5, 5)
    assert stored < 5


@pytest.mark.django_db(transaction=True)
def test_a_run_has_a_time_limit(sent: Any, settings: Any) -> None:
    settings.RUN_BATCH_CYCLES, settings.RUN_TIME_LIMIT_S = 1, 0
    run = queued(small(5), LONG)
    tasks.take_long(run.pk)
    run.refresh_from_db()
    assert (run.state, run.error) == ("failed", "The run exceeded the time limit of 0 s.")
    assert run.finished_at is not None


def test_the_estimate_selects_the_queue(db: None, sent: list[tuple[str, int]], settings: Any) -> None:
    scenario = small()
    assert scenario.pending == 3
    run = services.create_run(scenario, RunSettings(), low=True)
    services.enqueue(run.pk)
    run.refresh_from_db()
    assert (run.lane, run.low) == ("short", True)
    assert run.estimate_s is not None
    Scenario.objects.filter(pk=scenario.pk).update(counts={"Node": 5000, "Pod": 200_000}, pending=200_000)
    huge = services.create_run(scenario, RunSettings())
    services.enqueue(huge.pk)
    huge.refresh_from_db()
    assert huge.lane == "long"
    assert sent == [("kubesched.take_short", run.pk), ("kubesched.take_long", huge.pk)]


def test_estimates_use_the_durations_of_earlier_runs(db: None) -> None:
    scenario, other = small(), small()
    expected = estimate.before(scenario, "1.34", False)
    then = timezone.now()
    took = timedelta(seconds=expected.seconds * 10)
    done = {"state": "done", "starts": 1, "started_at": then, "finished_at": then + took, "cycles_done": 3}
    queued(scenario, release="1.34", **done)
    assert estimate.before(scenario, "1.34", False).seconds == pytest.approx(expected.seconds * 10, rel=0.5)
    assert (
        estimate.before(other, "1.34", False).seconds == expected.seconds
    )  # one run of another scenario is not enough
    assert estimate.before(other, "1.34", False).most > expected.most * 5  # the machine is busy
    for _ in range(2):
        queued(scenario, release="1.34", **done)
    assert estimate.before(other, "1.34", False).seconds > expected.seconds
    assert estimate.before(other, "1.34", True).pods == 3
    assert queue.estimate_text(estimate.Estimate(11, 3, 1, 12), other) == "About 11 s for 3 pods on 1 node."
    busy = f"About 11 s, up to {duration.span(108)} if the machine is busy, for 3 pods on 1 node."
    assert queue.estimate_text(estimate.Estimate(11, 3, 1, 108), other) == busy


def test_the_estimate_is_shown_before_the_start_and_while_queued(client: Client, db: None, settings: Any) -> None:
    settings.RUN_SHORT_SLOTS = settings.RUN_LONG_SLOTS = 1
    scenario = small()
    address = f"/api/scenarios/{scenario.pk}/estimate"
    answer = client.get(address).json()
    assert answer["sentence"] == answer["told"] == "Less than a second for 3 pods on 1 node."
    assert client.get(f"{address}?pods=1&release=1.27&in_time=true").json()["pods"] == 1
    assert client.get(f"{address}?release=9.9").status_code == 400
    assert client.get(f"{address}?pods=-1").status_code == 422
    running(scenario, LONG, estimate_s=100.0)
    queued(scenario, LONG, estimate_s=20.0)
    waits = queued(small(), LONG, low=True)
    found = client.get(f"/api/runs/{waits.pk}").json()
    assert found["waits"]["behind"] == 2
    assert 100 < found["waits"]["seconds"] <= 120
    page = client.get(f"/runs/{waits.pk}/").content.decode()
    assert "Waits behind 2 runs, about 2 min (lower priority)." in page or "Waits behind 2 runs, about 1 min" in page
    assert client.get(f"{address}?pods=1000000000").json()["sentence"].endswith(".")
    assert "waits behind 3 runs" in client.get(f"{address}?pods=1000000000").json()["sentence"]
    start = client.get(f"/scenarios/{scenario.pk}/").content.decode()
    assert "Less than a second for 3 pods on 1 node." in start
    changed = client.patch(f"/api/runs/{waits.pk}", {"low": False}, content_type="application/json")
    assert (changed.status_code, changed.json()["low"]) == (200, False)
    for says, low in (("Lower priority", "1"), ("Normal priority", "0")):
        assert says in client.get(f"/runs/{waits.pk}/").content.decode()
        client.post(f"/runs/{waits.pk}/yield/", {"low": low})
        waits.refresh_from_db()
        assert waits.low is (low == "1")


def test_a_run_that_waits_for_the_limit_of_its_user_says_so(client: Client, db: None, settings: Any) -> None:
    settings.RUN_LONG_SLOTS, settings.RUN_LONG_PER_PERSON, settings.RUN_SHORT_SECONDS = 2, 1, 0
    scenario = small()
    begun = running(scenario, LONG, estimate_s=100.0)
    waits = queued(scenario, LONG, estimate_s=20.0)
    assert queue.claim_next(LONG, "w") is None
    found = client.get(f"/api/runs/{waits.pk}").json()["waits"]
    assert (found["behind"], found["limit"]) == (1, 1)
    assert 50 < found["seconds"] <= 100
    says = (
        "Waits behind 1 long run of the same scenario, about [0-9a-z ]+: a scenario has at most 1 at once. "
        "To start it sooner, cancel one of those, or raise the limit with KUBESCHED_RUN_LONG_PER_PERSON."
    )
    assert re.search(says, client.get(f"/runs/{waits.pk}/").content.decode())
    text = client.get(f"/api/scenarios/{scenario.pk}/estimate").json()["sentence"]
    assert "waits behind 2 long runs of the same scenario" in text
    other = queued(small(), LONG)
    assert queue.queue_position(other) == (0, 0, 0)
    begun.state = "done"
    begun.save()
    assert queue.queue_position(waits) == (0, 0, 0)


def test_a_user_waits_for_the_limit_only_if_it_is_the_longer_wait(users: list[User], settings: Any) -> None:
    settings.RUN_LONG_SLOTS, settings.RUN_LONG_PER_PERSON = 2, 1
    scenario, (ada, bob, _) = small(), users
    running(scenario, owner=ada, estimate_s=10.0)
    running(scenario, owner=bob, estimate_s=100.0)
    own, later = (queued(scenario, owner=who, estimate_s=10.0) for who in (ada, bob))
    position = queue.queue_position(own)
    assert position is not None
    assert (position.behind, position.limit) == (2, 0)
    position = queue.queue_position(later)
    assert position is not None
    assert (position.behind, position.limit) == (1, 1)
    assert queue.wait_text(position, user_key(later)).endswith("a user has at most 1 at once")


def test_the_start_form_accepts_a_lower_priority(client: Client, db: None) -> None:
    scenario = small()
    form = {"which": "pending", "mode": "once", "release": "1.34", "low": "on"}
    answer = client.post(f"/scenarios/{scenario.pk}/run/", form)
    assert answer.status_code == 302
    assert Run.objects.get().low
