"""Sessions of signed-in users, so that all of a user's sessions can be ended. Also writes sign-ins to the audit log."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.contrib.sessions.models import Session
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from kubesched_ui.accounts import audit
from kubesched_ui.accounts.models import SignedIn
from kubesched_ui.web.client_address import address_of


def note(request: HttpRequest, user: User) -> None:
    """Record that the session of this request belongs to this user."""
    if key := request.session.session_key:
        agent = request.headers.get("User-Agent", "")[:200]
        values = {"user": user, "address": address_of(request), "agent": agent, "at": timezone.now()}
        SignedIn.objects.update_or_create(key=key, defaults=values)


def note_new_key(request: HttpRequest) -> None:
    """Record the session if this request gave it a new key: a sign-in does, and so does every change of a password."""
    key = request.session.session_key
    if key and key != request.COOKIES.get(settings.SESSION_COOKIE_NAME) and request.user.is_authenticated:
        note(request, request.user)


def sessions(user: User) -> list[SignedIn]:
    """Return the active sessions of a user, newest first. Delete the records of ended sessions."""
    known = list(SignedIn.objects.filter(user=user))
    stored = Session.objects.filter(pk__in=[one.key for one in known], expire_date__gt=timezone.now())
    live = set(stored.values_list("pk", flat=True))
    SignedIn.objects.filter(user=user).exclude(key__in=live).delete()
    return [one for one in known if one.key in live]


def end_all(user: User) -> int:
    """Sign the user out everywhere. Return the number of sessions ended."""
    keys = list(SignedIn.objects.filter(user=user).values_list("key", flat=True))
    Session.objects.filter(pk__in=keys).delete()
    SignedIn.objects.filter(user=user).delete()
    return len(keys)


@receiver(user_logged_in)
def came(request: HttpRequest, user: User, **more: Any) -> None:
    audit.note(user, "sign in", address=address_of(request))


@receiver(user_logged_out)
def went(request: HttpRequest, user: User | None, **more: Any) -> None:
    if user is not None:
        audit.note(user, "sign out", address=address_of(request))


@receiver(user_login_failed)
def failed(credentials: dict[str, Any], request: HttpRequest | None = None, **more: Any) -> None:
    name = str(credentials.get("username") or credentials.get("login") or "")
    audit.note(None, "sign in failed", address=address_of(request) if request else "", name=name)
