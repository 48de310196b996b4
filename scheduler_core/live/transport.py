"""HTTP to an API server: GET requests whose responses are read as a stream of bytes.

A reflector uses the `Transport` protocol alone; `aiohttp_transport` has the implementation.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class TransportError(Exception):
    """A request failed before its response was complete. `str()` is one sentence, without credentials and queries.

    `silence`: seconds without a sign of the server before the failure; 0 if the connection broke.
    """

    def __init__(self, message: str, silence: float = 0.0) -> None:
        super().__init__(message)
        self.silence = silence


class Response(Protocol):
    """The response to a GET. `headers` ignores case."""

    @property
    def status(self) -> int:
        """Return the HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the headers."""

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, decompressed. Chunks end anywhere. Raises TransportError if the line breaks."""


class Transport(Protocol):
    """Sends GET requests to one API server."""

    def get(
        self, path: str, query: Mapping[str, str], *, read_timeout: float = 60.0
    ) -> AbstractAsyncContextManager[Response]:
        """Request `path?query`. Leaving the context closes the response.

        `path`: absolute, such as /api/v1/pods. `query`: values are encoded here. `read_timeout`: longest silence in
        seconds, before the status and between two chunks. Any status is a response. Raises TransportError.
        """

    async def close(self) -> None:
        """Close all connections."""
