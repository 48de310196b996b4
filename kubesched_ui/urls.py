"""URLs of the API and the admin. Those of pages are in views/urls.py, those for operators in
observability/middleware.py."""

from django.apps import apps
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from kubesched_ui import api

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/", api.urls()),
    path("admin/", admin.site.urls),
    path("", include("kubesched_ui.views.urls")),
]
if apps.is_installed("allauth.account"):
    urlpatterns.append(path("", include("kubesched_ui.views.account_urls")))

handler400 = "kubesched_ui.views.errors.bad_request"
handler403 = "kubesched_ui.views.errors.forbidden"
handler404 = "kubesched_ui.views.errors.not_found"
handler429 = "kubesched_ui.views.errors.too_many"  # used by allauth
handler500 = "kubesched_ui.views.errors.broken"
