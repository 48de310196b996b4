"""The IP address of the client of a request, also behind proxies."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest


def address_of(request: HttpRequest) -> str:
    """Return the client address of a request."""
    return client_address(request.headers.get("X-Forwarded-For", ""), str(request.META.get("REMOTE_ADDR") or ""))


def address_of_scope(scope: dict[str, Any]) -> str:
    """Return the client address of an ASGI scope, such as that of a websocket."""
    forwarded = [value.decode("latin1") for name, value in scope["headers"] if name.lower() == b"x-forwarded-for"]
    return client_address(",".join(forwarded), str((scope.get("client") or [""])[0]))


def client_address(forwarded: str, peer: str) -> str:
    """Return the peer address, or with PROXIES the entry of X-Forwarded-For that the outermost own proxy added. Earlier
    entries come from the client and are not trusted."""
    entries = [part.strip() for part in forwarded.split(",") if part.strip()]
    count: int = settings.PROXIES
    return entries[-count][:64] if count and len(entries) >= count else peer
