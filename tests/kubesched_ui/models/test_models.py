"""Models: database constraints, and stored values that read back unchanged."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import IntegrityError
from django.utils import timezone

from kubesched_ui.models import ClusterObject, Run, Scenario

pytestmark = pytest.mark.django_db


@pytest.fixture
def scenario() -> Scenario:
    return Scenario.objects.create(name="one")


def test_migrations_are_complete() -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


def test_object_data_reads_back_unchanged_and_in_order(scenario: Scenario) -> None:
    data = [{"kind": kind, "metadata": {"name": "ä"}, "n": [1, 2.5, None]} for kind in ("Pod", "Node")]
    for position, obj in enumerate(reversed(data)):
        ClusterObject.objects.create(scenario=scenario, position=position, kind=obj["kind"], name="ä", data=obj)
    assert list(scenario.objects_of()) == data[::-1]
    assert list(scenario.objects_of(["Pod"])) == data[:1]


def test_an_object_occurs_once_in_a_scenario(scenario: Scenario) -> None:
    ClusterObject.objects.create(scenario=scenario, position=0, kind="Pod", namespace="a", name="b", data={})
    with pytest.raises(IntegrityError):
        ClusterObject.objects.create(scenario=scenario, position=1, kind="Pod", namespace="a", name="b", data={})


@pytest.mark.parametrize("wrong", [{"percentage": 101}, {"state": "paused"}])
def test_the_database_rejects_an_invalid_run(scenario: Scenario, wrong: dict) -> None:
    with pytest.raises(IntegrityError):
        Run.objects.create(scenario=scenario, **wrong)


def test_lost_and_forgotten_runs_have_no_heartbeat(scenario: Scenario) -> None:
    silent = timezone.now() - timedelta(seconds=60)
    lost = Run.objects.create(scenario=scenario, state="running", heartbeat_at=silent)
    Run.objects.create(scenario=scenario, state="running", heartbeat_at=timezone.now())
    forgotten = Run.objects.create(scenario=scenario)
    Run.objects.create(scenario=scenario, heartbeat_at=timezone.now())
    Run.objects.create(scenario=scenario, state="done", heartbeat_at=silent)
    assert set(Run.objects.stalled()) == {lost, forgotten}


def test_a_heartbeat_in_the_future_is_ignored(scenario: Scenario) -> None:
    """After the clock was set back by an hour, a living worker sends a new heartbeat within seconds."""
    ahead = timezone.now() + timedelta(hours=1)
    running = Run.objects.create(scenario=scenario, state="running", heartbeat_at=ahead)
    queued = Run.objects.create(scenario=scenario, heartbeat_at=ahead)
    assert set(Run.objects.stalled()) == {running, queued}
    assert running.stalled
    claimed = Run.objects.claim(running.pk, "another")
    assert claimed is not None
    assert list(Run.objects.stalled()) == [queued]
    assert not claimed.stalled
