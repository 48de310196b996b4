"""The first page shows a result before anything was done, and the samples by what they teach."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from kubesched_ui.models import Run, Scenario
from kubesched_ui.pages import example
from kubesched_ui.scenarios.samples import GROUPS, OTHERS, grouped, load_samples
from tests.kubesched_ui.pages.test_pages import get
from tests.kubesched_ui.recordings import node, pod, scenario

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def forget() -> None:
    example.of.cache_clear()  # of another test's database


def test_an_example_is_there_at_once(client: Client) -> None:
    load_samples()
    page = get(client, "/")
    assert Run.objects.count() == 0
    table = page.source.partition('id="example"')[2].partition("</table>")[0]
    assert re.findall(r'<th scope="row" class="mono">\s*([\w-]+)', table) == ["small", "medium", "large"]
    assert "No node fits: 3 lack cpu" in table
    assert table.count("★") == 2
    assert table.count("Insufficient cpu") == 5


def test_the_example_is_run_by_its_button(client: Client) -> None:
    load_samples()
    form = get(client, "/").source.partition('id="example"')[2].partition("<form")[2].partition("</form>")[0]
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([\w.]+)"', form))
    hidden.pop("csrfmiddlewaretoken", None)
    action = re.search(r'action="([^"]+)"', form)
    assert action
    answer = client.post(action[1], hidden)
    run = Run.objects.get()
    assert answer["Location"] == f"/runs/{run.pk}/"
    assert (run.pods, run.preemption, run.in_time) == (None, True, False)


def test_samples_are_grouped_and_each_has_a_picture_of_its_own(client: Client) -> None:
    load_samples()
    groups = grouped(Scenario.objects.order_by("id"))
    assert list(groups) == list(GROUPS)
    pictures = re.findall(r'data-picture="(\w+)"', get(client, "/").source)
    assert len(pictures) == len(set(pictures)) == Scenario.objects.count()


def test_a_sample_of_no_group_is_shown_too() -> None:
    new = Scenario(name="Something new")
    assert grouped([new]) == {OTHERS: [(new, "")]}


def test_what_is_large_or_has_nothing_pending_is_no_example() -> None:
    large = scenario(*(node(f"n{i}") for i in range(50)), pod("p"))
    idle = scenario(node("n1"))
    assert example.of(large.pk) is None
    assert example.of(idle.pk) is None
