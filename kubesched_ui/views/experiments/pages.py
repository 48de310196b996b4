"""Pages of experiments: the list, the questions of a scenario, the form of a question, an experiment, a cell."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, Min
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kubesched_ui.experiments import services
from kubesched_ui.experiments.models import Experiment
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.models import MAX_NAME, Scenario
from kubesched_ui.views.experiments.cells import cell_table
from kubesched_ui.views.experiments.lookup import find
from kubesched_ui.views.experiments.question_page import QuestionPage
from kubesched_ui.views.experiments.registry import PAGES
from kubesched_ui.views.lists import ROWS, values_of
from kubesched_ui.views.scenarios import find as find_scenario
from kubesched_ui.work.models import Work
from scheduler_core.api.duration import span
from scheduler_core.errors import InputError

SCENARIOS = 100  # that the menu page offers
TITLES = {page.slug: page.title for page in PAGES.values()}
FAILED = 10  # reasons of failed cells that the page shows


@require_http_methods(["GET", "POST"])
def experiments(request: HttpRequest) -> HttpResponse:
    """Show the questions about a scenario, by default the latest one, and list the experiments; start one from a
    document. `scenario`: the number of the chosen one. `like`: that of an experiment whose document is shown."""
    text, error = example_of(request.GET), ""
    if (like := request.GET.get("like", "")[:9]).isdecimal():
        text = find(int(like)).document
    if request.method == "POST":
        file = request.FILES.get("file")
        text = file.read().decode(errors="replace") if file else request.POST.get("document", "")
        try:
            return redirect("experiment", services.create_experiment(text).pk)
        except InputError as problem:
            error = str(problem)
    values = values_of(request, "q", "question", "state")
    rows = Experiment.objects.listed().matching(values["q"], values["question"], values["state"])
    page = Paginator(rows, ROWS).get_page(request.GET.get("page"))
    chosen, latest = scenario_choice(request.GET.get("scenario", ""))
    context: dict[str, Any] = {
        "pages": PAGES.values(),
        "scenario": chosen,
        "scenarios": latest,
        "newest": max((one.created_at, one.pk) for one in latest)[1] if latest else None,
        "more_scenarios": len(latest) >= SCENARIOS,
        "page": page,
        "states": Work.State.values,
        "questions": [(one.slug, one.title) for one in PAGES.values()],
        "titles": TITLES,
        "any": page.object_list or Experiment.objects.exists(),
        "text": text,
        "error": error,
    }
    return render(request, "experiments/list.html", context | values, status=400 if error else 200)


def scenario_choice(number: str) -> tuple[Scenario | None, list[Scenario]]:
    """Return the scenario with this number, by default the latest one, and the latest ones to choose from; None if
    there are none."""
    latest = list(Scenario.objects.order_by("-created_at", "-pk").only("name", "counts", "created_at")[:SCENARIOS])
    if number.isdecimal() and (wanted := min(int(number[:19]), 2**63 - 1)) not in {one.pk for one in latest}:
        latest.insert(0, find_scenario(wanted))
    by_number = {str(one.pk): one for one in latest}
    return by_number.get(number.lstrip("0"), latest[0] if latest else None), latest


def example_of(query: QueryDict) -> str:
    """Return the example document of the question `example` about the scenario `scenario`; "" if none is named."""
    page, number = PAGES.get(query.get("example", "")), query.get("scenario", "")
    if page is None or page.example is None or not number.isdecimal():
        return ""
    scenario = find_scenario(min(int(number[:19]), 2**63 - 1))
    return to_yaml(named(page, scenario, page.example(scenario)))


def named(page: QuestionPage, scenario: Scenario, document: dict[str, Any]) -> dict[str, Any]:
    """Return the document, named after the question and the scenario."""
    return document | {"metadata": {"name": f"{page.title} ({scenario.name})"[:MAX_NAME]}}


@require_GET
def questions(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """Show the questions about a scenario, each with the sentence that says what it answers."""
    scenario = find_scenario(scenario_id)
    context = {"scenario": scenario, "tab": "experiments", "pages": PAGES.values()}
    context["titles"] = TITLES
    context["experiments"] = scenario.experiments.listed()[:10]
    return render(request, "experiments/questions.html", context)


@require_http_methods(["GET", "POST"])
def question(request: HttpRequest, scenario_id: int, question: str) -> HttpResponse:
    """Show the form of a question; start its experiment."""
    scenario = find_scenario(scenario_id)
    page = PAGES.get(question)
    if page is None:
        raise Http404(f"There is no question {question}.")
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    form = page.form(*sent, scenario=scenario, initial=request.GET.dict())
    if form.is_valid():
        try:
            with transaction.atomic():
                document = named(page, scenario, page.document(form, scenario))
                return redirect("experiment", services.create_experiment(document).pk)
        except InputError as error:
            form.add_error(None, str(error))
    context = {"scenario": scenario, "tab": "experiments", "page": page, "form": form}
    return render(
        request,
        [f"experiments/{page.slug}_form.html", "experiments/question_form.html"],
        context,
        status=400 if form.errors else 200,
    )


@require_GET
def experiment(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """Show the answer of an experiment, its progress and its cells."""
    found = find(experiment_id)
    page = PAGES[found.question]
    context = {
        "experiment": found,
        "scenario": found.scenario,
        "question": page,
        "failed": failures_of(found),
        "left": span(max(1, round(found.eta_s))) if found.eta_s is not None else "",
    }
    context |= cell_table(found, request.GET)
    return render(request, f"experiments/{page.slug}.html", context | page.context(found, request.GET))


def failures_of(experiment: Experiment) -> list[dict[str, Any]]:
    """Return the first reasons why cells failed: `error`, the first `cell`, and how many `others` have the reason."""
    failed = experiment.cells.filter(state=Work.State.FAILED).order_by().values("error")
    reasons = failed.annotate(cell=Min("number"), others=Count("pk") - 1).order_by("cell")
    return [{**one} for one in reasons[:FAILED]]


@require_GET
def chart(request: HttpRequest, experiment_id: int, key: str) -> HttpResponse:
    """Return a chart of an experiment as JSON; its page loads it when it becomes visible."""
    found = find(experiment_id)
    make = PAGES[found.question].chart
    figure = make(found, key, request.GET) if make is not None else None
    if figure is None:
        raise Http404(f"Experiment {experiment_id} has no chart {key}.")
    return JsonResponse(figure)


@require_POST
def cancel(request: HttpRequest, experiment_id: int) -> HttpResponse:
    services.cancel(find(experiment_id))
    return redirect("experiment", experiment_id)


@require_POST
def delete(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """Delete the experiment with its cells. Runs that were opened from cells are kept."""
    found = find(experiment_id)
    found.delete()
    messages.info(request, "The experiment was deleted.")
    return redirect("scenario-experiments", found.scenario_id)
