"""The judging process of a follower: checks the decisions of the real scheduler and stores the results.

It is separate from the analysis of pending pods, because a decision takes longer than a change, and because a decision
is checked only when all kinds are known beyond it (live/ordering.py).
"""

import logging
import time
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import F

from kubesched_ui.clusters.analysis import (
    AGAIN_S,
    DRAIN_S,
    MAX_SENTENCE,
    STORE_EVERY_S,
    ItemQueue,
    LeaseHolder,
    cleaned,
    printable,
)
from kubesched_ui.clusters.item_frames import Forget
from kubesched_ui.clusters.models import MAX_KEY, MAX_NODE, Cluster, Decision
from kubesched_ui.clusters.resumption import Resumption, items_since
from kubesched_ui.clusters.writer import at
from scheduler_core.live.ordering import Ordering
from scheduler_core.live.watch_events import Item
from scheduler_core.releases import get_release
from scheduler_core.shadow.judge import Judge
from scheduler_core.shadow.judgement import Judgement

logger = logging.getLogger(__name__)

LAG = "lag_seconds"  # key of the report: seconds from a decision to its check, at most
CHANGES = "configuration_changes"  # key of the report: those that decisions show, or that were found ("after": "")
SCHEDULER = "scheduler"  # key of the report: a hash of the release and configuration by which it was made
MOST_CHANGES = 20
REPORT_EVERY_S = 10.0  # seconds until the report is stored without a new judgement
SETTLED = "settled_version"  # key of the report: resourceVersion up to which all judgements are stored


class DecisionAnalysis:
    """Orders the items, feeds the judge, and stores its judgements."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.holder = LeaseHolder(start)
        self.ordering = Ordering(start["kinds"])
        self.judge = Judge(get_release(start["release"]), start["config"] or None)
        self.found: list[Judgement] = []
        self.stored_at = 0.0
        self.kinds = frozenset(start["kinds"])
        self.scheduler = blake2b(f"{start['release']}\n{start['config']}".encode(), digest_size=8).hexdigest()
        self.changes: list[dict[str, Any]] = []  # changes of the configuration that former processes have noticed
        self.resumption = Resumption([])

    def run(self, items: ItemQueue) -> None:
        """Judge until the pipe ends. Raises LostLease."""
        self.resume()
        while items.drain(self.apply, 0.5, DRAIN_S):
            self._store_if_due()

    def resume(self) -> None:
        """Judge what the last process left, from the stored history."""
        cluster = Cluster.everything.get(pk=self.holder.pk)
        self.changes = cluster.report.get(CHANGES, [])[-MOST_CHANGES:]
        if cluster.report.get(SCHEDULER, self.scheduler) != self.scheduler:
            self.changes.append({"time": time.time(), "before": "", "after": ""})
        # Without a report, no process has judged anything yet.
        settled = cluster.report.get(SETTLED, 0) if cluster.report else None
        stored = items_since(cluster, settled, self.kinds)
        self.resumption = Resumption(stored)
        for item in stored:
            self._judge(self.ordering.add(item))
            self._store_if_due()

    def _store_if_due(self) -> None:
        if time.monotonic() - self.stored_at < (STORE_EVERY_S if self.found else REPORT_EVERY_S):
            return
        self.stored_at = time.monotonic()
        try:
            self.store()
        except (DatabaseError, InterfaceError) as error:
            logger.warning("Judgements wait for the database: %s", error)
            connection.close()
            self.stored_at += AGAIN_S

    def apply(self, item: Item | Forget) -> None:
        """Judge what is in order now."""
        if isinstance(item, Forget):
            self._judge(self.ordering.forget(item.kind))
        else:
            for one in self.resumption.items(item):
                self._judge(self.ordering.add(one))

    def _judge(self, items: Iterable[Item]) -> None:
        for item in items:
            self.found += self.judge.feed(item)

    def store(self) -> None:
        """Store the judgements, and up to where they are stored. Raises LostLease."""
        if not self.judge.settled_version:  # the pods are not known yet
            return
        rows = [self._row(judgement) for judgement in self.found]
        report = self.judge.summary()
        report[CHANGES] = (self.changes + report.get(CHANGES, []))[-MOST_CHANGES:]
        report |= {SETTLED: self.judge.settled_version, LAG: self._lag(), SCHEDULER: self.scheduler}
        with transaction.atomic():
            self.holder.update(report=cleaned(report), version=F("version") + 1)
            Decision.objects.bulk_create(rows, 500, ignore_conflicts=True)
        self.found.clear()
        self.holder.hint()

    def _lag(self) -> float:
        """Return the seconds since the oldest decision that is to be stored or not judged yet."""
        times = [self.judge.waits_since, self.ordering.waits_since, *(judgement.time for judgement in self.found)]
        return round(max((time.time() - since for since in times if since is not None), default=0.0), 1)

    def _row(self, judgement: Judgement) -> Decision:
        decided = judgement.kind == "decision"
        configuration = {"configuration": judgement.configuration} if judgement.configuration else {}
        return Decision(
            cluster_id=self.holder.pk,
            pod=printable(judgement.pod[:MAX_KEY]),
            node=printable(judgement.node[:MAX_NODE]) if decided else "",
            resource_version=judgement.resource_version,
            at=at(judgement.time),
            outcome=judgement.outcome if decided else "",
            message=printable(judgement.message[:MAX_SENTENCE]),
            message_outcome="" if decided else judgement.outcome,
            ours=[printable(one[:MAX_SENTENCE]) for one in judgement.ours],
            details=cleaned(judgement.details | configuration),
        )
