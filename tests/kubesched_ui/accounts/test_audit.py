"""Audit log: its entries, its readers and its bounds."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from kubesched_ui.accounts import audit
from kubesched_ui.accounts.models import Entry, Share
from tests.kubesched_ui.accounts.conftest import World, client_of
from tests.kubesched_ui.clusters import as_list, node

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_actions_are_logged(world: World) -> None:
    client = client_of(world.ada)
    client.post("/upload/", {"file": SimpleUploadedFile("c.json", as_list(node("n1")))})
    client.post(f"/api/scenarios/{world.scenario.pk}/runs", "{}", content_type="application/json")
    client.post(f"/runs/{world.run.pk}/shares/", {"name": "", "days": ""})
    client.post(f"/runs/{world.run.pk}/shares/{Share.objects.get().pk}/revoke/")
    client.post(f"/runs/{world.run.pk}/delete/")
    client_of(world.eve).post(f"/runs/{world.other.pk}/delete/")  # a rejected request changes nothing
    found = [(entry.did, entry.what) for entry in Entry.objects.filter(name="ada").order_by("pk")]
    run, scenario = f"Run {world.run.pk} “undercover run”", f"Scenario {world.scenario.pk} “undercover cluster”"
    assert found == [
        *[("sign in", ""), ("upload", "/upload/"), ("start", scenario)],
        *[("share", run), ("revoke share", run), ("delete", run)],
    ]
    assert set(Entry.objects.filter(name="eve").values_list("did", flat=True)) == {"sign in"}


def test_users_read_their_own_entries_and_administrators_all(world: World) -> None:
    audit.note(world.ada, "delete", "Run 1 “<b>undercover</b>”")
    assert "undercover" not in client_of(world.eve).get("/account/log/?everybody=1").content.decode()
    for user in (world.ada, world.root):
        page = client_of(user).get("/account/log/?everybody=1&q=run").content.decode()
        assert "&lt;b&gt;undercover" in page


def test_the_log_is_bounded(settings: Any, db: None) -> None:
    settings.AUDIT_ENTRIES = 10
    for _ in range(2 * audit.PRUNE_EVERY):
        audit.note(None, "something")
    assert Entry.objects.count() <= 10
    Entry.objects.update(at=timezone.now() - timedelta(days=settings.AUDIT_DAYS + 1))
    assert audit.prune() == 10
