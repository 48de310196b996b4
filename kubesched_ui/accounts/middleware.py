"""Access control of HTTP requests: determines the viewer and enforces the permission of the URL.

An object that the viewer may not see gets the same response as one that does not exist, before the view runs.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import ResolverMatch, reverse

from kubesched_ui.accounts import access, audit, sessions, share_links, tokens
from kubesched_ui.accounts.access import OWN, SEE, Viewer
from kubesched_ui.accounts.models import named
from kubesched_ui.accounts.permissions import (
    ADMINS,
    CLOSED,
    LEVELS_OF_OBJECTS,
    OPEN,
    READING,
    VISITORS,
    objects_of,
    permission_of,
)
from kubesched_ui.models import current_viewer
from kubesched_ui.web.client_address import address_of

API = "/api/"
MAX_ID = 2**63 - 1
NOTHING_HERE = "Nothing exists at this address."
SIGN_IN = "Authentication required. Sign in, or send a token: Authorization: Bearer ..."


class AccessControlMiddleware:
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
            return not_stored(JsonResponse({"error": str(refused)}, status=refused.status))
        request.viewer = who  # type: ignore[attr-defined]
        with current_viewer.as_viewer(who):
            answer = self.get_response(request)
        sessions.note_new_key(request)
        write_to_audit_log(request, who, answer)
        return not_stored(answer)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: Any, kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        """Return None to allow the request, or a response that refuses it. Raises Http404, or PermissionDenied with a
        sentence."""
        if not settings.ACCOUNTS:
            return None
        assert request.resolver_match is not None
        match, who = request.resolver_match, request.viewer  # type: ignore[attr-defined]
        response = enforce(request, who, match)
        if response is None and request.method not in READING and permission_of(match).action:
            request.logged_action = logged_action(request, match)  # type: ignore[attr-defined]
        return response


def not_stored(answer: HttpResponse) -> HttpResponse:
    """Keep a response, which depends on the viewer, out of the caches of proxies and shared computers."""
    answer.headers.setdefault("Cache-Control", "private, no-store")
    return answer


def viewer_of(request: HttpRequest) -> Viewer:
    """Return the viewer: by the token of an API request, otherwise by the session. Raises tokens.Refused."""
    if request.path.startswith(API) and (shown := request.headers.get("Authorization")):
        return tokens.viewer_of(shown, address_of(request))
    return access.viewer_of(request.user, share_links.opened(request.session))


def logged_action(request: HttpRequest, match: ResolverMatch) -> tuple[str, str]:
    """Return the action and its object for the audit log, while the object still exists."""
    required = permission_of(match)
    action = "delete" if request.method == "DELETE" and required.write == OWN else required.action
    found = (model.objects.filter(pk=pk).first() for model, pk in objects_of(match.kwargs))
    return action, ", ".join(named(one) for one in found if one) or request.path.removeprefix("/account/")


def write_to_audit_log(request: HttpRequest, who: Viewer, response: HttpResponse) -> None:
    """Write a successful change to the audit log. Sign-ins and sign-outs are logged elsewhere (sessions.py)."""
    action, what = getattr(request, "logged_action", ("", ""))
    if action and response.status_code < 400 and who.user_id is not None:
        user = User.objects.filter(pk=who.user_id).first()  # None if the user has just deleted the account
        audit.note(user, action, what, address_of(request))


def enforce(request: HttpRequest, who: Viewer, match: ResolverMatch) -> HttpResponse | None:
    """Check access. Return a value and raise as `AccessControlMiddleware.process_view` does."""
    required = permission_of(match)
    level = required.read if request.method in READING else required.write
    if level == CLOSED:
        level = required.read  # the view itself refuses the method
    if level == CLOSED:
        return not_found(request, NOTHING_HERE)
    if level == OPEN:
        return None
    if who.anonymous or (who.user_id is None and level not in (VISITORS, *LEVELS_OF_OBJECTS)):
        return sign_in(request)
    if level == ADMINS and not who.admin:
        return not_found(request, NOTHING_HERE)
    if level not in LEVELS_OF_OBJECTS:
        return None if who.writes or request.method in READING else forbidden(request, access.refusal(who, level))
    return enforce_on_objects(request, who, level, objects_of(match.kwargs))


def enforce_on_objects(
    request: HttpRequest, who: Viewer, level: str, objects: list[tuple[type[Any], int]]
) -> HttpResponse | None:
    """Check whether the viewer has this level of access to all of these objects. Without any object, access is
    refused."""
    if not objects:
        return not_found(request, NOTHING_HERE)
    for model, pk in objects:
        found = model.objects.filter(pk=pk).first() if pk <= MAX_ID else None
        if found is None:
            missing = f"There is no {model._meta.verbose_name} {pk}."
            return sign_in(request) if who.user_id is None else not_found(request, missing)
        if level != SEE and not who.has_permission(level, found):
            return forbidden(request, access.refusal(who, level))
    return None


def sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect to the sign-in page with a return URL. API clients get status 401."""
    if request.path.startswith(API):
        return JsonResponse({"error": SIGN_IN}, status=401, headers={"WWW-Authenticate": "Bearer"})
    there = reverse("account_login")
    back = request.get_full_path() if request.method in READING and not request.path.startswith("/admin/login") else ""
    return HttpResponseRedirect(f"{there}?{urlencode({'next': back})}" if back not in ("", "/") else there)


def not_found(request: HttpRequest, message: str) -> HttpResponse:
    """Return status 404 for the API. Raises Http404 for pages."""
    if request.path.startswith(API):
        return JsonResponse({"error": message}, status=404)
    raise Http404(message)


def forbidden(request: HttpRequest, message: str) -> HttpResponse:
    """Return status 403 with the reason for the API. Raises PermissionDenied for pages."""
    if request.path.startswith(API):
        return JsonResponse({"error": message}, status=403)
    raise PermissionDenied(message)
