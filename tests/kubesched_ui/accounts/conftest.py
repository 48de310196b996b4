"""Accounts for tests: Ada owns a scenario and two runs, Bob is in her group, Eve is in none, a visitor has a link.

Ada and her group may see a live cluster.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from kubesched_ui.accounts import access, share_links
from kubesched_ui.accounts.models import Group, Share
from kubesched_ui.clusters.models import Cluster
from kubesched_ui.experiments.models import Experiment
from kubesched_ui.lessons.written_lessons import START
from kubesched_ui.models import Run, Scenario, Upgrade, WrittenLesson, current_viewer
from kubesched_ui.runs.services import RunSettings, create_run
from kubesched_ui.runs.tasks import execute_run
from kubesched_ui.scenarios.uploads import store_upload
from kubesched_ui.views.experiments.compare import CompareForm
from kubesched_ui.views.experiments.question_page import document_of
from kubesched_ui.views.experiments.registry import PAGES
from tests.kubesched_ui.clusters import as_list, node, pod
from tests.kubesched_ui.live_clusters.factory import live_cluster

PARTS = {"title": "An undercover lesson", "step": "  - title: The first step\n", "revealed": ""}


@pytest.fixture(autouse=True)
def accounts_on(settings: Any) -> None:
    settings.ACCOUNTS = True
    cache.clear()


class ValidForm(CompareForm):
    """A form that is valid without its fields."""

    def is_valid(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def page_of_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    page = replace(PAGES["compare"], form=ValidForm, document=lambda _, cluster: document_of("compare", cluster))
    monkeypatch.setitem(PAGES, "compare", page)


def client_of(user: User | None = None) -> Client:
    """Return a browser in which a user is signed in."""
    client = Client(headers={"host": "localhost"})
    if user:
        client.force_login(user, "django.contrib.auth.backends.ModelBackend")
    return client


def ran(scenario: Scenario, name: str) -> Run:
    run = create_run(scenario, RunSettings(release="1.34"), name=name)
    execute_run(run.pk)
    return Run.objects.get(pk=run.pk)


@dataclass
class World:
    """`ada` owns all objects; tests share `run` and never `other`."""

    ada: User
    bob: User
    eve: User
    root: User
    group: Group
    scenario: Scenario
    run: Run
    other: Run
    upgrade: Upgrade
    lesson: WrittenLesson
    cluster: Cluster
    experiment: Experiment
    clients: dict[str, Client] = field(default_factory=dict)

    def as_ada(self) -> access.Viewer:
        return access.viewer_of(self.ada)

    def link(self, thing: Scenario | Run) -> tuple[Share, str]:
        return share_links.share_by_link(thing, self.ada)

    def holder(self, thing: Scenario | Run, user: User | None = None) -> Client:
        """Return a browser in which a share link was opened."""
        client = client_of(user)
        share, _ = self.link(thing)
        session = client.session
        session[share_links.KEY] = [share.pk]
        session.save()
        client.cookies["sessionid"] = session.session_key or ""
        return client


@pytest.fixture
def world(db: None) -> World:
    people = [User.objects.create_user(name) for name in ("ada", "bob", "eve")]
    ada, bob, eve = people
    root = User.objects.create_superuser("root")
    group = Group.objects.create(name="team", owner=ada)
    group.members.set([ada, bob])
    with current_viewer.as_viewer(access.viewer_of(ada)):
        cluster = as_list(node("n1"), node("n2"), pod("p1"), pod("big", cpu="64"))
        scenario = store_upload([("c.json", cluster)], "undercover cluster").scenario
        run, other = ran(scenario, "undercover run"), ran(scenario, "undercover other run")
        upgrade = Upgrade.objects.create(scenario=scenario, releases=["1.33", "1.34"], state="done")
        upgrade.runs.set([run])
        lesson = WrittenLesson.objects.create(scenario=scenario, name="undercover lesson", text=START.format(**PARTS))
        experiment = Experiment.objects.create(
            scenario=scenario,
            name="undercover experiment",
            question="compare",
            state="done",
        )
        content = {"question": "compare", "scenario": "of no experiment", "release": "1.34"}
        loss = {"name": "n1", "nodes": ["n1"], "pods": 0, "counts": {}, "rows": [], "reasons": []}
        outage = {**loss, "evicted": 0, "outage": 60, "detected": 50}
        result = {"losses": [loss], "outage": outage}
        experiment.cells.create(number=1, address="0", cell=content, state="done", metrics={"placed": 1}, result=result)
    live = live_cluster("undercover live cluster", nodes=2, pending=1, decided=1)
    live.users.add(ada)
    live.groups.add(group)
    return World(ada, bob, eve, root, group, scenario, run, other, upgrade, lesson, live, experiment)
