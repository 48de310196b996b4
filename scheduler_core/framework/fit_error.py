"""The message of a FailedScheduling event.

Source: pkg/scheduler/framework/types.go (FitError).
"""

from collections.abc import Mapping


def fit_error_message(nodes: int, reasons: Mapping[str, int], prefilter: str = "", postfilter: str = "") -> str:
    """Return the message of a FailedScheduling event (upstream FitError.Error)."""
    message = f"0/{nodes} nodes are available:"
    if prefilter:
        message += f" {prefilter}."
    else:
        counts = sorted(f"{count} {reason}" for reason, count in reasons.items())
        if counts:
            message += f" {', '.join(counts)}."
    return f"{message} {postfilter}" if postfilter else message
