"""The audit log. Entries beyond a maximum age or a maximum number are deleted."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from kubesched_ui.accounts.models import Entry
from kubesched_ui.models import MAX_NAME

PRUNE_EVERY = 200  # entries


def note(user: Any, did: str, what: str = "", address: str = "", name: str = "") -> None:
    """Write an entry. `user`: None if not signed in; `name` is then the user name that was typed."""
    known = user if user is not None and user.is_authenticated else None
    entry = Entry.objects.create(
        user=known,
        name=(known.get_username() if known else name).replace("\0", "")[:MAX_NAME],
        did=did[:40],
        what=what.replace("\0", "")[: 2 * MAX_NAME],
        address=address[:64],
    )
    if entry.pk % PRUNE_EVERY == 0:
        prune()


def prune() -> int:
    """Delete entries that are too old or too many. Return their number."""
    old = Entry.objects.filter(at__lt=timezone.now() - timedelta(days=settings.AUDIT_DAYS))
    deleted, _ = old.delete()
    if first := Entry.objects.order_by("-pk").values_list("pk", flat=True)[settings.AUDIT_ENTRIES :][:1]:
        more, _ = Entry.objects.filter(pk__lte=first[0]).delete()
        deleted += more
    return deleted


def entries(user: Any = None) -> QuerySet[Entry]:
    """Return the entries of one user or of all users, newest first."""
    return Entry.objects.all() if user is None else Entry.objects.filter(user=user)
