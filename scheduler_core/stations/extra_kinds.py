"""The kinds that only waits are read from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.api.objects import KINDS
from scheduler_core.live.kinds import recorded_kind
from scheduler_core.live.objects import TYPES

EXTRA = frozenset(TYPES) - frozenset(KINDS)


def extra_kind(raw: Mapping[str, Any]) -> str:
    """Return the kind of an undecoded object if only waits are read from it; "" for others."""
    kind = "Event" if raw.get("kind") == "Event" else recorded_kind(raw)
    return kind if kind in EXTRA else ""
