"""Quotas: the message names the limit, the usage and what to delete. A user may have other limits."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import BinaryField
from django.db.transaction import TransactionManagementError
from django.test import Client

from kubesched_ui.housekeeping import quota
from kubesched_ui.housekeeping.quota import OverQuota
from kubesched_ui.ingest import chunked_store
from kubesched_ui.lessons import catalog, publish_run
from kubesched_ui.models import Quota, Run, Scenario, current_viewer
from kubesched_ui.runs import services
from kubesched_ui.scenarios import uploads
from kubesched_ui.upgrades.services import create_upgrade
from tests.kubesched_ui.clusters import every_outcome
from tests.kubesched_ui.recordings import node, pod, ran, scenario

pytestmark = pytest.mark.django_db

SETTINGS = {"seed": "0", "tie_break": "seed", "unknown_plugins": "error", "copies": "1", "preemption": "on"}


def post(client: Client, address: str, body: Any = None) -> tuple[int, str]:
    data = body if isinstance(body, bytes) else json.dumps(body or {})
    answer = client.post(address, data, content_type="application/json")
    return answer.status_code, answer.json().get("error", "")


def test_scenarios_and_runs(client: Client, settings: Any) -> None:
    settings.QUOTA_SCENARIOS, settings.QUOTA_RUNS = 2, 2
    Scenario.objects.create(name="a sample", origin="sample")
    cluster = scenario(node("n1"), pod("a"))
    assert post(client, "/api/scenarios", every_outcome())[0] == 201
    status, message = post(client, "/api/scenarios", every_outcome())
    assert status == 400
    assert message.startswith("You have 2 of 2 scenarios. Delete some that you do not need; the oldest are scenario")
    pasted = client.post("/upload/", {"text": every_outcome().decode()})
    assert (pasted.status_code, "You have 2 of 2 scenarios" in pasted.content.decode()) == (400, True)
    run = ran(cluster, pinned=True)
    other = ran(cluster)
    for address, body in ((f"/api/scenarios/{cluster.pk}/runs", {}), (f"/api/runs/{run.pk}/fork", {"at": 1})):
        message = f"You have 2 of 2 runs. Delete some that you do not need; the oldest are run {other.pk}."
        assert post(client, address, body) == (400, message)
    page = client.post(
        f"/scenarios/{cluster.pk}/run/", {"release": "1.34", "mode": "once", "which": "pending"} | SETTINGS
    )
    assert (page.status_code, "You have 2 of 2 runs" in page.content.decode()) == (400, True)
    assert "2 of 2 scenarios, 2 of 2 runs" in client.get("/runs/").content.decode()


def test_pods_and_running(client: Client, settings: Any) -> None:
    settings.QUOTA_PODS, settings.QUOTA_RUNNING = 2, 1
    cluster = scenario(node("n1"), pod("a"), pod("b"), pod("c"))
    address = f"/api/scenarios/{cluster.pk}/runs"
    message = "The run would have 3 pods. The limit is 2. Choose fewer pods."
    assert post(client, address) == (400, message)
    assert post(client, address, {"pods": ["default/a", "default/b"]})[0] == 202
    first = Run.objects.get()
    message = f"You have 1 of 1 active runs (run {first.pk}). Wait until one finishes, or cancel one."
    assert post(client, address, {"pods": ["default/a"]}) == (400, message)
    Run.objects.update(state="done")
    assert post(client, address, {"pods": ["default/a"]})[0] == 202


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("part", [1000, 1])
@pytest.mark.parametrize(("limits", "most"), [({"QUOTA_SCENARIOS": 3}, 3), ({"QUOTA_BYTES": 1}, 1)])
def test_simultaneous_uploads_do_not_exceed_the_quota(
    settings: Any, monkeypatch: pytest.MonkeyPatch, part: int, limits: dict[str, int], most: int
) -> None:
    """All pass the early check. With `part` 1, each is stored in several transactions."""
    for name, limit in limits.items():
        setattr(settings, name, limit)
    monkeypatch.setattr(chunked_store, "PART", part)
    ready = threading.Barrier(8)

    def upload(number: int) -> str:
        try:
            quota.check_scenario()
            ready.wait(60)
            uploads.store_upload([("a.json", every_outcome())])
        except OverQuota as error:
            return str(error)
        finally:
            connection.close()
        return ""

    with ThreadPoolExecutor(8) as crowd:
        refusals = list(crowd.map(upload, range(8)))
    assert [bool(text) for text in sorted(refusals)] == [False] * most + [True] * (8 - most)
    assert Scenario.everything.count() == Scenario.objects.count() == most


@pytest.mark.django_db(transaction=True)
def test_a_check_needs_the_transaction_that_stores() -> None:
    with pytest.raises(TransactionManagementError):
        quota.check_run(Scenario(counts={}), [], 0)


def test_the_editor_and_lessons_have_the_same_limits(client: Client, settings: Any) -> None:
    settings.QUOTA_SCENARIOS = 1
    scenario(node("n1"))
    status, message = post(client, "/compose/save/", {"text": every_outcome().decode()})
    assert (status, message[:26]) == (400, "You have 1 of 1 scenarios.")
    lesson = next(one for one in catalog.lessons()[0] if not isinstance(one.head.scenario, str))
    with pytest.raises(OverQuota):
        publish_run.open_run(lesson, 1)


def test_a_preview_counts_as_one_active_run(settings: Any) -> None:
    settings.QUOTA_RUNNING = 1
    cluster = scenario(node("n1"), pod("a"))
    create_upgrade(cluster, ["1.33", "1.34", "1.35"])
    assert quota.active_count(None) == 1
    with pytest.raises(OverQuota, match="1 of 1 active runs"):
        create_upgrade(cluster, ["1.30", "1.31"])


def test_bytes_of_all_chunks_are_counted(settings: Any) -> None:
    cluster = scenario(node("n1"), pod("a"), pod("b"))
    run = ran(cluster, in_time=True, until=60.0)
    named = {model.__name__ for model in quota.parts(Run)}
    large = {r.related_model for r in Run._meta.related_objects if r.one_to_many}
    large = {model for model in large if any(isinstance(f, BinaryField) for f in model._meta.fields)} - {Run}
    assert {model.__name__ for model in large} <= named
    before = quota.size_of(None)
    assert before == quota.measure(run) + quota.measure(cluster) > 2000
    run.refresh_from_db()
    assert run.stored_bytes == quota.measure(run)
    settings.QUOTA_BYTES = 2000
    with pytest.raises(
        OverQuota, match=rf"You store [\d.]+ kB of 2 kB\. .* the largest are run {run.pk} \([\d.]+ kB\)"
    ):
        services.create_run(cluster, services.RunSettings())
    run.delete()
    assert quota.size_of(None) < before


def test_a_user_has_other_limits(settings: Any) -> None:
    settings.QUOTA_RUNS, settings.QUOTA_PODS = 1, 10
    ann, ben = User.objects.create_user("ann"), User.objects.create_user("ben")
    Quota.objects.create(user=ann, runs=2, pods=0)
    assert (quota.limits_of(ann.pk).runs, quota.limits_of(ann.pk).pods) == (2, 0)
    assert quota.limits_of(ben.pk) == quota.limits_of(None) == quota.default_limits()
    cluster = scenario(node("n1"), pod("a"))
    for person, most in ((ann, 2), (ben, 1)):
        with current_viewer.as_viewer(current_viewer.OwnerViewer(person.pk)):  # type: ignore[abstract]
            for _ in range(most):
                services.create_run(cluster, services.RunSettings())
            with pytest.raises(OverQuota, match=f"You have {most} of {most} runs"):
                services.create_run(cluster, services.RunSettings())


def test_there_are_no_limits_by_default() -> None:
    assert set(vars(quota.default_limits()).values()) == {0}
    uploads.store_upload([("a.json", every_outcome())])


def test_an_administrator_sets_limits(admin_client: Client) -> None:
    ann = User.objects.create_user("ann")
    form = {"user": ann.pk, "runs": "7", "size": "", "scenarios": "", "pods": "", "running": "", "days": "0"}
    answer = admin_client.post("/admin/kubesched_ui/quota/add/", form, headers={"host": "localhost"})
    assert answer.status_code == 302
    assert (quota.limits_of(ann.pk).runs, quota.limits_of(ann.pk).days) == (7, 0)
