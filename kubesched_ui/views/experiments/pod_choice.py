"""Form fields that choose a pod of a scenario. The browser searches in the suggested names; others can be typed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from kubesched_ui.models import Scenario
from kubesched_ui.scenarios import cluster_overview
from scheduler_core.controllers.pod_template import KINDS

SUGGESTED = 500
MAX_KEY = 600  # characters: kind, namespace and name


class SuggestingInput(forms.TextInput):
    """A text field with suggestions. `suggestions`: the form sets them."""

    suggestions: Iterable[str] = ()

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        """Return the field and its list of suggestions."""
        listed = f"{(attrs or {}).get('id', name)}-suggestions"
        field = super().render(name, value, {**(attrs or {}), "list": listed}, renderer)
        options = format_html_join("", '<option value="{}"></option>', ((one,) for one in self.suggestions))
        return format_html('{}<datalist id="{}">{}</datalist>', field, listed, options)


def pending_pods(scenario: Scenario) -> list[str]:
    """Return the first pending pods, as namespace/name."""
    pods = cluster_overview.cluster_of_scenario(scenario).pods
    return [key for key, pod in pods.items() if pod.state in ("pending", "gated")][:SUGGESTED]


def workloads_and_pods(scenario: Scenario) -> list[str]:
    """Return the first workloads, as `Deployment namespace/name`, then the first pods, as namespace/name."""
    kinds = [kind for kind in KINDS if kind != "DaemonSet"]
    rows = scenario.cluster_objects.filter(kind__in=kinds).order_by("namespace", "name")
    named = rows.values_list("kind", "namespace", "name")[:SUGGESTED]
    found = [f"{kind} {namespace or 'default'}/{name}" for kind, namespace, name in named]
    pods = scenario.cluster_objects.filter(kind="Pod").order_by("namespace", "name")
    keys = pods.values_list("namespace", "name")[: SUGGESTED - len(found)]
    return [*found, *(f"{namespace or 'default'}/{name}" for namespace, name in keys)]
