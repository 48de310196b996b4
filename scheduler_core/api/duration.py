"""Parses and formats durations and times: `90`, `90s`, `1.5h`, `1h30m` and `250ms` are accepted."""

import math
import re

DURATION_ANNOTATION = "kubesched.dev/duration"
"""How long a pod runs after it is bound; without the annotation, forever."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_MAX_SECONDS = 366 * 86400.0


def seconds(value: str | int | float) -> float:
    """Return the seconds of a duration. Raises ValueError that describes the problem."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be a duration such as 90, 90s or 1h30m")
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            parts = _PART.findall(value)
            if not parts or "".join(amount + unit for amount, unit in parts) != value:
                raise ValueError(f"{value[:40]!r} is not a duration such as 90, 90s or 1h30m") from None
            number = sum(float(amount) * _UNITS[unit] for amount, unit in parts)
    else:
        number = float(value)
    if not math.isfinite(number) or not 0 <= number <= _MAX_SECONDS:
        raise ValueError(f"must be between 0 and 366 days, got {str(value)[:40]}")
    return number


def clock(t: float) -> str:
    """Format a time: `12.3 s`, `2:09.8`, `1:02:09`."""
    if t < 60:
        return f"{rounded(t)} s"
    tenths = round(t * 10)
    whole, rest = divmod(tenths, 10)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02}" + (f".{rest}" if rest else "")
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def span(seconds: float) -> str:
    """Format a duration: `0 s`, `1.25 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 60:
        return f"{rounded(seconds)} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    minutes = round(whole / 60)
    return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")


def go_text(seconds: float) -> str:
    """Format a duration as Go does: `1.5s`, `1m0s`, `1h0m7.25s`, `250ms`."""
    if 0 < seconds < 1:
        return f"{seconds * 1000:.15g}ms"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if hours or minutes else "") + f"{rest:.15g}s"


def milliseconds(seconds: float) -> str:
    """Format a short duration: `0.41 ms`, `12 ms`, `1,200 ms`; at least `0.01 ms`."""
    value = seconds * 1000
    return f"{value:,.0f} ms" if value >= 10 else f"{max(value, 0.01):.2g} ms"


def rounded(value: float) -> str:
    return f"{value:.{2 if value < 10 else 1}f}".rstrip("0").rstrip(".")
