"""Scenario editor with accounts: who may open a scenario, and who owns the trial runs."""

import json
from typing import Any

import pytest
from django.test import Client

from kubesched_ui.accounts.models import Entry
from kubesched_ui.models import Run, Scenario
from tests.kubesched_ui.accounts.conftest import World, client_of
from tests.kubesched_ui.editor.sample_texts import MIXED

pytestmark = pytest.mark.django_db


def ask(client: Client, what: str, body: Any) -> Any:
    return client.post(f"/compose/{what}/", json.dumps(body), content_type="application/json")


def test_a_viewer_edits_a_copy_of_the_scenario(world: World) -> None:
    address = f"/compose/?scenario={world.scenario.pk}"
    assert client_of(world.ada).get(address).status_code == 200
    assert client_of(world.eve).get(address).status_code == 404
    assert client_of().get(address).status_code == 302


def test_anonymous_users_have_no_editor_and_its_requests_are_not_audited(world: World) -> None:
    assert ask(client_of(), "read", "a: 1").status_code == 302
    eve = client_of(world.eve)
    before = Entry.objects.count()
    assert ask(eve, "read", "a: 1").status_code == 200
    assert Entry.objects.count() == before


def test_trial_runs_belong_to_the_editor_of_the_scenario(world: World) -> None:
    eve, ada = client_of(world.eve), client_of(world.ada)
    theirs = ask(eve, "run", {"text": MIXED}).json()["scenario"]
    assert Scenario.objects.get(pk=theirs).owner == world.eve
    Run.objects.filter(scenario_id=theirs).update(finished_at="2026-01-01T00:00Z", state="done")
    ask(ada, "run", {"text": MIXED, "tries": [theirs] * 9})
    assert Scenario.objects.filter(pk=theirs).exists()
    ask(eve, "run", {"text": MIXED, "tries": [theirs] * 9})
    assert not Scenario.objects.filter(pk=theirs).exists()
