"""Limits of users, and how long what they store is kept."""

from django.conf import settings
from django.db import models
from django.utils import timezone


class Quota(models.Model):
    """Limits of one user that replace those of the settings (housekeeping/quota.py). Null: as in the settings;
    0: no limit."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="quota")
    size = models.PositiveBigIntegerField(
        "bytes", null=True, blank=True, help_text="Stored bytes of scenarios and runs."
    )
    scenarios = models.PositiveIntegerField(null=True, blank=True)
    runs = models.PositiveIntegerField(null=True, blank=True)
    pods = models.PositiveIntegerField(null=True, blank=True, help_text="Maximum number of pods in one run.")
    running = models.PositiveIntegerField(null=True, blank=True, help_text="Maximum number of active runs.")
    days = models.PositiveIntegerField(
        null=True, blank=True, help_text="Days until scenarios and runs are deleted unless pinned."
    )

    def __str__(self) -> str:
        return f"Limits of {self.user}"


class Retention(models.Model):
    """Start of a retention period. Pages show the deletion date of an object for some time before it is deleted."""

    owner = models.PositiveBigIntegerField(
        unique=True, help_text="ID of the user; 0: all users without their own limit."
    )
    days = models.PositiveIntegerField()
    since = models.DateTimeField(default=timezone.now)
