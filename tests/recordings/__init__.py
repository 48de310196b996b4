"""Recordings of real clusters, see README.md."""

from pathlib import Path

_HERE = Path(__file__).parent
LIVE_A, LIVE_B, LIVE_MOST = (_HERE / name for name in ("live-a", "live-b", "live-most"))
