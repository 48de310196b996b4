"""Snapshots of real clusters, scheduler configurations and a workload trace: tests/data/README.md."""

from pathlib import Path
from typing import Any

from scheduler_core.snapshot.files import objects_in, read_bytes

DATA = Path(__file__).parent / "data"
CLUSTERS = sorted((DATA / "clusters").glob("*.json.gz"))
LARGEST_CLUSTERS = sorted(CLUSTERS, key=lambda path: -path.stat().st_size)


def cluster_id(path: Path) -> str:
    """Return the id of a test of this cluster: the distribution's name."""
    return path.name.split("__")[1]


def read_snapshot(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a cluster's file."""
    return objects_in(read_bytes(str(path)), str(path))
