"""Times in answers."""

import datetime

from scheduler_core.api.objects import timestamp
from scheduler_core.errors import InputError


def seconds(text: str) -> float:
    """Return the Unix seconds of a time of the API; 0 for "" and for what is not a time."""
    try:
        return timestamp(text)
    except InputError:
        return 0.0


def duration(length: float) -> str:
    """Return `3 s`, `5 min`, `2 h` or `4 days`."""
    length = max(length, 0.0)
    for unit, size, below in (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 172_800)):
        if length < below:
            return f"{int(length / size)} {unit}"
    return f"{int(length / 86_400)} days"


def clock(moment: float) -> str:
    """Return `2026-01-31 14:05:09 UTC` of Unix seconds."""
    try:
        return f"{datetime.datetime.fromtimestamp(moment, datetime.UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return "an unknown time"
