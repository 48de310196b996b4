"""The Django admin of live clusters: who may see which."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from kubesched_ui.clusters import connections
from kubesched_ui.clusters.models import Cluster


@admin.register(Cluster)
class ClusterAdmin(admin.ModelAdmin):
    """Users and groups of a cluster. Settings name the clusters, so none is added here."""

    list_display = ["name", "connection", "state", "configured", "everyone"]
    fields = ["name", "connection", "everyone", "users", "groups", "state", "message"]
    readonly_fields = ["name", "connection", "state", "message"]
    filter_horizontal = ["users", "groups"]

    def get_queryset(self, request: HttpRequest) -> Any:
        return Cluster.everything.defer("view")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """The file of clusters decides whether all users see those that it names."""
        found = connections.configured().get(obj.name) if obj else None
        return [*self.readonly_fields, *(["everyone"] if found and found.everyone is not None else [])]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False
