"""The admin: look, search, delete. What was recorded is not for editing."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from kubesched_ui.models import ClusterObject, PodResult, Run, Scenario


class Recorded(admin.ModelAdmin):
    """Read-only."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Scenario)
class ScenarioAdmin(admin.ModelAdmin):
    list_display = ["name", "origin", "kubernetes", "created_at"]
    list_filter = ["origin"]
    search_fields = ["name", "description"]
    readonly_fields = ["counts", "warnings", "created_at"]
    raw_id_fields = ["parent"]


@admin.register(ClusterObject)
class ClusterObjectAdmin(Recorded):
    list_display = ["kind", "namespace", "name", "scenario_id"]
    list_filter = ["kind"]
    search_fields = ["name"]
    show_full_result_count = False


@admin.register(Run)
class RunAdmin(Recorded):
    list_display = ["id", "scenario", "release", "state", "cycles_done", "cycles_total", "created_at"]
    list_filter = ["state", "release"]
    list_select_related = ["scenario"]


@admin.register(PodResult)
class PodResultAdmin(Recorded):
    list_display = ["namespace", "name", "result", "node", "score", "run_id"]
    list_filter = ["result"]
    search_fields = ["name", "node"]
    show_full_result_count = False
