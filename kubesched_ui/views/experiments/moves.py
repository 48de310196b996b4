"""Pages of the question moves: the form, the nodes before and after the moves, and the moves in order."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django import forms
from django.http import QueryDict

from kubesched_ui.experiments import estimates
from kubesched_ui.experiments.models import Experiment
from kubesched_ui.models import Run, Scenario
from kubesched_ui.presenters.capacity_bars import Amounts, BarRow, bar_row
from kubesched_ui.runs.estimate import waiting
from kubesched_ui.scenarios.cluster_overview import ZONES, NodeLine, PodLine
from kubesched_ui.views.experiments.pod_choice import POD_GROUP, pending_pods
from kubesched_ui.views.experiments.question_page import QuestionForm, QuestionPage, document_of
from scheduler_core.cluster.formatting import amount, listing
from scheduler_core.experiments.parameters import MAX_EFFORT, MAX_MOVES

PENDING = [("first", "Schedule all pending pods first, as a run does"), ("ignore", "Leave the other pending pods out")]


class MovesForm(QuestionForm):
    """Chooses a pending pod, or a pod group. `run`: the run that left it pending, whose settings are used."""

    pending = forms.ChoiceField(choices=PENDING, initial="first", label="Other pending pods")
    most = forms.IntegerField(min_value=0, max_value=MAX_MOVES, initial=8, label="Moves at most")
    effort = forms.IntegerField(min_value=1, max_value=MAX_EFFORT, initial=20_000, label="Effort, in runs of Filter")
    run = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.choice = pending_pods(self.scenario, self.find, self.data.get("run") or self.initial.get("run"))
        if self.choice.run is not None:
            self.initial["run"] = self.choice.run.pk
        self.initial.setdefault("pod", self.choice.first)
        self.fields["pod"] = self.choice.field(self.data.get("pod") or self.initial["pod"])

    @property
    def lacks(self) -> str:
        """Say that no pod is pending."""
        if super().lacks or self.choice.first or self.find or self.initial["pod"]:
            return super().lacks
        if self.choice.run is not None:
            return f"Run {self.choice.run.pk} leaves no pod pending, so no pod has to move."
        if waiting(self.scenario):
            return (
                "The pods that wait are created by workloads: start a run, and the pods that it leaves pending follow."
            )
        return "No pod of the scenario is pending, so no pod has to move."

    @property
    def cost(self) -> estimates.Cost:
        """What the experiment costs."""
        return estimates.moves(self.scenario, self.fields["effort"].initial)

    def clean(self) -> dict[str, Any]:
        """Require a pod or a group."""
        cleaned = super().clean() or self.cleaned_data
        kind, _, key = (cleaned.get("pod") or "").rpartition(" ")
        if not key:
            self.add_error("pod", "Choose a pending pod.")
        elif kind not in ("", POD_GROUP):
            self.add_error("pod", "Choose a pod or a pod group.")
        elif not kind and key not in self.choice.pods:
            self.add_error("pod", f"{key} is no pending pod of the scenario.")
        return cleaned


def document(form: MovesForm, scenario: Scenario) -> dict[str, Any]:
    """Return the document of a valid form."""
    given = form.cleaned_data
    parameters = {name: given[name] for name in ("pending", "most", "effort")}
    kind, _, key = given["pod"].rpartition(" ")
    parameters |= {"group": key} if kind else {"pods": [key]}
    settings: dict[str, Any] = {}
    run = Run.objects.filter(pk=given["run"], scenario=scenario).first() if given["run"] else None
    if run is not None:
        settings = {"releases": [run.release], "seeds": [run.seed]}
        if run.config:
            settings["configurations"] = [{"name": f"run {run.pk}", "config": run.config}]
    return document_of("moves", scenario, moves=parameters, **settings)


def context(experiment: Experiment, query: QueryDict) -> dict[str, Any]:
    """Return the cases, each with its nodes before and after the moves."""
    return {"cases": [_case(row) for row in (experiment.answer or {}).get("rows", [])]}


def _case(row: dict[str, Any]) -> dict[str, Any]:
    cost = row.get("cost")
    if cost is not None:
        cost = cost | {name: amount(name, cost[name]) for name in ("cpu", "memory")}
    case = {**row, "cost": cost, "cannot": sorted(row.get("fixed", {}).items(), key=lambda item: -item[1])}
    if row.get("nodes"):
        case["before"], case["after"] = _bars(row)
    return case


def _bars(row: dict[str, Any]) -> tuple[BarRow, BarRow]:
    """Return the nodes before the moves, with the pods that leave, and after them, with the pending pods."""
    wanted: dict[str, Amounts] = row["wanted"]
    first = next(iter(wanted.values()))
    moved = {move["pod"]: move for move in row["moves"]}
    before = bar_row([_node(one, "before") for one in row["nodes"]], first).leaving(moved.keys())
    leaves: dict[str, list[str]] = {}
    for move in row["moves"]:
        leaves.setdefault(move["from"], []).append(f"{move['pod'].rpartition('/')[2]} → {move['to']}")
    before = before.marked({node: ("made", ", ".join(texts)) for node, texts in leaves.items()})
    landed = [(pod, node) for pod, node in row["placed"].items()]
    drawn = bar_row([_node(one, "after", landed[1:], wanted) for one in row["nodes"]], first)
    full = bar_row([_node(one, "after", landed, wanted) for one in row["nodes"]], first)
    bars = [replace(bar, free=whole.free) for bar, whole in zip(drawn.bars, full.bars, strict=True)]
    lands: dict[str, list[str]] = {}
    for pod, node in landed:
        lands.setdefault(node, []).append(pod.rpartition("/")[2])
    texts = {node: f"{listing(pods)} {'fits' if len(pods) == 1 else 'fit'}" for node, pods in lands.items()}
    marks = {node: ("chosen" if node == landed[0][1] else "made", text) for node, text in texts.items()}
    return before, replace(drawn, bars=bars, tall=None).marked(marks)


def _node(
    one: dict[str, Any], when: str, landed: Sequence[tuple[str, str]] = (), wanted: Mapping[str, Amounts] | None = None
) -> NodeLine:
    """Return a node to draw, with the pending pods that are on it after the moves."""
    pods = [PodLine(pod, requests=requests) for pod, requests in one[when]]
    pods += [PodLine(pod, requests=(wanted or {}).get(pod, {})) for pod, node in landed if node == one["name"]]
    return NodeLine(one["name"], one["allocatable"], {ZONES[0]: one["zone"]}, pods=pods)


PAGE = QuestionPage(
    slug="moves",
    title="Which pods must move so that a pending pod fits?",
    sentence="Finds the fewest moves of running pods after which a pending pod or group fits, and what they cost.",
    form=MovesForm,
    document=document,
    context=context,
)
