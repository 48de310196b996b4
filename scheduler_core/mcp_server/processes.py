"""Runs a command of KubeSched in a process of its own, so that a large or hostile file cannot harm the server."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from scheduler_core.errors import InputError

MOST_BYTES = 64_000_000  # of a command's output
_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """A command that has ended. `output`: at most MOST_BYTES. `remarks`: its standard error."""

    code: int
    output: str
    remarks: str


async def run_command(command: Sequence[str], seconds: float, given: bytes = b"") -> CommandOutput:
    """Run a command and return its output. It is killed after `seconds`, and when the caller is cancelled.

    `given`: its standard input. Raises InputError if it takes too long or prints too much.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )

    def kill() -> None:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    # Process.wait() waits until both streams are read to their end, also those of a killed process.
    whole = asyncio.gather(
        _read(process.stdout, kill), _read(process.stderr, kill), _write(process.stdin, given), process.wait()
    )
    try:
        async with asyncio.timeout(seconds):
            output, remarks, _, code = await asyncio.shield(whole)
    except TimeoutError:
        raise InputError("", "", f"takes more than {seconds:g} s; ask for one pod, or with a smaller file") from None
    finally:
        kill()
        await whole
    if max(len(output), len(remarks)) > MOST_BYTES:
        raise InputError("", "", f"prints more than {MOST_BYTES // 10**6} MB; ask for one pod")
    return CommandOutput(code, output.decode("utf-8", "replace"), remarks.decode("utf-8", "replace"))


async def _read(stream: asyncio.StreamReader | None, kill: Callable[[], None]) -> bytes:
    """Return the output up to one chunk after MOST_BYTES. A further chunk kills the process and is not kept."""
    assert stream is not None
    found = bytearray()
    while chunk := await stream.read(_CHUNK):
        if len(found) <= MOST_BYTES:
            found += chunk
        else:
            kill()
    return bytes(found)


async def _write(stream: asyncio.StreamWriter | None, given: bytes) -> None:
    assert stream is not None
    with suppress(BrokenPipeError, ConnectionResetError):
        stream.write(given)
        await stream.drain()
    stream.close()
