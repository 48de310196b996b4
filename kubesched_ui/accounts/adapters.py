"""Adapters for allauth: who may register, and which redirects after sign-in are allowed."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

from kubesched_ui.accounts import invitations


class AccountAdapter(DefaultAccountAdapter):
    """Local accounts."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return whether the user may register: with REGISTER=open everyone, otherwise invited users."""
        return settings.REGISTER == "open" or invitations.opened(request.session) is not None

    @transaction.atomic
    def save_user(self, request: HttpRequest, user: Any, form: Any, commit: bool = True) -> Any:
        """Create the account and apply its invitation. Raises PermissionDenied if the invitation has been used
        meanwhile."""
        made = super().save_user(request, user, form, commit)
        if commit:
            use_invitation(request, made)
        return made

    def is_safe_url(self, url: str) -> bool:
        """Allow redirects only to this host, regardless of ALLOWED_HOSTS."""
        request = context.request
        return url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())

    def add_message(self, *args: Any, **kwargs: Any) -> None:
        """Add no message: the page already shows that the user is signed in."""


class External(DefaultSocialAccountAdapter):
    """Accounts of an OpenID Connect provider."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return settings.REGISTER in ("open", "oidc") or invitations.opened(request.session) is not None

    @transaction.atomic
    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> Any:
        """Create the account as for local accounts."""
        made = super().save_user(request, sociallogin, form)
        use_invitation(request, made)
        return made


def use_invitation(request: HttpRequest, user: Any) -> None:
    """Use up the invitation that was opened in this session, if any."""
    if invitation := invitations.opened(request.session):
        invitations.accept(invitation, user)
        request.session.pop(invitations.KEY, None)
