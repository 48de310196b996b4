"""The lease of a cluster: of several followers on several hosts, only the one that holds it may write."""

from contextlib import AbstractContextManager
from typing import Any

from django.db.models import F, Q
from django.db.models.functions import Now

from kubesched_ui.clusters.models import Cluster, state_fields
from kubesched_ui.work import leases
from kubesched_ui.work.models import silent

LOST_AFTER_S = 10  # without a heartbeat
HEARTBEAT_S = 2


def claim(name: str, token: str) -> Cluster | None:
    """Give the lease of a cluster to `token` and return the cluster; None if another follower holds it.

    `token`: the name of the supervisor, a colon, and a unique text. A supervisor has one follower for a cluster, so a
    new one need not wait until the lease of a killed one ends.
    """
    mine = Q(follower="") | Q(follower__startswith=token.partition(":")[0] + ":")
    columns: dict[str, Any] = {"follower": token, "heartbeat_at": Now(), "version": F("version") + 1}
    columns |= state_fields(Cluster.State.CONNECTING)
    rows = Cluster.everything.filter(mine | silent(LOST_AFTER_S), name=name, configured=True)
    return Cluster.everything.get(name=name) if rows.update(**columns) else None


def heartbeats(pk: int, token: str) -> AbstractContextManager[None]:
    """Keep the lease during the `with` block, from a thread."""
    return leases.heartbeats(Cluster.everything.filter(pk=pk, follower=token), HEARTBEAT_S)


def release(pk: int, token: str, state: str = Cluster.State.STOPPED, message: str = "") -> None:
    """Give the lease back."""
    rows = Cluster.everything.filter(pk=pk, follower=token)
    rows.update(follower="", heartbeat_at=None, version=F("version") + 1, **state_fields(state, message))
