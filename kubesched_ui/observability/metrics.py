"""/metrics: the metrics for Prometheus, with access control.

With METRICS_TOKEN, clients must send it (`Authorization: Bearer TOKEN`). Without it, clients must be in
METRICS_NETWORKS (by default only this machine) and connect without a proxy, because a proxy hides the addresses of its
clients.
"""

import hmac
from ipaddress import ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import REGISTRY, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from kubesched_ui.observability import http_metrics as http_metrics  # registers its collectors
from kubesched_ui.observability.collectors import ProcessCollector, StoredCollector

REGISTRY.register(StoredCollector())
REGISTRY.register(ProcessCollector())

# Headers that proxies add.
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via")


def metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics, or status 403 with the missing requirement."""
    if not allowed(request):
        needed = "METRICS_TOKEN" if settings.METRICS_TOKEN else "an address in METRICS_NETWORKS without a proxy"
        return HttpResponse(f"Access denied. Required: {needed}.\n", status=403, content_type="text/plain")
    return HttpResponse(generate_latest(REGISTRY), content_type=CONTENT_TYPE_LATEST)


def allowed(request: HttpRequest) -> bool:
    """Return whether the client may read the metrics."""
    if settings.METRICS_TOKEN:
        given = request.headers.get("Authorization", "")
        return hmac.compare_digest(given.encode(), f"Bearer {settings.METRICS_TOKEN}".encode())
    if any(header in request.headers for header in FORWARDED):
        return False
    try:
        address = ip_address(request.META.get("REMOTE_ADDR") or "")
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in ip_network(network, strict=False) for network in settings.METRICS_NETWORKS)
