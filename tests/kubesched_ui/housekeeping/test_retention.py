"""Retention: only expired objects are deleted, a week after their pages show the date."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from kubesched_ui.housekeeping import retention, tasks
from kubesched_ui.models import Quota, Retention, Run, Scenario, Upgrade

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def days(settings: Any) -> None:
    settings.KEEP_DAYS = 30


def ago(days: float) -> datetime:
    return timezone.now() - timedelta(days=days)


def made(name: str, age: float, **more: Any) -> Scenario:
    return Scenario.objects.create(name=name, created_at=ago(age), **more)


def run_of(scenario: Scenario, age: float, **more: Any) -> Run:
    more = {"state": "done", "finished_at": ago(age)} | more
    return Run.objects.create(scenario=scenario, created_at=ago(age), **more)


def first_noticed(days: float = 8) -> None:
    """Record that the setting was first seen so many days ago."""
    retention.store_periods()
    Retention.objects.update(since=ago(days))


def left() -> set[str]:
    return set(Scenario.objects.values_list("name", flat=True)) | set(Run.objects.values_list("name", flat=True))


def test_only_expired_objects_are_deleted() -> None:
    old, busy, held = made("old", 40), made("busy", 40), made("held", 40)
    made("sample", 400, origin="sample"), made("pinned", 40, pinned=True), made("new", 20)
    run_of(old, 35, name="old run")
    run_of(busy, 40, name="busy's old run"), run_of(busy, 10, name="busy's new run")
    run_of(held, 40, name="pinned run", pinned=True)
    run_of(held, 40, name="in progress", state="running", finished_at=None)
    Upgrade.objects.create(scenario=held, releases=[], created_at=ago(40), state="done")
    first_noticed()
    assert retention.due()
    assert retention.sweep() == 4
    assert left() == {"busy", "held", "sample", "pinned", "new", "busy's new run", "pinned run", "in progress"}
    assert not Upgrade.objects.exists()
    assert not retention.due()


def test_nothing_is_deleted_before_its_date_was_shown(settings: Any) -> None:
    old = made("old", 400)
    assert retention.due()  # the date is stored now
    tasks.tidy()
    assert left() == {"old"}
    deletion = retention.deletion_time(old)
    assert deletion
    assert timedelta(days=6) < deletion - timezone.now() <= timedelta(days=7)
    first_noticed(6)
    assert retention.sweep() == 0
    settings.KEEP_DAYS = 20  # changed setting: one week again
    noted_before = Retention.objects.get().since
    assert retention.sweep() == 0
    assert Retention.objects.get().since > noted_before
    settings.KEEP_DAYS = 0
    assert retention.sweep() == 0
    assert not Retention.objects.exists()
    assert retention.deletion_time(old) is None


def test_a_user_has_another_retention() -> None:
    ann, ben = User.objects.create_user("ann"), User.objects.create_user("ben")
    Quota.objects.create(user=ann, days=0)
    Quota.objects.create(user=ben, days=5)
    mine = made("ann's", 400, owner=ann)
    made("ben's old", 6, owner=ben), made("ben's new", 4, owner=ben)
    made("nobody's", 20)
    first_noticed()
    assert retention.deletion_time(mine) is None
    assert retention.sweep() == 1
    assert left() == {"ann's", "ben's new", "nobody's"}


def test_the_page_shows_the_date_and_pins(client: Client) -> None:
    first_noticed()
    scenario = made("s", 10)
    run = run_of(scenario, 10)
    day = f"{timezone.now() + timedelta(days=20):%-d %b %Y}"
    for thing in (scenario, run):
        kind = f"{type(thing).__name__.lower()}s"
        address = f"/{kind}/{thing.pk}/"
        assert f"{day}</time> unless pinned" in client.get(address).content.decode()
        assert client.get(f"/api{address}".rstrip("/")).json()["deleted_at"] is not None
        client.post(f"{address}pin/", {"pinned": "1"})
        page = client.get(address).content.decode()
        assert ("Pinned: not deleted automatically." in page, "unless pinned" in page) == (True, False)
        detail = client.get(f"/api{address}".rstrip("/")).json()
        assert (detail["pinned"], detail["deleted_at"]) == (True, None)
        changed = client.patch(f"/api{address}".rstrip("/"), {"pinned": False}, content_type="application/json")
        assert (changed.status_code, changed.json()["pinned"]) == (200, False)


def test_without_retention_no_page_shows_a_date(client: Client, settings: Any) -> None:
    settings.KEEP_DAYS = 0
    scenario = made("s", 400)
    assert "unless pinned" not in client.get(f"/scenarios/{scenario.pk}/").content.decode()
