"""Deletes what is beyond HISTORY_HOURS or HISTORY_MAX_BYTES of the history of live clusters, and very many decisions.

A state is computed from the checkpoint before it, so the history is cut at a checkpoint; the newest one always stays.
"""

import logging
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet, Sum
from django.utils import timezone

from kubesched_ui.clusters.models import ChangeBlock, Checkpoint, Cluster, Decision, HistoryGap
from kubesched_ui.housekeeping import tasks

logger = logging.getLogger(__name__)

MOST_DECISIONS = 100_000  # of a cluster
AT_ONCE = 200  # rows of one DELETE: the follower writes in between


def cut_of(cluster: int) -> Checkpoint | None:
    """Return the checkpoint before which the history of a cluster is due for deletion; None if nothing is due."""
    points = list(Checkpoint.objects.filter(cluster=cluster, complete=True).order_by("block"))
    if not points:
        return None
    oldest = timezone.now() - timedelta(hours=settings.HISTORY_HOURS)
    cut = max((place for place, point in enumerate(points) if point.at <= oldest), default=0)
    while cut < len(points) - 1 and size_after(cluster, points, cut) > settings.HISTORY_MAX_BYTES:
        cut += 1
    point = points[cut]
    due = cut > 0 or blocks_until(cluster, point.block).filter(last_at__lt=oldest).exists()
    due = due or (blocks_until(cluster, point.block).exists() and total(cluster, points) > settings.HISTORY_MAX_BYTES)
    return point if due else None


def size_after(cluster: int, points: list[Checkpoint], cut: int) -> int:
    """Return the bytes that remain after a cut."""
    blocks = ChangeBlock.objects.filter(cluster=cluster, number__gt=points[cut].block)
    return (blocks.aggregate(size=Sum("size"))["size"] or 0) + sum(point.size for point in points[cut:])


def total(cluster: int, points: list[Checkpoint]) -> int:
    """Return the stored bytes of the history."""
    blocks = ChangeBlock.objects.filter(cluster=cluster).aggregate(size=Sum("size"))["size"] or 0
    return blocks + sum(point.size for point in points)


def blocks_until(cluster: int, number: int) -> QuerySet[ChangeBlock]:
    return ChangeBlock.objects.filter(cluster=cluster, number__lte=number)


def old_decisions(cluster: int) -> QuerySet[Decision]:
    """Return the decisions beyond MOST_DECISIONS, oldest first."""
    newest_old = Decision.objects.filter(cluster=cluster).order_by("-pk").values_list("pk", flat=True)
    last = newest_old[MOST_DECISIONS : MOST_DECISIONS + 1].first()
    return Decision.objects.filter(cluster=cluster, pk__lte=last or 0).order_by("pk")


def clusters() -> list[int]:
    return list(Cluster.everything.values_list("pk", flat=True))


def due() -> bool:
    """Return whether any history is due for deletion."""
    return any(cut_of(cluster) is not None or old_decisions(cluster).exists() for cluster in clusters())


def sweep() -> None:
    """Delete what is due."""
    for cluster in clusters():
        if (point := cut_of(cluster)) is not None:
            delete(blocks_until(cluster, point.block))  # oldest first: see history.usable_checkpoints
            Checkpoint.objects.filter(cluster=cluster, block__lt=point.block).delete()
            HistoryGap.objects.filter(cluster=cluster, until__lte=point.resource_version).delete()
            logger.info("Deleted the history of cluster %s before %s", cluster, point.at)
        delete(old_decisions(cluster))


def delete(rows: QuerySet[Any]) -> None:
    """Delete rows in small transactions, oldest first."""
    while some := list(rows.order_by("pk").values_list("pk", flat=True)[:AT_ONCE]):
        rows.model._default_manager.filter(pk__in=some).delete()


tasks.cleanups.append(tasks.Cleanup(due, sweep))
