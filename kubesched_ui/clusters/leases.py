"""The lease of a cluster: of several followers on several hosts, only the one that holds it may write."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, InterfaceError, connection
from django.db.models import F, Q
from django.db.models.functions import Now

from kubesched_ui.clusters.models import Cluster, state_fields

LOST_AFTER_S = 10  # without a heartbeat
HEARTBEAT_S = 2


def silent() -> Q:
    """Return a condition: no follower sent a heartbeat for LOST_AFTER_S."""
    # All hosts share the clock of the database. A heartbeat in the future is from before the clock was set back.
    now, long = Now(), timedelta(seconds=LOST_AFTER_S)
    return Q(heartbeat_at=None) | Q(heartbeat_at__lt=now - long) | Q(heartbeat_at__gt=now + long)


def claim(name: str, token: str) -> Cluster | None:
    """Give the lease of a cluster to `token` and return the cluster; None if another follower holds it.

    `token`: the name of the supervisor, a colon, and a unique text. A supervisor has one follower for a cluster, so a
    new one need not wait until the lease of a killed one ends.
    """
    mine = Q(follower="") | Q(follower__startswith=token.partition(":")[0] + ":")
    columns: dict[str, Any] = {"follower": token, "heartbeat_at": Now(), "version": F("version") + 1}
    columns |= state_fields(Cluster.State.CONNECTING)
    rows = Cluster.everything.filter(mine | silent(), name=name, configured=True)
    return Cluster.everything.get(name=name) if rows.update(**columns) else None


@contextmanager
def heartbeats(pk: int, token: str) -> Iterator[None]:
    """Keep the lease during the `with` block, from a thread."""
    over = threading.Event()

    def send() -> None:
        while not over.wait(HEARTBEAT_S):
            with suppress(DatabaseError, InterfaceError):
                Cluster.everything.filter(pk=pk, follower=token).update(heartbeat_at=Now())
            connection.close()

    threading.Thread(target=send, name="heartbeats", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def release(pk: int, token: str, state: str = Cluster.State.STOPPED, message: str = "") -> None:
    """Give the lease back."""
    rows = Cluster.everything.filter(pk=pk, follower=token)
    rows.update(follower="", heartbeat_at=None, version=F("version") + 1, **state_fields(state, message))
