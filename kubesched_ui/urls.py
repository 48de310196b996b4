"""Addresses: the API and the admin here, the pages in pages/urls.py; an operator's in seeing/middleware.py."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from kubesched_ui.api import api

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/", api.urls),
    path("admin/", admin.site.urls),
    path("", include("kubesched_ui.pages.urls")),
]

handler400 = "kubesched_ui.pages.errors.bad_request"
handler403 = "kubesched_ui.pages.errors.forbidden"
handler404 = "kubesched_ui.pages.errors.not_found"
handler500 = "kubesched_ui.pages.errors.broken"
