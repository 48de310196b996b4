"""Pages of the question buy: a form with the catalog of node types, and the set of nodes with its bound."""

from typing import Any

from django import forms
from django.http import QueryDict

from kubesched_ui.experiments import estimates
from kubesched_ui.experiments.models import Experiment
from kubesched_ui.models import Scenario
from kubesched_ui.presenters import purchase_charts
from kubesched_ui.presenters.charts import Figure
from kubesched_ui.runs import estimate
from kubesched_ui.views.experiments.question_page import QuestionForm, QuestionPage, document_of
from scheduler_core.api.objects import Node, decode_all
from scheduler_core.errors import InputError
from scheduler_core.experiments.buy import price_text
from scheduler_core.experiments.node_catalog import presets
from scheduler_core.experiments.parameters import MAX_BOUGHT, MAX_NODE_TYPES, MAX_PRICE, MAX_SEARCH_SECONDS, NodeType

READ_NODES = 2_000  # of a scenario, for presets
OFFERED = 8  # presets that are offered at first
EMPTY_ROWS = 2
MAX_TEXT = 2_000
MAIN = ("cpu", "memory", "pods")
WORKLOADS = [
    ("pending", "The pending pods, on free space of the existing nodes first"),
    ("all", "All pods on new nodes alone, as if the cluster were empty"),
]
PERIODS = ("hour", "day", "month", "year")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
PRICES, COUNTS, FULLNESS = "prices", "counts", "fullness"


class NodeTypeForm(forms.Form):
    """A row of the catalog. A row without a name is not offered."""

    offered = forms.BooleanField(required=False)
    name = forms.CharField(required=False, max_length=100)
    price = forms.DecimalField(required=False, min_value=0, max_value=MAX_PRICE, max_digits=13, decimal_places=6)
    max_count = forms.IntegerField(required=False, min_value=0, max_value=MAX_BOUGHT)
    cpu = forms.CharField(required=False, max_length=40)
    memory = forms.CharField(required=False, max_length=40)
    pods = forms.IntegerField(required=False, min_value=0, max_value=100_000)
    other = forms.CharField(required=False, max_length=MAX_TEXT)
    labels = forms.CharField(required=False, max_length=100_000)
    taints = forms.CharField(required=False, max_length=MAX_TEXT)

    def clean(self) -> dict[str, Any]:
        """Require price and size of an offered type, and read labels, taints and other resources."""
        cleaned = super().clean() or self.cleaned_data
        if not cleaned.get("offered") or not cleaned.get("name"):
            return cleaned
        for field in ("price", "cpu", "memory"):
            if not self.errors.get(field) and cleaned.get(field) in (None, ""):
                self.add_error(field, "This field is required.")
        for field in ("other", "labels"):
            try:
                cleaned[f"{field}_read"] = _pairs(cleaned.get(field) or "")
            except ValueError as problem:
                self.add_error(field, str(problem))
        try:
            cleaned["taints_read"] = _taints(cleaned.get("taints") or "")
        except ValueError as problem:
            self.add_error("taints", str(problem))
        return cleaned

    @property
    def type(self) -> dict[str, Any] | None:
        """The node type of a valid row, as in a document; None if it is not offered."""
        row = self.cleaned_data
        if not row.get("offered") or not row.get("name"):
            return None
        pods = {} if row["pods"] is None else {"pods": row["pods"]}
        found = {
            "name": row["name"],
            "price": float(row["price"]),
            "allocatable": {"cpu": row["cpu"], "memory": row["memory"], **pods, **row["other_read"]},
            "labels": row["labels_read"],
            "taints": row["taints_read"],
        }
        return found if row["max_count"] is None else {**found, "maxCount": row["max_count"]}


NodeTypeFormSet = forms.formset_factory(
    NodeTypeForm, extra=EMPTY_ROWS, max_num=MAX_NODE_TYPES, absolute_max=MAX_NODE_TYPES, validate_max=True
)


class BuyForm(QuestionForm):
    """The catalog, the pods to place and the time for the search."""

    lacks = ""  # new nodes suffice
    workload = forms.ChoiceField(choices=WORKLOADS, initial="pending")
    currency = forms.CharField(required=False, max_length=4, initial="$")
    per = forms.ChoiceField(required=False, choices=[(one, one) for one in PERIODS], initial=PERIODS[0])
    seconds = forms.FloatField(min_value=1, max_value=MAX_SEARCH_SECONDS, initial=10)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.nothing_pending:
            self.initial.setdefault("workload", "all")
        initial = None if self.is_bound else _initial(self.scenario)
        self.types = NodeTypeFormSet(self.data if self.is_bound else None, prefix="types", initial=initial)

    @property
    def nothing_pending(self) -> bool:
        """Whether all pods of the scenario have their nodes."""
        return not estimate.waiting(self.scenario) and not self.scenario.time

    @property
    def cost(self) -> estimates.Cost:
        """What the experiment costs."""
        return estimates.buy(self.scenario)

    def clean(self) -> dict[str, Any]:
        """Require a node type, and no name twice."""
        cleaned = super().clean() or self.cleaned_data
        if not self.types.is_valid():
            problems = self.types.non_form_errors() or ["Correct the marked node types."]
            raise forms.ValidationError(list(problems))
        names = [one["name"] for one in self.chosen]
        if not names:
            raise forms.ValidationError("Offer at least one node type.")
        for name in names:
            if names.count(name) > 1:
                raise forms.ValidationError(f"The name {name} occurs twice.")
        return cleaned

    @property
    def chosen(self) -> list[dict[str, Any]]:
        """The offered node types of a valid form."""
        return [one for row in self.types if (one := row.type) is not None]


