"""Temporary files of uploads."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from pathlib import Path

from django.conf import settings

LEFT_S = 3600  # older files are not in use any more


def folder() -> Path:
    """Return the folder, created if necessary."""
    found: Path = settings.VAR_DIR / "uploads"
    found.mkdir(exist_ok=True)
    return found


def tidy() -> None:
    """Remove the files of killed processes. Called at the start of a process, while other web processes may be
    working."""
    for path in folder().iterdir():
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > LEFT_S:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
