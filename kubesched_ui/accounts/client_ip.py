"""The IP address of the client of a request."""

from django.conf import settings
from django.http import HttpRequest


def address_of(request: HttpRequest) -> str:
    """Return the client address: that of the peer, or with PROXIES the entry of X-Forwarded-For that the outermost own
    proxy added. Earlier entries come from the client and are not trusted."""
    told = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",") if part.strip()]
    count: int = settings.PROXIES
    if count and len(told) >= count:
        return told[-count][:64]
    return str(request.META.get("REMOTE_ADDR") or "")
