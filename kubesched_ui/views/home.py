"""The home page and its upload form."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from kubesched_ui.clusters import connections, queries
from kubesched_ui.ingest import IngestError
from kubesched_ui.ingest.kinds import DEVICE_KINDS, GROUP_KINDS
from kubesched_ui.models import Run, Scenario, Upgrade, current_viewer, is_number
from kubesched_ui.runs import import_run
from kubesched_ui.runs.default_run import default_run
from kubesched_ui.runs.services import RunSettings, create_run, defaults
from kubesched_ui.runtime.outages import ServiceUnavailable
from kubesched_ui.scenarios import progress, uploads
from kubesched_ui.scenarios.evidence_files import evidence_from_request
from kubesched_ui.scenarios.samples import grouped
from kubesched_ui.views import cluster_context, home_example
from kubesched_ui.views.scenarios import find as find_scenario
from scheduler_core.api.scheduler_plugins import READS
from scheduler_core.errors import InputError
from scheduler_core.releases import NEWEST
from scheduler_core.snapshot.wrong_input_hints import SNAPSHOT_KINDS

STARTED = "Start here"  # name of the example's run
CLUSTERS = 30  # scenarios to choose from
LIVE = 5  # live clusters listed
SECTIONS = ("upgrade", "pairs")  # sections of a scenario's page
RESOURCES: dict[str, Any] = {  # of the commands that take a snapshot
    "kinds": SNAPSHOT_KINDS,
    "devices": DEVICE_KINDS,
    "podgroups": GROUP_KINDS,
    "plugin_kinds": {plugin: list(read.values()) for plugin, read in READS.items()},
}
FAILED = (Run.State.FAILED, Run.State.CANCELLED)


def front(request: HttpRequest, error: str = "", pasted: str = "", status: int = 200) -> HttpResponse:
    """Render the home page, with the error of an upload if there was one."""
    samples = list(Scenario.objects.filter(origin=Scenario.Origin.SAMPLE).order_by("id"))
    context: dict[str, Any] = RESOURCES | {
        "groups": grouped(samples),
        "runs": Run.objects.listed()[:8],
        "error": error,
        "pasted": pasted,
        "clusters": clusters(samples),
        "previews": Upgrade.objects.select_related("scenario").defer("steps")[:3],
    }
    context |= live_clusters()
    if samples:
        context |= (
            {"sample": samples[0]} | home_example.clusters(samples) | shown(samples[0], request.GET.get("pod", ""))
        )
    return render(request, "home.html", context, status=status)


def live_clusters() -> dict[str, Any]:
    """Return live clusters, and the contexts of the machine's kubeconfig that the viewer may choose."""
    return {"lines": cluster_context.lines(queries.clusters()[:LIVE]), "contexts": connections.offered()}


def clusters(samples: list[Scenario]) -> list[tuple[str, list[Scenario]]]:
    """Return the scenarios to choose from, by group: the user's newest ones first."""
    own = Scenario.objects.exclude(origin=Scenario.Origin.SAMPLE).only("name")[:CLUSTERS]
    return [(group, some) for group, some in (("Your clusters", list(own)), ("Samples", samples)) if some]


@require_GET
def section(request: HttpRequest) -> HttpResponse:
    """Redirect to a section of the page of a scenario, which a form of the home page names."""
    number, wanted = request.GET.get("scenario", ""), request.GET.get("section", "")
    if not is_number(number) or wanted not in SECTIONS:
        return redirect("home")
    return redirect(f"{reverse('scenario', args=[number])}#{wanted}")


def shown(sample: Scenario, pod: str) -> dict[str, Any]:
    """Return the example and its selected pod: the requested one, else the most informative one."""
    found = home_example.example_of(sample.pk)
    if found is None:
        return {}
    pods = {one["name"]: one for one in found["pods"]}
    return {"example": found, "about": pods.get(pod) or pods[found["telling"]]}


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    return front(request)


@require_http_methods(["GET", "HEAD", "POST"])
def start_here(request: HttpRequest) -> HttpResponse:
    """Redirect to the decision about `pod` in the user's run of the example. Create the run if there is none."""
    samples = Scenario.objects.filter(origin=Scenario.Origin.SAMPLE).order_by("id")
    sample = samples.first() if request.method == "POST" else None
    about = shown(sample, request.POST.get("pod", "")).get("about") if sample else None
    if sample is None or about is None:
        return redirect("home")
    wanted = RunSettings(**defaults(sample, in_time=False) | {"release": NEWEST})
    with transaction.atomic():
        known = Run.objects.filter(
            scenario=sample, name=STARTED, owner=current_viewer.owner_id(), release=wanted.release
        )
        run = known.exclude(state__in=FAILED).order_by("-pk").first() or create_run(sample, wanted, name=STARTED)
    return redirect("pod", run.pk, about["namespace"], about["name"])


@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: HttpRequest) -> HttpResponse:
    """Create a scenario from uploaded files or text, and the run of a run file or the default run. Redirect to it."""
    if request.method != "POST":
        return redirect("home")
    try:
        made = uploads.upload_from_request(request)
        run = import_run.create_imported_run(made)
    except (IngestError, InputError) as error:
        if (found := evidence_from_request(request)) is not None:
            answer = render(request, "evidence.html", {"evidence": found})
            answer["X-Evidence"] = "1"  # upload.js then sends the form itself, since the page has no address
            return answer
        return front(request, str(error), request.POST.get("text", "")[:200_000], status=400)
    except ServiceUnavailable as error:
        answer = front(request, str(error), request.POST.get("text", "")[:200_000], status=503)
        answer["Retry-After"] = str(error.outage.retry_after)
        return answer
    return redirect("run", run.pk) if run else to_answer(request, made.scenario)


def to_answer(request: HttpRequest, scenario: Scenario) -> HttpResponse:
    """Redirect to the default run of a scenario; to the scenario if nothing is pending or the run cannot start."""
    try:
        with transaction.atomic():
            run = default_run(scenario)
    except (InputError, ServiceUnavailable) as error:
        messages.error(request, f"The default run was not started. {error}")
        run = None
    return redirect("run", run.pk) if run else redirect("scenario", scenario.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def answer(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """Redirect to the answer about a scenario: its default run, which starts if there is none."""
    if request.method != "POST":
        return redirect("scenario", scenario_id)
    return to_answer(request, find_scenario(scenario_id))


@require_GET
def upload_progress(request: HttpRequest, token: str) -> JsonResponse:
    """Return the progress of the upload that a page identifies by `token`; {} if none is being read."""
    return JsonResponse(progress.progress_of(token), headers={"Cache-Control": "no-store"})
