"""The page of the search over everything; the dialog of all pages shows its results."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve
from django.views.decorators.http import require_GET

from kubesched_ui.accounts.permissions import OPEN, USERS, permission_of
from kubesched_ui.site_search import services


@require_GET
def search(request: HttpRequest) -> HttpResponse:
    """Show what matches `q`. `from`: the path of the page from which the user searches."""
    text = request.GET.get("q", "")[: services.MAX_TEXT]
    place = services.place_of(request.GET.get("from", "")[:300])

    def allows(address: str) -> bool:
        return may_open(request, address)

    context = {"q": text, "from": request.GET.get("from", "")[:300], "groups": services.search(text, place, allows)}
    return render(request, "search.html", context)


def may_open(request: HttpRequest, address: str) -> bool:
    """Return whether the level of a page's URL includes the viewer. Objects that the viewer may not see were left out
    before."""
    if not settings.ACCOUNTS:
        return True
    who = request.viewer  # type: ignore[attr-defined]
    try:
        level = permission_of(resolve(address.partition("?")[0].partition("#")[0])).read
    except Resolver404:
        return False
    return level == OPEN or (not who.anonymous and (level != USERS or who.user_id is not None))
