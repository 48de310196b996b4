"""Which clusters there are, who may choose them, and when they are followed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from kubesched_ui.accounts import access
from kubesched_ui.accounts.models import Group
from kubesched_ui.clusters import connections, leases, queries, supervisor
from kubesched_ui.clusters.connections import CannotConnect
from kubesched_ui.clusters.models import Cluster
from kubesched_ui.clusters.supervisor import FollowerSupervisor
from kubesched_ui.models import current_viewer
from kubesched_ui.runtime.env import InvalidEnvironment
from scheduler_core.errors import InputError

pytestmark = pytest.mark.django_db


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "kubeconfig"
    contexts = [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("one", "two")]
    clusters = [{"name": "c", "cluster": {"server": "https://203.0.113.1"}}]
    users = [{"name": "u", "user": {"token": "undercover-token"}}]
    path.write_text(json.dumps({"contexts": contexts, "clusters": clusters, "users": users}))
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


def names() -> list[str]:
    return list(Cluster.objects.filter(configured=True).values_list("name", flat=True))


def test_the_variable_names_clusters(settings: Any) -> None:
    settings.CLUSTERS = ["prod=prod-admin", "staging", "here=in-cluster"]
    settings.CLUSTERS_ALWAYS = ["prod"]
    connections.store_configured()
    rows = {one.name: (one.connection, one.always) for one in Cluster.objects.all()}
    assert rows == {
        "prod": ("context prod-admin", True),
        "staging": ("context staging", False),
        "here": ("in the cluster", False),
    }


def test_the_file_names_clusters(settings: Any, tmp_path: Path) -> None:
    file = tmp_path / "clusters.yaml"
    file.write_text(
        "clusters:\n- {name: a, inCluster: true, everyone: true}\n"
        "- {name: b, context: x, kubeconfig: /k, follow: always, release: '1.34'}\n"
    )
    settings.CLUSTERS_FILE = str(file)
    connections.store_configured()
    b = Cluster.objects.get(name="b")
    assert (b.always, b.used_release, connections.connection_of(b).kubeconfig) == (True, "1.34", "/k")
    assert Cluster.objects.get(name="a").everyone
    assert not any("/k" in str(value) for value in vars(b).values())  # no path is stored


def test_the_file_decides_who_sees_its_clusters(settings: Any, tmp_path: Path, client: Client) -> None:
    file = tmp_path / "clusters.yaml"
    settings.CLUSTERS_FILE, settings.CLUSTERS = str(file), ["named"]
    file.write_text("clusters: [{name: a, everyone: true}, {name: b, everyone: true}, {name: c}]")
    connections.store_configured()
    Cluster.everything.filter(name__in=("c", "named")).update(everyone=True)
    ada = User.objects.create_user("ada")
    Cluster.everything.get(name="b").users.add(ada)
    file.write_text("clusters: [{name: a}, {name: c}]")
    connections.store_configured()
    # Clusters of the variable have no such field: administrators decide.
    everyone = dict(Cluster.everything.values_list("name", "everyone"))
    assert everyone == {"a": False, "b": False, "c": False, "named": True}
    settings.ACCOUNTS = True
    with current_viewer.as_viewer(access.viewer_of(ada)):
        assert names() == ["named"]
        assert queries.find(Cluster.everything.get(name="b").pk) is None
    client.force_login(User.objects.create_superuser("root"))
    change = f"admin:{Cluster._meta.app_label}_cluster_change"
    pages = [client.get(reverse(change, args=[Cluster.everything.get(name=name).pk])) for name in ("a", "named")]
    assert [page.status_code for page in pages] == [200, 200]
    assert [b'name="everyone"' in page.content for page in pages] == [False, True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("clusters: 3", "clusters: must be a list"),
        ("clusters: [{context: a}]", r"clusters\[0\].name: must have 1 to 200 characters"),
        ("clusters: [{name: a, server: 'https://x'}]", r"clusters\[0\].server: is not one of"),
        ("clusters: [{name: a, follow: sometimes}]", r"clusters\[0\].follow: must be always or when-viewed"),
        ("clusters: [{name: a, inCluster: 1}]", r"clusters\[0\].inCluster: must be true or false"),
        ("{", "is not YAML"),
    ],
)
def test_a_wrong_file_is_refused_in_a_sentence(settings: Any, tmp_path: Path, text: str, message: str) -> None:
    settings.CLUSTERS_FILE = str(tmp_path / "clusters.yaml")
    (tmp_path / "clusters.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        connections.store_configured()


def test_a_missing_file_and_an_unknown_name_are_refused(settings: Any) -> None:
    settings.CLUSTERS_FILE = "/nowhere/clusters.yaml"
    with pytest.raises(InputError, match="cannot be read"):
        connections.store_configured()
    settings.CLUSTERS_FILE, settings.CLUSTERS_ALWAYS = "", ["typo"]
    with pytest.raises(InvalidEnvironment, match="KUBESCHED_CLUSTERS_ALWAYS names 'typo'"):
        connections.store_configured()


def test_a_cluster_that_is_no_longer_named_is_neither_listed_nor_followed(settings: Any) -> None:
    settings.CLUSTERS = settings.CLUSTERS_ALWAYS = ["old"]
    connections.store_configured()
    row = Cluster.objects.get()
    settings.CLUSTERS, settings.CLUSTERS_ALWAYS = ["new"], []
    connections.store_configured()
    assert list(queries.clusters().values_list("name", flat=True)) == ["new"]
    assert not Cluster.everything.wanted().exists()
    with pytest.raises(CannotConnect, match="do not name old any more"):
        connections.connection_of(row)


def test_in_a_pod_its_cluster_is_named_without_settings(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setattr(connections, "SERVICE_ACCOUNT_TOKEN", tmp_path / "token")
    connections.store_configured()
    assert names() == []
    (tmp_path / "token").write_text("t")
    connections.store_configured()
    assert names() == ["in-cluster"]
    assert not Cluster.everything.wanted().exists()


# ---- contexts


@pytest.mark.usefixtures("kubeconfig")
def test_contexts_are_offered_on_this_machine_alone(settings: Any) -> None:
    assert connections.offered() == []
    settings.CONTEXTS = True
    assert connections.offered() == ["one", "two"]
    assert names() == []  # offering makes and contacts nothing
    chosen = connections.choose("two")
    assert connections.offered() == ["one"]
    assert connections.connection_of(chosen).context == "two"
    assert "undercover-token" not in str(vars(chosen))


@pytest.mark.usefixtures("kubeconfig")
def test_with_accounts_only_administrators_choose_contexts(settings: Any) -> None:
    settings.CONTEXTS = settings.ACCOUNTS = True
    ada, root = User.objects.create_user("ada"), User.objects.create_superuser("root")
    with current_viewer.as_viewer(access.viewer_of(ada)):
        assert connections.offered() == []
        with pytest.raises(InputError, match="is not offered"):
            connections.choose("one")
    with current_viewer.as_viewer(access.viewer_of(root)):
        assert connections.choose("one").name == "one"


@pytest.mark.parametrize("name", ["three", "../one", "https://203.0.113.1", "", "/etc/passwd", "o" * 300])
@pytest.mark.usefixtures("kubeconfig")
def test_nothing_but_a_listed_context_can_be_chosen(settings: Any, name: str) -> None:
    settings.CONTEXTS = True
    with pytest.raises(InputError, match="is not offered"):
        connections.choose(name)
    assert names() == []


def test_an_unreadable_kubeconfig_offers_nothing(settings: Any, kubeconfig: Path) -> None:
    settings.CONTEXTS = True
    kubeconfig.write_text("contexts: {")
    assert connections.offered() == []


# ---- who sees a cluster


def test_administrators_decide_who_sees_a_cluster(settings: Any) -> None:
    settings.ACCOUNTS = True
    ada, bob, eve = (User.objects.create_user(name) for name in ("ada", "bob", "eve"))
    group = Group.objects.create(name="team", owner=ada)
    group.members.set([bob])
    secret, public = Cluster.everything.create(name="secret"), Cluster.everything.create(name="public", everyone=True)
    secret.users.add(ada)
    secret.groups.add(group)

    def seen(user: User) -> set[str]:
        with current_viewer.as_viewer(access.viewer_of(user)):
            return set(queries.clusters().values_list("name", flat=True))

    assert [seen(user) for user in (ada, bob, eve)] == [{"secret", "public"}, {"secret", "public"}, {"public"}]
    with current_viewer.as_viewer(access.Viewer(links=(1,))):
        assert not queries.clusters().exists()
    assert public


# ---- the lease of open pages, and the supervisor


def test_an_open_page_keeps_a_cluster_followed_for_some_minutes() -> None:
    cluster = Cluster.everything.create(name="c")
    assert not queries.wanted(cluster)
    queries.keep_watching(cluster)
    assert Cluster.everything.wanted().get() == cluster
    cluster.refresh_from_db()
    assert timedelta(minutes=1) < cluster.watched_until - timezone.now() < timedelta(minutes=10)
    Cluster.everything.update(watched_until=timezone.now() - timedelta(seconds=1))
    assert not Cluster.everything.wanted().exists()


@pytest.fixture
def supervised(monkeypatch: pytest.MonkeyPatch) -> Iterator[FollowerSupervisor]:
    """A supervisor whose followers only sleep."""
    made = FollowerSupervisor()

    def start(name: str, token: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])

    monkeypatch.setattr(made, "start", start)
    yield made
    made.stop(list(made.children))


def test_the_supervisor_starts_and_stops_followers(supervised: FollowerSupervisor) -> None:
    cluster = Cluster.everything.create(name="c")
    supervised.look()
    assert not supervised.children
    queries.keep_watching(cluster)
    supervised.look()
    process = supervised.children["c"].process
    assert process is not None
    supervised.look()
    assert supervised.children["c"].process is process
    Cluster.everything.update(watched_until=None)
    supervised.look()
    assert not supervised.children
    assert process.poll() is not None


def test_a_lease_token_fits_its_column(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: given.update(options))
    Cluster.everything.create(name="c", always=True)
    FollowerSupervisor().look()
    assert len(given["env"][supervisor.TOKEN]) <= Cluster._meta.get_field("follower").max_length


def test_a_cluster_that_another_host_follows_is_left_to_it(supervised: FollowerSupervisor) -> None:
    Cluster.everything.create(name="c", always=True)
    assert leases.claim("c", "other:1")
    supervised.look()
    assert not supervised.children


def test_a_follower_that_ended_starts_again_later(
    supervised: FollowerSupervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cluster.everything.create(name="c", always=True)
    supervised.look()
    first = supervised.children["c"].process
    assert first
    first.kill()
    first.wait()
    supervised.look()
    assert supervised.children["c"].process is None
    now = time.monotonic
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: now() + 100)
    supervised.look()
    assert supervised.children["c"].process is not None


def look_for(made: FollowerSupervisor, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let a supervisor look once a second for so many seconds."""
    began = supervisor.time.monotonic()
    for second in range(1, int(seconds) + 1):
        monkeypatch.setattr(supervisor.time, "monotonic", lambda: began + second)  # noqa: B023
        made.look()


