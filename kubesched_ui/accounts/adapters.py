"""What allauth asks us: who may register, where one may go after signing in."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

from kubesched_ui.accounts import invitations


class Accounts(DefaultAccountAdapter):
    """Local accounts."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """To all where REGISTER says so, else to who was invited."""
        return settings.REGISTER == "open" or invitations.of(request.session) is not None

    @transaction.atomic
    def save_user(self, request: HttpRequest, user: Any, form: Any, commit: bool = True) -> Any:
        """The new account, with what its invitation gives. Raises PermissionDenied where that was used meanwhile."""
        made = super().save_user(request, user, form, commit)
        if commit:
            use_invitation(request, made)
        return made

    def is_safe_url(self, url: str) -> bool:
        """Only this very host, whatever others are allowed."""
        request = context.request
        return url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())

    def add_message(self, *args: Any, **kwargs: Any) -> None:
        """That one has signed in is to be seen."""


class External(DefaultSocialAccountAdapter):
    """Accounts of an OpenID Connect provider."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return settings.REGISTER in ("open", "oidc") or invitations.of(request.session) is not None

    @transaction.atomic
    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> Any:
        """As of local accounts."""
        made = super().save_user(request, sociallogin, form)
        use_invitation(request, made)
        return made


def use_invitation(request: HttpRequest, user: Any) -> None:
    """Uses up the one that was opened, if any."""
    if invitation := invitations.of(request.session):
        invitations.accept(invitation, user)
        request.session.pop(invitations.KEY, None)
