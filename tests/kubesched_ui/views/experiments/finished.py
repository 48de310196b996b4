"""Experiments that are started by the form of a page and computed in the test."""

from typing import Any

from django.test import Client

from kubesched_ui.experiments import tasks
from kubesched_ui.experiments.models import Experiment
from kubesched_ui.models import Scenario


def finished(client: Client, scenario: Scenario, question: str, **form: Any) -> Experiment:
    """Submit the form of a question, compute all cells, and return the experiment."""
    response = client.post(f"/scenarios/{scenario.pk}/experiments/{question}/", form)
    assert response.status_code == 302, response.content.decode()
    while tasks.do_next_job():
        pass
    return Experiment.objects.get(pk=int(response["Location"].rstrip("/").rpartition("/")[2]))