def beat(made: FollowerSupervisor, name: str, seconds_ago: float = 0) -> None:
    """Be the follower of a cluster that sent its last heartbeat so long ago."""
    at = timezone.now() - timedelta(seconds=seconds_ago)
    Cluster.everything.filter(name=name).update(follower=made.children[name].token, heartbeat_at=at)


def test_a_follower_without_further_heartbeats_is_killed(
    supervised: FollowerSupervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cluster.everything.create(name="c", always=True)
    for seconds in (supervisor.HANGS_S, 2 * supervisor.HANGS_S):  # more time after each kill
        look_for(supervised, monkeypatch, 5)
        hanging = supervised.children["c"].process
        assert hanging
        beat(supervised, "c")
        look_for(supervised, monkeypatch, 1)
        beat(supervised, "c", 60)
        look_for(supervised, monkeypatch, seconds - 10)
        assert hanging.poll() is None
        look_for(supervised, monkeypatch, 20)
        assert hanging.poll() is not None


def test_a_follower_has_time_until_its_first_heartbeat(
    supervised: FollowerSupervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "START_S", 400)
    Cluster.everything.create(name="c", always=True)
    supervised.look()
    slow = supervised.children["c"].process
    assert slow
    look_for(supervised, monkeypatch, 5 * supervisor.HANGS_S)
    assert slow.poll() is None
    look_for(supervised, monkeypatch, supervisor.START_S)
    assert slow.poll() is not None


def test_a_supervisor_that_slept_kills_no_follower(
    supervised: FollowerSupervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cluster.everything.create(name="c", always=True)
    supervised.look()
    process = supervised.children["c"].process
    assert process
    beat(supervised, "c", 3600)
    now = time.monotonic()
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: now + 3600)
    supervised.look()
    assert process.poll() is None


def test_followers_start_one_after_another(supervised: FollowerSupervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["a", "b", "c"]
    for name in names:
        Cluster.everything.create(name=name, always=True)

    def started() -> list[str]:
        return sorted(name for name, child in supervised.children.items() if child.process is not None)

    look_for(supervised, monkeypatch, 10)
    assert len(started()) == 1
    beat(supervised, *started())
    look_for(supervised, monkeypatch, 10)
    assert len(started()) == 2
    look_for(supervised, monkeypatch, supervisor.HANGS_S)  # one that hangs does not hold up the others
    assert started() == names
