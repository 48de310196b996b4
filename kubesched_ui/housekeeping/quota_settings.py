"""Quotas and retention periods of users: those of the settings, unless an administrator has set others for a user.

Objects without an owner (there are no accounts, or the object is older than the accounts) are counted together under
the limits of the settings.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from django.conf import settings

from kubesched_ui.models import Quota


@dataclass(frozen=True)
class QuotaLimits:
    """0 means no limit. `size`: stored bytes. `pods`: per run. `running`: at the same time. `days`: retention
    period."""

    size: int
    scenarios: int
    runs: int
    pods: int
    running: int
    days: int


def default_limits() -> QuotaLimits:
    """Return the default limits."""
    return QuotaLimits(
        size=settings.QUOTA_BYTES,
        scenarios=settings.QUOTA_SCENARIOS,
        runs=settings.QUOTA_RUNS,
        pods=settings.QUOTA_PODS,
        running=settings.QUOTA_RUNNING,
        days=settings.KEEP_DAYS,
    )


def limits_of(owner: int | None) -> QuotaLimits:
    """Return the limits of a user."""
    own = Quota.objects.filter(user_id=owner).first() if owner is not None else None
    return default_limits() if own is None else limits_with(own)


def limits_with(own: Quota) -> QuotaLimits:
    """Return the limits of the settings, overridden by those of the administrator."""
    given = {field.name: getattr(own, field.name) for field in fields(QuotaLimits)}
    named = {name: value for name, value in given.items() if value is not None}
    return QuotaLimits(**{**vars(default_limits()), **named})
