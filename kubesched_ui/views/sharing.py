"""Sharing of scenarios and runs: create and revoke links, share with groups, open links."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kubesched_ui.accounts import share_links
from kubesched_ui.accounts.models import Group
from kubesched_ui.models import Run, Scenario
from kubesched_ui.views.account import SPANS, until
from kubesched_ui.views.form_fields import name_in
from scheduler_core.errors import InputError

Thing = Scenario | Run


def thing_of(scenario_id: int | None, run_id: int | None) -> Thing:
    """Return the scenario or run. Raises Http404."""
    model: Any = Scenario if scenario_id is not None else Run
    return get_object_or_404(model, pk=run_id if scenario_id is None else scenario_id)


def page_of(thing: Thing) -> str:
    """Return the address of the sharing page."""
    kind = "scenario" if isinstance(thing, Scenario) else "run"
    return reverse(f"{kind}-shares", args=[thing.pk])


@require_http_methods(["GET", "POST"])
def shares(request: HttpRequest, scenario_id: int | None = None, run_id: int | None = None) -> HttpResponse:
    """Show the shares; POST shares with a group, or creates a link and shows it once."""
    thing, user = thing_of(scenario_id, run_id), request.user
    if request.method == "GET":
        return shown(request, thing)
    try:
        if number := request.POST.get("group", ""):
            groups = Group.objects.filter(members=user.pk)
            group = get_object_or_404(groups, pk=number if number.isdecimal() and len(number) < 19 else 0)
            share_links.share_with(thing, user, group, until(request))  # type: ignore[arg-type]
            return redirect(page_of(thing))
        _, secret = share_links.share_by_link(thing, user, name_in(request), until(request))  # type: ignore[arg-type]
    except InputError as error:
        messages.error(request, f"The share was not created. {error}")
        return redirect(page_of(thing))
    return shown(request, thing, link=request.build_absolute_uri(reverse("shared", args=[secret])))


def shown(request: HttpRequest, thing: Thing, **more: Any) -> HttpResponse:
    """Render the sharing page. `more` may contain a new link, which is shown only once."""
    user: Any = request.user
    rows = thing.shares.select_related("group", "owner")
    context = {
        "thing": thing,
        "scenario": thing if isinstance(thing, Scenario) else None,
        "run": thing if isinstance(thing, Run) else None,
        "links": rows.filter(group=None),
        "with_groups": rows.exclude(group=None),
        "groups": user.sharing_groups.exclude(pk__in=rows.exclude(group=None).values("group")),
        "spans": SPANS.items(),
    }
    return render(request, "shares.html", context | more)


@require_POST
def revoke(
    request: HttpRequest, number: int, scenario_id: int | None = None, run_id: int | None = None
) -> HttpResponse:
    """Revoke a share. Its users lose access with their next request."""
    thing = thing_of(scenario_id, run_id)
    get_object_or_404(thing.shares, pk=number).delete()
    messages.info(request, "Share revoked.")
    return redirect(page_of(thing))


@require_GET
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """Open a share link: this session gets access to the shared object."""
    share = share_links.open_link(request.session, token)
    if share is None:
        raise Http404("This link is not valid. It may have been revoked, have expired or be incomplete.")
    return redirect("scenario", share.scenario_id) if share.scenario_id else redirect("run", share.run_id)
