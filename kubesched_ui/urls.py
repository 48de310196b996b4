"""Addresses: the API, the admin and the health check here, the pages in pages_urls."""

from django.contrib import admin
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, include, path

from kubesched_ui.api import api


def healthz(request: HttpRequest) -> HttpResponse:
    """Whether this process serves and reaches its database."""
    connection.cursor().execute("SELECT 1")
    return HttpResponse("ok", content_type="text/plain")


urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz),
    path("api/", api.urls),
    path("admin/", admin.site.urls),
    path("", include("kubesched_ui.pages.urls")),
]

handler400 = "kubesched_ui.pages.errors.bad_request"
handler403 = "kubesched_ui.pages.errors.forbidden"
handler404 = "kubesched_ui.pages.errors.not_found"
handler500 = "kubesched_ui.pages.errors.broken"
