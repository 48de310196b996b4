"""The page of the question noise: which placements depend on the seed."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.http import QueryDict

from kubesched_ui.experiments.models import Experiment
from kubesched_ui.models import Scenario
from kubesched_ui.presenters import experiment_charts
from kubesched_ui.presenters.charts import Figure
from kubesched_ui.presenters.metric_values import metric_text, metric_title
from kubesched_ui.views.experiments import compare
from kubesched_ui.views.experiments.question_page import QuestionForm, QuestionPage, document_of
from scheduler_core.experiments.noise import MAX_CELLS, MAX_OUTCOMES
from scheduler_core.experiments.placements import EXCHANGED

OUTCOMES = "outcomes"
MAX_BARS = 20

KINDS = compare.KINDS | {EXCHANGED: "which of its pods is where"}


class NoiseForm(QuestionForm):
    """How many seeds."""

    needs_waiting = True
    seeds = forms.IntegerField(label="Number of seeds", min_value=2, max_value=MAX_CELLS, initial=100)


def document(form: NoiseForm, scenario: Scenario) -> dict[str, Any]:
    """Return the document of a form."""
    return document_of("noise", scenario, seeds={"first": 0, "count": form.cleaned_data["seeds"]})


def variant_of(experiment: Experiment, query: QueryDict) -> tuple[int, dict[str, Any]] | None:
    """Return the variant of the address, by default the first one, and its position; None if there is no answer."""
    known = [
        (index, one) for index, one in enumerate((experiment.answer or {}).get("variants", ())) if "metrics" in one
    ]
    wanted = [(index, one) for index, one in known if str(index) == query.get("case")]
    return next(iter([*wanted, *known]), None)


def context(experiment: Experiment, query: QueryDict) -> dict[str, Any]:
    """Return the context of the template."""
    found = variant_of(experiment, query)
    if found is None or experiment.answer is None:
        return {}
    number, variant = found
    page = Paginator(variant.get("workloads", ()), compare.WORKLOADS).get_page(query.get("workloads"))
    labels, series = bars_of(variant)
    return {
        "cases": [(str(index), one["title"]) for index, one in enumerate(experiment.answer["variants"])],
        "case": str(number),
        "noise": variant,
        "nothing": "pods" in variant and not any(variant["pods"].values()),
        "counts": counts_of(variant["pods"]) if "pods" in variant else (),
        "bar_heads": list(series),
        "bar_rows": list(zip(labels, zip(*series.values(), strict=True), strict=True)),
        "metric_rows": metric_rows(variant["metrics"]),
        "workload_page": page,
        "workloads": [workload_row(one, variant["seeds"]) for one in page.object_list],
    }


def counts_of(pods: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the numbers of pods with their meaning, the important ones first."""
    return [
        ("placed with some seeds only", pods["unsure"]),
        ("always placed, on several nodes", pods["moving"]),
        ("always on the same node", pods["fixed"]),
        ("never placed", pods["pending"]),
    ]


def metric_rows(metrics: Mapping[str, Mapping[str, float]]) -> list[tuple[str, list[str]]]:
    """Return (title, [mean, standard deviation, minimum, maximum]) of the metrics that the seed changes."""
    figures = ("mean", "stddev", "min", "max")
    rows = [(metric_title(name), [metric_text(name, of[key]) for key in figures]) for name, of in metrics.items()]
    return [row for row in rows if row[1][2] != row[1][3]]  # rounding may make the minimum and the maximum equal


def workload_row(one: Mapping[str, Any], seeds: int) -> dict[str, Any]:
    """Return a workload with its numbers as text, and its pods."""
    return {
        "name": one["workload"],
        "priority": one["priority"],
        "pods": one["pods"],
        "kind": KINDS[one["kind"]],
        "unsure": one["unsure"],
        "placed": range_text(one["placed"]),
        "nodes": one["nodes"],
        "entropy": one["entropy"],
        "groups": [(name or "pending", range_text(of)) for name, of in one["groups"].items()],
        "shown": [(pod, outcome_text(pod["outcomes"], pod["nodes"])) for pod in one["shown"]],
        "more_pods": one["more_pods"],
        "seeds": seeds,
    }


def range_text(of: Sequence[float]) -> str:
    """Return a minimum, mean and maximum: `5 to 9, mean 6.5`, or `5` if they are equal."""
    lowest, mean, highest = of
    return f"{lowest:,.0f}" if lowest == highest else f"{lowest:,.0f} to {highest:,.0f}, mean {mean:,.1f}"


def outcome_text(outcomes: Sequence[Sequence[Any]], nodes: int) -> str:
    """Return the most frequent outcomes of a pod with the number of seeds of each."""
    listed = ", ".join(f"{node or 'pending'} ({seeds}×)" for node, seeds in outcomes)
    return listed + (" …" if nodes > MAX_OUTCOMES else "")


def bars_of(variant: Mapping[str, Any]) -> tuple[list[str], dict[str, list[int]]]:
    """Return labels and series of the bars: the pods by their number of distinct outcomes. The last bar counts all
    larger numbers."""
    series = {"always": "always placed", "unsure": "placed with some seeds only", "pending": "never placed"}
    bars: dict[int, dict[str, int]] = {}
    for one in variant.get("outcomes", ()):
        bar = bars.setdefault(min(one["outcomes"], MAX_BARS), dict.fromkeys(series, 0))
        for name in series:
            bar[name] += one[name]
    labels = [f"{number} or more" if number == MAX_BARS else str(number) for number in sorted(bars)]
    return labels, {title: [bars[number][name] for number in sorted(bars)] for name, title in series.items()}


def chart(experiment: Experiment, key: str, query: QueryDict) -> Figure | None:
    """Return the bar chart of the outcomes."""
    found = variant_of(experiment, query)
    if key != OUTCOMES or found is None:
        return None
    return experiment_charts.stacked_bars(*bars_of(found[1]), "distinct outcomes of a pod", "pods")


PAGE = QuestionPage(
    slug="noise",
    title="How much does chance decide?",
    sentence="Runs the scenario with many seeds, which break ties between equally good nodes, and counts what changes.",
    form=NoiseForm,
    document=document,
    context=context,
    chart=chart,
)
