"""The transport of live clusters with aiohttp.

The modules `kubectl_proxy`, `in_cluster` and `kubeconfig_credentials` return the `Endpoint` of an API server.
No error, log line or `repr` has a credential.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import os
import ssl
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import aiohttp
from yarl import URL

from scheduler_core.live.redaction import redacted
from scheduler_core.live.transport import TransportError

CONNECT_TIMEOUT = 10.0
# Credentials that expire are loaded again this many seconds before, and not more often than this. A failure to load
# them is repeated that long, because all kinds of a cluster connect at once, and each attempt may run a program.
RENEW_BEFORE = 60.0
RENEW_INTERVAL = 10.0
MAX_RENEW_INTERVAL = 300.0  # while renewed credentials are rejected: each attempt may run a program or count as a login
FAILURE_INTERVAL = 3.0
READ_BUFFER = 2**18


@dataclass(frozen=True)
class Endpoint:
    """Where an API server is and how to authenticate.

    `name`: for messages. `url`: with a path if the server has one. `unix_socket`: path of the socket to use instead of
    the host of the URL. `tls`: None for http. `authorization`: returns the headers of a request; called for each
    request, so that it can read a token file again. `expires`: Unix seconds at which the credentials end, if known.
    `reconnect`: load the endpoint again after a failed connection, because it may have moved. `gateway`: the program
    that forwards the requests; its own failures are answers of plain text. `changed`: returns whether the files that it
    was loaded from have changed since; then any failure is a reason to load it again.
    """

    name: str
    url: str = field(repr=False)  # may have a password
    unix_socket: str | None = None
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    server_hostname: str | None = None
    proxy: str | None = field(default=None, repr=False)
    authorization: Callable[[], Mapping[str, str]] = field(default=lambda: {}, repr=False)
    expires: float | None = None
    reconnect: bool = False
    gateway: str = ""
    changed: Callable[[], bool] = field(default=lambda: False, repr=False)


class _Pool:
    """The connections to one endpoint. It closes when it has been replaced and its last response has ended."""

    def __init__(self, endpoint: Endpoint, user_agent: str) -> None:
        self.endpoint = endpoint
        self.created = time.time()
        self.rejected = -math.inf  # Unix seconds at which the pool that this one replaced got a 401
        self.accepted = False  # whether a response had another status than 401
        self.responses = 0
        self.replaced = False
        connector: aiohttp.BaseConnector
        if endpoint.unix_socket:
            connector = aiohttp.UnixConnector(endpoint.unix_socket, limit=0)
        else:
            connector = aiohttp.TCPConnector(limit=0, ssl=endpoint.tls or True)
        # trust_env would also send the passwords of ~/.netrc; the proxies of the environment are in `proxy_of`.
        self.session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": user_agent, "Accept": "application/json", "Accept-Encoding": "gzip"},
            read_bufsize=READ_BUFFER,
        )

    async def release(self) -> None:
        if self.replaced and not self.responses:
            await self.session.close()


class AiohttpTransport:
    """Sends requests with aiohttp.

    `connect` returns the endpoint. It is called at the first request, before credentials expire, after a 401 and after
    a failed TLS handshake; it raises TransportError if there is no way to the server. `disconnect` is called at close.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Endpoint]],
        user_agent: str = "kubesched",
        disconnect: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._connect = connect
        self._disconnect = disconnect
        self._user_agent = user_agent
        self._pool: _Pool | None = None
        self._failure: tuple[float, str] | None = None
        self._lock = asyncio.Lock()
        self._renew_interval = RENEW_INTERVAL

    @asynccontextmanager
    async def get(
        self, path: str, query: Mapping[str, str], *, read_timeout: float = 60.0
    ) -> AsyncIterator[AiohttpResponse]:
        """Request `path?query` (see Transport.get). After a 401, load the credentials again and repeat once."""
        pool = await self._current()
        pool.responses += 1
        try:
            response = await self._send(pool, path, query, read_timeout)
            if self._may_renew(pool, response.status):
                response.close()
                rejected = time.time()
                renewed = await self._renew(pool)
                renewed.rejected = max(renewed.rejected, rejected)
                pool.responses -= 1
                await pool.release()
                pool = renewed
                pool.responses += 1
                response = await self._send(pool, path, query, read_timeout)
            try:
                if pool.endpoint.gateway and response.status >= 500 and response.content_type == "text/plain":
                    if pool.endpoint.changed():
                        self._leave(pool)
                    raise TransportError(await _failure_of_gateway(response, pool.endpoint))
                yield AiohttpResponse(response, pool.endpoint.name, read_timeout)
            finally:
                response.close()
        finally:
            pool.responses -= 1
            await pool.release()

    def _may_renew(self, pool: _Pool, status: int) -> bool:
        """Return whether to load the credentials again because of the status of a response."""
        if pool is not self._pool:
            return status == 401 and self._pool is not None
        if status not in (401, 403):
            pool.accepted = True
            return False
        if pool.endpoint.changed():
            self._renew_interval = RENEW_INTERVAL
        elif status == 403:
            pool.accepted = True
            return False
        else:
            if pool.accepted:
                self._renew_interval = RENEW_INTERVAL
            if time.time() - pool.rejected <= self._renew_interval:
                return False
            if pool.rejected > 0:
                self._renew_interval = min(2 * self._renew_interval, MAX_RENEW_INTERVAL)
        return True

    def _leave(self, pool: _Pool) -> None:
        """Load the endpoint again for the next request."""
        if pool is self._pool:
            pool.replaced = True
            self._pool = None

    async def close(self) -> None:
        """Close all connections."""
        if self._pool:
            await self._pool.session.close()
            self._pool = None
        if self._disconnect:
            await self._disconnect()

    async def _send(
        self, pool: _Pool, path: str, query: Mapping[str, str], read_timeout: float
    ) -> aiohttp.ClientResponse:
        endpoint = pool.endpoint
        timeout = aiohttp.ClientTimeout(
            total=None, connect=CONNECT_TIMEOUT, sock_connect=CONNECT_TIMEOUT, sock_read=read_timeout
        )
        try:
            return await pool.session.get(
                URL(endpoint.url.rstrip("/") + path, encoded=True).with_query(query),
                headers=endpoint.authorization(),
                timeout=timeout,
                allow_redirects=False,  # a redirect would send the token to any address
                proxy=proxy_of(endpoint),
                server_hostname=endpoint.server_hostname,
            )
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            moved = endpoint.reconnect and isinstance(error, aiohttp.ClientConnectorError)
            rotated = isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError)
            if moved or rotated or endpoint.changed():
                self._leave(pool)
            raise _transport_error(error, endpoint.name, read_timeout) from None

    async def _current(self) -> _Pool:
        pool = self._pool
        if pool is None:
            return await self._renew(None)
        expires = pool.endpoint.expires
        if expires is not None and max(expires - RENEW_BEFORE, pool.created + RENEW_INTERVAL) <= time.time():
            try:
                return await self._renew(pool)
            except TransportError:
                if expires <= time.time():
                    raise
        return pool

    async def _renew(self, used: _Pool | None) -> _Pool:
        """Return a pool with newly loaded credentials, unless another request has replaced `used` already."""
        async with self._lock:
            if self._pool is not None and self._pool is not used:
                return self._pool
            if self._failure and time.time() - self._failure[0] < FAILURE_INTERVAL:
                raise TransportError(self._failure[1])
            try:
                pool = _Pool(await self._connect(), self._user_agent)
            except TransportError as error:
                self._failure = time.time(), str(error)
                raise
            if used is not None:
                used.replaced = True
                await used.release()
            self._pool = pool
            return pool


