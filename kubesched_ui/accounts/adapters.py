"""Adapters for allauth: who may register, and which redirects after sign-in are allowed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context as allauth_context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

from kubesched_ui.accounts import invitations

TAKEN = "Another browser created this account at the same time. Sign in, or choose another user name."


class AccountAdapter(DefaultAccountAdapter):
    """Local accounts."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return whether the user may register: with REGISTER=open everyone, otherwise invited users."""
        return settings.REGISTER == "open" or invitations.opened(request.session) is not None

    def save_user(self, request: HttpRequest, user: Any, form: Any, commit: bool = True) -> Any:
        """Create the account and apply its invitation. Raises PermissionDenied if the invitation has been used
        meanwhile."""
        if not commit or hasattr(form, "sociallogin"):  # `External` applies the invitation
            return super().save_user(request, user, form, commit)
        with one_account():
            made = super().save_user(request, user, form, commit)
            use_invitation(request, made, required=settings.REGISTER != "open")
        return made

    def is_safe_url(self, url: str) -> bool:
        """Allow redirects only to this host, regardless of ALLOWED_HOSTS."""
        request = allauth_context.request
        return url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())

    def add_message(self, *args: Any, **kwargs: Any) -> None:
        """Add no message: the page already shows that the user is signed in."""


class External(DefaultSocialAccountAdapter):
    """Accounts of an OpenID Connect provider."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return settings.REGISTER in ("open", "oidc") or invitations.opened(request.session) is not None

    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> Any:
        """Create the account as for local accounts. allauth would replace the reason of a refusal by a page of its
        own."""
        try:
            with one_account():
                made = super().save_user(request, sociallogin, form)
                use_invitation(request, made, required=settings.REGISTER not in ("open", "oidc"))
        except PermissionDenied as refused:
            context = {"status": 403, "title": "No account was created", "detail": str(refused)}
            raise ImmediateHttpResponse(render(request, "error.html", context, status=403)) from None
        return made


@contextmanager
def one_account() -> Iterator[None]:
    """Store everything of a new account, or nothing. Raises PermissionDenied if the same account was created
    meanwhile."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        raise PermissionDenied(TAKEN) from None


def use_invitation(request: HttpRequest, user: Any, required: bool) -> None:
    """Use up the invitation that was opened in this session. Raises PermissionDenied if it has been used since the
    form was shown, also if no invitation is left although one is required."""
    if invitation := invitations.opened(request.session):
        invitations.accept(invitation, user)
        request.session.pop(invitations.KEY, None)
    elif required:
        raise PermissionDenied(invitations.OVER)
