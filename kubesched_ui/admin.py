"""The Django admin: list, search and delete. Recorded data is read-only."""

from hashlib import sha256
from typing import Any

from django.contrib import admin
from django.contrib.admin.forms import AdminAuthenticationForm
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from kubesched_ui.models import ClusterObject, PodResult, Quota, Run, Scenario
from kubesched_ui.web.client_address import address_of

NAME_TRIES, ADDRESS_TRIES = 5, 20  # failed logins per minute; many users may share an IP address
MINUTE = 60


class LoginForm(AdminAuthenticationForm):
    """Login form with a rate limit: after several failures, it rejects every password for a minute."""

    def clean(self) -> dict[str, Any]:
        """Raise ValidationError on a wrong password or too many failures. All web processes share the counters."""
        address = address_of(self.request) if self.request else ""
        name = str(self.cleaned_data.get("username", "")).lower()
        limits = {
            f"login:{sha256(text.encode()).hexdigest()}": most
            for text, most in ((f"name {name}", NAME_TRIES), (f"from {address}", ADDRESS_TRIES))
        }
        if any(cache.get(key, 0) >= most for key, most in limits.items()):
            raise ValidationError("Too many attempts. Try again in a minute.", code="throttled")
        try:
            return super().clean()
        except ValidationError:
            for key in limits:
                cache.set(key, cache.get(key, 0) + 1, MINUTE)
            raise


admin.site.login_form = LoginForm


class Recorded(admin.ModelAdmin):
    """Read-only admin for recorded data."""

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


@admin.register(Quota)
class QuotaAdmin(admin.ModelAdmin):
    """Limits of a user. An empty field uses the value of the settings; 0 means no limit."""

    list_display = ["user", "size", "scenarios", "runs", "pods", "running", "days"]
    list_select_related = ["user"]
    autocomplete_fields = ["user"]
    search_fields = ["user__username"]
