"""Addresses: the API, the admin and the health check here, the pages in pages_urls."""

from importlib.util import find_spec

from django.contrib import admin
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, include, path


def healthz(request: HttpRequest) -> HttpResponse:
    """Whether this process serves and reaches its database."""
    connection.cursor().execute("SELECT 1")
    return HttpResponse("ok", content_type="text/plain")


urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz),
    path("admin/", admin.site.urls),
]
if find_spec("kubesched_ui.ingest.reader") and find_spec("scheduler_core.trace"):
    from kubesched_ui.api import api

    urlpatterns.append(path("api/", api.urls))
if find_spec("kubesched_ui.pages_urls"):
    urlpatterns.append(path("", include("kubesched_ui.pages_urls")))

handler400 = "kubesched_ui.views.errors.bad_request"
handler403 = "kubesched_ui.views.errors.forbidden"
handler404 = "kubesched_ui.views.errors.not_found"
