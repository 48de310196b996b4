"""Request bodies on disk, with limits for the number and the total size of large ones: of all and of each sender."""

import io
import shutil
import tempfile
import threading
from collections import Counter
from typing import Any

from kubesched_ui.runtime import env

MB = 1024 * 1024


class DiskBudget:
    """Disk budget of large request bodies. A body may end in another thread than the one in which it began."""

    large = MB
    most = env.number("UPLOADS_AT_ONCE", 40)
    most_bytes = env.number("UPLOADS_MAX_BYTES", 4 * 1024 * MB)
    share = 2  # one sender may use this part of `most`: half
    left_free = 256 * MB

    def __init__(self) -> None:
        self.bodies = self.bytes = 0
        self.senders: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, more: int, new: bool, sender: str) -> str:
        """Reserve `more` bytes for a sender. Return "" or the reason for a refusal."""
        with self._lock:
            if self.bodies + new > self.most or self.bytes + more > self.most_bytes:
                return "The server is receiving too many uploads. Try again in a few seconds."
            if new and self.senders[sender] >= (share := max(1, self.most // self.share)):
                return f"You have reached the limit of {share} uploads at once. Try again when one of them is complete."
            # the application copies the body
            if shutil.disk_usage(tempfile.gettempdir()).free - 2 * more < self.left_free:
                return "The disk is almost full: no uploads are accepted until space is freed."
            self.bodies += new
            self.bytes += more
            self.senders[sender] += new
            return ""

    def give_back(self, taken: int, sender: str) -> None:
        with self._lock:
            self.bodies -= 1
            self.bytes -= taken
            self.senders -= Counter([sender])  # without senders that have none left


BUDGET = DiskBudget()


class Body:
    """A request body: a file that reserves disk space until it is closed. `sender`: who sends it."""

    def __init__(self, length: int | None, sender: str = "") -> None:
        self.taken, self.sender = 0, sender
        short = length is not None and length < 100_000
        self._file: Any = io.BytesIO() if short else tempfile.TemporaryFile()  # noqa: SIM115

    def fits(self, size: int) -> str:
        """Reserve disk space for a total of `size` bytes. Return "" or the reason for a refusal."""
        if size <= max(self.taken, BUDGET.large):
            return ""
        why = BUDGET.take(size - self.taken, not self.taken, self.sender)
        if not why:
            self.taken = size
        return why

    def close(self) -> None:
        self._file.close()
        if self.taken:
            BUDGET.give_back(self.taken, self.sender)
            self.taken = 0

    __del__ = close

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
