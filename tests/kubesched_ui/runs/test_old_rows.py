"""Objects that were stored before the doors were as tight as they are still run."""

from typing import Any

import pytest
from django.test import Client

from kubesched_ui.models import ClusterObject, Run, Scenario
from kubesched_ui.runs.services import RunSettings, create_run
from kubesched_ui.runs.tasks import execute_run
from tests.kubesched_ui.clusters import node, pod

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("in_time", [False, True])
def test_nulls_in_lists(client: Client, in_time: bool) -> None:
    scenario = Scenario.objects.create(name="old", counts={"Node": 1, "Pod": 2})
    objects: list[dict[str, Any]] = [
        node("n1", taints=[None]) | {"status": {"allocatable": {"cpu": "4", "pods": "9"}, "conditions": [None]}},
        pod("a", tolerations=[None]) | {"status": {"phase": "Pending", "conditions": [None]}},
        pod("b", volumes=[None]),
    ]
    for position, obj in enumerate(objects):
        metadata = obj["metadata"]
        about = {"kind": obj["kind"], "namespace": metadata.get("namespace", ""), "name": metadata["name"]}
        ClusterObject.objects.create(scenario=scenario, position=position, data=obj, **about)
    run = create_run(scenario, RunSettings(in_time=in_time))
    execute_run(run.pk)
    run = Run.objects.get(pk=run.pk)
    assert (run.state, run.error, run.placed) == ("done", "", 2)
    for address in (f"/runs/{run.pk}/", f"/scenarios/{scenario.pk}/", f"/runs/{run.pk}/pods/default/a/"):
        assert client.get(address).status_code == 200
