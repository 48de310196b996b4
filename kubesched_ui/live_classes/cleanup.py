"""Deletes live classes, with their student names and answers, some days after they end."""

import logging
from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from kubesched_ui.housekeeping import tasks
from kubesched_ui.live_classes.models import LiveClass, LiveClassQuerySet

logger = logging.getLogger(__name__)
AT_ONCE = 100


def over() -> LiveClassQuerySet:
    """Return the live classes whose retention period is over."""
    before = timezone.now() - timedelta(days=settings.LIVE_CLASS_KEEP_DAYS)
    return LiveClass.objects.filter(Q(closed_at__lt=before) | Q(expires_at__lt=before))


def due() -> bool:
    """Return whether any live class is due for deletion."""
    return over().exists()


def sweep() -> None:
    """Delete the live classes that are due."""
    for live_class in over().order_by("pk")[:AT_ONCE]:
        live_class.delete()
        logger.info("Deleted live class %s: its retention period is over", live_class.code)


tasks.cleanups.append(tasks.Cleanup(due, sweep))
