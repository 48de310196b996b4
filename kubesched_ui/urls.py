"""Addresses: the API and the admin here, the pages in pages_urls."""

from importlib.util import find_spec

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/", admin.site.urls),
]
if find_spec("kubesched_ui.pages_urls"):
    urlpatterns.append(path("", include("kubesched_ui.pages_urls")))
