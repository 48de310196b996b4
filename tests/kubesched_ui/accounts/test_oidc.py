"""Sign-in with an OpenID Connect provider. The test serves a small one."""

import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kubesched_ui.accounts import invitations
from kubesched_ui.accounts.adapters import External
from kubesched_ui.runtime import env
from tests.kubesched_ui.accounts.conftest import client_of
from tests.kubesched_ui.accounts.provider import Provider, provider

pytestmark = pytest.mark.django_db


@pytest.fixture
def there(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with provider() as found:
        variables = {"ISSUER": found.issuer, "CLIENT_ID": "kubesched", "CLIENT_SECRET": "s3cret", "NAME": "Our house"}
        for name, value in variables.items():
            monkeypatch.setenv(f"OIDC_{name}", value)
        provider_of_test = {"APPS": env.openid_connect(), "OAUTH_PKCE_ENABLED": True}
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": provider_of_test}
        yield found


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any) -> None:
        return None


def follow_redirects(client: Client, query: str = "") -> Any:
    """Follow the redirects of a sign-in to the provider and back, as a browser does."""
    sent = client.post(f"/account/oidc/login/{query}")
    assert sent.status_code == 302, sent.content
    browser = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect())
    with pytest.raises(HTTPError) as answer:
        browser.open(sent.headers["Location"])
    back = urlsplit(answer.value.headers["Location"])
    return client.get(f"{back.path}?{back.query}")


def test_an_invited_user_creates_an_account(there: Provider, client: Client) -> None:
    assert "Sign in with Our house" in client.get("/account/login/").content.decode()
    assert "by invitation" in follow_redirects(client).content.decode()
    assert not User.objects.exists()
    client.get(f"/account/invitation/{invitations.first()}/")
    assert follow_redirects(client).headers["Location"] == "/"
    made = User.objects.get()
    assert (made.username, made.is_superuser, made.has_usable_password()) == ("grace", True, False)
    assert there.token_requests[-1]["client_secret"] == "s3cret"
    assert "code_verifier" in there.token_requests[-1]
    again = client_of()
    assert follow_redirects(again, "?next=/runs/").headers["Location"] == "/runs/"
    assert again.get("/account/").status_code == 200
    assert User.objects.count() == 1


def test_with_the_setting_every_user_of_the_provider_may_sign_in(
    there: Provider, client: Client, settings: Any
) -> None:
    settings.REGISTER = "oidc"
    follow_redirects(client)
    assert User.objects.get().username == "grace"
    assert "by invitation" in client_of().get("/account/signup/").content.decode()


def test_an_invitation_creates_one_account_only(
    there: Provider, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = invitations.first()
    other = client_of()
    for browser in (client, other):
        browser.get(f"/account/invitation/{secret}/")
    monkeypatch.setattr(External, "is_open_for_signup", lambda self, request, sociallogin: True)
    follow_redirects(client)
    there.person |= {"sub": "another", "preferred_username": "eve"}
    refused = follow_redirects(other)
    assert (refused.status_code, "already used" in refused.content.decode()) == (403, True)
    assert list(User.objects.values_list("username", flat=True)) == ["grace"]


def test_an_equal_name_or_mail_does_not_give_access_to_an_account(
    there: Provider, client: Client, settings: Any
) -> None:
    settings.REGISTER = "oidc"
    User.objects.create_superuser("grace", email="grace@example.com")
    there.person |= {"email": "grace@example.com", "email_verified": True}
    follow_redirects(client)
    assert not User.objects.filter(pk=client.session.get("_auth_user_id"), is_superuser=True).exists()


def test_a_provider_needs_all_of_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OIDC_CLIENT_ID", raising=False)
    monkeypatch.setenv("OIDC_ISSUER", "http://x")
    with pytest.raises(ValueError, match="OIDC_CLIENT_ID"):
        env.openid_connect()
