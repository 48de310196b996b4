"""Pages of the question tune: a form with the aims, and the best configuration with what it costs elsewhere."""

from collections.abc import Mapping
from typing import Any, get_args

from django import forms
from django.http import QueryDict
from django.utils.functional import cached_property

from kubesched_ui.experiments import documents
from kubesched_ui.experiments.models import Experiment
from kubesched_ui.models import Scenario
from kubesched_ui.presenters import experiment_charts
from kubesched_ui.presenters.charts import Figure
from kubesched_ui.presenters.experiment_charts import ChartPoint
from kubesched_ui.presenters.metric_values import metric_text, metric_title, plotted, plotted_title
from kubesched_ui.views.experiments.question_page import QuestionForm, QuestionPage, document_of
from scheduler_core.errors import InputError
from scheduler_core.experiments.parameters import MAX_TRIALS, MAX_WEIGHT, Strategy
from scheduler_core.metrics.pareto import pareto_front
from scheduler_core.releases import NEWEST

AIMS = 3  # of the form; a document may have more
MAX_SEEDS = 20
MAX_CHOICES = 25  # configurations of the front that can be selected
HISTORY, FRONT = "history", "front"
METRICS = (
    *("pending", "nodes_used", "disturbed", "preemptions", "hole_filling", "stranded:cpu", "stranded:memory"),
    *("requested_share:cpu:stddev", "requested_share:memory:stddev", "requested_share:cpu:jain"),
    *("skew:topology.kubernetes.io/zone:mean", "skew:kubernetes.io/hostname:mean"),
    *("gpu_fragmentation:nvidia.com/gpu", "gpu_fragmentation:alibabacloud.com/gpu-milli"),
)
STRATEGIES = [(name, name) for name in get_args(Strategy)]


class TuneForm(QuestionForm):
    """The aims, what varies, and how long the search is."""

    needs_waiting = True
    strategies = forms.MultipleChoiceField(
        required=False,
        choices=STRATEGIES,
        initial=[name for name, _ in STRATEGIES],
        widget=forms.CheckboxSelectMultiple,
    )
    front = forms.BooleanField(required=False)
    percentage = forms.BooleanField(required=False)
    trials = forms.IntegerField(min_value=1, max_value=MAX_TRIALS, initial=40)
    batch = forms.IntegerField(min_value=1, max_value=100, initial=10)
    max_weight = forms.IntegerField(min_value=1, max_value=100, initial=10)
    seeds = forms.IntegerField(min_value=1, max_value=MAX_SEEDS, initial=1)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(name, metric_title(name, direction=True)) for name in METRICS]
        for number in range(1, AIMS + 1):
            first = METRICS[number - 1] if number < AIMS else ""
            self.fields[f"aim_{number}"] = forms.ChoiceField(
                choices=[("", "none"), *choices], initial=first, required=number == 1
            )
            self.fields[f"weight_{number}"] = forms.FloatField(
                required=False, min_value=0.001, max_value=MAX_WEIGHT, initial=1
            )

    @cached_property
    def problem(self) -> str:
        """Why no configuration of this scenario can be tuned, such as its release; "" if one can."""
        try:
            documents.parse(document_of("tune", self.scenario, tune={"aims": [{"metric": METRICS[0]}]}))
        except InputError as error:
            return f"{error.problem[:1].upper()}{error.problem[1:]}."
        return ""

    @property
    def aim_fields(self) -> list[tuple[int, Any, Any]]:
        """The number, metric and weight of each aim."""
        return [(number, self[f"aim_{number}"], self[f"weight_{number}"]) for number in range(1, AIMS + 1)]

    @property
    def aims(self) -> list[dict[str, Any]]:
        """The aims of a valid form, as in a document."""
        given = self.cleaned_data
        return [
            {"metric": given[f"aim_{number}"], "weight": given[f"weight_{number}"] or 1.0}
            for number in range(1, AIMS + 1)
            if given.get(f"aim_{number}")
        ]

    def clean(self) -> dict[str, Any]:
        """Require different aims, and two for a front."""
        cleaned = super().clean() or self.cleaned_data
        names = [one["metric"] for one in self.aims] if not self.errors else []
        if len(set(names)) < len(names):
            raise forms.ValidationError("Each aim must be another metric.")
        if cleaned.get("front") and len(names) == 1:
            raise forms.ValidationError("A Pareto front needs at least two aims.")
        return cleaned


def document(form: TuneForm, scenario: Scenario) -> dict[str, Any]:
    """Return the document of a valid form."""
    given = form.cleaned_data
    parameters = {name: given[name] for name in ("front", "trials", "batch", "strategies", "percentage")}
    parameters |= {"aims": form.aims, "maxWeight": given["max_weight"]}
    return document_of("tune", scenario, tune=parameters, seeds={"first": 0, "count": given["seeds"]})


def example(scenario: Scenario) -> dict[str, Any]:
    """Return a document that tunes the default configuration of the newest release, whatever the scenario has."""
    tune = {"aims": [{"metric": name} for name in METRICS[:2]], "trials": 40}
    return document_of("tune", scenario, releases=[NEWEST], configurations=[{"name": "default"}], tune=tune)


# ---- the answer


