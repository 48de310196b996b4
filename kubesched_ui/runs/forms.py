"""The form that starts a run: pods, release, configuration, tie-breaking and further settings."""

from itertools import islice
from typing import Any

from django import forms
from django.conf import settings
from django.http import QueryDict
from django.utils.functional import cached_property

from kubesched_ui.ingest import preflight
from kubesched_ui.models import MAX_NAME, MAX_RELEASE, Run, Scenario
from kubesched_ui.runs import pod_template, scoring
from kubesched_ui.runs.config_resolution import translated
from kubesched_ui.runs.release_choices import release_choices
from kubesched_ui.runs.services import MAX_SEED, RunSettings, default_release
from kubesched_ui.runs.services import defaults as defaults_of
from kubesched_ui.scenarios.cluster_overview import ClusterView
from scheduler_core.api.duration import seconds
from scheduler_core.config import Unknown, UnknownPlugins, UnreadPolicy
from scheduler_core.config.unknown_plugins import CHOICES, UnknownPlugin
from scheduler_core.errors import InputError
from scheduler_core.releases import feature_gates
from scheduler_core.releases.conformance import is_verified, state, verification

WHICH = [
    ("pending", "All pending pods"),
    ("unbind", "Bound pods, rescheduled"),
    ("template", "Copies of a pod, or the pods of a workload"),
]
MODES = [
    ("once", "Single pass: each pod is scheduled once, in queue order"),
    ("time", "Virtual time: pods wait, back off and are retried on a virtual clock"),
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


def released(name: str) -> str:
    """Return a release's label: what recorded cases verify, in a single pass and in virtual time."""
    both = is_verified(name) == is_verified(name, in_time=True)
    in_time = "" if both else f"; virtual time {state(name, in_time=True)}"
    return f"{name} ({verification(name)}{in_time})"


class StartForm(forms.Form):
    name = forms.CharField(required=False, max_length=MAX_NAME)
    which = forms.ChoiceField(choices=WHICH)
    mode = forms.ChoiceField(choices=MODES, required=False)
    until = forms.CharField(required=False, strip=True)  # seconds, or text such as 30m
    unbind = forms.CharField(required=False, strip=True)  # namespace/name, one per line
    template = forms.CharField(required=False, strip=False)
    copies = forms.IntegerField(required=False, min_value=1)
    release = forms.ChoiceField()
    gates = forms.CharField(required=False, max_length=MAX_RELEASE // 2)  # A=true,B=false
    config = forms.CharField(required=False, strip=False)
    unknown_plugins = forms.ChoiceField(choices=[(choice, choice) for choice in CHOICES], required=False)
    without_config = forms.BooleanField(required=False)
    translated = forms.BooleanField(required=False)
    seed = forms.IntegerField(required=False, min_value=-MAX_SEED, max_value=MAX_SEED)
    tie_break = forms.ChoiceField(choices=[("seed", "by the seed"), ("name", "by name")], required=False)
    preemption = forms.BooleanField(required=False)
    take_others = forms.BooleanField(required=False)
    claims_bound = forms.BooleanField(required=False)
    percentage = forms.IntegerField(required=False, min_value=0, max_value=100)
    low = forms.BooleanField(required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = str(self["release"].value() or "")
        self.fields["release"].choices = release_choices(own, released)  # type: ignore[attr-defined]

    @staticmethod
    def defaults(scenario: Scenario, view: ClusterView) -> dict[str, Any]:
        """Return suitable initial values for the scenario."""
        states = {pod.state for pod, _ in view.pod_kinds()}
        makes = any(remark["code"] == "workloads" for remark in preflight.snapshot_warnings(scenario.warnings))
        waiting = makes or states & {"pending", "gated"}
        again = list(islice(view.pods_where(lambda pod: pod.reschedulable), settings.BOUND_PODS_SHOWN + 1))
        which = "pending" if waiting else "unbind" if again else "template"
        release = default_release(scenario)
        first = {"which": which, "template": TEMPLATE, "copies": 3, "release": release, "config": scenario.config}
        first |= {"seed": 0, "tie_break": Run.TieBreak.SEED, "preemption": True, "mode": "once"}
        if scenario.time:
            first |= {"which": "pending", "mode": "time"}
        if first["which"] == "unbind" and len(again) <= settings.BOUND_PODS_SHOWN:
            first["pod"] = [pod.key for pod in again]
        first |= defaults_of(scenario)
        first["release"], _, first["gates"] = str(first["release"]).partition(" ")
        return first

    @staticmethod
    def like(run: Run) -> dict[str, Any]:
        """Return values of the form for another run with the settings of `run`."""
        again = [*(run.pods or []), *run.unbind]
        which = "template" if run.template else "pending" if run.pods is None else "unbind"
        values: dict[str, Any] = {"which": which, "unbind": "\n".join(again), "mode": "time" if run.in_time else "once"}
        same = ("release", "config", "unknown_plugins", "seed", "tie_break", "preemption", "percentage")
        values |= {name: getattr(run, name) for name in same}
        values |= {"release": run.release_number, "gates": feature_gates.spelled(run.feature_gates)}
        values |= {"pod": [], "template": run.template or TEMPLATE, "copies": run.copies or 3}
        values |= {
            "take_others": run.other_schedulers == Run.OtherSchedulers.TAKE,
            "claims_bound": run.absent_claims == Run.AbsentClaims.BOUND,
            "low": run.low,
        }
        return values | {"until": "" if run.until is None else f"{run.until:g}"}

    @cached_property
    def ticked(self) -> dict[str, None]:
        """The pods selected in the list, as keys."""
        return dict.fromkeys(
            self.data.getlist("pod") if isinstance(self.data, QueryDict) else self.initial.get("pod", [])
        )

    @property
    def scoring(self) -> dict[str, Any]:
        """The options of parts/scoring.html."""
        return scoring.offered(str(self["release"].value()), self.data)

    # Offers of the page if the configuration is refused: leave out these plugins, or start without it.
    unknown: tuple[UnknownPlugin, ...] = ()
    config_refused = False
    instead = ""  # the configuration equivalent to a Policy

    def refuse(self, error: InputError) -> None:
        """Add an error to the field that it concerns."""
        field = field_of(error)
        if isinstance(error, UnknownPlugins):
            self.unknown = () if error.rest else error.plugins
            count = len(error.plugins)
            these = "This plugin is" if count == 1 else f"These {count} plugins are"
            text = str(error) if error.rest else f"{these} not part of kube-scheduler {error.release}."
            self.add_error("config", text)
            return
        self.config_refused = field == "config"
        self.instead = error.instead if isinstance(error, UnreadPolicy) else ""
        self.add_error(field, str(error))

    def names(self) -> list[str]:
        """Return the pods to schedule again, selected or typed, without duplicates."""
        typed = self.cleaned_data["unbind"].replace(",", "\n").split("\n")
        return list(dict.fromkeys(name.strip() for name in [*self.ticked, *typed] if name.strip()))

    def clean_until(self) -> float | None:
        """Return virtual seconds; None for the scenario's default."""
        text = self.cleaned_data["until"]
        try:
            return seconds(text) if text else None
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def clean(self) -> dict[str, Any]:
        """Require pods if the selected option needs them. Ignore errors in fields of options that are not selected."""
        values = super().clean() or {}
        for name, counts in (("until", values.get("mode") == "time"), ("copies", values.get("which") == "template")):
            if not counts and name in self.errors:
                del self.errors[name]
                values[name] = None
        if values.get("which") == "unbind" and not self.names():
            self.add_error("unbind", "Select at least one pod, or enter namespace/name.")
        if values.get("which") == "template" and not values.get("template", "").strip():
            self.add_error("template", "Enter a pod or a workload.")
        return values

    def settings(self) -> RunSettings:
        """Return the settings. `pods` is the exact list unless all pending pods are selected."""
        values, which = self.cleaned_data, self.cleaned_data["which"]
        in_time = values["mode"] == "time"
        release = f"{values['release']} {values['gates']}".strip()
        unknown: Unknown = "leave_out" if values["unknown_plugins"] == "leave_out" else "error"
        config = "" if values["without_config"] or not values["config"].strip() else values["config"]
        config = translated(config, release, unknown) if values["translated"] else config
        # A workload defines its own number of pods.
        copies = 1 if pod_template.is_workload(values["template"]) else values["copies"] or 1
        return RunSettings(
            release=release,
            config=scoring.scored(config, release, scoring.scoring_in(self.data)),
            unknown_plugins=unknown,
            seed=values["seed"] or 0,
            tie_break=values["tie_break"] or Run.TieBreak.SEED,
            preemption=values["preemption"],
            percentage=values["percentage"],
            pods=None if which == "pending" else [],
            unbind=self.names() if which == "unbind" else [],
            template=values["template"] if which == "template" else "",
            copies=copies if which == "template" else 0,
            in_time=in_time,
            until=values["until"] if in_time else None,
            other_schedulers=Run.OtherSchedulers.TAKE if values["take_others"] else Run.OtherSchedulers.LEAVE,
            absent_claims=Run.AbsentClaims.BOUND if values["claims_bound"] else Run.AbsentClaims.ERROR,
        )


def field_of(error: InputError) -> str | None:
    """Return the form's field for a refused setting."""
    named = {name: name for name in ("unbind", "copies", "percentage", "seed", "until")} | {"pods": "unbind"}
    if error.where == feature_gates.WHERE:
        return "gates"
    if error.where == pod_template.WHERE:
        return "template"
    if error.where == "Run" and error.field.startswith(("strategy", "weight.")):
        return "config"
    if error.where == "Run":
        return named.get(error.field.partition("[")[0])
    return "config"
