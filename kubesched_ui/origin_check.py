"""Whose pages may write and listen: our own, by scheme, name and port, and those that a setting names."""

from collections.abc import Awaitable, Callable
from fnmatch import fnmatchcase
from typing import Any

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

Application = Callable[[Any, Any, Any], Awaitable[Any]]


def is_ours(origin: str, scheme: str, host: str) -> bool:
    """Whether a request's Origin is that of its own address, or one of CSRF_TRUSTED_ORIGINS (`https://*.example.com`).

    `scheme`: http or https. `host`: the request's Host, port included. The texts are compared as they are: browsers
    write both alike, and nothing is there to be parsed wrongly.
    """
    if origin.lower() == f"{scheme}://{host}".lower():
        return True
    return any(fnmatchcase(origin.lower(), trusted.lower()) for trusted in settings.CSRF_TRUSTED_ORIGINS)


class OwnPages:
    """Websockets for our own pages, and for programs, which send no Origin.

    The host must be among ALLOWED_HOSTS: else the name of another site that was pointed here (DNS rebinding) would do.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        return await (self.application if welcome(scope) else WebsocketDenier())(scope, receive, send)


def welcome(scope: dict[str, Any]) -> bool:
    """Whether a websocket has no Origin, or the one of its host, which is ours."""
    headers = {name.lower(): value.decode("latin1") for name, value in scope["headers"]}
    host, origin = headers.get(b"host", ""), headers.get(b"origin")
    if origin is None:
        return True
    known = validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS)
    return known and is_ours(origin, "https" if is_secure(scope, headers) else "http", host)


def is_secure(scope: dict[str, Any], headers: dict[bytes, str]) -> bool:
    """As Django's `request.is_secure`: by the connection, or as the proxy in front says where BEHIND_TLS is set."""
    if settings.SECURE_PROXY_SSL_HEADER:
        name, secure = settings.SECURE_PROXY_SSL_HEADER
        said = headers.get(name.removeprefix("HTTP_").replace("_", "-").lower().encode())
        if said is not None:
            return said.split(",")[0].strip() == secure
    return scope.get("scheme") in ("wss", "https")
