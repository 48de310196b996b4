"""The sender of a request body and what it may send, determined from the headers: before the body takes disk space."""

import io
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import PermissionDenied
from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import resolve

from kubesched_ui.accounts import tokens
from kubesched_ui.accounts.middleware import enforce, viewer_of
from kubesched_ui.accounts.permissions import OPEN, permission_of
from kubesched_ui.models import current_viewer
from kubesched_ui.web.client_address import address_of_scope


class Sender(NamedTuple):
    """`key`: the user, or the address of an anonymous client; each has a share of the disk budget. `accepted`: False if
    the request will be refused, whatever its body is. `anonymous_url`: whether everyone may write there; such URLs take
    short bodies only."""

    key: str
    accepted: bool = True
    anonymous_url: bool = False


def sender_of(scope: dict[str, Any]) -> Sender:
    """Return the sender of the body that follows these headers. Queries the database."""
    address = address_of_scope(scope)
    if not settings.ACCOUNTS:
        return Sender(address)
    return _sender(ASGIRequest(scope, io.BytesIO()), address)


def _sender(request: HttpRequest, address: str) -> Sender:
    SessionMiddleware(_nothing).process_request(request)
    AuthenticationMiddleware(_nothing).process_request(request)
    try:
        who = viewer_of(request)
        key = address if who.user_id is None else f"user {who.user_id}"
        match = resolve(request.path_info)
        with current_viewer.as_viewer(who):
            accepted = enforce(request, who, match) is None
    except (tokens.Refused, Http404, PermissionDenied):
        return Sender(address, accepted=False)
    return Sender(key, accepted, anonymous_url=permission_of(match).write == OPEN)


def _nothing(request: HttpRequest) -> HttpResponse:
    return HttpResponse()
