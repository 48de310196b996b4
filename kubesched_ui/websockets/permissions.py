"""Permission check of sockets: the only place that decides whether a socket may view a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubesched_ui.accounts.websocket_auth import may_watch

Scope = dict[str, Any]


def may_see(run_id: int, scopes: Sequence[Scope]) -> list[bool]:
    """Return for each ASGI scope of a websocket (headers, query, user) whether it may view the run.

    This is checked before anything is sent, and then every second for all sockets of a run together; a socket that
    loses permission is closed. It runs in a separate thread and may query the database, once for all scopes.
    """
    return may_watch(run_id, scopes)
