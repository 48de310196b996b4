"""Access control of HTTP requests: determines the viewer and enforces the rule of the URL.

An object that the viewer may not see gets the same response as one that does not exist, before the view runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse

from kubesched_ui import current_viewer
from kubesched_ui.accounts import access, audit, share_links, tokens
from kubesched_ui.accounts.access import OWN, SEE, START, Viewer
from kubesched_ui.accounts.client_ip import address_of
from kubesched_ui.accounts.models import named
from kubesched_ui.accounts.url_permissions import ADMIN, ADMINS, ASKS, CLOSED, OPEN, VISITORS, Rule, rule_of, things_of

READING = {"GET", "HEAD", "OPTIONS"}
API = "/api/"
MAX_ID = 2**63 - 1
NOBODY = "Authentication required. Sign in, or send a token: Authorization: Bearer ..."


class Doors:
    """Middleware that sets the viewer and checks access. It must be last, after the middlewares that identify the user.
    Without accounts it does nothing."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not settings.ACCOUNTS:
            return self.get_response(request)
        try:
            who = viewer_of(request)
        except tokens.Refused as refused:
            return JsonResponse({"error": str(refused)}, status=refused.status)
        request.viewer = who  # type: ignore[attr-defined]
        with current_viewer.looking(who):
            answer = self.get_response(request)
        write_down(request, who, answer)
        return answer

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: Any, kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        """Return None to allow the request, or a response that refuses it. Raises Http404, or PermissionDenied with a
        sentence."""
        if not settings.ACCOUNTS:
            return None
        assert request.resolver_match is not None
        route, who = request.resolver_match.route, request.viewer  # type: ignore[attr-defined]
        rule = rule_of(route)
        said = asked(request, who, route, rule, kwargs)
        if said is None and request.method not in READING and rule.does not in ("", ASKS):
            request.doing = doing(request, route, rule, kwargs)  # type: ignore[attr-defined]
        return said


def viewer_of(request: HttpRequest) -> Viewer:
    """Return the viewer: by the token of an API request, otherwise by the session. Raises tokens.Refused."""
    if request.path.startswith(API) and (shown := request.headers.get("Authorization")):
        return tokens.viewer_of(shown, address_of(request))
    return access.viewer_of(request.user, share_links.of(request.session))


def doing(request: HttpRequest, route: str, rule: Rule, kwargs: dict[str, Any]) -> tuple[str, str]:
    """Return the action and its object for the audit log, while the object still exists."""
    did = "delete" if request.method == "DELETE" and rule.write == OWN else rule.does
    found = (model.objects.filter(pk=pk).first() for model, pk in things_of(route, kwargs))
    return did, ", ".join(named(thing) for thing in found if thing) or request.path.removeprefix("/account/")


def write_down(request: HttpRequest, who: Viewer, answer: HttpResponse) -> None:
    """Write a successful change to the audit log. Sign-ins and sign-outs are logged elsewhere (sessions.py)."""
    did, what = getattr(request, "doing", ("", ""))
    if did and answer.status_code < 400 and who.user_id is not None:
        user = User.objects.filter(pk=who.user_id).first()  # None if the user has just deleted the account
        audit.note(user, did, what, address_of(request))


def asked(request: HttpRequest, who: Viewer, route: str, rule: Rule, kwargs: dict[str, Any]) -> HttpResponse | None:
    """Check access. Return a value and raise as `Doors.process_view` does."""
    level = rule.read if request.method in READING else rule.write
    if level == CLOSED:
        level = rule.read  # the view itself refuses the method
    if level == CLOSED:
        return nothing(request, "Nothing exists at this address.")
    if level == OPEN:
        return None
    if who.nobody or (who.user_id is None and level not in (VISITORS, SEE, START, OWN)):
        return sign_in(request)
    if level == ADMINS and not who.admin:
        return nothing(request, "Nothing exists at this address.")
    if level not in (SEE, START, OWN):
        return None if who.writes or request.method in READING else refused(request, access.refusal(who, level))
    return held(request, who, level, things_of(route, kwargs))


def held(request: HttpRequest, who: Viewer, level: str, things: list[tuple[type[Any], int]]) -> HttpResponse | None:
    """Check whether the viewer has this level of access to all of these objects. Without any object, access is
    refused."""
    if not things:
        return nothing(request, "Nothing exists at this address.")
    for model, pk in things:
        found = model.objects.filter(pk=pk).first() if pk <= MAX_ID else None
        if found is None:
            missing = f"There is no {model._meta.verbose_name} {pk}."
            return sign_in(request) if who.user_id is None else nothing(request, missing)
        if level != SEE and not access.may(who, level, found):
            return refused(request, access.refusal(who, level))
    return None


def sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect to the sign-in page with a return URL. API clients get status 401."""
    if request.path.startswith(API):
        return JsonResponse({"error": NOBODY}, status=401, headers={"WWW-Authenticate": "Bearer"})
    there = reverse("account_login")
    back = (
        request.get_full_path() if request.method in READING and not request.path.startswith(f"/{ADMIN}login") else ""
    )
    return HttpResponseRedirect(f"{there}?{urlencode({'next': back})}" if back not in ("", "/") else there)


def nothing(request: HttpRequest, said: str) -> HttpResponse:
    """Return status 404 for the API. Raises Http404 for pages."""
    if request.path.startswith(API):
        return JsonResponse({"error": said}, status=404)
    raise Http404(said)


def refused(request: HttpRequest, said: str) -> HttpResponse:
    """Return status 403 with the reason for the API. Raises PermissionDenied for pages."""
    if request.path.startswith(API):
        return JsonResponse({"error": said}, status=403)
    raise PermissionDenied(said)
