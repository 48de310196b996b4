"""How much a person may have, and how long it stays: the settings', unless an administrator gave the person others.

What nobody owns (there are no accounts, or it was made before there were) is counted together, under the settings.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from django.conf import settings

from kubesched_ui.models import Quota


@dataclass(frozen=True)
class Limits:
    """0 is without a limit. `size`: bytes stored; `pods`: of one run; `running`: at once; `days`: things stay."""

    size: int
    scenarios: int
    runs: int
    pods: int
    running: int
    days: int


def usual() -> Limits:
    """Of whoever has no others."""
    return Limits(
        size=settings.QUOTA_BYTES,
        scenarios=settings.QUOTA_SCENARIOS,
        runs=settings.QUOTA_RUNS,
        pods=settings.QUOTA_PODS,
        running=settings.QUOTA_RUNNING,
        days=settings.KEEP_DAYS,
    )


def limits_of(owner: int | None) -> Limits:
    """Of the person with that number."""
    own = Quota.objects.filter(user_id=owner).first() if owner is not None else None
    return usual() if own is None else merged(own)


def merged(own: Quota) -> Limits:
    """The settings', with what the administrator said instead."""
    given = {field.name: getattr(own, field.name) for field in fields(Limits)}
    named = {name: value for name, value in given.items() if value is not None}
    return Limits(**{**vars(usual()), **named})