def _pairs(text: str) -> dict[str, str]:
    """Read `a=b, c=d`. Raises ValueError."""
    found = {}
    for part in filter(None, (part.strip() for part in text.replace("\n", ",").split(","))):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"{part[:60]!r} is not of the form name=value.")
        found[name.strip()] = value.strip()
    return found


def _taints(text: str) -> list[dict[str, str]]:
    """Read `key=value:NoSchedule, key:NoExecute`. Raises ValueError."""
    found = []
    for part in filter(None, (part.strip() for part in text.replace("\n", ",").split(","))):
        rest, colon, effect = part.rpartition(":")
        if not colon or effect not in EFFECTS or not rest:
            raise ValueError(f"{part[:60]!r} is not of the form key=value:effect; effects are {', '.join(EFFECTS)}.")
        key, _, value = rest.partition("=")
        found.append({"key": key, "value": value, "effect": effect})
    return found


def _initial(scenario: Scenario) -> list[dict[str, Any]]:
    """Return the rows of the node types that the scenario has."""
    rows = scenario.cluster_objects.filter(kind="Node").order_by("position").values_list("data", flat=True)
    try:
        nodes = [one for one in decode_all(list(rows[:READ_NODES])) if isinstance(one, Node)]
        found = presets(nodes)
    except (InputError, ValueError):  # the scenario is checked when it is used
        found = []
    return [_row(one, number < OFFERED) for number, one in enumerate(found)]


def _row(one: NodeType, offered: bool) -> dict[str, Any]:
    other = {name: text for name, text in one.allocatable.items() if name not in MAIN and text not in ("0", 0)}
    return {
        "offered": offered,
        "name": one.name,
        "price": f"{one.price:.2f}",
        **{name: one.allocatable.get(name, "") for name in MAIN},
        "other": ", ".join(f"{name}={text}" for name, text in other.items()),
        "labels": ", ".join(f"{name}={value}" for name, value in one.labels.items()),
        "taints": ", ".join(f"{taint.key}={taint.value}:{taint.effect}" for taint in one.taints),
    }


def document(form: BuyForm, scenario: Scenario) -> dict[str, Any]:
    """Return the document of a valid form."""
    given = form.cleaned_data
    parameters = {name: given[name] for name in ("workload", "currency", "seconds")}
    parameters["per"] = given["per"] or PERIODS[0]
    return document_of("buy", scenario, buy={"catalog": form.chosen, **parameters})


# ---- the answer


def context(experiment: Experiment, query: QueryDict) -> dict[str, Any]:
    """Return the cases, and the one that is shown, with its prices as text."""
    rows = _rows(experiment)
    if not rows:
        return {}
    case, unit = _case(rows, query), _unit(experiment)
    row = rows[case]
    types = [
        {
            **one,
            "price_text": price_text(one["price"], unit[0]),
            "cost": price_text(one["price"] * one["count"], unit[0]),
        }
        for one in row["types"]
    ]
    for one in types:
        one["cpu"], one["memory"] = (_percent(one["fullness"].get(name)) for name in ("cpu", "memory"))
    return {
        "cases": [(number, _title(other, rows)) for number, other in enumerate(rows)],
        "case": case,
        "row": row,
        "types": types,
        "per": unit[1],
        "price": price_text(row["price"], *unit),
        "bound": price_text(row["bound"], *unit),
        "own_price": price_text(row["own"]["price"], *unit),
        "own_more": price_text(max(0.0, row["own"]["price"] - row["price"]), *unit),
        "same": row["own"]["price"] == row["price"] and not row["own"]["pending"],
    }


def _unit(experiment: Experiment) -> tuple[str, str]:
    """Return the currency and the time that prices are for."""
    answer = experiment.answer or {}
    return answer.get("currency", ""), answer.get("per", "")


def _rows(experiment: Experiment) -> list[dict[str, Any]]:
    return [row for row in (experiment.answer or {}).get("rows", []) if "price" in row]


def _case(rows: list[dict[str, Any]], query: QueryDict) -> int:
    wanted = query.get("case", "")
    if wanted.isascii() and wanted.isdigit() and int(wanted[:6]) < len(rows):
        return int(wanted)
    return min(
        range(len(rows)), key=lambda number: (rows[number]["pods"] - rows[number]["placed"], rows[number]["price"])
    )


def _title(row: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """Return the labels in which the case differs from others."""
    labels = row["labels"]
    return ", ".join(text for name, text in labels.items() if len({one["labels"].get(name) for one in rows}) > 1)


def _percent(share: dict[str, float] | None) -> str:
    return "" if share is None else f"{100 * share['mean']:.0f}%"


def chart(experiment: Experiment, key: str, query: QueryDict) -> Figure | None:
    """Return the prices, the nodes by type, or how full they are."""
    rows = _rows(experiment)
    if not rows:
        return None
    row = rows[_case(rows, query)]
    if key == PRICES:
        return purchase_charts.prices(row, *_unit(experiment))
    if key == COUNTS:
        return purchase_charts.counts(row["types"])
    return purchase_charts.fullness(row["types"]) if key == FULLNESS else None


PAGE = QuestionPage(
    slug="buy",
    title="Which nodes should be bought?",
    sentence="Finds new nodes that place all pods for the lowest price, and the price that no set of nodes undercuts.",
    form=BuyForm,
    document=document,
    context=context,
    chart=chart,
)
