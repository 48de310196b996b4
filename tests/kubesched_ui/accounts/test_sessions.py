"""Sign-in and sign-out, first administrator, invitations and rate limits."""

import logging
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from kubesched_ui.accounts import invitations
from kubesched_ui.accounts.adapters import AccountAdapter
from kubesched_ui.accounts.models import Entry, Group, Invitation
from tests.kubesched_ui.accounts.conftest import client_of

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
NEW = {"username": "grace", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada", password=PASSWORD)


def sign_in(client: Client, name: str = "ada", password: str = PASSWORD, **more: str) -> Any:
    return client.post("/account/login/", {"login": name, "password": password, **more})


def test_signing_in_redirects_to_the_requested_page(client: Client, ada: User) -> None:
    response = client.get("/runs/?q=x")
    assert response.headers["Location"] == "/account/login/?next=%2Fruns%2F%3Fq%3Dx" or response.status_code == 302
    assert 'name="next"' in client.get(response.headers["Location"]).content.decode()
    assert sign_in(client, next="/scenarios/?q=x").headers["Location"] == "/scenarios/?q=x"
    assert client.get("/scenarios/").status_code == 200
    assert client.post("/account/logout/").status_code == 302
    assert client.get("/").headers["Location"] == "/account/login/"
    assert [entry.did for entry in Entry.objects.order_by("pk")] == ["sign in", "sign out"]


def test_no_cache_stores_pages_that_depend_on_the_viewer(client: Client, ada: User) -> None:
    answers = [client.get("/"), client.get("/api/runs"), client.get("/api/runs", headers={"authorization": "Bearer x"})]
    sign_in(client)
    answers += [client.get(path) for path in ("/runs/", "/api/runs", "/runs/9/", "/api/runs/9", "/nothing/")]
    assert {answer["Cache-Control"] for answer in answers} == {"private, no-store"}


@pytest.mark.parametrize("away", ["https://evil.example/", "//evil.example/x", "http:///evil.example", "javascript:x"])
def test_signing_in_redirects_only_to_our_pages(client: Client, ada: User, settings: Any, away: str) -> None:
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "evil.example"]
    assert sign_in(client, next=away).headers["Location"] == "/"


def test_a_form_of_another_site_cannot_sign_in(ada: User) -> None:
    client = Client(enforce_csrf_checks=True, headers={"host": "localhost"})
    assert sign_in(client).status_code == 403


def test_wrong_passwords_are_rate_limited(client: Client, ada: User) -> None:
    page = [sign_in(client, password="wrong").content.decode() for _ in range(6)]
    assert "Too many failed" not in page[4]
    assert "Too many failed" in page[5]
    assert "Too many failed" in sign_in(client).content.decode()
    failed = Entry.objects.filter(did="sign in failed")
    assert set(failed.values_list("name", "user")) == {("ada", None)}


def test_the_admin_site_has_the_same_rate_limit(client: Client, ada: User) -> None:
    assert client.get("/admin/login/").headers["Location"] == "/account/login/"
    assert client.post("/admin/login/", {"username": "ada", "password": PASSWORD}).status_code == 302
    assert "_auth_user_id" not in client.session


def link_of(page: str) -> str:
    found = re.search(r"/account/invitation/[\w-]+/", page)
    assert found
    return found[0]


