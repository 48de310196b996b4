"""Links to shared objects. The session stores the opened links, so that all URLs of the object work as usual."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from kubesched_ui.accounts import token_hash
from kubesched_ui.accounts.models import Group, Share
from kubesched_ui.models import Run, Scenario
from kubesched_ui.runtime.advisory_lock import lock_until_commit
from scheduler_core.errors import InputError

KEY = "links"  # session key
MOST = 50  # maximum number of links in a session; the latest are kept


def opened(session: Any) -> tuple[int, ...]:
    """Return the IDs of the shares whose links were opened in this session. Every query checks whether they are still
    valid."""
    return tuple(session.get(KEY, ()))


def open_link(session: Any, secret: str) -> Share | None:
    """Add the share of a link to the session and return it; None if the link is unknown, revoked or expired."""
    share = share_of(secret)
    if share is None:
        return None
    remember(session, share.pk)
    Share.objects.filter(pk=share.pk).update(visited_at=timezone.now())
    return share


def share_of(secret: str) -> Share | None:
    """Return the share of a link; None if the link is unknown, revoked or expired."""
    return Share.objects.live().filter(digest=token_hash.digest(secret)).first()


def remember(session: Any, number: int) -> None:
    """Give the session access to the share with this ID."""
    session[KEY] = [*(pk for pk in opened(session) if pk != number), number][-MOST:]


@transaction.atomic
def share_by_link(thing: Scenario | Run, by: User, note: str = "", until: datetime | None = None) -> tuple[Share, str]:
    """Return a new share and the secret of its link, which is not stored. Raises InputError."""
    _check_limit(thing)
    secret = token_hash.new()
    share = Share.objects.create(**_of(thing), owner=by, digest=token_hash.digest(secret), note=note, expires_at=until)
    return share, secret


@transaction.atomic
def share_with(thing: Scenario | Run, by: User, group: Group, until: datetime | None = None) -> Share:
    """Share an object with a group and return the share. Raises InputError if the user is not a member of the group."""
    if not group.members.filter(pk=by.pk).exists():
        raise InputError("Share", "group", "must be one of your groups")
    _check_limit(thing)
    share, _ = Share.objects.update_or_create(**_of(thing), owner=by, group=group, defaults={"expires_at": until})
    return share


def _of(thing: Scenario | Run) -> dict[str, Any]:
    return {"scenario" if isinstance(thing, Scenario) else "run": thing}


def _check_limit(thing: Scenario | Run) -> None:
    lock_until_commit(f"shares of {type(thing).__name__} {thing.pk}")
    if Share.objects.filter(**_of(thing)).count() >= Share.MOST:
        raise InputError("Share", "", f"there are {Share.MOST} shares of it; revoke some of them")
