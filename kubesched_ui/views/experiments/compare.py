"""The page of the question compare: configurations and releases side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.http import QueryDict

from kubesched_ui.experiments.models import Experiment
from kubesched_ui.models import Scenario
from kubesched_ui.presenters import experiment_charts
from kubesched_ui.presenters.charts import Figure
from kubesched_ui.presenters.experiment_charts import ChartPoint
from kubesched_ui.presenters.metric_values import mean_text, metric_title, plotted, plotted_title
from kubesched_ui.runs import config_resolution, scoring
from kubesched_ui.runs.release_choices import in_order
from kubesched_ui.runs.scoring import Scoring
from kubesched_ui.runs.services import default_release
from kubesched_ui.views.experiments.question_page import QuestionForm, QuestionPage, document_of
from scheduler_core.errors import InputError
from scheduler_core.experiments.compare import MAX_OUTCOMES, front_of
from scheduler_core.experiments.placements import GROUPS, NODES, PLACED
from scheduler_core.metrics.catalog import metric_of
from scheduler_core.releases import RELEASES

UPLOADED, DEFAULT = "uploaded", "default"
STRATEGIES = (scoring.MOST, scoring.RATIO)
MAX_SEEDS = 100
MAX_CONFIG = 1_000_000  # characters
SIDE_BY_SIDE = 8  # variants that are columns of a table; of more, each is a row
VARIANTS = 50  # rows of a page
WORKLOADS = 25  # of a page
MAX_COLUMNS = 8  # metrics, if each variant is a row
SCATTER, FULLNESS = "scatter", "fullness"

KINDS = {PLACED: "number of placed pods", GROUPS: "node groups", NODES: "nodes"}


class CompareForm(QuestionForm):
    """Which configurations, releases and how many seeds."""

    needs_waiting = True
    configurations = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    config = forms.CharField(required=False, strip=False, max_length=MAX_CONFIG)
    config_file = forms.FileField(required=False, max_length=200)
    releases = forms.MultipleChoiceField()
    seeds = forms.IntegerField(min_value=1, max_value=MAX_SEEDS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        release = default_release(self.scenario).partition(" ")[0]
        choices = [(DEFAULT, "Default of the release (LeastAllocated)"), *((name, name) for name in STRATEGIES)]
        if self.scenario.config:
            choices.insert(0, (UPLOADED, "Uploaded with the cluster"))
        self.fields["configurations"].choices = choices  # type: ignore[attr-defined]
        releases = in_order({*RELEASES, release})[::-1]
        self.fields["releases"].choices = [(name, name) for name in releases]  # type: ignore[attr-defined]
        selected = [key for key, _ in choices if key not in STRATEGIES or has_strategy(release, key)]
        self.initial = {"configurations": selected, "releases": [release], "seeds": 3}

    def clean_config_file(self) -> str:
        """Return the text of the file."""
        file = self.cleaned_data["config_file"]
        if file is None:
            return ""
        if file.size > MAX_CONFIG:
            raise forms.ValidationError(f"The file must have at most {MAX_CONFIG // 1_000_000} MB.")
        try:
            return str(file.read().decode())
        except UnicodeDecodeError:
            raise forms.ValidationError("The file is not text in UTF-8.") from None

    def clean(self) -> dict[str, Any]:
        """Require a configuration, and releases that have the chosen strategies."""
        values = super().clean() or {}
        for name in STRATEGIES:
            without = [release for release in values.get("releases", ()) if not has_strategy(release, name)]
            if name in values.get("configurations", ()) and without:
                self.add_error("configurations", f"Kubernetes {', '.join(without)} has no strategy {name}.")
        if not (values.get("configurations") or values.get("config", "").strip() or values.get("config_file")):
            self.add_error("configurations", "Select at least one configuration, or enter one.")
        return values

    def chosen(self) -> list[dict[str, Any]]:
        """Return the configurations of the document. Raises InputError for one that a release cannot use."""
        values = self.cleaned_data
        releases = in_order(set(values["releases"]))
        oldest = releases[0]
        found: list[dict[str, Any]] = []
        for key in values["configurations"]:
            if key == UPLOADED:
                found.append({"name": UPLOADED, "config": uploaded(self.scenario, releases)})
            elif key == DEFAULT:
                found.append({"name": DEFAULT})
            else:
                found.append({"name": key, "config": scoring.scored("", oldest, Scoring(key))})
        if values["config"].strip():
            found.append({"name": "pasted", "config": values["config"]})
        if values["config_file"]:
            found.append({"name": "file", "config": values["config_file"]})
        return found


def has_strategy(release: str, name: str) -> bool:
    """Return whether a release's configuration has this scoring strategy."""
    try:
        scoring.scored("", release, Scoring(name))
    except InputError:
        return False
    return True


