"""Lets processes wait while `manage.py run` prepares the database. The web process loads its code meanwhile.

`python -m kubesched_ui.runtime.startup_lock FOLDER COMMAND...` waits and then executes the command.
"""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = "preparing.lock"


@contextmanager
def startup_lock(folder: Path) -> Iterator[None]:
    """Make others that use this data folder wait until the end of the `with` block or of the process."""
    with (folder / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def wait(folder: Path) -> None:
    """Wait until this data folder is prepared. Return immediately if it was never locked."""
    try:
        file = (folder / LOCK).open()
    except FileNotFoundError:
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_SH)


if __name__ == "__main__":
    wait(Path(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