class AiohttpResponse:
    """A response of AiohttpTransport."""

    def __init__(self, response: aiohttp.ClientResponse, name: str, read_timeout: float) -> None:
        self._response = response
        self._name = name
        self._read_timeout = read_timeout

    @property
    def status(self) -> int:
        """Return the HTTP status."""
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the headers; names ignore case."""
        return self._response.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, decompressed. Raises TransportError if the line breaks."""
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            raise _transport_error(error, self._name, self._read_timeout) from None


def create_tls_context(authority: str | None = None) -> ssl.SSLContext:
    """Return the TLS context of a client that trusts an authority's file (None: those of the system), as Go's.

    Raises OSError and ssl.SSLError.
    """
    context = ssl.create_default_context(cafile=authority)
    # Python 3.13 sets it. Authorities of clusters often lack extensions that it requires, and Go does not.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


async def _failure_of_gateway(response: aiohttp.ClientResponse, endpoint: Endpoint) -> str:
    """Return one sentence about a request that kubectl could not forward: the first line says why."""
    try:
        text = (await response.content.read(4096)).decode(errors="replace")
    except (aiohttp.ClientError, OSError, TimeoutError):
        text = ""
    why = redacted(text.strip().split("\n")[0]).rstrip(".") or f"status {response.status}"
    return f"{endpoint.gateway} cannot reach {endpoint.name}: {why}."


