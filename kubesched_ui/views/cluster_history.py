"""The history of a live cluster: the slider over the stored hours, and the map at any resourceVersion."""

from collections import Counter
from datetime import datetime
from typing import Any

from kubesched_ui.clusters import queries
from kubesched_ui.clusters.models import Cluster
from kubesched_ui.scenarios.cluster_columns import CODES
from kubesched_ui.views import cluster_context
from scheduler_core.cluster.formatting import count

AROUND = 20  # changes listed before a position


def context(cluster: Cluster, at: int | None) -> dict[str, Any]:
    """Return the context of the history page at a resourceVersion, the newest one by default."""
    stored = queries.history(cluster)
    version = min(max(at if at is not None else stored.last, stored.first), stored.last)
    found: dict[str, Any] = cluster_context.head(cluster, "history") | {"stored": stored, "position": version}
    if not stored.last or stored.first_at is None or stored.last_at is None:
        return found
    begin, end = stored.first_at, stored.last_at
    positions = [(stored.first, begin), *((one[0], one[1]) for one in stored.positions if one[0] >= stored.first)]
    when = max((time for rv, time in positions if rv <= version), default=begin)
    whole = max((end - begin).total_seconds(), 1e-6)

    def place(time: datetime) -> float:
        return 100 * min(1.0, max(0.0, (time - begin).total_seconds() / whole))

    return (
        found
        | {
            "when": when,
            "gap": queries.gap_at(cluster, version),
            "gaps": [
                {
                    "gap": gap,
                    "left": place(gap.began_at),
                    "width": max(0.4, place(gap.ended_at or end) - place(gap.began_at)),
                }
                for gap in stored.gaps
                if (gap.ended_at or end) > begin  # the one before the first stored position is the beginning
            ],
            "place": max(index for index, (rv, _) in enumerate(positions) if rv <= version),
            "position_text": str(version),
            "change_types": {"A": "added", "M": "changed", "D": "deleted"},
            "positions": [[rv, time.timestamp()] for rv, time in positions],
            "changes": list(reversed(queries.changes(cluster, max(0, version - 200), version)))[:AROUND],
        }
    )


def picture(cluster: Cluster, version: int) -> dict[str, Any]:
    """Return the map at a resourceVersion with its numbers of nodes and pods as `text`. Raises InputError."""
    found = queries.columns_at(cluster, version)
    gap = queries.gap_at(cluster, version)
    states = Counter(CODES[code] for code in found["pods"]["state"])
    parts = [
        f"{states[state]:,} {state}"
        for state in ("pending", "gated", "deleting")
        if states[state] or state == "pending"
    ]
    text = ", ".join([count(len(found["nodes"]["name"])), count(len(found["pods"]["key"]), "pod"), *parts])
    return found | {"version": version, "text": text, "gap": gap.reason if gap else ""}
