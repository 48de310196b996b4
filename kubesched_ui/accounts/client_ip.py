"""Where a request came from."""

from django.conf import settings
from django.http import HttpRequest


def address_of(request: HttpRequest) -> str:
    """The peer's address; behind PROXIES proxies what the first of ours says it was asked by. What a client itself puts
    in front of that is not believed."""
    told = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",") if part.strip()]
    count: int = settings.PROXIES
    if count and len(told) >= count:
        return told[-count][:64]
    return str(request.META.get("REMOTE_ADDR") or "")
