"""The form that starts a run: which pods, which release and configuration, how ties are broken."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from kubesched_ui.clusterview import ClusterView
from kubesched_ui.models import Run, Scenario
from kubesched_ui.runs import MAX_SEED, RunSettings
from kubesched_ui.runs import defaults as defaults_of
from scheduler_core.duration import seconds
from scheduler_core.errors import InputError
from scheduler_core.releases import RELEASES

WHICH = [
    ("pending", "All pending pods"),
    ("unbind", "Pods that are on a node, placed again"),
    ("template", "Copies of a pod I type"),
]
MODES = [
    ("once", "One pass: every pod is tried once, in order"),
    ("time", "In time: pods wait, back off and come again on a virtual clock"),
]
TEMPLATE = """apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: web
    image: nginx
    resources:
      requests: {cpu: 500m, memory: 256Mi}
"""


class StartForm(forms.Form):
    which = forms.ChoiceField(choices=WHICH)
    mode = forms.ChoiceField(choices=MODES, required=False)
    until = forms.CharField(required=False, strip=True)  # seconds, or text such as 30m
    unbind = forms.CharField(required=False, strip=True)  # namespace/name, one a line
    template = forms.CharField(required=False, strip=False)
    copies = forms.IntegerField(required=False, min_value=1)
    release = forms.ChoiceField(choices=[(name, name) for name in reversed(RELEASES)])
    config = forms.CharField(required=False, strip=False)
    seed = forms.IntegerField(required=False, min_value=-MAX_SEED, max_value=MAX_SEED)
    tie_break = forms.ChoiceField(choices=[("seed", "by the seed"), ("name", "by name")], required=False)
    preemption = forms.BooleanField(required=False)
    percentage = forms.IntegerField(required=False, min_value=0, max_value=100)

    @staticmethod
    def defaults(scenario: Scenario, view: ClusterView) -> dict[str, Any]:
        """The first choice that makes sense for the scenario."""
        states = {pod.state for pod in view.pods.values()}
        which = "pending" if states & {"pending", "gated"} else "unbind" if "bound" in states else "template"
        release = next((name for name in RELEASES if scenario.kubernetes.lstrip("v").startswith(name)), "1.34")
        first = {"which": which, "template": TEMPLATE, "copies": 3, "release": release, "config": scenario.config}
        first |= {"seed": 0, "tie_break": Run.TieBreak.SEED, "preemption": True, "mode": "once"}
        if scenario.time:
            first |= {"which": "pending", "mode": "time"} | defaults_of(scenario)
        return first

    @property
    def ticked(self) -> list[str]:
        """The pods ticked in the list."""
        return self.data.getlist("pod") if isinstance(self.data, QueryDict) else []

    def names(self) -> list[str]:
        """The pods chosen to be placed again: ticked ones and typed ones, each once."""
        typed = self.cleaned_data["unbind"].replace(",", "\n").split("\n")
        return list(dict.fromkeys(name.strip() for name in [*self.ticked, *typed] if name.strip()))

    def clean_until(self) -> float | None:
        """Virtual seconds; None for what suits the scenario."""
        text = self.cleaned_data["until"]
        try:
            return seconds(text) if text else None
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def clean(self) -> dict[str, Any]:
        """A choice of pods needs pods."""
        values = super().clean() or {}
        if values.get("which") == "unbind" and not self.names():
            self.add_error("unbind", "Tick at least one pod, or type its namespace/name.")
        if values.get("which") == "template" and not values.get("template", "").strip():
            self.add_error("template", "Type the pod of which copies are to be placed.")
        return values

    def settings(self) -> RunSettings:
        """The settings the form stands for; `pods` is the exact list unless all pending pods are meant."""
        values, which = self.cleaned_data, self.cleaned_data["which"]
        in_time = values["mode"] == "time"
        return RunSettings(
            release=values["release"],
            config=values["config"] if values["config"].strip() else "",
            seed=values["seed"] or 0,
            tie_break=values["tie_break"] or Run.TieBreak.SEED,
            preemption=values["preemption"],
            percentage=values["percentage"],
            pods=None if which == "pending" else [],
            unbind=self.names() if which == "unbind" else [],
            template=values["template"] if which == "template" else "",
            copies=(values["copies"] or 1) if which == "template" else 0,
            in_time=in_time,
            until=values["until"] if in_time else None,
        )


def field_of(error: InputError) -> str | None:
    """The form's field that a refused setting belongs to."""
    named = {name: name for name in ("unbind", "copies", "percentage", "seed", "until")} | {"pods": "unbind"}
    if error.where.startswith("Pod"):
        return "template"
    if error.where == "Run":
        return named.get(error.field.partition("[")[0])
    return "config"