def uploaded(scenario: Scenario, releases: Sequence[str]) -> str:
    """Return the configuration of the upload. Raises InputError if one of the releases cannot run with it."""
    for release in releases:
        if problem := config_resolution.refusal(scenario.config, release, "error"):
            raise InputError("The uploaded configuration", "", f"cannot be used with {release}: {problem}")
    return scenario.config


def document(form: CompareForm, scenario: Scenario) -> dict[str, Any]:
    """Return the document of a form. Raises InputError."""
    values = form.cleaned_data
    return document_of(
        "compare",
        scenario,
        releases=values["releases"],
        configurations=form.chosen(),
        seeds={"first": 0, "count": values["seeds"]},
    )


def example(scenario: Scenario) -> dict[str, Any]:
    """Return a document that compares the cluster with one of which a node is cordoned, or that has a node more."""
    nodes = scenario.cluster_objects.filter(kind="Node").order_by("name")
    name = nodes.values_list("name", flat=True).first()
    if name:
        changed = {"name": f"{name} cordoned", "changes": [{"cordon": name}]}
    else:
        allocatable = {"cpu": "4", "memory": "16Gi", "pods": "110"}
        new = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "new"}, "status": {"allocatable": allocatable}}
        changed = {"name": "another node", "changes": [{"create": new}]}
    return document_of("compare", scenario, changes=[{"name": "unchanged"}, changed])


# ---- the answer


def context(experiment: Experiment, query: QueryDict) -> dict[str, Any]:
    """Return the context of the template."""
    answer = experiment.answer
    if not answer or not answer.get("variants"):
        return {}
    rows = answer["variants"]
    axes = axes_of(answer, query)
    front = front_of(rows, axes)
    differs = bool(varying(rows))
    placed = any(row["metrics"].get(name, {}).get("max") for row in rows for name in ("placed", "pending"))
    resources = resources_of(rows)
    resource = chosen(query.get("resource"), resources)
    page = Paginator(answer["workloads"], WORKLOADS).get_page(query.get("workloads"))
    return {
        "answer": answer,
        "differs": differs,
        "nothing": not differs and not placed,
        "axes": axes,
        "axis_titles": [metric_title(name) for name in axes],
        "metrics": [(name, metric_title(name)) for name in varying(rows) or metrics_of(rows)],
        "front": [rows[index]["title"] for index in front],
        "undirected": [metric_title(name) for name in axes if metric_of(name).better is None],
        "resources": [(name, name) for name in resources],
        "resource": resource,
        "fullness_rows": fullness_rows(rows[:SIDE_BY_SIDE], resource),
        "lines": min(len(rows), experiment_charts.MAX_LINES),
        "workload_page": page,
        "workloads": [workload_rows(one, rows) for one in page.object_list],
        "shown_variants": rows[:SIDE_BY_SIDE],
        **tables(answer, query),
    }


def metrics_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the metrics that some variant has."""
    return list(dict.fromkeys(name for row in rows for name in row["metrics"]))


def varying(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the metrics whose means differ between variants."""
    means = {name: {row["metrics"].get(name, {}).get("mean") for row in rows} for name in metrics_of(rows)}
    return [name for name, found in means.items() if len(found) > 1]


def axes_of(answer: Mapping[str, Any], query: QueryDict) -> list[str]:
    """Return the metrics of the axes x and y: those of the address, otherwise the answer's."""
    known = set(metrics_of(answer["variants"]))
    wanted = [query.get("x", ""), query.get("y", "")]
    return [name if name in known else usual for name, usual in zip(wanted, answer["axes"], strict=True)]


