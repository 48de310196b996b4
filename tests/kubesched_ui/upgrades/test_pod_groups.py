"""The preview of an upgrade to the release that schedules pod groups: who gains, who loses, and because of what."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import Upgrade
from kubesched_ui.runs import services
from kubesched_ui.scenarios.samples import FOLDER
from tests.kubesched_ui.upgrades.test_upgrades import work

pytestmark = pytest.mark.django_db


def test_what_groups_change_has_its_cause(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services.app, "send_task", lambda name, args: None)
    data = (FOLDER / "20-pod-group.yaml").read_bytes()
    number = client.post("/api/scenarios", data, content_type="application/octet-stream").json()["id"]
    wanted: Any = {"releases": ["1.35", "1.36"]}
    assert client.post(f"/api/scenarios/{number}/upgrades", wanted, content_type="application/json").status_code == 202
    upgrade = work(Upgrade.objects.get())
    assert upgrade.state == "done"
    releases = {run.release_number: run.feature_gates for run in upgrade.runs.all()}
    assert releases["1.35"] == {}
    assert releases["1.36"]["GangScheduling"]
    page = " ".join(client.get(f"/upgrades/{upgrade.pk}/").content.decode().split())
    assert "3 gain a node and 3 lose their node" in page
    assert "The pods of a PodGroup are scheduled in one cycle of their group (GenericWorkload)" in page
    for pods in (["train-0", "train-1", "train-2"], ["pair-0", "pair-1", "web-0"]):
        assert all(f"team/{pod}" in page for pod in pods)
