"""Reads an API server with `kubectl get --raw`, so that kubectl authenticates and no credential enters this process."""

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlencode

from scheduler_core.live.decode import shortened
from scheduler_core.live.transport import TransportError

CONCURRENT = 4  # kubectl processes at once
VARIABLE = "KUBESCHED_KUBECTL"  # environment: path of the kubectl to use
_STATUS = re.compile(r"Error from server \((\w+)\)")
_STATUSES = {
    **{"Forbidden": 403, "NotFound": 404, "Unauthorized": 401, "Expired": 410, "Gone": 410, "TooManyRequests": 429},
    **{"BadRequest": 400, "NotAcceptable": 406, "InternalError": 500, "ServiceUnavailable": 503, "Timeout": 504},
}
_NO_RESOURCE = "the server could not find the requested resource"
_RESOURCE_EXPIRED = "too old resource version"


@dataclass
class RawResponse:
    """The response to one request."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body, and forget it."""
        body, self.body = self.body, b""
        yield body


class KubectlTransport:
    """Sends each request with a kubectl process. `flags`: global flags of kubectl. `requests`: how many were sent.

    Raises TransportError if there is no kubectl.
    """

    def __init__(self, flags: Sequence[str] = ()) -> None:
        found = os.environ.get(VARIABLE) or shutil.which("kubectl")
        if not found:
            raise TransportError(f"kubectl is not in the PATH; {VARIABLE} can name it.")
        self.kubectl, self.flags = found, list(flags)
        self.requests = 0
        self._free = asyncio.Semaphore(CONCURRENT)

    @asynccontextmanager
    async def get(
        self, path: str, query: Mapping[str, str], *, read_timeout: float = 60.0
    ) -> AsyncIterator[RawResponse]:
        """Request `path?query`. Raises TransportError if kubectl cannot reach the server."""
        address = f"{path}?{urlencode(query)}" if query else path
        yield await self._request(address, 2 * read_timeout)

    async def close(self) -> None:
        """Do nothing: each request has its own process."""

    async def namespace(self) -> str:
        """Return the namespace of the context."""
        code, output, _ = await self.run(["config", "view", "--minify", "--output", "jsonpath={..namespace}"], 30.0)
        return output.decode(errors="replace").strip() if code == 0 and output.strip() else "default"

    async def context(self) -> str:
        """Return the current context. Raises TransportError if there is none."""
        code, output, errors = await self.run(["config", "current-context"], 30.0)
        if code or not output.strip():
            raise TransportError(
                f"There is no current context: {shortened(errors.strip() or 'set one or use --context')}"
            )
        return output.decode(errors="replace").strip()

    async def run(self, arguments: Sequence[str], timeout: float) -> tuple[int, bytes, str]:
        """Run kubectl with its flags. Return its exit code, its output and its shortened errors."""
        async with self._free:
            self.requests += 1
            try:
                process = await asyncio.create_subprocess_exec(
                    self.kubectl,
                    *self.flags,
                    *arguments,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                )
            except OSError as problem:
                raise TransportError(f"{self.kubectl} cannot be started: {problem.strerror}.") from None
            try:
                output, errors = await asyncio.wait_for(process.communicate(), timeout)
            except TimeoutError:
                raise TransportError(f"kubectl has not answered within {timeout:.0f} s.") from None
            finally:
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()
        return process.returncode or 0, output, errors.decode(errors="replace")

    async def _request(self, address: str, timeout: float) -> RawResponse:
        code, output, errors = await self.run(["get", "--raw", address], timeout)
        if code == 0:
            return RawResponse(200, output)
        named = _STATUS.search(errors)
        if named and named[1] in _STATUSES:
            return RawResponse(_STATUSES[named[1]], errors.encode())
        if _NO_RESOURCE in errors:
            return RawResponse(404, errors.encode())
        if _RESOURCE_EXPIRED in errors:
            return RawResponse(410, errors.encode())
        last = errors.strip().splitlines()[-1:] or [f"exit code {code}"]
        raise TransportError(f"kubectl cannot read the cluster: {shortened(last[0])}")
