"""Origins that may send writes and open websockets: the server's own origin (scheme, host, port) and those of a
setting."""

from collections.abc import Awaitable, Callable
from fnmatch import fnmatchcase
from typing import Any

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

Application = Callable[[Any, Any, Any], Awaitable[Any]]


def is_ours(origin: str, scheme: str, host: str) -> bool:
    """Return whether an Origin is that of the requested server, or is in CSRF_TRUSTED_ORIGINS (such as
    `https://*.example.com`).

    `scheme`: http or https. `host`: the Host header with its port. The values are compared as text: browsers write both
    in the same form, and no parser can misread them.
    """
    if origin.lower() == f"{scheme}://{host}".lower():
        return True
    return any(fnmatchcase(origin.lower(), trusted.lower()) for trusted in settings.CSRF_TRUSTED_ORIGINS)


class OwnPages:
    """Accept websockets from the server's own pages, and from programs, which send no Origin. The host must be in
    ALLOWED_HOSTS. Otherwise a foreign domain that resolves to this server (DNS rebinding) would pass."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        return await (self.application if welcome(scope) else WebsocketDenier())(scope, receive, send)


def welcome(scope: dict[str, Any]) -> bool:
    """Return whether a websocket request has no Origin, or the Origin of an allowed host."""
    headers = {name.lower(): value.decode("latin1") for name, value in scope["headers"]}
    host, origin = headers.get(b"host", ""), headers.get(b"origin")
    if origin is None:
        return True
    known = validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS)
    return known and is_ours(origin, "https" if is_secure(scope, headers) else "http", host)


def is_secure(scope: dict[str, Any], headers: dict[bytes, str]) -> bool:
    """Return whether the connection is encrypted, as Django's `request.is_secure` does: by its scheme, or by the header
    of the proxy if BEHIND_TLS is set."""
    if settings.SECURE_PROXY_SSL_HEADER:
        name, secure = settings.SECURE_PROXY_SSL_HEADER
        header = headers.get(name.removeprefix("HTTP_").replace("_", "-").lower().encode())
        if header is not None:
            return header.split(",")[0].strip() == secure
    return scope.get("scheme") in ("wss", "https")
