"""While `manage.py run` prepares the database, the web process is loading; what needs the database waits here.

`python -m kubesched_ui.runtime.startup_lock FOLDER COMMAND...` waits, and then becomes the command.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = "preparing.lock"


@contextmanager
def preparing(folder: Path) -> Iterator[None]:
    """Whoever waits in this data folder waits until the end of the `with`, or of the process."""
    with (folder / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def wait(folder: Path) -> None:
    """Returns once nobody prepares this data folder: at once where nobody ever did."""
    try:
        file = (folder / LOCK).open()
    except FileNotFoundError:
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_SH)


if __name__ == "__main__":
    wait(Path(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
