"""Preemption dry runs in stored runs agree with the recorded victims."""

import pytest
from django.test import Client

from kubesched_ui.scenarios.samples import FOLDER
from tests.kubesched_ui.http_api import ran

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.mark.parametrize(
    "sample", ["10-preemption", "16-preemption-in-time", pytest.param("13-queue", marks=pytest.mark.long)]
)
def test_dry_runs_agree_with_the_recorded_victims(client: Client, sample: str) -> None:
    run = ran(client, (FOLDER / f"{sample}.yaml").read_bytes())
    for cycle in run.cycles.order_by("number"):
        key = f"{cycle.namespace}/{cycle.name}"
        answer = client.get(f"/api/runs/{run.pk}/pods/{key}/trials", {"cycle": cycle.number})
        if answer.status_code == 404:
            assert answer.json()["error"].startswith("point: DefaultPreemption did not run")
            continue
        dry_runs = answer.json()
        assert dry_runs["total"] == len(dry_runs["nodes"])
        for node in dry_runs["nodes"]:
            again = client.get(
                f"/api/runs/{run.pk}/pods/{key}/trials", {"cycle": cycle.number, "node": node["node"]}
            ).json()["trial"]
            assert again["agrees"] is True
            assert len(again["victims"]) == node["victims"]
            assert bool(again["victims"]) is node["candidate"]


def test_the_page_steps_through_the_dry_runs(client: Client) -> None:
    run = ran(client, (FOLDER / "10-preemption.yaml").read_bytes())
    page = client.get(f"/runs/{run.pk}/pods/default/urgent/trials/", {"node": "n1"}).content.decode()
    assert "default/quorum-0" in page
    assert "evicting it violates a PodDisruptionBudget" in " ".join(page.split())
    assert 'data-before="n3"' in page
    wrong = client.get(f"/runs/{run.pk}/pods/default/urgent/trials/", {"node": "nowhere"})
    assert wrong.status_code == 200
    assert "there was no node" in wrong.content.decode()
    absent = client.get(f"/api/runs/{run.pk}/pods/default/urgent/trials", {"page": 2})
    assert (absent.status_code, absent.json()["error"]) == (400, "page: must be from 1 to 1, got 2")
