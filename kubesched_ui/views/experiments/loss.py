"""The page of the question loss: which node may be drained, and which node, node group or zone may be lost."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.http import QueryDict

from kubesched_ui.experiments import estimates
from kubesched_ui.experiments.models import Experiment
from kubesched_ui.models import Scenario
from kubesched_ui.presenters import experiment_charts
from kubesched_ui.presenters.charts import Figure
from kubesched_ui.views.experiments.question_page import QuestionForm, QuestionPage, document_of
from kubesched_ui.views.lists import ROWS
from scheduler_core.api.duration import span
from scheduler_core.experiments.loss import SCOPES
from scheduler_core.experiments.node_loss import LOST, NOMINATED, PENDING, PLACED, PREEMPTED

BARS = 40  # losses that the chart shows
MAX_ONLY = 10_000  # characters
SERIES = {
    PENDING: "stay pending",
    PREEMPTED: "preempted by them",
    NOMINATED: "wait for preempted pods",
    LOST: "without a controller",
}
COURSE = {"tainted": "tainted nodes", "evicted": "evicted pods", "placed": "pods placed elsewhere"}
MODES = {"loss": "Loss: nodes and their pods are deleted", "drain": "Drain: nodes are cordoned and their pods evicted"}
UNITS = {"node": "Each node", "group": "Each node group", "zone": "Each zone"}


class LossForm(QuestionForm):
    """What happens, and to what."""

    mode = forms.ChoiceField(choices=list(MODES.items()), initial="loss")
    scope = forms.ChoiceField(choices=list(UNITS.items()), initial="node")
    only = forms.CharField(required=False, max_length=MAX_ONLY)
    label = forms.CharField(required=False, max_length=317)
    outage = forms.CharField(required=False, max_length=20, initial="1h")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        units = estimates.units_of(self.scenario)
        scopes = [(scope, text) for scope, text in UNITS.items() if units.get(scope, 1)]  # a cluster may have no zones
        self.fields["scope"].choices = scopes  # type: ignore[attr-defined]

    @property
    def cost(self) -> estimates.Cost:
        """What the experiment costs."""
        return estimates.loss(self.scenario)

    def clean(self) -> dict[str, Any]:
        """Require that a label is used."""
        values = super().clean() or {}
        if values.get("label") and values.get("scope") != "group":
            self.add_error("label", "A label is only for node groups.")
        return values


def document(form: LossForm, scenario: Scenario) -> dict[str, Any]:
    """Return the document of a form."""
    values = form.cleaned_data
    loss: dict[str, Any] = {"mode": values["mode"], "scope": values["scope"]}
    if only := [name.strip() for name in values["only"].split(",") if name.strip()]:
        loss["only"] = only
    if values["label"].strip():
        loss["label"] = values["label"].strip()
    if values["scope"] == "zone" and values["outage"].strip():
        loss["outage"] = values["outage"].strip()
    return document_of("loss", scenario, loss=loss)


def context(experiment: Experiment, query: QueryDict) -> dict[str, Any]:
    """Return the context of the template."""
    answer = experiment.answer
    if not answer or not answer.get("losses"):
        return {}
    text = query.get("q", "").replace("\0", "")[:300]
    rows = [row for row in answer["losses"] if text.lower() in f"{row['name']} {row['case']}".lower()]
    return {
        "answer": answer,
        "unit": SCOPES[answer["scope"]],
        "drain": answer["mode"] == "drain",
        "cases": any(row["case"] for row in answer["losses"]),
        "losses": Paginator(rows, ROWS).get_page(query.get("page")),
        "q": text,
        "bars": len(bars(answer["losses"])),
        "outages": [row | {"when": evictions_text(row["outage"])} for row in answer["losses"] if "outage" in row],
    }


def evictions_text(outage: Mapping[str, Any]) -> str:
    """Return when an outage evicts the first and the last pod."""
    return f"{span(outage['first'])} – {span(outage['last'])}" if outage["evicted"] else "none"


def bars(losses: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the worst losses, as far as they have pods that a series shows; if none has, the first ones."""
    worst = [row for row in losses if any(row["counts"].get(name) for name in SERIES)]
    return (worst or list(losses))[:BARS]


def chart(experiment: Experiment, key: str, query: QueryDict) -> Figure | None:
    """Return the pods of the worst losses, or the course of an outage (`cell`: its number)."""
    answer = experiment.answer or {}
    if key == "worst" and answer.get("losses"):
        shown = bars(answer["losses"])
        names = [" ".join(filter(None, (row["name"], row["case"]))) for row in shown]
        titles = SERIES
        if not any(row["counts"].get(name) for row in shown for name in titles):
            titles = {PLACED: "placed again"}
        series = {title: [row["counts"].get(name, 0) for row in shown] for name, title in titles.items()}
        return experiment_charts.stacked_bars(names, series, SCOPES[answer["scope"]], "pods")
    number = query.get("cell", "")[:9]
    if key == "outage" and number.isdecimal():
        row = experiment.cells.filter(number=int(number)).first()
        if row is not None and row.result and "outage" in row.result:
            course = row.result["outage"]["course"]
            return experiment_charts.course({COURSE.get(name, name): of for name, of in course.items()}, "seconds")
    return None


PAGE = QuestionPage(
    slug="loss",
    title="Which nodes can fail or be drained?",
    sentence="Removes each node, node group or zone alone, and lists the pods that then stay pending, the worst first.",
    form=LossForm,
    document=document,
    context=context,
    chart=chart,
)
