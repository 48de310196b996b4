"""The part of the editor that runs in a worker process with limits, because a text may be hostile.

Django is not set up here, so a worker starts within a second.
"""

from typing import Any

import msgspec

from kubesched_ui.editor import analysis
from kubesched_ui.editor.apply_edits import apply_changes


def prepare() -> None:
    """Do nothing: importing this module loads everything that an analysis needs."""


def analyze(text: str) -> bytes:
    """Return the analysis of a text as JSON."""
    return msgspec.json.encode(analysis.analyze(text))


def apply_edits(text: str, changes: Any) -> bytes:
    """Return the edit that applies form changes to a text, as JSON."""
    return msgspec.json.encode(apply_changes(text, changes))