def resources_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the resources of the nodes of some variant."""
    return list(dict.fromkeys(name for row in rows for name in row["fullness"]))


def fullness_rows(rows: Sequence[Mapping[str, Any]], resource: str) -> list[tuple[str, list[str]]]:
    """Return (interval, mean number of nodes of each variant as text) without intervals in which no node is."""
    columns = [row["fullness"].get(resource, ()) for row in rows]
    bins = max(map(len, columns), default=0)
    found = []
    for index in range(bins):
        numbers = [column[index] if column else 0 for column in columns]
        if any(numbers):
            interval = f"{100 * index / bins:g} to {100 * (index + 1) / bins:g}%"
            found.append((interval, [f"{number:,.1f}".removesuffix(".0") for number in numbers]))
    return found


def chosen(wanted: str | None, among: Sequence[str]) -> str:
    """Return the wanted value, or the first one."""
    return wanted if wanted is not None and wanted in among else among[0] if among else ""


def tables(answer: Mapping[str, Any], query: QueryDict) -> dict[str, Any]:
    """Return `heads` and `rows` of the table of metrics, and `equal`: (title, value) of metrics that do not differ.

    Up to SIDE_BY_SIDE variants are columns. Of more, each is a row, with the metrics that differ most clearly.
    """
    variants = answer["variants"]
    texts = {name: {mean_text(name, row["metrics"].get(name)) for row in variants} for name in varying(variants)}
    differing = [name for name, found in texts.items() if len(found) > 1]  # rounding may make values equal
    equal = [name for name in metrics_of(variants) if name not in differing]
    found: dict[str, Any] = {
        "equal": [(metric_title(name), mean_text(name, variants[0]["metrics"].get(name))) for name in equal]
    }
    wide = len(variants) <= SIDE_BY_SIDE
    if not wide:
        differing.sort(key=lambda name: (name not in answer["axes"], not answer["best"].get(name, {}).get("clear")))
        differing = differing[:MAX_COLUMNS]
    cells = [[cell(answer, name, index) for index in range(len(variants))] for name in differing]
    if wide:
        heads = [metric_title(name, direction=True) for name in differing]
        return found | {"wide": True, "metric_rows": list(zip(heads, cells, strict=True))}
    page = Paginator(list(zip(variants, zip(*cells, strict=True), strict=True)), VARIANTS).get_page(query.get("page"))
    return found | {"wide": False, "heads": [metric_title(name) for name in differing], "variant_page": page}


def cell(answer: Mapping[str, Any], name: str, index: int) -> tuple[str, str]:
    """Return the text of a variant's metric, and "best", "best by luck" or ""."""
    best = answer["best"].get(name)
    mark = (
        "" if best is None or index not in best["variants"] else "best" if best["clear"] else "best, but within noise"
    )
    return mean_text(name, answer["variants"][index]["metrics"].get(name)), mark


def workload_rows(one: Mapping[str, Any], variants: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a workload with its outcome in each of the first variants as text, and its pods."""
    return {
        "name": one["workload"],
        "priority": one["priority"],
        "pods": one["pods"],
        "kind": KINDS.get(one["kind"], one["kind"]),
        "clear": one["clear"],
        "variants": [placed_text(of, one["pods"]) for of in one["variants"][:SIDE_BY_SIDE]],
        "shown": [(pod["pod"], [outcome_text(of) for of in pod["outcomes"][:SIDE_BY_SIDE]]) for pod in one["shown"]],
        "more_pods": one["more_pods"],
    }


def placed_text(of: Mapping[str, Any] | None, pods: int) -> tuple[str, str]:
    """Return how many pods of a workload are placed, and in which node groups."""
    if of is None:
        return "no result", ""
    lowest, _, highest = of["placed"]
    number = f"{lowest:,}" if lowest == highest else f"{lowest:,} to {highest:,}"
    groups = sorted(((name, size) for name, size in of["groups"].items() if name), key=lambda item: -item[1])
    where = ", ".join(f"{name} {size:,.0f}" if size >= 1 else f"{name} {size:.1f}" for name, size in groups[:4])
    return f"{number} of {pods:,} placed", where + (" …" if len(groups) > 4 else "")


def outcome_text(outcomes: Sequence[Sequence[Any]]) -> str:
    """Return the outcomes of a pod: the node, or several with the number of seeds that chose each."""
    if not outcomes:
        return "no result"
    if len(outcomes) == 1:
        return outcomes[0][0] or "pending"
    listed = ", ".join(f"{node or 'pending'} ({seeds}×)" for node, seeds in outcomes)
    return listed + (" …" if len(outcomes) == MAX_OUTCOMES else "")


def chart(experiment: Experiment, key: str, query: QueryDict) -> Figure | None:
    """Return the scatter plot of two metrics, or the fullness of the nodes."""
    answer = experiment.answer
    if not answer or not answer.get("variants"):
        return None
    rows = answer["variants"]
    if key == SCATTER:
        return scatter(rows, axes_of(answer, query))
    if key == FULLNESS:
        resource = chosen(query.get("resource"), resources_of(rows))
        series = {row["title"]: row["fullness"][resource] for row in rows if resource in row["fullness"]}
        return experiment_charts.node_fullness(series, resource)
    return None


def scatter(rows: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> Figure:
    """Return the variants as points, with the Pareto front of the two metrics."""
    known = [row for row in rows if all(name in row["metrics"] for name in axes)]
    points = []
    for row in known:
        x, y = (row["metrics"][name] for name in axes)
        means = [plotted(name, of["mean"]) for name, of in zip(axes, (x, y), strict=True)]
        spread = [plotted(name, of["stddev"]) for name, of in zip(axes, (x, y), strict=True)]
        points.append(ChartPoint(row["title"], means[0], means[1], (spread[0], spread[1])))
    return experiment_charts.scatter(points, front_of(known, axes), *(plotted_title(name) for name in axes))


PAGE = QuestionPage(
    slug="compare",
    title="Which configuration places pods best?",
    sentence="Runs the scenario with several configurations or releases, and names the pods that make the difference.",
    form=CompareForm,
    document=document,
    context=context,
    chart=chart,
    example=example,
)
