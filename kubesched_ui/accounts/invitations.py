"""Links that work once: to make an account, the first administrator's, or to join a group."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from kubesched_ui.accounts import token_hash
from kubesched_ui.accounts.models import Group, Invitation, current
from scheduler_core.errors import InputError

KEY = "invitation"  # in the session: the number of the one that was opened
DAYS = 14
MOST = 500  # that wait to be used
OVER = "This invitation was already used or has expired. Ask for a new one."


def make(by: User, group: Group | None = None, note: str = "") -> str:
    """A new one's secret, which is nowhere else. Raises InputError."""
    if Invitation.objects.filter(current(), made_by=by, used_at=None).count() >= MOST:
        raise InputError("Invitation", "", f"{MOST} of your invitations are open; revoke some of them")
    return _made(Invitation.Kind.GROUP if group else Invitation.Kind.PERSON, made_by=by, group=group, note=note)


def first() -> str | None:
    """The secret of an invitation for an administrator, as long as there is none."""
    return None if has_administrator() else _made(Invitation.Kind.FIRST)


def _made(kind: str, **values: Any) -> str:
    secret = token_hash.new()
    until = timezone.now() + timedelta(days=DAYS)
    Invitation.objects.create(kind=kind, digest=token_hash.digest(secret), expires_at=until, **values)
    return secret


def has_administrator() -> bool:
    """Whether somebody is one already."""
    return User.objects.filter(is_superuser=True, is_active=True).exists()


def find(secret: str) -> Invitation | None:
    """The invitation of a link that may still be used."""
    found = _usable().filter(digest=token_hash.digest(secret)).first()
    return found if found and _holds(found) else None


def of(session: Any) -> Invitation | None:
    """The one that was opened in this session, for an account, if it may still be used."""
    found = _usable().filter(pk=session.get(KEY, 0)).exclude(kind=Invitation.Kind.GROUP).first()
    return found if found and _holds(found) else None


def _usable() -> Any:
    return Invitation.objects.select_related("group", "made_by").filter(current(), used_at=None)


def _holds(invitation: Invitation) -> bool:
    """The first administrator's holds until there is one; another's as long as who made it may sign in."""
    if invitation.kind == Invitation.Kind.FIRST:
        return not has_administrator()
    return bool(invitation.made_by and invitation.made_by.is_active)


@transaction.atomic
def accept(invitation: Invitation, user: User) -> None:
    """Uses it up for a new account, or to join. Raises PermissionDenied where another one was quicker."""
    now = timezone.now()
    if (
        invitation.kind == Invitation.Kind.FIRST
    ):  # every web process told one: who uses them at once waits for the other
        list(Invitation.objects.select_for_update().filter(kind=Invitation.Kind.FIRST).order_by("pk"))
    if not Invitation.objects.filter(pk=invitation.pk, used_at=None).update(used_at=now, used_by=user):
        raise PermissionDenied(OVER)
    if invitation.kind == Invitation.Kind.FIRST:
        if has_administrator():
            raise PermissionDenied(OVER)
        user.is_staff = user.is_superuser = True
        user.save(update_fields=["is_staff", "is_superuser"])
    elif invitation.group is not None:
        invitation.group.members.add(user)
