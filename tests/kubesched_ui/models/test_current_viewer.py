"""Objects belong to the user who creates them."""

import json
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from kubesched_ui.models import Run, Scenario, Upgrade, current_viewer
from kubesched_ui.runs.tasks import execute_run
from kubesched_ui.scenarios.samples import load_samples
from kubesched_ui.scenarios.upload_worker import UploadJob, read_upload
from scheduler_core.releases import NEWEST
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.http_api import exported

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
CLUSTER = as_list(node("n1"), pod("p1"))


@pytest.fixture
def ada() -> Iterator[User]:
    """Return the current viewer."""
    user = User.objects.create_user("ada")
    with current_viewer.as_viewer(current_viewer.OwnerViewer(user.pk)):
        yield user


def upload(client: Client) -> Scenario:
    client.post("/upload/", {"file": SimpleUploadedFile("c.json", CLUSTER)})
    return Scenario.objects.latest("pk")


def test_created_objects_belong_to_the_viewer(client: Client, ada: User) -> None:
    first = upload(client)
    client.post("/api/scenarios", CLUSTER, content_type="application/octet-stream")
    thing = first.cluster_objects.get(kind="Pod")
    client.post(f"/scenarios/{first.pk}/objects/{thing.pk}/", {"remove": "1"})
    client.post(f"/scenarios/{first.pk}/run/", {"release": "1.34", "which": "pending", "mode": "once"})
    started = client.post(f"/api/scenarios/{first.pk}/runs", "{}", content_type="application/json").json()["id"]
    execute_run(started)
    client.post(f"/runs/{started}/fork/", {"at": "1"})
    client.post(f"/api/runs/{started}/fork", json.dumps({"at": 1}), content_type="application/json")
    client.post(f"/scenarios/{first.pk}/pair/", {"a": "1.33", "b": NEWEST})
    client.post(f"/scenarios/{first.pk}/upgrade/", {"release": ["1.30", "1.31"]})
    file = exported(client, Run.objects.get(pk=started))
    client.post("/upload/", {"file": SimpleUploadedFile("run.json", file)})
    assert (Scenario.objects.count(), Run.objects.count(), Upgrade.objects.count()) == (4, 9, 1)
    for model in (Scenario, Run, Upgrade):
        assert set(model.objects.values_list("owner", flat=True)) == {ada.pk}, model


def test_without_a_viewer_there_is_no_owner(client: Client) -> None:
    scenario = upload(client)
    client.post(f"/api/scenarios/{scenario.pk}/runs", "{}", content_type="application/json")
    load_samples()
    assert set(Scenario.objects.values_list("owner", flat=True)) == {None}
    assert set(Run.objects.values_list("owner", flat=True)) == {None}


@pytest.mark.django_db(transaction=True)
def test_an_upload_worker_knows_the_viewer() -> None:
    user = User.objects.create_user("ada")
    pk, _ = read_upload(UploadJob([("c.json", CLUSTER)], "", "upload", owner_id=user.pk))
    assert Scenario.objects.get(pk=pk).owner == user
    assert current_viewer.owner_id() is None


def test_a_suggested_comparison_uses_no_run_of_another_user(client: Client, ada: User) -> None:
    scenario = upload(client)
    wanted = {"a": "1.33", "b": NEWEST}
    client.post(f"/scenarios/{scenario.pk}/pair/", wanted)
    with current_viewer.as_viewer(current_viewer.OwnerViewer(User.objects.create_user("bob").pk)):
        client.post(f"/scenarios/{scenario.pk}/pair/", wanted)
        client.post(f"/scenarios/{scenario.pk}/pair/", wanted)
    assert sorted(Run.objects.values_list("owner__username", flat=True)) == ["ada", "ada", "bob", "bob"]


def test_objects_outlive_their_owner(client: Client, ada: User) -> None:
    scenario = upload(client)
    ada.delete()
    scenario.refresh_from_db()
    assert scenario.owner is None
