"""Links to what is shared: what was opened lives in the session, so that all addresses of the thing work as usual."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from kubesched_ui.accounts import token_hash
from kubesched_ui.accounts.models import Group, Share
from kubesched_ui.models import Run, Scenario
from scheduler_core.errors import InputError

KEY = "links"  # in the session
MOST = 50  # that a session remembers, the latest


def of(session: Any) -> tuple[int, ...]:
    """Numbers of the shares whose links were opened in this session. Whether they hold is asked with each look."""
    return tuple(session.get(KEY, ()))


def open_link(session: Any, secret: str) -> Share | None:
    """Remembers the share of a link; None for a link of nothing, one that was revoked, one that is over."""
    share = Share.objects.live().filter(digest=token_hash.digest(secret)).first()
    if share is None:
        return None
    remember(session, share.pk)
    Share.objects.filter(pk=share.pk).update(visited_at=timezone.now())
    return share


def remember(session: Any, number: int) -> None:
    """From now on the session sees what the share of that number shows."""
    session[KEY] = [*(pk for pk in of(session) if pk != number), number][-MOST:]


def share_by_link(thing: Scenario | Run, by: User, note: str = "", until: datetime | None = None) -> tuple[Share, str]:
    """A new share and the secret of its link, which is nowhere else. Raises InputError."""
    _check_room(thing)
    secret = token_hash.new()
    share = Share.objects.create(**_of(thing), owner=by, digest=token_hash.digest(secret), note=note, expires_at=until)
    return share, secret


def share_with(thing: Scenario | Run, by: User, group: Group, until: datetime | None = None) -> Share:
    """The group sees it from now on. Raises InputError for a group that one is not in."""
    if not group.members.filter(pk=by.pk).exists():
        raise InputError("Share", "group", "must be one of your groups")
    _check_room(thing)
    share, _ = Share.objects.update_or_create(**_of(thing), owner=by, group=group, defaults={"expires_at": until})
    return share


def _of(thing: Scenario | Run) -> dict[str, Any]:
    return {"scenario" if isinstance(thing, Scenario) else "run": thing}


def _check_room(thing: Scenario | Run) -> None:
    if Share.objects.filter(**_of(thing)).count() >= Share.MOST:
        raise InputError("Share", "", f"there are {Share.MOST} shares of it; revoke some of them")
