"""The part of an export that its reader has not read yet, in files on disk. A slow reader holds no worker process."""

import os
import shutil
import tempfile
import threading
from collections import Counter, deque
from typing import Any

from django.conf import settings

from kubesched_ui.offload.pool import OffloadError

MB = 1024 * 1024
SEGMENT = 16 * MB  # bytes of a file; it is deleted as soon as it has been read
SHARE = 4  # one user or address may use this part of the disk space: a quarter
LEFT_FREE = 256 * MB  # on the disk


class TooManyExports(OffloadError):
    """The user, or all users, are reading too many exports."""

    retry_after = 10

    def __init__(self) -> None:
        super().__init__("Too many exports are being read at once. Try again when one of them is complete.")


class SpoolBudget:
    """Counts the files of all spools of this process, by user."""

    def __init__(self) -> None:
        self.files: Counter[int | str | None] = Counter()
        self._lock = threading.Lock()

    def take(self, user: int | str | None) -> bool:
        """Return whether the user may have another file."""
        most = max(1, settings.EXPORTS_MAX_BYTES // SEGMENT)
        with self._lock:
            if self.files.total() >= most or self.files[user] >= max(1, most // SHARE):
                return False
            if shutil.disk_usage(settings.FILE_UPLOAD_TEMP_DIR).free < LEFT_FREE + SEGMENT:
                return False
            self.files[user] += 1
            return True

    def give_back(self, user: int | str | None, files: int) -> None:
        with self._lock:
            self.files -= Counter({user: files})  # without users that have none left


BUDGET = SpoolBudget()


class Spool:
    """A queue of bytes between a thread that writes and one that reads. The files have no name, so they never outlive
    this process."""

    def __init__(self, user: int | str | None) -> None:
        self._user = user
        self._files: deque[Any] = deque()
        self._read = self._written = 0  # bytes of the first file, of the last file
        self._ended, self._problem = False, ""
        self.closed = False
        self._changed = threading.Condition()
        if not self._add_file():
            raise TooManyExports

    def write(self, data: bytes, seconds: float) -> bool:
        """Append bytes. Return False if there is no disk space for `seconds`, because the reader is slow."""
        with self._changed:
            if self._written >= SEGMENT and not self._add_file():
                self._changed.wait(seconds)
                if self._written >= SEGMENT and not self._add_file():
                    return False
            if not self.closed:
                self._files[-1].write(data)
                self._written += len(data)
            self._changed.notify_all()
            return True

    def end(self, problem: str = "") -> None:
        """Tell the reader that nothing follows. `problem`: why the bytes are incomplete."""
        with self._changed:
            self._ended, self._problem = True, problem
            self._changed.notify_all()

    def read(self, size: int) -> bytes:
        """Wait for bytes; empty at the end. Raises EOFError with the problem if the bytes are incomplete."""
        with self._changed:
            while not self.closed:
                if piece := os.pread(self._files[0].fileno(), size, self._read):
                    self._read += len(piece)
                    return piece
                if len(self._files) > 1:
                    self._files.popleft().close()
                    BUDGET.give_back(self._user, 1)
                    self._read = 0
                elif self._written >= SEGMENT:
                    self._files[0].seek(0)
                    self._files[0].truncate()
                    self._read = self._written = 0
                elif self._problem:
                    raise EOFError(self._problem)
                elif self._ended:
                    break
                else:
                    self._changed.wait()
                    continue
                self._changed.notify_all()
            return b""

    def close(self) -> None:
        """Delete the files. The writer then writes nothing more."""
        with self._changed:
            BUDGET.give_back(self._user, len(self._files))
            while self._files:
                self._files.pop().close()
            self.closed = True
            self._changed.notify_all()

    def _add_file(self) -> bool:
        if self.closed or not BUDGET.take(self._user):
            return self.closed
        try:
            file = tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR, buffering=0)  # noqa: SIM115
        except BaseException:
            BUDGET.give_back(self._user, 1)
            raise
        self._files.append(file)
        self._written = 0
        return True
