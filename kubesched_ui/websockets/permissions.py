"""Who may see a run: the one place where a socket's right to its run is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubesched_ui.accounts.websocket_auth import may_watch

Scope = dict[str, Any]


def may_see(run_id: int, scopes: Sequence[Scope]) -> list[bool]:
    """For each ASGI scope of a websocket (who it is: headers, query, user) whether it may see the run.

    Asked when a socket comes, before anything is sent, and every second for all of a run's sockets together while they
    are open: what is no longer allowed ends then. Runs in a thread of its own and may ask the database, once for all.
    """
    return may_watch(run_id, scopes)
