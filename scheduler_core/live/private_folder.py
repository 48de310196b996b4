"""Temporary folders that only this user can open: for the socket of kubectl and, for milliseconds, for client keys."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX = "kubesched-live-"


def create_private_folder() -> Path:
    """Create a folder of mode 0700, and remove those that killed processes left. Raises OSError."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}[0-9]*-*"):
        with suppress(OSError, ValueError):
            if folder.lstat().st_uid == os.getuid() and not _is_running(int(folder.name.split("-")[2])):
                shutil.rmtree(folder)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
