"""Request bodies on disk, with limits for the number and the total size of large ones."""

import io
import shutil
import tempfile
import threading
from typing import Any

from kubesched_ui import env

MB = 1024 * 1024


class DiskBudget:
    """Disk budget of large request bodies. A body may end in another thread than the one in which it began."""

    large = MB
    most = env.number("UPLOADS_AT_ONCE", 40)
    most_bytes = env.number("UPLOADS_MAX_BYTES", 4 * 1024 * MB)
    left_free = 256 * MB

    def __init__(self) -> None:
        self.bodies = self.bytes = 0
        self._lock = threading.Lock()

    def take(self, more: int, new: bool) -> str:
        """Reserve `more` bytes. Return "" or the reason for a refusal."""
        with self._lock:
            if self.bodies + new > self.most or self.bytes + more > self.most_bytes:
                return "The server is receiving too many uploads. Try again in a few seconds."
            # the application copies the body
            if shutil.disk_usage(tempfile.gettempdir()).free - 2 * more < self.left_free:
                return "The disk is almost full: no uploads are accepted until space is freed."
            self.bodies += new
            self.bytes += more
            return ""

    def give_back(self, taken: int) -> None:
        with self._lock:
            self.bodies -= 1
            self.bytes -= taken


BUDGET = DiskBudget()


class Body:
    """A request body: a file that reserves disk space until it is closed."""

    def __init__(self, length: int | None) -> None:
        self.taken = 0
        short = length is not None and length < 100_000
        self._file: Any = io.BytesIO() if short else tempfile.TemporaryFile()  # noqa: SIM115

    def fits(self, size: int) -> str:
        """Reserve disk space for a total of `size` bytes. Return "" or the reason for a refusal."""
        if size <= max(self.taken, BUDGET.large):
            return ""
        why = BUDGET.take(size - self.taken, new=not self.taken)
        if not why:
            self.taken = size
        return why

    def close(self) -> None:
        self._file.close()
        if self.taken:
            BUDGET.give_back(self.taken)
            self.taken = 0

    __del__ = close

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
