"""Models of accounts in addition to Django's users: groups, shares, tokens, invitations and the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from kubesched_ui.models import MAX_NAME, Run, Scenario

DIGEST = 64  # hexadecimal digits of SHA-256


def current() -> Q:
    """Return a condition: not expired."""
    return Q(expires_at=None) | Q(expires_at__gt=timezone.now())


class Group(models.Model):
    """A group of users with whom objects are shared. The user who created it manages it."""

    MOST = 1000  # members

    name = models.CharField(max_length=MAX_NAME)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="own_groups")
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="sharing_groups", help_text="The owner is a member as well."
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name


class ShareQuerySet(models.QuerySet["Share"]):
    """Shares."""

    def live(self) -> ShareQuerySet:
        """Return the shares that have not expired."""
        return self.filter(current())


class Share(models.Model):
    """Access of others to a scenario or a run: for holders of a link, or for the members of a group. Revoking deletes
    it. A share of a scenario shows the scenario and its owner's runs of it. A share of a run shows that run."""

    MOST = 100  # per object

    scenario = models.ForeignKey(Scenario, null=True, blank=True, on_delete=models.CASCADE, related_name="shares")
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.CASCADE, related_name="shares")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="shares")
    group = models.ForeignKey(Group, null=True, blank=True, on_delete=models.CASCADE, related_name="shares")
    digest = models.CharField(
        max_length=DIGEST, null=True, unique=True, editable=False, help_text="Hash of the secret in a link."
    )
    note = models.CharField(max_length=MAX_NAME, blank=True, help_text="Note on the purpose of the link.")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    visited_at = models.DateTimeField(null=True, blank=True, help_text="When the link was last opened.")

    objects = ShareQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(scenario=None, run__isnull=False) | Q(scenario__isnull=False, run=None),
                name="share_is_of_one_thing",
            ),
            models.CheckConstraint(
                condition=Q(group=None, digest__isnull=False) | Q(group__isnull=False, digest=None),
                name="share_is_a_link_or_a_groups",
            ),
        ]

    @property
    def thing(self) -> Scenario | Run:
        """Return the shared object."""
        found = self.scenario or self.run
        assert found is not None
        return found

    @property
    def over(self) -> bool:
        """Return whether the share has expired."""
        return is_over(self.expires_at)


class Token(models.Model):
    """A token with which a program uses the API for a user. It is shown once. Revoking deletes it."""

    MOST = 50  # per user

    class Scope(models.TextChoices):
        READ = "read"
        WRITE = "write"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=MAX_NAME)
    digest = models.CharField(max_length=DIGEST, unique=True, editable=False)
    scope = models.CharField(max_length=5, choices=Scope, default=Scope.READ)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    @property
    def over(self) -> bool:
        """Return whether the token has expired."""
        return is_over(self.expires_at)


class Invitation(models.Model):
    """A link that works once: to create an account, to become the first administrator, or to join a group."""

    class Kind(models.TextChoices):
        FIRST = "first"
        PERSON = "person"
        GROUP = "group"

    kind = models.CharField(max_length=6, choices=Kind)
    digest = models.CharField(max_length=DIGEST, unique=True, editable=False)
    group = models.ForeignKey(Group, null=True, blank=True, on_delete=models.CASCADE, related_name="invitations")
    note = models.CharField(max_length=MAX_NAME, blank=True, help_text="Note on the recipient.")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="invited")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="invitations_used"
    )

    class Meta:
        ordering = ["-created_at", "-pk"]


class SignedIn(models.Model):
    """A session of a signed-in user."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="signed_in")
    key = models.CharField(max_length=40, unique=True, editable=False)
    at = models.DateTimeField(default=timezone.now)
    address = models.CharField(max_length=64, blank=True)
    agent = models.CharField(max_length=MAX_NAME, blank=True, help_text="User agent of the browser.")

    class Meta:
        ordering = ["-at", "-pk"]


class Entry(models.Model):
    """An entry of the audit log. It stores names as text because the objects may be deleted."""

    at = models.DateTimeField(default=timezone.now, db_index=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="entries")
    name = models.CharField(
        max_length=MAX_NAME, blank=True, help_text="Name of the user, as entered at a failed sign-in."
    )
    did = models.CharField(max_length=40)
    what = models.CharField(max_length=2 * MAX_NAME, blank=True)
    address = models.CharField(max_length=64, blank=True, help_text="Client IP address.")

    class Meta:
        ordering = ["-at", "-pk"]


def is_over(until: datetime | None) -> bool:
    """Return whether a time has passed. None never passes."""
    return until is not None and until <= timezone.now()


def named(thing: Any) -> str:
    """Return how messages name an object: `Run 7 “name”`."""
    name = getattr(thing, "name", "")
    kind = {"Upgrade": "Upgrade preview", "WrittenLesson": "Lesson"}.get(type(thing).__name__, type(thing).__name__)
    return f"{kind} {thing.pk}" + (f" “{name}”" if name else "")
