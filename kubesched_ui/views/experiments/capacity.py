"""Pages of the question capacity: the form, and bars of the node groups."""

from typing import Any

from django import forms
from django.http import QueryDict

from kubesched_ui.experiments import estimates
from kubesched_ui.experiments.models import Experiment
from kubesched_ui.models import Scenario
from kubesched_ui.presenters.capacity_bars import BarRow, Block, CapacityBar
from kubesched_ui.views.experiments.pod_choice import MAX_KEY, SuggestingInput, has, workloads_and_pods
from kubesched_ui.views.experiments.question_page import QuestionForm, QuestionPage, document_of
from scheduler_core.cluster.formatting import count, listing
from scheduler_core.experiments.parameters import MAX_ADDED, MAX_WEIGHT
from scheduler_core.experiments.pod_copies import MAX_TEMPLATE

DRAWN = 24  # node groups
PODS = 4  # of a mix in the form; a document may have more
AMOUNTS = ("cpu", "memory", "nvidia.com/gpu")
PENDING = [("ignore", "Leave them out"), ("first", "Schedule them first")]


class CapacityForm(QuestionForm):
    """Chooses one pod or up to PODS of a mix, or the requests of a pod."""

    cpu = forms.CharField(required=False, max_length=40)
    memory = forms.CharField(required=False, max_length=40)
    gpu = forms.CharField(required=False, max_length=40)
    template = forms.CharField(required=False, strip=False, max_length=MAX_TEMPLATE, widget=forms.Textarea)
    pending = forms.ChoiceField(choices=PENDING, initial="ignore")
    group_label = forms.CharField(required=False, max_length=320)
    limit = forms.IntegerField(min_value=1, max_value=MAX_ADDED, initial=100_000)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.choice = workloads_and_pods(self.scenario, self.find)
        self.initial.setdefault("pod_1", self.choice.first)
        if not self.choice.first:
            self.initial = {"cpu": "1", "memory": "1Gi", **self.initial}
        for number in range(1, PODS + 1):
            if number == 1:
                field = self.choice.field(self.data.get("pod_1") or self.initial["pod_1"])
            else:
                field = forms.CharField(required=False, max_length=MAX_KEY, widget=SuggestingInput)
                field.widget.suggestions = [value for _, group in self.choice.options for value, _ in group]
                field.widget.attrs["placeholder"] = "Deployment namespace/name, or namespace/name of a pod"
            self.fields[f"pod_{number}"] = field
            weight = forms.IntegerField(required=False, min_value=1, max_value=MAX_WEIGHT, initial=1)
            self.fields[f"weight_{number}"] = weight

    @property
    def more_pods(self) -> list[tuple[Any, Any]]:
        """The fields of the further pods of a mix, each with its weight."""
        return [(self[f"pod_{number}"], self[f"weight_{number}"]) for number in range(2, PODS + 1)]

    @property
    def pods(self) -> list[dict[str, Any]]:
        """The pods of a valid form, as in a document. A template or requests replace the pod of the list."""
        given = self.cleaned_data
        amounts = {name: given[field] for name, field in zip(AMOUNTS, ("cpu", "memory", "gpu"), strict=True)}
        requests = {name: amount for name, amount in amounts.items() if amount}
        first: dict[str, Any] = {}
        if given["template"].strip():
            first = {"template": given["template"]}
        elif requests:
            first = {"requests": requests}
        found: list[dict[str, Any]] = [first | {"weight": given["weight_1"] or 1}] if first else []
        for number in range(2 if first else 1, PODS + 1):
            if key := given[f"pod_{number}"]:
                kind = "workload" if " " in key else "pod"
                found.append({kind: key, "weight": given[f"weight_{number}"] or 1})
        return found

    def clean(self) -> dict[str, Any]:
        """Require a pod, and that the scenario has those that are named."""
        cleaned = super().clean() or self.cleaned_data
        for number in range(1, PODS + 1):
            key = cleaned.get(f"pod_{number}")
            if key and not has(self.scenario, key):
                self.add_error(f"pod_{number}", f"The scenario has no {key if ' ' in key else f'pod {key}'}.")
        if not self.errors and not self.pods:
            raise forms.ValidationError("Choose a pod or a workload, paste a template, or enter requests.")
        return cleaned

    @property
    def cost(self) -> estimates.Cost:
        """What the experiment costs."""
        return estimates.capacity(self.scenario)


def document(form: CapacityForm, scenario: Scenario) -> dict[str, Any]:
    """Return the document of a valid form."""
    given = form.cleaned_data
    parameters = {"pods": form.pods, "pending": given["pending"], "limit": given["limit"]}
    if given["group_label"]:
        parameters["groupLabel"] = given["group_label"]
    return document_of("capacity", scenario, capacity=parameters)


def context(experiment: Experiment, query: QueryDict) -> dict[str, Any]:
    """Return the cases, each with the bars of its node groups and its rows."""
    cases: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in (experiment.answer or {}).get("rows", []):
        key = tuple(row[name] for name in ("scenario", "release", "configuration", "changes", "seed", "pods"))
        cases.setdefault(key, []).append(row)
    several = [len({key[place] for key in cases}) > 1 for place in range(6)]
    shown = []
    for key, rows in cases.items():
        title = ", ".join(part for part, differs in zip(key, several, strict=True) if differs)
        groups = [row for row in rows if "fit" in row and (row["group"] or len(rows) == 1)]
        mixed = any(len(row.get("mix", ())) > 1 for row in rows)
        shown.append({"title": title, "pods": key[-1], "rows": rows, "mixed": mixed, "shelf": _bars(groups)})
    return {"cases": shown}


def _bars(rows: list[dict[str, Any]]) -> BarRow:
    """Return a bar for each node group: the pods that run there, and above them those that fit."""
    totals = [row["running"] + row["fit"] for row in rows]
    highest = max([1, *totals])
    bars = []
    for row, total in list(zip(rows, totals, strict=True))[:DRAWN]:
        fit = f"{row['fit']:,}{'' if row['complete'] else ' or more'}"
        bars.append(
            CapacityBar(
                name=row["group"] or "all nodes",
                zone="",
                taints=(),
                cordoned=False,
                tall=100 * total / highest,
                blocks=[Block(count(row["running"], "running pod"), 100 * row["running"] / max(total, 1))],
                free=f"{count(row['nodes'])}, {count(row['running'], 'pod')} now; {_stop(row)}",
                comes=100 * row["fit"] / max(total, 1),
                mark="fits" if row["fit"] else "refused",
                text=f"{fit} more" if row["fit"] else "none fits",
            )
        )
    return BarRow("pods", bars, more=max(0, len(rows) - DRAWN), spoken=True)


def _stop(row: dict[str, Any]) -> str:
    if not row["complete"]:
        return "the search ended at its limit"
    words = [reason["words"] for reason in row["reasons"]]
    return f"then {listing(words[:2])}" if words else "then the next one stays pending"


PAGE = QuestionPage(
    slug="capacity",
    title="How many more pods fit?",
    sentence="Adds copies of a pod, or of a mix of pods, until one stays pending, and says why it does.",
    form=CapacityForm,
    document=document,
    context=context,
)
