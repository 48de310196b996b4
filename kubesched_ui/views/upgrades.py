"""Upgrade previews: show, start, cancel and delete."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from kubesched_ui.models import Upgrade
from kubesched_ui.runs.scoring import scoring_in
from kubesched_ui.upgrades import presenters, services
from kubesched_ui.views.form_fields import named
from kubesched_ui.views.scenarios import find as find_scenario
from scheduler_core.errors import InputError
from scheduler_core.releases.conformance import verification

ROWS = 100


def find(upgrade_id: int) -> Upgrade:
    """Return the preview with its scenario. Raises Http404."""
    return named(Upgrade.objects.select_related("scenario"), upgrade_id)


@require_GET
def upgrade(request: HttpRequest, upgrade_id: int) -> HttpResponse:
    """Show the progress, the causes of each step, and the pods across releases."""
    found = find(upgrade_id)
    query = {key: request.GET.get(key, "").replace("\0", "")[:600] for key in ("q", "show", "cause")}
    query["show"] = query["show"] if query["show"] in presenters.SHOWS else presenters.DECIDED
    runs = found.run_of()
    page = Paginator(presenters.rows(found, **query), ROWS).get_page(request.GET.get("page"))
    context = {
        "upgrade": found,
        "scenario": found.scenario,
        "releases": [(one, runs.get(one), verification(one, bool(found.scenario.time))) for one in found.releases],
        "waiting": presenters.progress(list(runs.values())) if found.active else [],
        "steps": presenters.steps(found),
        "remarks": presenters.remarks(found),
        "result": presenters.result(found),
        "shows": presenters.SHOWS.items(),
        "page": page,
        "left": presenters.time_left(found),
    }
    return render(request, "upgrade.html", context | query)


@require_POST
def start(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """Start an upgrade preview for the chosen releases and redirect to it."""
    scenario = find_scenario(scenario_id)
    try:
        with transaction.atomic():
            every, chosen = request.POST.get("which") == "every", scoring_in(request.POST)
            releases = [*request.POST.getlist("release"), *request.POST.get("patches", "")[:500].split(",")]
            named = [name.strip() for name in releases if name.strip()]
            made = services.create_upgrade(scenario, named, every, chosen)
    except InputError as error:
        messages.error(request, f"The preview was not started. {error}")
        return redirect("scenario", scenario_id)
    return redirect("upgrade", made.pk)


@require_POST
def cancel(request: HttpRequest, upgrade_id: int) -> HttpResponse:
    services.cancel(find(upgrade_id))
    return redirect("upgrade", upgrade_id)


@require_POST
def delete(request: HttpRequest, upgrade_id: int) -> HttpResponse:
    """Delete the preview. Its runs are kept."""
    found = find(upgrade_id)
    found.delete()
    messages.info(request, "The upgrade preview was deleted. Its runs were kept.")
    return redirect("scenario", found.scenario_id)