def test_the_first_start_creates_one_administrator(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        invitations.log_first()
        invitations.log_first()  # another web process
    one, other = (link_of(record.getMessage()) for record in caplog.records)
    assert client.get("/account/signup/").status_code == 200
    assert "by invitation" in client.get("/account/signup/").content.decode()
    assert client.get(one).headers["Location"] == "/account/signup/"
    assert "administrator" in client.get("/account/signup/").content.decode()
    assert client.post("/account/signup/", NEW).headers["Location"] == "/"
    made = User.objects.get()
    assert (made.username, made.is_superuser, made.is_staff) == ("grace", True, True)
    assert client.get("/admin/").status_code == 200
    for link in (one, other):
        assert client_of().get(link).status_code == 404
    caplog.clear()
    invitations.log_first()
    assert not caplog.records


def test_two_bootstrap_links_create_one_administrator() -> None:
    a, b = client_of(), client_of()
    for client in (a, b):
        client.get(f"/account/invitation/{invitations.first()}/")
    a.post("/account/signup/", NEW)
    b.post("/account/signup/", NEW | {"username": "eve"})
    assert list(User.objects.values_list("username", "is_superuser")) == [("grace", True)]


@pytest.mark.parametrize("kind", ["first", "person"])
def test_an_invitation_creates_one_account_for_eight_browsers(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All browsers pass the check of the form before the first account is stored."""
    root = User.objects.create_superuser("root", is_active=kind == "person")
    secret = invitations.first() if kind == "first" else invitations.make(root)
    browsers = [client_of() for _ in range(8)]
    for client in browsers:
        client.get(f"/account/invitation/{secret}/")
    monkeypatch.setattr(AccountAdapter, "is_open_for_signup", lambda self, request: True)
    answers = [client.post("/account/signup/", NEW | {"username": f"u{n}"}) for n, client in enumerate(browsers)]
    assert [answer.status_code for answer in answers] == [302] + [403] * 7
    assert "already used" in answers[-1].content.decode()
    assert list(User.objects.exclude(pk=root.pk).values_list("username", flat=True)) == ["u0"]


def test_two_users_choose_the_same_name_at_once(client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.REGISTER = "open"
    User.objects.create_user("grace")
    monkeypatch.setattr(AccountAdapter, "clean_username", lambda self, username, shallow=False: username)
    monkeypatch.setattr(User, "validate_unique", lambda self, exclude=None: None)
    answer = client.post("/account/signup/", NEW)
    assert (answer.status_code, "choose another user name" in answer.content.decode()) == (403, True)


def test_an_administrator_invites_users(client: Client, ada: User) -> None:
    root = client_of(User.objects.create_superuser("root"))
    assert client_of(ada).post("/account/invitations/make/").status_code == 404
    link = link_of(root.post("/account/invitations/make/", {"name": "for Grace"}).content.decode())
    assert link_of_stored() not in link
    client.get(link)
    client.post("/account/signup/", NEW)
    made = User.objects.get(username="grace")
    assert not made.is_superuser
    assert client_of().get(link).status_code == 404
    again = link_of(root.post("/account/invitations/make/").content.decode())
    Invitation.objects.filter(used_at=None).update(expires_at=timezone.now())
    assert client_of().get(again).status_code == 404
    gone = link_of(root.post("/account/invitations/make/").content.decode())
    root.post(f"/account/invitations/{Invitation.objects.get(used_at=None, expires_at__gt=timezone.now()).pk}/revoke/")
    assert client_of().get(gone).status_code == 404


def link_of_stored() -> str:
    return Invitation.objects.latest("pk").digest


def test_registration_is_closed_by_default(client: Client, settings: Any) -> None:
    client.post("/account/signup/", NEW)
    assert not User.objects.exists()
    settings.REGISTER = "open"
    client.post("/account/signup/", NEW)
    assert User.objects.get().username == "grace"


def test_a_link_adds_a_user_to_a_group(ada: User) -> None:
    bob = User.objects.create_user("bob")
    group = Group.objects.create(name="team", owner=ada)
    group.members.add(ada)
    link = link_of(client_of(ada).post(f"/account/groups/{group.pk}/invite/").content.decode())
    assert client_of().get(link).headers["Location"] == f"/account/login/?next={link}"
    client = client_of(bob)
    assert "Join team" in client.get(link).content.decode()
    client.post(link)
    assert bob in group.members.all()
    assert client.get(link).status_code == 404
    assert client_of(User.objects.create_user("eve")).get(f"/account/groups/{group.pk}/").status_code == 404


def test_signing_out_everywhere(ada: User) -> None:
    here, there = client_of(), client_of()
    for client in (here, there):
        sign_in(client)
    assert here.get("/account/").content.decode().count("badge live") == 1
    here.post("/account/sign-out-everywhere/")
    for client in (here, there):
        assert client.get("/account/").status_code == 302


def test_a_new_password_ends_other_sessions(ada: User) -> None:
    here, there = client_of(), client_of()
    for client in (here, there):
        sign_in(client)
    changed = {"oldpassword": PASSWORD, "password1": "another long one", "password2": "another long one"}
    assert here.post("/account/password/", changed).status_code == 302
    assert here.get("/account/").status_code == 200
    assert there.get("/account/").status_code == 302
    assert Entry.objects.filter(did="change password", name="ada").exists()


def test_signing_out_everywhere_ends_the_session_that_changed_the_password(ada: User) -> None:
    here, there = client_of(), client_of()
    sign_in(here)
    changed = {"oldpassword": PASSWORD, "password1": "another long one", "password2": "another long one"}
    here.post("/account/password/", changed)
    sign_in(there, password="another long one")
    assert there.get("/account/").content.decode().count("badge live") == 1
    assert there.get("/account/").context["sessions"].__len__() == 2
    there.post("/account/sign-out-everywhere/")
    assert [client.get("/account/").status_code for client in (here, there)] == [302, 302]


def test_short_and_common_passwords_are_rejected(client: Client, settings: Any) -> None:
    settings.REGISTER = "open"
    for word in ("short", "password123", "grace"):
        client.post("/account/signup/", NEW | {"password1": word, "password2": word})
    assert not User.objects.exists()
