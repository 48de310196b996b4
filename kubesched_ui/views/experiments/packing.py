"""The page of the question packing: the fewest nodes for a workload, and how far it can grow."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import QueryDict

from kubesched_ui.experiments import estimates
from kubesched_ui.experiments.models import Experiment
from kubesched_ui.models import Scenario
from kubesched_ui.presenters import experiment_charts
from kubesched_ui.presenters.charts import Figure
from kubesched_ui.runs import estimate
from kubesched_ui.views.experiments.compare import CompareForm
from kubesched_ui.views.experiments.question_page import QuestionPage, document_of
from scheduler_core.cluster.formatting import count

COMPACTION = "compaction"
MAX_ORDERS = 100

CHOICES = {
    COMPACTION: "Compaction: the fewest nodes on which all pods fit",
    "replicas": "Growth in pods: the largest factor for their number",
    "requests": "Growth in requests: the largest factor for cpu, memory and ephemeral storage",
}
TITLES = {
    COMPACTION: "Nodes that the workload needs",
    "replicas": "Largest factor of the number of pods",
    "requests": "Largest factor of the requests",
}


class PackingForm(CompareForm):
    """Which measures, configurations and releases, and how many orders of the nodes."""

    measures = forms.MultipleChoiceField(choices=list(CHOICES.items()))
    running_only = forms.BooleanField(required=False)
    orders = forms.IntegerField(min_value=1, max_value=MAX_ORDERS)
    seeds = None  # type: ignore[assignment]
    needs_waiting = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial = {**self.initial, "measures": [COMPACTION, "replicas"], "orders": 11}

    @property
    def lacks(self) -> str:
        """Say that there are no pods."""
        known = super().lacks
        pods = self.scenario.counts.get("Pod") or self.scenario.time or estimate.waiting(self.scenario)
        return known or ("" if pods else "The scenario has no pods, so there is nothing to pack.")

    @property
    def cost(self) -> estimates.Cost:
        """What the experiment costs."""
        return estimates.packing(self.scenario)


def document(form: PackingForm, scenario: Scenario) -> dict[str, Any]:
    """Return the document of a form. Raises InputError."""
    values = form.cleaned_data
    packing = {
        "measures": values["measures"],
        "pending": "ignore" if values["running_only"] else "first",
        "orders": values["orders"],
    }
    return document_of("packing", scenario, releases=values["releases"], configurations=form.chosen(), packing=packing)


def context(experiment: Experiment, query: QueryDict) -> dict[str, Any]:
    """Return the context of the template."""
    measures = []
    for key, title in TITLES.items():
        rows = _rows(experiment, key)
        if rows:
            drawn = any("found" in row for row in rows)
            if not drawn and not any("error" in row for row in rows):
                continue  # the answer says why
            measures.append({"key": key, "title": title, "drawn": drawn, "rows": [_texts(row) for row in rows]})
    return {"measures": measures}


def _rows(experiment: Experiment, measure: str) -> list[dict[str, Any]]:
    return [row for row in (experiment.answer or {}).get("rows", ()) if row["measure"] == measure]


def _texts(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with its values as text, and a remark if it needs one."""
    digits = 0 if row["measure"] == COMPACTION else 2
    texts = {name: f"{row[name]:,.{digits}f}" if name in row else "–" for name in ("found", "least", "most")}
    return {**row, **texts, "remark": _remark(row)}


def _remark(row: Mapping[str, Any]) -> str:
    if "error" in row:
        return str(row["error"])
    remarks = []
    if row["failed"]:
        remarks.append(f"{count(row['failed'], 'order')} failed")
    if not row["pods"]:
        remarks.append("no pods that could be placed elsewhere")
    elif row["unplaced"] and row["measure"] != "requests":
        remarks.append(f"{row['pending']:,} of {count(row['pods'], 'pod')} stay pending even on all nodes")
    elif row["unplaced"]:
        remarks.append("does not fit at any size")
    if not row["complete"]:
        remarks.append("the search ended at its limit")
    return "; ".join(remarks)


def chart(experiment: Experiment, key: str, query: QueryDict) -> Figure | None:
    """Return the values of a measure over the orders of the nodes, for each variant."""
    rows = [row for row in _rows(experiment, key) if "found" in row]
    if not rows:
        return None
    unit = "nodes" if key == COMPACTION else "factor"
    return experiment_charts.strips(
        [(row["title"], row["values"], row["found"]) for row in rows], unit, key == COMPACTION
    )


PAGE = QuestionPage(
    slug="packing",
    title="How few nodes are enough?",
    sentence="Packs all pods on as few nodes as possible, and finds how far the workload can grow on all of them.",
    form=PackingForm,
    document=document,
    context=context,
    chart=chart,
)
