"""The Django admin of experiments: list, search and delete."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from kubesched_ui.admin import Recorded
from kubesched_ui.experiments.models import Experiment


@admin.register(Experiment)
class ExperimentAdmin(Recorded):
    list_display = ["id", "name", "question", "scenario", "state", "cells_done", "cells_total", "created_at"]
    list_filter = ["state", "question"]
    search_fields = ["name"]
    exclude = ["document"]

    def get_queryset(self, request: HttpRequest) -> Any:
        return Experiment.everything.listed()
