"""Where uploads are on disk until they are read."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from pathlib import Path

from django.conf import settings

LEFT_S = 3600  # what is older nobody reads any more


def folder() -> Path:
    """The folder, which is there."""
    found: Path = settings.VAR_DIR / "uploads"
    found.mkdir(exist_ok=True)
    return found


def tidy() -> None:
    """Removes what processes left there that were killed. For the start; other web processes may be at work."""
    for path in folder().iterdir():
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > LEFT_S:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
