"""Invitation links that work once: to create an account, to become the first administrator, or to join a group."""

import logging
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, transaction
from django.utils import timezone

from kubesched_ui.accounts import token_hash, user_groups
from kubesched_ui.accounts.models import Group, Invitation, current
from kubesched_ui.runtime.advisory_lock import lock_until_commit
from scheduler_core.errors import InputError

logger = logging.getLogger(__name__)

KEY = "invitation"  # session key of the ID of the opened invitation
DAYS = 14
MOST = 500  # unused invitations per user
OVER = "This invitation was already used or has expired. Ask for a new one."


@transaction.atomic
def make(by: User, group: Group | None = None, note: str = "") -> str:
    """Create an invitation and return its secret, which is not stored. Raises InputError."""
    lock_until_commit(f"invitations of user {by.pk}")
    if Invitation.objects.filter(current(), made_by=by, used_at=None).count() >= MOST:
        raise InputError("Invitation", "", f"{MOST} of your invitations are open; revoke some of them")
    return _made(Invitation.Kind.GROUP if group else Invitation.Kind.PERSON, made_by=by, group=group, note=note)


def first() -> str | None:
    """Return the secret of an invitation for the first administrator; None if there is an administrator."""
    return None if has_administrator() else _made(Invitation.Kind.FIRST)


def log_first() -> None:
    """Log the link while there is no administrator. The server also starts if the database is unreachable."""
    if not settings.ACCOUNTS:
        return
    try:
        if secret := first():
            path = f"/account/invitation/{secret}/"
            logger.warning("There is no administrator yet. To create the administrator account, open %s", path)
    except DatabaseError as error:
        logger.warning("Cannot determine whether there is an administrator: %s", error)


def _made(kind: str, **values: Any) -> str:
    secret = token_hash.new()
    until = timezone.now() + timedelta(days=DAYS)
    Invitation.objects.create(kind=kind, digest=token_hash.digest(secret), expires_at=until, **values)
    return secret


def has_administrator() -> bool:
    """Return whether there is an active administrator."""
    return User.objects.filter(is_superuser=True, is_active=True).exists()


def find(secret: str) -> Invitation | None:
    """Return the invitation of a link if it can still be used."""
    found = _usable().filter(digest=token_hash.digest(secret)).first()
    return found if found and _holds(found) else None


def opened(session: Any) -> Invitation | None:
    """Return the account invitation that was opened in this session if it can still be used."""
    found = _usable().filter(pk=session.get(KEY, 0)).exclude(kind=Invitation.Kind.GROUP).first()
    return found if found and _holds(found) else None


def _usable() -> Any:
    return Invitation.objects.select_related("group", "made_by").filter(current(), used_at=None)


def _holds(invitation: Invitation) -> bool:
    """Return whether an invitation is valid: for the first administrator, until one exists; else while its creator is
    active."""
    if invitation.kind == Invitation.Kind.FIRST:
        return not has_administrator()
    return bool(invitation.made_by and invitation.made_by.is_active)


@transaction.atomic
def accept(invitation: Invitation, user: User) -> None:
    """Use up the invitation for a new account or for joining a group. Raises PermissionDenied if it has been used
    meanwhile."""
    now = timezone.now()
    if invitation.kind == Invitation.Kind.FIRST:
        # every web process logged such an invitation; the lock serializes concurrent uses
        list(Invitation.objects.select_for_update().filter(kind=Invitation.Kind.FIRST).order_by("pk"))
    if not Invitation.objects.filter(pk=invitation.pk, used_at=None).update(used_at=now, used_by=user):
        raise PermissionDenied(OVER)
    if invitation.kind == Invitation.Kind.FIRST:
        if has_administrator():
            raise PermissionDenied(OVER)
        user.is_staff = user.is_superuser = True
        user.save(update_fields=["is_staff", "is_superuser"])
    elif invitation.group is not None:
        try:
            user_groups.add(invitation.group, user)
        except InputError as error:
            raise PermissionDenied(error.problem) from None