def proxy_of(endpoint: Endpoint) -> str | None:
    """Return the proxy of an endpoint: its own, or HTTPS_PROXY and NO_PROXY of the environment as Go reads them.

    Source: golang.org/x/net/http/httpproxy.
    """
    if endpoint.proxy or endpoint.unix_socket:
        return endpoint.proxy
    url = URL(endpoint.url)
    proxies = urllib.request.getproxies_environment()
    if not url.host or url.scheme not in proxies or _bypasses_proxies(url.host, url.port, proxies.get("no", "")):
        return None
    return proxies[url.scheme]


def _bypasses_proxies(host: str, port: int | None, no_proxy: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if host == "localhost" or (address and address.is_loopback):
        return True
    for entry in no_proxy.split(",") if address else ():
        with suppress(ValueError):
            if "/" in entry and address in ipaddress.ip_network(entry.strip(), strict=False):
                return True
    return bool(urllib.request.proxy_bypass_environment(f"{host}:{port}"))  # type: ignore[attr-defined]


def _transport_error(error: Exception, name: str, read_timeout: float) -> TransportError:
    silent = isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ConnectionTimeoutError)
    return TransportError(describe(error, name, read_timeout), read_timeout if silent else 0.0)


def describe(error: Exception, name: str, read_timeout: float) -> str:
    """Return one sentence about a failed request.

    The texts of aiohttp are not used: they have addresses with queries and the passwords of proxies.
    """
    sentence = _sentence(error, name, read_timeout)
    return sentence[0].upper() + sentence[1:]


def _sentence(error: Exception, name: str, read_timeout: float) -> str:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            reason = getattr(error.certificate_error, "verify_message", "") or "verification failed"
            return f"The certificate of {name} is not trusted: {reason.rstrip('.')}."
        case aiohttp.ClientConnectorSSLError():
            reason = getattr(error.os_error, "reason", None) or "the handshake failed"
            return f"TLS with {name} failed: {str(reason).replace('_', ' ').lower()}."
        case aiohttp.ClientHttpProxyError():
            return f"The proxy of {name} answered {error.status}."
        case aiohttp.ClientProxyConnectionError():
            return f"The proxy of {name} could not be reached: {_reason(error.os_error)}."
        case aiohttp.ClientConnectorDNSError():
            return f"The host of {name} has no address."
        case aiohttp.ConnectionTimeoutError():
            return f"{name} could not be reached within {CONNECT_TIMEOUT:g} s."
        case aiohttp.ClientConnectorError():
            return f"{name} could not be reached: {_reason(error.os_error)}."
        case TimeoutError():
            return f"{name} sent nothing for {read_timeout:g} s."
        case aiohttp.InvalidURL():
            return f"The address of {name} is not valid."
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError() | ConnectionError():
            return f"The connection to {name} ended before the response was complete."
        case _:
            return f"The request to {name} failed: {type(error).__name__}."


def _reason(error: OSError) -> str:
    # The strerror of asyncio has the address.
    return os.strerror(error.errno).lower() if error.errno else "no connection"
