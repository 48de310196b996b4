"""Experiments that are started by the form of a page and computed in the test."""

import html
import re
from typing import Any

from django.test import Client

from kubesched_ui.experiments import tasks
from kubesched_ui.experiments.models import Experiment
from kubesched_ui.models import Scenario
from tests.kubesched_ui.pages import get


def finished(client: Client, scenario: Scenario, question: str, **form: Any) -> Experiment:
    """Submit the form of a question, compute all cells, and return the experiment."""
    return submitted(client, f"/scenarios/{scenario.pk}/experiments/{question}/", **form)


def example_document(client: Client, address: str) -> str:
    """Return the text that the form for documents has at an address."""
    found = re.search(r"<textarea[^>]*>(.*?)</textarea>", get(client, address).source, re.S)
    assert found is not None
    return html.unescape(found[1]).removeprefix("\n")


def submitted(client: Client, address: str, **form: Any) -> Experiment:
    """Submit a form that starts an experiment, compute all cells, and return the experiment."""
    response = client.post(address, form)
    assert response.status_code == 302, response.content.decode()
    while tasks.do_next_job():
        pass
    return Experiment.objects.get(pk=int(response["Location"].rstrip("/").rpartition("/")[2]))
