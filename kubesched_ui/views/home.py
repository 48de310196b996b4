"""The first page, the upload behind its drop zone, and the lists of scenarios and runs."""

from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from kubesched_ui import uploads
from kubesched_ui.ingest import IngestError
from kubesched_ui.models import Run, Scenario


def front(request: HttpRequest, error: str = "", pasted: str = "", status: int = 200) -> HttpResponse:
    """The first page, perhaps with what was wrong about an upload."""
    samples = Scenario.objects.filter(origin=Scenario.Origin.SAMPLE).order_by("id")
    runs = Run.objects.select_related("scenario").defer("node_names")[:8]
    context = {"section": "home", "samples": samples, "runs": runs, "error": error, "pasted": pasted}
    return render(request, "home.html", context, status=status)


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    return front(request)


@require_POST
def upload(request: HttpRequest) -> HttpResponse:
    """Makes a scenario of the files or the text sent and goes to its page."""
    try:
        scenario = uploads.scenario_from_request(request)
    except IngestError as error:
        return front(request, str(error), request.POST.get("text", "")[:200_000], status=400)
    return redirect("scenario", scenario.pk)


@require_GET
def scenarios(request: HttpRequest) -> HttpResponse:
    rows = Scenario.objects.annotate(run_count=Count("runs")).defer("config").order_by("-created_at", "-id")
    page = Paginator(rows, 50).get_page(request.GET.get("page"))
    return render(request, "scenarios.html", {"section": "scenarios", "page": page})


@require_GET
def runs(request: HttpRequest) -> HttpResponse:
    rows = Run.objects.select_related("scenario").defer("node_names")
    page = Paginator(rows, 50).get_page(request.GET.get("page"))
    return render(request, "runs.html", {"section": "runs", "page": page})