def context(experiment: Experiment, query: QueryDict) -> dict[str, Any]:
    """Return the shown trial with its configuration and costs, and the axes of the front."""
    answer = experiment.answer
    if not answer or "best" not in answer:
        return {}
    best, choices = answer["best"], answer["choices"]
    shown = query.get("trial", "")
    if shown not in choices:
        shown = str(best)
    chosen = choices.get(shown) or {"configuration": answer["configuration"], "costs": answer["costs"]}
    costs = [_cost(row) for row in chosen["costs"]]
    known = [tuple(trial["values"]) for trial in answer["trials"] if trial["values"] is not None]
    numbers = list(dict.fromkeys([str(best), *choices]))[:MAX_CHOICES]
    return {
        "tuned": answer,
        "shown": shown,
        "is_best": shown == str(best),
        "is_given": shown == "0",
        "options": [(number, _trial_title(answer, number)) for number in numbers],
        "configuration": chosen["configuration"],
        "costs": [row for row in costs if row["aim"] or row["change"] in ("better", "worse")],
        "equal": sum(row["change"] == "equal" and not row["aim"] for row in costs),
        "axes": [answer["aims"][axis]["metric"] for axis in axes_of(answer, query)],
        "alike": len(known) > 1 and len(set(known)) == 1,
        "points": len({(point.x, point.y) for point in points_of(answer, axes_of(answer, query))}),
        "failed_trials": sum(trial["values"] is None for trial in answer["trials"]),
        "aims": [(one["metric"], one["title"]) for one in answer["aims"]],
        "rows": [_row(one, answer) for one in answer["trials"]],
        "directions": [(one["metric"], one["title"], one["better"]) for one in answer["aims"]],
        "mixed": len(answer["aims"]) > 1,
    }


def _trial_title(answer: Mapping[str, Any], number: str) -> str:
    trial = answer["trials"][int(number)]
    values = ", ".join(
        f"{aim['title']} {metric_text(aim['metric'], value)}"
        for aim, value in zip(answer["aims"], trial["values"] or (), strict=False)
    )
    name = "The given configuration" if number == "0" else f"Trial {number}"
    return f"{name}: {values}"


def _cost(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a metric with its values as text. Values that look equal are equal."""
    name = row["metric"]
    given, best = metric_text(name, row["given"]), metric_text(name, row["best"])
    change = "equal" if given == best else row["change"]
    return {**row, "given": given, "best": best, "change": change}


def _row(trial: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return a trial as a row of the table: its values as text, and what it chose."""
    values = trial["values"] or [None] * len(answer["aims"])
    choices = trial["choices"]
    weights = {name.removeprefix("weight:"): value for name, value in choices.items() if name.startswith("weight:")}
    return {
        "trial": trial["trial"],
        "best": trial["trial"] == answer["best"],
        "front": trial["trial"] in answer["front"],
        "values": [metric_text(aim["metric"], value) for aim, value in zip(answer["aims"], values, strict=True)],
        "strategy": choices.get("strategy", ""),
        "weights": ", ".join(f"{name} {value}" for name, value in weights.items() if value),
        "error": trial["error"],
        "cell": trial["cells"][0] + 1,
    }


def axes_of(answer: Mapping[str, Any], query: QueryDict) -> tuple[int, int]:
    """Return the positions of the two aims that the front shows: those of the address, otherwise the first two."""
    names = [one["metric"] for one in answer["aims"]]
    if len(names) < 2:
        return (0, 0)
    x, y = query.get("x", ""), query.get("y", "")
    return (names.index(x) if x in names else 0, names.index(y) if y in names else 1)


def chart(experiment: Experiment, key: str, query: QueryDict) -> Figure | None:
    """Return the history of the search, or two aims of all trials with their Pareto front."""
    answer = experiment.answer
    if not answer or "best" not in answer:
        return None
    if key == HISTORY:
        return history(answer)
    return front(answer, axes_of(answer, query)) if key == FRONT and len(answer["aims"]) > 1 else None


def history(answer: Mapping[str, Any]) -> Figure:
    """Return the value of each trial: of a single aim as it is, otherwise of the mix."""
    aim = answer["aims"][0]
    single = len(answer["aims"]) == 1
    values: list[float | None] = []
    for trial in answer["trials"]:
        known = trial["values"] is not None
        values.append(None if not known else plotted(aim["metric"], trial["values"][0]) if single else trial["mix"])
    higher, best, line = single and aim["better"] == "higher", None, list[float | None]()
    for value in values:
        if value is not None and (best is None or (value > best if higher else value < best)):
            best = value
        line.append(best)
    title = plotted_title(aim["metric"]) if single else "change of the mix"
    return experiment_charts.history(values, line, title)


def front(answer: Mapping[str, Any], axes: tuple[int, int]) -> Figure:
    """Return the trials by two aims, with the Pareto front of these."""
    aims, points = [answer["aims"][axis] for axis in axes], points_of(answer, axes)
    directions = [aim["better"] for aim in aims]
    best = pareto_front([(point.x, point.y) for point in points], directions)
    return experiment_charts.scatter(points, best, *(plotted_title(aim["metric"]) for aim in aims))


def points_of(answer: Mapping[str, Any], axes: tuple[int, int]) -> list[ChartPoint]:
    """Return a point for each trial with values of two aims."""
    points = []
    for trial in answer["trials"]:
        if trial["values"] is not None:
            x, y = (plotted(answer["aims"][axis]["metric"], trial["values"][axis]) for axis in axes)
            points.append(ChartPoint("given" if trial["trial"] == 0 else f"trial {trial['trial']}", x, y))
    return points


PAGE = QuestionPage(
    slug="tune",
    title="Which scheduler settings serve an aim best?",
    sentence="Searches the weights of score plugins and the scoring strategy for an aim, and says what they cost.",
    form=TuneForm,
    document=document,
    context=context,
    chart=chart,
    example=example,
)
